"""Tables with one line per row of the data: what an audit says, and labels."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from twohot._checks.labels import NO_LABEL
from twohot._types import FloatArray, IntArray
from twohot.review.records import ReviewRows
from twohot.tables.csv_file import read_csv, write_csv

ISSUE_COLUMNS = (
    "row",
    "item",
    "given_label",
    "is_label_issue",
    "label_quality",
    "predicted_label",
    "second_label",
    "confidence",
    "is_undecided",
)
LABEL_COLUMNS = ("row", "item", "label")
# As pandas and polars read and write them.
BOOLEANS = {"true": True, "false": False}


def write_labels(path: str | os.PathLike[str], rows: ReviewRows, labels: IntArray) -> None:
    """Write the labels of all rows by name; no label is an empty field."""
    numbers, codes = rows.row.tolist(), labels.tolist()
    lines = ((str(numbers[i]), rows.item(i), rows.label_name(codes[i])) for i in range(rows.n_rows))
    write_csv(path, LABEL_COLUMNS, lines)


def write_issues(path: str | os.PathLike[str], rows: ReviewRows) -> None:
    """Write all rows; what is not known is an empty field."""
    write_csv(path, ISSUE_COLUMNS, _issue_lines(rows))


def read_issues(
    path: str | os.PathLike[str], *, classes: Sequence[str], item_kind: str, has_items: bool
) -> ReviewRows:
    """Return the rows that `write_issues` wrote."""
    header, *lines = read_csv(path) or [[]]
    if tuple(header) != ISSUE_COLUMNS:
        raise ValueError(
            f"{path} has the columns {header}: expected {list(ISSUE_COLUMNS)}, so run the audit "
            "again."
        )
    code = {"": NO_LABEL, **{name: i for i, name in enumerate(classes)}}
    try:
        columns = zip(*lines, strict=True) if lines else ((),) * len(ISSUE_COLUMNS)
        get = dict(zip(ISSUE_COLUMNS, columns, strict=True))
        return ReviewRows(
            classes=tuple(classes),
            row=np.array([int(field) for field in get["row"]], dtype=np.int64),
            given_labels=_codes(get["given_label"], code),
            suggested_labels=_codes(get["predicted_label"], code),
            second_labels=_codes(get["second_label"], code),
            label_quality=_floats(get["label_quality"]),
            confidence=_floats(get["confidence"]),
            is_label_issue=np.array([BOOLEANS[f] for f in get["is_label_issue"]], dtype=bool),
            is_undecided=np.array([BOOLEANS[f] for f in get["is_undecided"]], dtype=bool),
            items=get["item"] if has_items else None,
            item_kind=item_kind,
        )
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path} was changed ({error}): run the audit again.") from error


def _issue_lines(rows: ReviewRows) -> Iterator[tuple[str, ...]]:
    """Yield one line per row; numbers are written so that reading gives them back exactly."""
    words = {value: word for word, value in BOOLEANS.items()}
    columns = (
        map(str, rows.row.tolist()),
        map(rows.item, range(rows.n_rows)),
        map(rows.label_name, rows.given_labels.tolist()),
        map(words.__getitem__, rows.is_label_issue.tolist()),
        map(_number, rows.label_quality.tolist()),
        map(rows.label_name, rows.suggested_labels.tolist()),
        map(rows.label_name, rows.second_labels.tolist()),
        map(_number, rows.confidence.tolist()),
        map(words.__getitem__, rows.is_undecided.tolist()),
    )
    yield from zip(*columns, strict=True)


def _number(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def _codes(names: tuple[str, ...], code: Mapping[str, int]) -> IntArray:
    return np.array([code[name] for name in names], dtype=np.int64)


def _floats(fields: tuple[str, ...]) -> FloatArray:
    return np.array([float(field or "nan") for field in fields], dtype=np.float64)
