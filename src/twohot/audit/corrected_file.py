"""Corrected labels in a user's own file, each at the row that was audited.

Rows are found by their ids. The labels of the file have to be those that were audited: a file that
is another, or was changed since, is refused before anything is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from twohot._checks.labels import NO_LABEL
from twohot._checks.messages import ArgumentError, first_few
from twohot._types import IntArray
from twohot.audit.decisions import Applied
from twohot.review.records import ReviewRows
from twohot.tables.column_roles import both_meant, pick
from twohot.tables.own_file import OLD_LABELS, OwnFile, open_own_file
from twohot.tables.row_ids import COLUMN, PATH, RowIds


@dataclass(frozen=True)
class CorrectedFile:
    """What was written."""

    label_column: str  # the column whose labels are corrected
    before_column: str  # the column that keeps them as they were
    n_not_audited: int  # rows of the file that keep their label, because nobody judged it
    new_classes: tuple[str, ...]  # what the file calls classes that the audit did not know


@dataclass(frozen=True)
class LabelReading:
    """A column read as the labels of an audit, and what contradicts that."""

    name: str
    by_name: bool  # whether classes are called by their names there, else by their positions
    n_wrong: int = 0  # rows whose given label is another
    example: str = ""  # one of them, in words

    def with_more(self, other: "LabelReading") -> "LabelReading":
        """Return the reading of more rows of the same column."""
        n_wrong = self.n_wrong + other.n_wrong
        return replace(self, n_wrong=n_wrong, example=self.example or other.example)

    def spelling(self, classes: tuple[str, ...]) -> tuple[str, ...]:
        """Return what the file calls each class."""
        return classes if self.by_name else tuple(map(str, range(len(classes))))


def write_corrected_file(
    source: Path,
    target: Path,
    rows: ReviewRows,
    applied: Applied,
    *,
    label_column: str | None = None,
    drop_excluded: bool = False,
) -> CorrectedFile:
    r"""Write a user's file with other labels, all else as it is, and the old labels beside.

    Parameters
    ----------
    source : path
        The CSV or Parquet file that the labels came from.
    target : path
        Where to write.
    rows : ReviewRows
        The rows that were audited.
    applied : Applied
        Their labels now. Rows that are excluded have none.
    label_column : str, optional
        The column of labels; by default the one that holds those that were audited.
    drop_excluded : bool, default=False
        Leave rows that are excluded out. Rows known by their positions are then counted otherwise.

    Returns
    -------
    CorrectedFile
        Which column holds what.

    Examples
    --------
    >>> from twohot import find_label_issues
    >>> from twohot.audit.decisions import Decision, apply_decisions
    >>> from twohot.audit.review_content import review_rows
    >>> from twohot.tables import read_table
    >>> _ = Path("pets.csv").write_text("id,x,label\nA,1.5,cat\nB,2.5,dog\nC,1,cat\n")
    >>> table = read_table("pets.csv")
    >>> issues = find_label_issues(None, table.coded, probabilities=np.eye(2)[[1, 1, 0]])
    >>> rows = review_rows(table, issues)
    >>> accepted = Decision(rows.report_id(), "A", "accept", "")
    >>> applied = apply_decisions(rows, [accepted])
    >>> write_corrected_file(Path("pets.csv"), Path("clean.csv"), rows, applied).label_column
    'label'
    >>> print(Path("clean.csv").read_text())
    id,x,label,given_label
    A,1.5,dog,cat
    B,2.5,dog,dog
    C,1,cat,cat
    <BLANKLINE>
    """
    file = open_own_file(source)
    place = _file_ids(file, rows).places_of(rows.id_texts(), "the audit")
    found = choose_reading(read_labels(file, rows, place, label_column), source)
    cells = corrected_cells(file, found, rows, applied, place, drop_excluded=drop_excluded)
    before = file.write(target, found.name, cells)
    new = found.spelling(applied.classes)[len(rows.classes) :]
    return CorrectedFile(found.name, before, len(cells) - rows.n_rows, new)


def corrected_cells(
    file: OwnFile,
    column: LabelReading,
    rows: ReviewRows,
    applied: Applied,
    place: IntArray,
    *,
    drop_excluded: bool,
) -> list[str | None]:
    """Return the cells of the labels as they are now, of all rows of a file.

    `place` says where in the file the audited rows are; None stands for a row to be left out.
    """
    spelling = column.spelling(applied.classes)
    cells: list[str | None] = [*file.cells(column.name)]
    for position in np.flatnonzero(applied.labels != rows.given_labels):
        code = applied.labels[position]
        cells[place[position]] = "" if code == NO_LABEL else spelling[code]
    if drop_excluded:
        for position in np.flatnonzero(applied.excluded):
            cells[place[position]] = None
    return cells


def _file_ids(file: OwnFile, rows: ReviewRows) -> RowIds:
    """Return the ids of the rows of a file."""
    check_id_column(rows.ids, file.path, file.names)
    if rows.ids.kind == COLUMN:
        return RowIds.of_column(rows.ids.column, file.cells(rows.ids.column))
    return RowIds.by_position(len(file.cells(file.names[0])))


def check_id_column(ids: RowIds, path: Path, names: Sequence[str]) -> None:
    """Raise unless a file with such columns names its rows as an audit did."""
    if ids.kind == PATH:
        problem = "is a file, and the rows that were audited are images of a folder"
        raise ArgumentError({"to": path}, problem, "pass that folder.")
    if ids.kind == COLUMN and ids.column not in names:
        problem = f"has no column {ids.column!r}, by which rows were audited"
        raise ArgumentError({"to": path}, problem, f"its columns are {first_few(names)}.")


def read_labels(
    file: OwnFile, rows: ReviewRows, place: IntArray, chosen: str | None
) -> list[LabelReading]:
    """Return the columns that may hold the labels which were audited; two readings of each."""
    # What an earlier correction kept as it was is not corrected.
    names = [name for name in file.names if not OLD_LABELS.fullmatch(name)]
    if chosen is not None:
        pick("label_column", chosen, (), dict.fromkeys(file.names, np.empty(0)))
        names = [chosen]
    return [
        _reading(LabelReading(name, by_name), file.cells(name), rows, place)
        for name in names
        for by_name in (True, False)
    ]


def choose_reading(read: Sequence[LabelReading], path: Path) -> LabelReading:
    """Return the column that holds the labels which were audited, or say what differs."""
    right = [column for column in read if not column.n_wrong]
    several = list(dict.fromkeys(column.name for column in right))
    if len(several) > 1:
        raise both_meant("label_column", *several[:2])
    if right:
        return right[0]
    if not read:
        problem = "has no column that looks like labels (text, or whole numbers)"
        raise ArgumentError(
            {"to": path}, problem, "name theirs by {label_column}.", label_column=...
        )
    best = min(read, key=lambda column: column.n_wrong)
    problem = f"holds other labels than those that were audited: {best.example}"
    advice = "pass the file that was audited, name its column by {label_column}, or audit it again."
    raise ArgumentError({"to": path}, problem, advice, label_column=...)


def _reading(
    column: LabelReading, cells: Sequence[str], rows: ReviewRows, place: IntArray
) -> LabelReading:
    """Return a column with what contradicts its being the labels of some rows."""
    spelling = column.spelling(rows.classes)
    found = [cells[row] for row in place.tolist()]
    wrong = _differing(found, rows.given_labels, spelling)
    if not wrong.size:
        return column
    row = int(wrong[0])
    given = rows.label_name(int(rows.given_labels[row]))
    said = f"in row {rows.ids[row]} the column {column.name!r} has {found[row]!r}"
    return replace(column, n_wrong=wrong.size, example=f"{said}, and the audit {given!r}")


def _differing(found: Sequence[str], given: IntArray, spelling: tuple[str, ...]) -> IntArray:
    # What means no label is none of the classes, whatever it is.
    classes = set(spelling)
    return np.array(
        [
            position
            for position, (cell, code) in enumerate(zip(found, given.tolist(), strict=True))
            if (cell in classes if code == NO_LABEL else cell != spelling[code])
        ],
        dtype=np.intp,
    )
