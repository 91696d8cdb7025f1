"""Corrected labels in a user's own file, each at the row that was audited.

Rows are found by their ids. The labels of the file have to be those that were audited: a file that
is another, or was changed since, is refused before anything is written.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot.base import NO_LABEL, ArgumentError, IntArray, counted, first_few, load_extra
from twohot.review.decisions import Applied
from twohot.review.own_file import OLD_LABELS, OwnFile, OwnParquet, open_own_file
from twohot.review.records import ReviewRows
from twohot.tables import (
    COLUMN,
    PATH,
    ParquetFiles,
    PartFolder,
    RowIds,
    both_meant,
    pick,
    write_part,
)


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
    >>> from twohot.review.decisions import Decision, apply_decisions
    >>> from twohot.audit.report import review_rows
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


# Corrected labels in a copy of Parquet files, one part for each of theirs -------------------------
# All parts are read twice: first ids and labels, to see that they are those that were audited,
# then everything, to be written again. Nothing is written before.


NOTHING = np.empty(0)  # of columns whose names alone are asked for


class CorrectedParts:
    """Parquet files that are written again with the labels of a review.

    Parameters
    ----------
    files : ParquetFiles
        Those that were audited, in any order.
    path : path
        What the user called them.
    rows : ReviewRows
        The rows that were audited.
    applied : Applied
        Their labels now.
    label_column : str, optional
        The column of labels; by default the one that holds those that were audited.
    drop_excluded : bool
        Leave rows that are excluded out.
    """

    def __init__(
        self,
        files: ParquetFiles,
        path: Path,
        rows: ReviewRows,
        applied: Applied,
        *,
        label_column: str | None,
        drop_excluded: bool,
    ) -> None:
        self.files, self.path, self.rows, self.applied = files, path, rows, applied
        self.drop_excluded = drop_excluded
        check_id_column(rows.ids, path, files.schema.names)
        self.position = {name: number for number, name in enumerate(rows.id_texts())}
        self.column = choose_reading(_together(list(self._check(label_column))), path)
        self._check_new_classes()

    def about(self) -> CorrectedFile:
        """Return which column holds what."""
        n_rows = int(self.files.bounds[-1])
        before = OwnParquet(self.path, self.files.schema.empty_table()).before
        new = self.column.spelling(self.applied.classes)[len(self.rows.classes) :]
        return CorrectedFile(self.column.name, before, n_rows - self.rows.n_rows, new)

    def write(self, folder: PartFolder, done: Callable[[], None]) -> None:
        """Write the parts that are not there yet; `done` is called after each."""
        for number in folder.missing():
            file = OwnParquet(self.path, self.files.read_part(number))
            place, audited = self._audited(number)
            applied = replace(
                self.applied,
                labels=self.applied.labels[audited],
                excluded=self.applied.excluded[audited],
            )
            cells = corrected_cells(
                file,
                self.column,
                self.rows.take(audited),
                applied,
                place,
                drop_excluded=self.drop_excluded,
            )
            write_part(folder.path_of(number), [file.changed(self.column.name, cells)])
            done()

    def _check(self, label_column: str | None) -> Iterator[list[LabelReading]]:
        """Yield for each part how its columns may be read; in the end, each row was there once."""
        names = _columns_of_labels(self.files.head())
        if label_column is not None:
            pick("label_column", label_column, (), dict.fromkeys(self.files.schema.names, NOTHING))
            names = [label_column]
        n_found = np.zeros(self.rows.n_rows, dtype=np.intp)
        for number in range(len(self.files.parts)):
            place, audited = self._audited(number)
            np.add.at(n_found, audited, 1)
            file = OwnParquet(self.path, self.files.read_part(number, names))
            yield read_labels(file, self.rows.take(audited), place, label_column)
        for is_wrong, said in ((n_found == 0, "lacks"), (n_found > 1, "has more than once")):
            wrong = np.flatnonzero(is_wrong).tolist()
            if wrong:
                few = first_few([self.rows.ids[row] for row in wrong])
                problem = f"{said} {counted(len(wrong), 'row')} of the audit ({few})"
                where = f"{problem}, where ids are {self.rows.ids.in_words()}"
                raise ArgumentError("to", where, "pass the files that were audited.")

    def _audited(self, number: int) -> tuple[IntArray, IntArray]:
        """Return which rows of a part were audited, and where they are in the audit."""
        ids = self._ids_of(number)
        place = [row for row, name in enumerate(ids) if name in self.position]
        audited = [self.position[ids[row]] for row in place]
        return np.array(place, dtype=np.intp), np.array(audited, dtype=np.intp)

    def _ids_of(self, number: int) -> list[str]:
        """Return the ids of the rows of a part."""
        ids, groups = self.rows.ids, self.files.parts[number]
        if ids.kind == COLUMN:
            cells = OwnParquet(self.path, self.files.read_part(number, [ids.column]))
            return list(RowIds.of_column(ids.column, cells.cells(ids.column)))
        first, end = self.files.bounds[[groups[0], groups[-1] + 1]].tolist()
        return list(map(str, range(first, end)))

    def _check_new_classes(self) -> None:
        """Raise if the column cannot hold a class that a reviewer named."""
        one_row = OwnParquet(self.path, self.files.head().slice(0, 1))
        for name in self.about().new_classes:
            one_row.changed(self.column.name, [name])


def _columns_of_labels(head: Any) -> list[str]:
    """Return the columns that may hold labels: neither features nor lists, by some rows."""
    kinds = load_extra("pyarrow", "parquet", "Parquet files").types
    texts = [kinds.is_string, kinds.is_large_string, kinds.is_dictionary]
    usual = [kinds.is_integer, kinds.is_boolean, *texts]
    return [
        column.name
        for column in head.schema
        if any(is_one(column.type) for is_one in usual)
        or (kinds.is_floating(column.type) and _are_whole(head[column.name].drop_null()))
    ]


def _are_whole(column: Any) -> bool:
    """Return whether numbers are whole, as classes are where some rows have none; NaN is none."""
    cells = column.to_numpy()
    return bool(np.all(np.isnan(cells) | (cells == np.floor(cells))))


def _together(parts: Sequence[Sequence[LabelReading]]) -> list[LabelReading]:
    """Return the readings of all parts as one of each column."""
    first, *others = parts
    found = list(first)
    for more in others:
        found = [one.with_more(other) for one, other in zip(found, more, strict=True)]
    return found
