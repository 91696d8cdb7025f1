"""Corrected labels in a user's own file, each at the row that was audited.

Rows are found by their ids. The labels of the file have to be those that were audited: a file that
is another, or was changed since, is refused before anything is written.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class _LabelColumn:
    """A column of the file, read as labels of the audit."""

    name: str
    by_name: bool  # whether classes are called by their names there, else by their positions
    wrong: IntArray  # positions in the audit whose given label is another


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
    >>> _ = Path("pets.csv").write_text("id,x,label\nA,1.5,cat\nB,2.5,dog\n")
    >>> table = read_table("pets.csv")
    >>> issues = find_label_issues(None, table.coded, probabilities=np.eye(2)[[1, 1]])
    >>> rows = review_rows(table, issues)
    >>> accepted = Decision(rows.report_id(), "A", "accept", "")
    >>> applied = apply_decisions(rows, [accepted])
    >>> write_corrected_file(Path("pets.csv"), Path("clean.csv"), rows, applied).label_column
    'label'
    >>> print(Path("clean.csv").read_text())
    id,x,label,given_label
    A,1.5,dog,cat
    B,2.5,dog,dog
    <BLANKLINE>
    """
    file = open_own_file(source)
    place = _file_ids(file, rows).places_of(rows.id_texts(), "the audit")
    found = _label_column(file, rows, place, label_column)
    spelling = _spelling(applied.classes, by_name=found.by_name)
    cells: list[str | None] = [*file.cells(found.name)]
    for position in np.flatnonzero(applied.labels != rows.given_labels):
        code = applied.labels[position]
        cells[place[position]] = "" if code == NO_LABEL else spelling[code]
    if drop_excluded:
        for position in np.flatnonzero(applied.excluded):
            cells[place[position]] = None
    before = file.write(target, found.name, cells)
    new = spelling[len(rows.classes) :]
    return CorrectedFile(found.name, before, len(cells) - rows.n_rows, new)


def _file_ids(file: OwnFile, rows: ReviewRows) -> RowIds:
    """Return the ids of the rows of a file."""
    if rows.ids.kind == PATH:
        problem = "is a file, and the rows that were audited are images of a folder"
        raise ArgumentError({"to": file.path}, problem, "pass that folder.")
    if rows.ids.kind == COLUMN:
        if rows.ids.column not in file.names:
            problem = f"has no column {rows.ids.column!r}, by which rows were audited"
            columns = f"its columns are {first_few(file.names)}."
            raise ArgumentError({"to": file.path}, problem, columns)
        return RowIds.of_column(rows.ids.column, file.cells(rows.ids.column))
    return RowIds.by_position(len(file.cells(file.names[0])))


def _label_column(
    file: OwnFile, rows: ReviewRows, place: IntArray, chosen: str | None
) -> _LabelColumn:
    """Return the column that holds the labels which were audited, or say what differs."""
    # What an earlier correction kept as it was is not corrected.
    names = [name for name in file.names if not OLD_LABELS.fullmatch(name)]
    if chosen is not None:
        pick("label_column", chosen, (), dict.fromkeys(file.names, np.empty(0)))
        names = [chosen]
    read = [column for name in names for column in _readings(file, name, rows, place)]
    right = [column for column in read if not column.wrong.size]
    several = list(dict.fromkeys(column.name for column in right))
    if len(several) > 1:
        raise both_meant("label_column", *several[:2])
    if right:
        return right[0]
    best = min(read, key=lambda column: column.wrong.size)
    row = int(best.wrong[0])
    cell = file.cells(best.name)[place[row]]
    given = rows.label_name(int(rows.given_labels[row]))
    problem = (
        f"holds other labels than those that were audited: in row {rows.ids[row]} the column "
        f"{best.name!r} has {cell!r}, and the audit {given!r}"
    )
    advice = "pass the file that was audited, name its column by {label_column}, or audit it again."
    raise ArgumentError({"to": file.path}, problem, advice, label_column=...)


def _readings(
    file: OwnFile, name: str, rows: ReviewRows, place: IntArray
) -> Iterator[_LabelColumn]:
    """Yield a column read as the names of classes, and as their positions."""
    cells = file.cells(name)
    found = [cells[row] for row in place.tolist()]
    for by_name in (True, False):
        spelling = _spelling(rows.classes, by_name=by_name)
        yield _LabelColumn(name, by_name, _differing(found, rows.given_labels, spelling))


def _spelling(classes: tuple[str, ...], *, by_name: bool) -> tuple[str, ...]:
    """Return what a file calls each class."""
    return classes if by_name else tuple(map(str, range(len(classes))))


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
