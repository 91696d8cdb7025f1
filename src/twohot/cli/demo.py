"""`twohot demo`: the main job on embedded data."""

from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Option

from twohot import digits_demo as digits
from twohot._checks.messages import counted
from twohot.cli._terminal import print_table, say


def demo(
    *,
    noise: Annotated[
        float, Option(min=0, max=1, help="Share of the training labels made wrong.")
    ] = 0.3,
    kind: Annotated[
        digits.DemoNoise,
        Option(help="Wrong labels are half any digit and half the next one, or any digit."),
    ] = "mixed",
    seed: Annotated[int, Option(min=0, help="Seed of the split and the noise.")] = 0,
    output: Annotated[
        Path,
        Option("--output", "-o", help="Folder for the audit; that of a demo is replaced."),
    ] = Path("demo-audit"),
) -> None:
    """Train on scikit-learn's digits with noisy labels, and find the wrong ones."""
    digits.check_demo_folder(output)
    console = Console(stderr=True)
    data = digits.demo_data(noise, seed, kind)
    wrong = data.given_labels != data.true_labels
    n_wrong = int(wrong.sum())
    say(
        f"scikit-learn's digits: {len(data.true_labels)} images to train on, "
        f"{n_wrong} of them with a wrong label, {len(data.test_labels)} to test on."
    )
    with console.status("Auditing …"):
        issues = digits.demo_audit(data, output)
    with console.status("Fitting …"):
        rows = list(digits.demo_rows(data, issues.probe))
    _print_methods(data, rows, n_wrong)
    found, right = issues.is_label_issue, issues.predicted_label.astype(int) == data.true_labels
    say(
        f"Audit: {counted(issues.n_issues, 'label')} flagged, {(found & wrong).sum()} of the "
        f"{n_wrong} wrong ones among them; the suggestion is right for {(found & right).sum()}."
    )
    say(f"Review them in a browser: {output / 'report.html'}")


def _print_methods(data: digits.DemoData, rows: list[digits.DemoRow], n_wrong: int) -> None:
    """Print the methods side by side; the best test accuracy stands out."""
    n_test, n_train = len(data.test_labels), len(data.true_labels)
    headings = ("method", "test accuracy", "test errors", "training labels wrong", "passes")
    cells: list[tuple[object, ...]] = [("given labels", "–", "–", n_wrong, "–")]
    for row in rows:
        accuracy = f"{1 - row.test_errors / n_test:.1%}"
        errors = (row.test_errors, row.training_errors)
        cells.append((row.method, accuracy, *errors, f"{row.n_passes:g}"))
    fewest = min(row.test_errors for row in rows)
    best = [number for number, row in enumerate(rows, start=1) if row.test_errors == fewest]
    caption = f"Wrong of {n_test} test and {n_train} training images; passes per round."
    print_table(headings, cells, names=("method",), caption=caption, bold=best)
