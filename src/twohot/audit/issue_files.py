"""Tables of an audit: results and labels, with one line per row of the data, and findings.

A table is a CSV file. If the data is larger than memory, the results are a folder of Parquet files.
"""

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot.audit.issues import COLUMNS, LABELS, LabelIssues, taken_unseen
from twohot.base import NO_LABEL, IntArray, Labels, cause_of, load_extra
from twohot.review import Applied, ReviewRows, ReviewSummary
from twohot.tables import (
    ParquetFiles,
    PartFolder,
    RowIds,
    open_files,
    read_csv,
    read_record,
    write_csv,
    write_part,
)

# Columns of the table of all rows, with their field of `ReviewRows` and their type.
ISSUE_COLUMNS = {
    "id": ("ids", "text"),
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
# Rows with the same number in `group` are copies of each other. `other_id` is one of the copies, if
# possible a copy with another label.
FINDING_COLUMNS = ("finding", "group", "id", "label", "other_id", "other_label", "score")

# CSV files: numbers are written with all digits, missing values as empty cells --------------------


def audit_tables(
    rows: ReviewRows, summary: ReviewSummary
) -> dict[str, tuple[Collection[str], Iterator[tuple[str, ...]]]]:
    """Return the columns and the lines of each table of an audit, by file name."""
    # In corrected.csv, apply the suggestions that need no review. Rows without a label stay so.
    taken = taken_unseen(rows.is_label_issue, rows.is_undecided, rows.label_quality)
    corrected = np.where(taken, rows.suggested_labels, rows.given_labels)
    return {
        "issues.csv": (ISSUE_COLUMNS, _issue_lines(rows)),
        "findings.csv": (FINDING_COLUMNS, _finding_lines(rows, summary)),
        "corrected.csv": (LABEL_COLUMNS, _label_lines(rows, corrected)),
    }


def _label_lines(rows: ReviewRows, labels: IntArray) -> Iterator[tuple[str, ...]]:
    for row, (name, code) in enumerate(zip(rows.id_texts(), labels.tolist(), strict=True)):
        yield name, rows.item(row), rows.label_name(code)


def write_reviewed(
    path: Path,
    rows: ReviewRows,
    applied: Applied,
    *,
    drop_excluded: bool = False,
    spreadsheet_safe: bool = False,
) -> None:
    """Write the labels after a review, and a column of notes if there are notes.

    An excluded row is written without a label. If `drop_excluded` is True, it is omitted.
    """
    notes, rows = applied.notes, replace(rows, classes=applied.classes)
    lines = (
        (*line, notes.get(row, ""))[: None if notes else -1]
        for row, line in enumerate(_label_lines(rows, applied.labels))
        if not (drop_excluded and applied.excluded[row])
    )
    columns = (*LABEL_COLUMNS, *["note"] * bool(notes))
    write_csv(path, columns, lines, spreadsheet_safe=spreadsheet_safe)


def _issue_lines(rows: ReviewRows) -> Iterator[tuple[str, ...]]:
    write: dict[str, Callable[[Any], str]] = {
        "label": rows.label_name,
        "flag": lambda flag: str(flag).lower(),  # as pandas and polars read and write it
        "score": _number,
        "derived": _number,
    }
    columns = (
        map(write[kind], getattr(rows, field).tolist())
        for field, kind in ISSUE_COLUMNS.values()
        if kind != "text"
    )
    yield from zip(rows.id_texts(), map(rows.item, range(rows.n_rows)), *columns, strict=True)


def _number(score: float) -> str:
    return "" if math.isnan(score) else repr(score)


def _finding_lines(rows: ReviewRows, summary: ReviewSummary) -> Iterator[tuple[str, ...]]:
    ids, labels = rows.id_texts(), rows.given_labels.tolist()

    def named(row: int) -> tuple[str, str]:
        return ids[row], rows.label_name(labels[row])

    for finding in summary.findings:
        n_rows = len(finding.rows)
        related: Sequence[IntArray] = finding.related or [np.zeros(0, np.intp)] * n_rows
        groups = [""] * n_rows if finding.groups is None else finding.groups.tolist()
        columns = (groups, finding.rows.tolist(), finding.scores.tolist(), related)
        for group, row, score, others in zip(*columns, strict=True):
            other = named(int(others[0])) if len(others) else ("", "")
            yield finding.name, str(group), *named(row), *other, _number(score)
    for pair in summary.alike_classes:
        first, second = rows.classes[pair.first], rows.classes[pair.second]
        yield "classes alike", "", "", first, "", second, repr(pair.mixing)


def read_issues(path: Path, fields: Mapping[str, Any]) -> ReviewRows:
    """Return the rows of issues.csv; `fields` are the fields of summary.json."""
    header, *lines = read_csv(path) or [[]]
    if header != list(ISSUE_COLUMNS):
        problem = f"{path} has the columns {header} instead of {list(ISSUE_COLUMNS)}"
        raise ValueError(f"{problem}: run the audit again.")
    code = {"": NO_LABEL, **{name: i for i, name in enumerate(fields["classes"])}}
    read: dict[str, tuple[Any, Any]] = {
        "text": (str, object),
        "label": (code.__getitem__, np.int64),
        "flag": ({"true": True, "false": False}.__getitem__, bool),
        "score": (lambda cell: float(cell or "nan"), np.float64),
    }
    try:
        cells = list(zip(*lines, strict=True)) if lines else [()] * len(ISSUE_COLUMNS)
        columns: dict[str, Any] = {}
        for (field, kind), column in zip(ISSUE_COLUMNS.values(), cells, strict=True):
            if kind != "derived":
                value, dtype = read[kind]
                columns[field] = np.array([value(cell) for cell in column], dtype=dtype)
        return _review_rows(fields, **columns)
    except (KeyError, OverflowError, ValueError) as error:
        raise ValueError(f"{path} was changed ({error}): run the audit again.") from error


def _review_rows(
    fields: Mapping[str, Any], *, ids: Any, items: Any = None, **columns: Any
) -> ReviewRows:
    """Return `ReviewRows` with these columns; the other values are `fields` of summary.json."""
    return ReviewRows(
        classes=tuple(fields["classes"]),
        ids=RowIds(ids, fields["id_kind"], fields["id_column"]),
        items=tuple(items) if fields["has_items"] else None,
        item_kind=fields["item_kind"],
        spellings=fields.get("spellings", {}),
        **columns,
    )


# Parquet files, with the columns id, item (if known), and the columns of `LabelIssues` ------------


def write_issue_parts(
    issues: LabelIssues,
    folder: PartFolder,
    bounds: IntArray,
    *,
    items: Sequence[str] | None = None,
    done: Callable[[], None] = lambda: None,
) -> None:
    """Write the parts that are missing as Parquet files; call `done` after every file.

    `bounds` (n_parts + 1,) has the first row of every part, and at the end the number of rows. If
    `items` are given, each file has a column with them.
    """
    arrow = load_extra("pyarrow", "parquet", "Parquet files")
    # Labels are taken from the array of classes, so that all files have the same schema, also a
    # file without any label.
    classes = arrow.array(issues.classes.tolist())
    for number in folder.missing():
        first, end = bounds[number : number + 2].tolist()
        columns = {"id": arrow.array(issues.ids.cells(slice(first, end)))}
        if items is not None:
            columns["item"] = arrow.array(list(items[first:end]))
        part = issues[first:end]
        for name in COLUMNS:
            if name in LABELS:
                codes = getattr(part, name.removesuffix("_label"))
                columns[name] = classes.take(arrow.array(codes, mask=codes == NO_LABEL))
            else:
                columns[name] = arrow.array(part[name])
        write_part(folder.path_of(number), [arrow.table(columns)])
        done()


def labels_digest(labels: Labels) -> str:
    """Return the sha256 of the names of the classes and the label of every row."""
    names = json.dumps([str(name) for name in labels.classes.tolist()])
    return hashlib.sha256(names.encode() + labels.codes.astype("<i8").tobytes()).hexdigest()


def read_issue_parts(folder: str, fields: Mapping[str, Any]) -> ReviewRows:
    """Return all rows of an audit that is stored in parts; `fields` are those of summary.json."""
    files = open_files([folder])
    try:
        rows = _review_rows(fields, report=fields["report"], **dict(_part_columns(files, fields)))
        given = Labels(rows.given_labels, np.array(rows.classes, dtype=object))
        if labels_digest(given) == (read_record(folder) or {}).get("labels"):
            return rows
        problem = "their labels differ from the audited labels"
    except (LookupError, ValueError, TypeError) as error:
        problem = cause_of(error)
    where = f"{files.paths[0]} or another part was changed ({problem})"
    raise ValueError(f"{where}: run the audit again.")


def _part_columns(files: ParquetFiles, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield for each field of `ReviewRows` its name and its column, joined from all parts."""
    arrow = load_extra("pyarrow", "parquet", "Parquet files")
    compute = load_extra("pyarrow.compute", "parquet", "Parquet files")
    for name, (field, kind) in ISSUE_COLUMNS.items():
        if kind == "derived" or (name == "item" and not fields["has_items"]):
            continue
        cells = files.read_columns([name])[name]
        if kind == "label":
            names = arrow.array(fields["classes"], arrow.string())
            codes = compute.index_in(cells, value_set=names)
            if codes.null_count > cells.null_count:
                raise ValueError(f"{name} has labels that are no class")
            cells = codes.fill_null(NO_LABEL)
        column = cells.to_pylist() if arrow.types.is_string(cells.type) else cells.to_numpy()
        yield field, np.minimum(column, 1) if name == "confidence" else column
