"""Files with one line per row of the data: the results of an audit, and labels."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from twohot.audit.issues import COLUMNS, ROW_FIELDS, LabelIssues
from twohot.base import NO_LABEL, IntArray, Labels, cause_of, check_count, load_extra
from twohot.review import Applied, ReviewRows, ReviewSummary
from twohot.tables import (
    ParquetFiles,
    PartFolder,
    RowIds,
    begin_parts,
    names_digest,
    open_files,
    read_csv,
    read_record,
    write_csv,
    write_part,
)

# Columns of issues.csv: the field of `ReviewRows` that each one holds, and its type.
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
# Rows of one group are copies of each other; `other_id` is a copy with another label, if any.
FINDING_COLUMNS = ("finding", "group", "id", "label", "other_id", "other_label", "score")


def write_labels(
    path: str | os.PathLike[str],
    rows: ReviewRows,
    labels: IntArray,
    *,
    notes: Mapping[int, str] | None = None,
    left_out: Collection[int] = (),
    spreadsheet_safe: bool = False,
) -> None:
    """Write the label of each row, and a column of notes if there are any.

    A missing label is an empty field.
    """
    found = zip(rows.id_texts(), labels.tolist(), strict=True)
    lines = (
        (name, rows.item(row), rows.label_name(code), *([notes.get(row, "")] if notes else []))
        for row, (name, code) in enumerate(found)
        if row not in left_out
    )
    columns = (*LABEL_COLUMNS, *[NOTE] * bool(notes))
    write_csv(path, columns, lines, spreadsheet_safe=spreadsheet_safe)


def write_reviewed(
    path: str | os.PathLike[str],
    rows: ReviewRows,
    applied: Applied,
    *,
    drop_excluded: bool = False,
    spreadsheet_safe: bool = False,
) -> None:
    """Write the labels after a review; an excluded row has no label, or is left out."""
    write_labels(
        path,
        replace(rows, classes=applied.classes),
        applied.labels,
        notes=applied.notes,
        left_out=set(np.flatnonzero(applied.excluded & drop_excluded).tolist()),
        spreadsheet_safe=spreadsheet_safe,
    )


def write_issues(
    path: str | os.PathLike[str], rows: ReviewRows, *, spreadsheet_safe: bool = False
) -> None:
    """Write all rows. Numbers are read back exactly; unknown values are empty."""
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
    """Write the other issues: one line per row or per pair of classes."""
    lines = (*_row_findings(rows, summary), *_class_findings(rows, summary))
    write_csv(path, FINDING_COLUMNS, lines, spreadsheet_safe=spreadsheet_safe)


def read_issues(path: str | os.PathLike[str], fields: Mapping[str, Any]) -> ReviewRows:
    """Return the rows that `write_issues` wrote, with the fields of their summary."""
    header, *lines = read_csv(path) or [[]]
    if header != list(ISSUE_COLUMNS):
        expected = f"expected {list(ISSUE_COLUMNS)}, so run the audit again."
        raise ValueError(f"{path} has the columns {header}: {expected}")
    code = {"": NO_LABEL, **{name: i for i, name in enumerate(fields["classes"])}}
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
            if kind == "derived":  # computed from another column
                continue
            value, dtype = read[kind]
            found[field] = np.array([value(cell) for cell in cells], dtype=dtype)
        items = tuple(found.pop("items"))
        return _review_rows(fields, items=items if fields["has_items"] else None, **found)
    except (KeyError, OverflowError, ValueError) as error:
        raise ValueError(f"{path} was changed ({error}): run the audit again.") from error


def _review_rows(fields: Mapping[str, Any], *, ids: Any, **columns: Any) -> ReviewRows:
    """Return rows as a summary says that they are called, in its classes."""
    return ReviewRows(
        classes=tuple(fields["classes"]),
        ids=RowIds(ids, fields["id_kind"], fields["id_column"]),
        item_kind=fields["item_kind"],
        spellings=fields.get("spellings", {}),
        **columns,
    )


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


# The table of an audit as a folder of Parquet files, some rows each: written, resumed, read again
# id, item                    what a row is called, and what it came from if that is known
# the columns of LabelIssues  labels by name; no label is null


# Columns of labels, each with the field of `LabelIssues` and that of `ReviewRows` that it names.
NAMED = {
    "given_label": ("given", "given_labels"),
    "predicted_label": ("predicted", "suggested_labels"),
    "second_label": ("second", "second_labels"),
}
# Columns of numbers and flags that a review needs, named as its fields.
READ = ("label_quality", "confidence", "second_confidence", "is_label_issue", "is_undecided")


def issues_to_parquet(
    issues: LabelIssues, folder: Any, part_rows: int, *, force: bool
) -> list[str]:
    """Write the table to a folder, `part_rows` rows per file, and return the files."""
    check_count("part_rows", part_rows, 1)
    bounds = np.append(np.arange(0, max(1, len(issues)), part_rows), len(issues))
    known = {"kind": "issues", "part_rows": part_rows, "issues": issues_digest(issues)}
    target = begin_parts(folder, known, len(bounds) - 1, force=force, name="folder")
    write_issue_parts(issues, target, bounds)
    return [target.path_of(number) for number in range(target.n_parts)]


def write_issue_parts(
    issues: LabelIssues,
    folder: PartFolder,
    bounds: IntArray,
    *,
    items: Sequence[str] | None = None,
    done: Callable[[], None] = lambda: None,
) -> None:
    """Write the missing parts; `done` is called after each.

    `bounds` (n_parts + 1,) are the first row of each part and the end of the last. `items` adds a
    column.
    """
    for number in folder.missing():
        first, end = bounds[number : number + 2].tolist()
        cells: dict[str, Any] = {"id": issues.ids.cells(slice(first, end))}
        if items is not None:
            cells["item"] = list(items[first:end])
        write_part(folder.path_of(number), [_arrow_table(issues[first:end], cells)])
        done()


def _arrow_table(issues: LabelIssues, cells: dict[str, Any]) -> Any:
    """Return rows as a table of pyarrow; `cells` are its first columns."""
    arrow = load_extra("pyarrow", "parquet", "Parquet files")
    # Also where no row has a label, so that all files have one schema.
    classes = arrow.array(issues.classes.tolist())
    columns = {name: arrow.array(values) for name, values in cells.items()}
    for name in COLUMNS:
        if name in NAMED:
            codes = getattr(issues, NAMED[name][0])
            columns[name] = classes.take(arrow.array(codes, mask=codes == NO_LABEL))
        else:
            columns[name] = arrow.array(issues[name])
    return arrow.table(columns)


def issues_digest(issues: LabelIssues) -> str:
    """Return a digest of an audit: its row ids, its classes and all results."""
    known = hashlib.sha256(names_digest(issues.ids).encode())
    known.update(repr(issues.classes.tolist()).encode())
    for name in ROW_FIELDS:
        known.update(np.ascontiguousarray(getattr(issues, name)).tobytes())
    return known.hexdigest()


def labels_digest(labels: Labels) -> str:
    """Return a digest of labels."""
    names = json.dumps([str(name) for name in labels.classes.tolist()])
    return hashlib.sha256(names.encode() + labels.codes.astype("<i8").tobytes()).hexdigest()


def read_issue_parts(folder: str, fields: Mapping[str, Any]) -> ReviewRows:
    """Return all rows of an audit in parts."""
    files, classes = open_files([folder]), fields["classes"]
    try:
        ids, *items = (_cells(files, name) for name in ("id", *["item"] * fields["has_items"]))
        columns = dict(_columns(files, classes))
        rows = _review_rows(
            fields, ids=ids, items=items[0] if items else None, report=fields["report"], **columns
        )
    except (LookupError, ValueError, TypeError) as error:
        raise _changed(files, cause_of(error)) from error
    known = (read_record(folder) or {}).get("labels")
    if labels_digest(Labels(rows.given_labels, np.array(classes, dtype=object))) != known:
        raise _changed(files, "they hold other labels than those that were audited")
    return rows


def _columns(files: ParquetFiles, classes: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a review by the name of the field."""
    arrow = load_extra("pyarrow", "parquet", "Parquet files")
    compute = load_extra("pyarrow.compute", "parquet", "Parquet files")
    for name, (_, field) in NAMED.items():
        cells = files.read_columns([name])[name]
        codes = compute.index_in(cells, value_set=arrow.array(classes, arrow.string()))
        if codes.null_count > cells.null_count:
            raise ValueError(f"{name} has labels that are no class")
        yield field, codes.fill_null(NO_LABEL).to_numpy()
    for name in READ:
        cells = files.read_columns([name])[name].to_numpy()
        yield name, np.minimum(cells, 1) if name == "confidence" else cells


def _cells(files: ParquetFiles, name: str) -> Any:
    """Return the cells of a column: an array of numbers, or a list of text."""
    column = files.read_columns([name])[name]
    is_text = load_extra("pyarrow", "parquet", "Parquet files").types.is_string(column.type)
    return column.to_pylist() if is_text else column.to_numpy()


def _changed(files: ParquetFiles, problem: str) -> ValueError:
    where = f"{files.paths[0]} or another part was changed ({problem})"
    return ValueError(f"{where}: run the audit again.")
