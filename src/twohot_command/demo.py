"""`twohot demo`: compare probes on digits with noisy labels, and write an audit of the labels."""

import json
import struct
import zlib
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.console import Console
from typer import Option

from twohot.audit import (
    LabelIssues,
    find_label_issues,
    review_rows,
    review_summary,
    write_audit_folder,
)
from twohot.base import check_writable, counted, whole_file
from twohot.describe import DemoData, DemoNoise, DemoRow, demo_data, demo_rows
from twohot.tables import FeatureTable
from twohot_command.terminal import print_table, say

# The title of the audit, by which the folder of an earlier demo is recognised.
TITLE = "Labels of scikit-learn's digits"


def check_demo_folder(folder: Path) -> None:
    """Raise an error unless a folder is new, empty, or written by an earlier demo."""
    summary = folder / "summary.json"
    try:
        title = json.loads(summary.read_bytes())["title"]
    except (OSError, ValueError, LookupError, TypeError):  # missing, or not from an audit
        title = ""
    if title != TITLE and folder.exists() and any(folder.iterdir()):
        advice = "choose another folder, or empty this one."
        raise FileExistsError(f"{folder} has files that are not from a demo: {advice}")
    check_writable(folder, {"output": folder})


def demo_audit(data: DemoData, folder: Path) -> LabelIssues:
    """Audit the given labels; write the folder of the audit, and a picture of every digit."""
    items = [f"{row:04d}.png" for row in range(len(data.features))]
    table = FeatureTable(
        features=data.features,
        labels=data.given_labels,
        classes=tuple("0123456789"),
        items=items,
        item_kind="image",
    )
    issues = find_label_issues(data.features, data.given_labels)
    summary = review_summary(table.features, issues, title=TITLE, details={"source": "digits"})
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    for item, pixels in zip(items, data.features, strict=True):
        with whole_file(images / item) as file:
            file.write(_png(grey_picture(pixels)))
    write_audit_folder(folder, review_rows(table, issues), summary, image_root=images, force=True)
    return issues


def grey_picture(pixels: np.ndarray) -> np.ndarray:
    """Return a digit of 64 values from 0 to 16 as a picture, dark on white."""
    return np.asarray(255 - np.minimum(16 * pixels.reshape(8, 8), 255).astype(np.uint8))


def _png(grey: np.ndarray) -> bytes:
    """Return a grey image as PNG: header, compressed rows, end.

    Pillow could do this, but it is an optional package.
    """

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    height, width = grey.shape
    # Grey, with eight bits per pixel. Each row starts with 0, because it has no filter.
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


EXAMPLES = ("twohot demo --noise 0.7 --kind symmetric",)


def demo(
    *,
    output: Annotated[
        Path,
        Option("--output", "-o", help="Folder for the audit; an earlier demo in it is replaced."),
    ] = Path("demo-audit"),
    noise: Annotated[
        float, Option(min=0, max=1, help="Fraction of the training labels that become wrong.")
    ] = 0.3,
    kind: Annotated[
        DemoNoise,
        Option(
            help="symmetric: a wrong label is any other digit; mixed: half of the wrong labels are "
            "the next digit."
        ),
    ] = "mixed",
    seed: Annotated[
        int, Option(min=0, help="Random seed of the split and of the wrong labels.")
    ] = 0,
) -> None:
    """Train on scikit-learn's digits with noisy labels, and find the wrong labels."""
    check_demo_folder(output)
    console = Console(stderr=True)
    data = demo_data(noise, seed, kind)
    wrong = data.given_labels != data.true_labels
    n_wrong = int(wrong.sum())
    say(
        f"scikit-learn's digits: {len(data.true_labels)} images to train on, "
        f"{n_wrong} of them with a wrong label, {len(data.test_labels)} to test on."
    )
    with console.status("Auditing …"):
        issues = demo_audit(data, output)
    with console.status("Fitting …"):
        rows = list(demo_rows(data, issues.probe))
    _print_methods(data, rows, n_wrong)
    found, right = issues.is_label_issue, issues.predicted_label.astype(int) == data.true_labels
    say(
        f"Audit: {counted(issues.n_issues, 'label')} flagged, including {(found & wrong).sum()} of "
        f"the {n_wrong} wrong labels. The suggestion is right for {(found & right).sum()} flagged "
        "labels."
    )
    say(f"Review the flagged labels in a browser: {output / 'report.html'}")


def _print_methods(data: DemoData, rows: list[DemoRow], n_wrong: int) -> None:
    """Print the errors of all methods; the line of the best test accuracy is bold."""
    n_test, n_train = len(data.test_labels), len(data.true_labels)
    headings = ("method", "test accuracy", "test errors", "training labels wrong", "passes")
    cells: list[tuple[object, ...]] = [("given labels", "–", "–", n_wrong, "–")]
    for row in rows:
        errors = (f"{1 - row.test_errors / n_test:.1%}", row.test_errors, row.training_errors)
        cells.append((row.method, *errors, f"{row.n_passes:g}"))
    fewest = min(row.test_errors for row in rows)
    best = [number for number, row in enumerate(rows, start=1) if row.test_errors == fewest]
    caption = f"Errors on {n_test} test and {n_train} training images; passes of the last round."
    print_table(headings, cells, names=("method",), caption=caption, bold=best)
