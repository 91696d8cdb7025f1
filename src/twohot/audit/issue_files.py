"""Tables with one line per row of the data: what an audit says, and labels."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from twohot._checks.labels import NO_LABEL
from twohot._types import IntArray
from twohot.audit.decisions import Applied
from twohot.review.records import ReviewRows, ReviewSummary
from twohot.tables.csv_file import read_csv, write_csv
from twohot.tables.row_ids import RowIds

# Columns of issues.csv: the field of `ReviewRows` that each holds, and of which kind it is.
ISSUE_COLUMNS = {
    "id": ("ids", "id"),
    "item": ("items", "text"),
    "given_label": ("given_labels", "label"),
    "is_label_issue": ("is_label_issue", "flag"),
    "label_quality": ("label_quality", "score"),
    "probability_wrong": ("probability_wrong", "derived"),
    "predicted_label": ("suggested_labels", "label"),
    "second_label": ("second_labels", "label"),
    "confidence": ("confidence", "score"),
    "second_confidence": ("second_confidence", "score"),
    "is_undecided": ("is_undecided", "flag"),
}
LABEL_COLUMNS = ("id", "item", "label")
NOTE = "note"
# Rows of one group are copies of each other; beside each stands one that disagrees, if any does.
FINDING_COLUMNS = ("finding", "group", "id", "label", "other_id", "other_label", "score")


def write_labels(
    path: str | os.PathLike[str],
    rows: ReviewRows,
    labels: IntArray,
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write the labels of all rows by name; no label is an empty field."""
    names = map(rows.label_name, labels.tolist())
    lines = zip(rows.id_texts(), _items(rows), names, strict=True)
    write_csv(path, LABEL_COLUMNS, lines, spreadsheet_safe=spreadsheet_safe)


def write_reviewed(
    path: str | os.PathLike[str],
    rows: ReviewRows,
    applied: Applied,
    *,
    drop_excluded: bool = False,
    spreadsheet_safe: bool = False,
) -> None:
    """Write the labels that follow from a review, and notes in a column of their own if any.

    A row that is excluded has no label, or is left out.
    """
    named, notes = replace(rows, classes=applied.classes), applied.notes
    labels = zip(rows.id_texts(), applied.labels.tolist(), strict=True)
    lines = (
        (name, rows.item(row), named.label_name(code), *[notes.get(row, "")] * bool(notes))
        for row, (name, code) in enumerate(labels)
        if not (drop_excluded and applied.excluded[row])
    )
    columns = (*LABEL_COLUMNS, *[NOTE] * bool(notes))
    write_csv(path, columns, lines, spreadsheet_safe=spreadsheet_safe)


def write_issues(
    path: str | os.PathLike[str], rows: ReviewRows, *, spreadsheet_safe: bool = False
) -> None:
    """Write all rows, numbers so that reading gives them back; what is not known is empty."""
    write: dict[str, Callable[[Any], str]] = {
        "label": rows.label_name,
        # As pandas and polars read and write them.
        "flag": lambda flag: str(flag).lower(),
        "score": lambda score: "" if math.isnan(score) else repr(score),
    }
    write["derived"] = write["score"]
    texts = {"id": rows.id_texts(), "text": _items(rows)}
    columns = (
        texts[kind] if kind in texts else map(write[kind], getattr(rows, field).tolist())
        for field, kind in ISSUE_COLUMNS.values()
    )
    lines = zip(*columns, strict=True)
    write_csv(path, ISSUE_COLUMNS, lines, spreadsheet_safe=spreadsheet_safe)


def write_findings(
    path: str | os.PathLike[str],
    rows: ReviewRows,
    summary: ReviewSummary,
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write what was found beside wrong labels: a line per row, or per pair of classes."""
    lines = (*_row_findings(rows, summary), *_class_findings(rows, summary))
    write_csv(path, FINDING_COLUMNS, lines, spreadsheet_safe=spreadsheet_safe)


def read_issues(
    path: str | os.PathLike[str],
    *,
    classes: Sequence[str],
    item_kind: str,
    has_items: bool,
    id_kind: str,
    id_column: str,
) -> ReviewRows:
    """Return the rows that `write_issues` wrote."""
    header, *lines = read_csv(path) or [[]]
    if header != list(ISSUE_COLUMNS):
        expected = f"expected {list(ISSUE_COLUMNS)}, so run the audit again."
        raise ValueError(f"{path} has the columns {header}: {expected}")
    code = {"": NO_LABEL, **{name: i for i, name in enumerate(classes)}}
    read: dict[str, tuple[Any, Any]] = {
        "id": (str, object),
        "text": (str, object),
        "label": (code.__getitem__, np.int64),
        "flag": ({"true": True, "false": False}.__getitem__, bool),
        "score": (lambda cell: float(cell or "nan"), np.float64),
    }
    try:
        columns = zip(*lines, strict=True) if lines else ((),) * len(ISSUE_COLUMNS)
        found: dict[str, Any] = {}
        for (field, kind), cells in zip(ISSUE_COLUMNS.values(), columns, strict=True):
            if kind == "derived":  # from what another column holds
                continue
            value, dtype = read[kind]
            found[field] = np.array([value(cell) for cell in cells], dtype=dtype)
        found["ids"] = RowIds(found["ids"], id_kind, id_column)
        found["items"] = tuple(found["items"]) if has_items else None
        return ReviewRows(classes=tuple(classes), item_kind=item_kind, **found)
    except (KeyError, OverflowError, ValueError) as error:
        raise ValueError(f"{path} was changed ({error}): run the audit again.") from error


def _items(rows: ReviewRows) -> Iterator[str]:
    return map(rows.item, range(rows.n_rows))


def _row_findings(rows: ReviewRows, summary: ReviewSummary) -> Iterator[tuple[str, ...]]:
    ids, nobody = rows.id_texts(), ("", "")

    def named(row: int) -> tuple[str, str]:
        return ids[row], rows.label_name(int(rows.given_labels[row]))

    for finding in summary.findings:
        none = np.zeros(0, np.intp)
        related = finding.related or (none,) * len(finding.rows)
        groups = [""] * len(finding.rows) if finding.groups is None else finding.groups.tolist()
        found = zip(groups, finding.rows.tolist(), finding.scores.tolist(), related, strict=True)
        for group, row, score, others in found:
            other = named(int(others[0])) if len(others) else nobody
            said = "" if math.isnan(score) else repr(score)
            yield finding.name, str(group), *named(row), *other, said


def _class_findings(rows: ReviewRows, summary: ReviewSummary) -> Iterator[tuple[str, ...]]:
    for pair in summary.alike_classes:
        first, second = rows.classes[pair.first], rows.classes[pair.second]
        yield "classes alike", "", "", first, "", second, repr(pair.mixing)
