"""`twohot demo`: the main job on embedded data."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from twohot._checks.messages import counted
from twohot.cli._terminal import say, table_with
from twohot.digits_demo import (
    DemoData,
    DemoRow,
    check_demo_folder,
    demo_audit,
    demo_data,
    demo_rows,
)
from twohot.select.auto_probe import AutoProbe


def demo(
    *,
    noise: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the training labels made wrong.")
    ] = 0.7,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and the noise.")] = 0,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder for the audit; that of a demo is replaced."),
    ] = Path("demo-audit"),
) -> None:
    """Learn scikit-learn's digits from labels many of which are wrong, and find the wrong ones."""
    check_demo_folder(output)
    console = Console(stderr=True)
    data, auto = demo_data(noise, seed), AutoProbe()
    n_wrong = int((data.given_labels != data.true_labels).sum())
    say(
        f"scikit-learn's digits: {len(data.true_labels)} images to train on, "
        f"{n_wrong} of them with a wrong label, {len(data.test_labels)} to test on."
    )
    with console.status("Fitting …"):
        rows = list(demo_rows(data, auto))
    Console().print(_demo_table(data, rows))
    with console.status("Auditing …"):
        issues = demo_audit(data, auto, output)
    wrong, found = data.given_labels != data.true_labels, issues.is_label_issue
    right = issues.predicted_label.astype(int) == data.true_labels
    say(
        f"Audit: {counted(issues.n_issues, 'label')} flagged, {(found & wrong).sum()} of the "
        f"{n_wrong} wrong ones among them; the suggestion is right for {(found & right).sum()}."
    )
    say(f"Review them in a browser: {output / 'report.html'}")


def _demo_table(data: DemoData, rows: list[DemoRow]) -> Table:
    """Return the methods side by side; the best test accuracy stands out."""
    n_test, n_train = len(data.test_labels), len(data.true_labels)
    n_wrong = int((data.given_labels != data.true_labels).sum())
    headings = ("method", "test accuracy", "test errors", "training labels wrong", "passes")
    table = table_with(*headings, names=("method",))
    table.caption = f"Wrong of {n_test} test and {n_train} training images; passes per round."
    table.add_row("given labels", "–", "–", str(n_wrong), "–")
    fewest = min(row.test_errors for row in rows)
    for row in rows:
        table.add_row(
            row.method,
            f"{1 - row.test_errors / n_test:.1%}",
            str(row.test_errors),
            str(row.training_errors),
            f"{row.n_passes:g}",
            style="bold" if row.test_errors == fewest else "",
        )
    return table
