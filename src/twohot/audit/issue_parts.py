"""The table of an audit as a folder of Parquet files, some rows each: written, resumed, read again.

id, item                    what a row is called, and what it came from if that is known
the columns of LabelIssues  labels by name; no label is null
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from twohot._checks.labels import NO_LABEL, Labels
from twohot._checks.messages import cause_of
from twohot._checks.numbers import check_count
from twohot._extras import load_extra
from twohot._types import IntArray
from twohot.audit.issue_table import COLUMNS, ROW_FIELDS, LabelIssues
from twohot.review.records import ReviewRows
from twohot.tables.parquet_files import ParquetFiles, open_files, read_record
from twohot.tables.part_folder import PartFolder, begin_parts, write_part
from twohot.tables.row_ids import RowIds
from twohot.tables.source_parts import names_digest

# Columns of labels, each with the field of `LabelIssues` and that of `ReviewRows` that it names.
NAMED = {
    "given_label": ("given", "given_labels"),
    "predicted_label": ("predicted", "suggested_labels"),
    "second_label": ("second", "second_labels"),
}
# Those of numbers and flags that a review needs; they have the names of its fields.
READ = ("label_quality", "confidence", "second_confidence", "is_label_issue", "is_undecided")


def issues_to_parquet(
    issues: LabelIssues, folder: Any, part_rows: int, *, force: bool
) -> list[str]:
    """Write the table to a folder, so many rows a file, and return the files."""
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
    """Write the parts that are not there yet; `done` is called after each.

    `bounds` (n_parts + 1,) are the first row of each part and the end of the last. Rows have their
    items, if these are given.
    """
    for number in folder.missing():
        first, end = bounds[number : number + 2].tolist()
        cells: dict[str, Any] = {"id": issues.ids.cells(slice(first, end))}
        if items is not None:
            cells["item"] = list(items[first:end])
        write_part(folder.path_of(number), [_arrow_table(issues[first:end], cells)])
        done()


def _arrow_table(issues: LabelIssues, cells: dict[str, Any]) -> Any:
    """Return rows as a table of pyarrow, what they are called first."""
    arrow = load_extra("pyarrow", "parquet", "Parquet files")
    # Of rows without labels, too: all files have one schema.
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
    """Return what an audit is known by: its rows, what they are called, and all that it found."""
    known = hashlib.sha256(names_digest(issues.ids).encode())
    known.update(repr(issues.classes.tolist()).encode())
    for name in ROW_FIELDS:
        known.update(np.ascontiguousarray(getattr(issues, name)).tobytes())
    return known.hexdigest()


def labels_digest(labels: Labels) -> str:
    """Return what labels are known by."""
    names = json.dumps([str(name) for name in labels.classes.tolist()])
    return hashlib.sha256(names.encode() + labels.codes.astype("<i8").tobytes()).hexdigest()


def read_issue_parts(
    folder: str,
    *,
    report: str,
    classes: Sequence[str],
    item_kind: str,
    has_items: bool,
    id_kind: str,
    id_column: str,
) -> ReviewRows:
    """Return the rows of an audit in parts, which are those of its report and more."""
    files = open_files([folder])
    try:
        ids, *items = (_cells(files, name) for name in ("id", *["item"] * has_items))
        columns = dict(_columns(files, classes))
        rows = ReviewRows(
            classes=tuple(classes),
            ids=RowIds(ids, id_kind, id_column),
            items=items[0] if items else None,
            item_kind=item_kind,
            report=report,
            **columns,
        )
    except (LookupError, ValueError, TypeError) as error:
        raise _changed(files, cause_of(error)) from error
    known = (read_record(folder) or {}).get("labels")
    if labels_digest(Labels(rows.given_labels, np.array(classes, dtype=object))) != known:
        raise _changed(files, "they hold other labels than those that were audited")
    return rows


def _columns(files: ParquetFiles, classes: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a review by the names of their fields."""
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
