"""Corrected labels in a user's own file or files, each at the row that was audited.

Rows are found by their ids. All is read twice: first ids and labels, to see that they are those
that were audited, then everything, to be written again. A file that is another, or was changed
since, is refused before anything is written.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from twohot.base import NO_LABEL, ArgumentError, IntArray, counted, first_few
from twohot.review.decisions import Applied
from twohot.review.own_file import OLD_LABELS, OwnFile, open_own_file
from twohot.review.records import ReviewRows
from twohot.tables import COLUMN, PATH, PartFolder, RowIds, both_meant, pick


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

    def of_more(self, cells: Sequence[str], rows: ReviewRows) -> "LabelReading":
        """Return the reading with what contradicts it in the cells of some more rows."""
        spelling, classes = self.spelling(rows.classes), {*self.spelling(rows.classes)}
        # What means no label is none of the classes, whatever it is.
        read = [rows.spellings.get(cell, cell) if self.by_name else cell for cell in cells]
        wrong = [
            row
            for row, (cell, code) in enumerate(zip(read, rows.given_labels.tolist(), strict=True))
            if (cell in classes if code == NO_LABEL else cell != spelling[code])
        ]
        example = self.example
        if wrong and not example:
            row, given = wrong[0], rows.label_name(int(rows.given_labels[wrong[0]]))
            said = f"in row {rows.ids[row]} the column {self.name!r} has {cells[row]!r}"
            example = f"{said}, and the audit {given!r}"
        return replace(self, n_wrong=self.n_wrong + len(wrong), example=example)

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
    parts = [open_own_file(source)]
    file = CorrectedParts(
        parts, rows, applied, label_column=label_column, drop_excluded=drop_excluded
    )
    file.write(0, target)
    return file.about()


class CorrectedParts:
    """A user's file, in one part or several, that is written again with the labels of a review.

    Parameters
    ----------
    parts : sequence of OwnFile
        The file that was audited, or its parts in any order.
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
        parts: Sequence[OwnFile],
        rows: ReviewRows,
        applied: Applied,
        *,
        label_column: str | None,
        drop_excluded: bool,
    ) -> None:
        self.parts, self.rows, self.applied = parts, rows, applied
        self.drop_excluded = drop_excluded
        self.bounds = np.append(0, np.cumsum([part.n_rows for part in parts]))
        _check_id_column(rows.ids, parts[0])
        self.position = {name: number for number, name in enumerate(rows.id_texts())}
        self.column = _choose_reading(list(self._readings(label_column)), parts[0].path)
        for name in self.about().new_classes:
            parts[0].check_cell(self.column.name, name)

    def about(self) -> CorrectedFile:
        """Return which column holds what."""
        n_not_audited = int(self.bounds[-1]) - self.rows.n_rows
        new = self.column.spelling(self.applied.classes)[len(self.rows.classes) :]
        return CorrectedFile(self.column.name, self.parts[0].before, n_not_audited, new)

    def write(self, number: int, target: Path | str) -> None:
        """Write a part."""
        self.parts[number].write(target, self.column.name, self._cells(number))

    def write_missing(self, folder: PartFolder, done: Callable[[], None]) -> None:
        """Write the parts that a folder lacks; `done` is called after each."""
        for number in folder.missing():
            self.write(number, folder.path_of(number))
            done()

    def _cells(self, number: int) -> list[str | None]:
        """Return the cells of the labels as they are now; None for a row to be left out."""
        place, audited = self._audited(number)
        spelling = self.column.spelling(self.applied.classes)
        named = dict(zip(self.applied.classes, spelling, strict=True))
        # A spelling that was merged is merged in every row, audited or not.
        merged = {**self.rows.spellings} if self.column.by_name else {}
        merged |= {named[old]: named[new] for old, new in self.applied.spellings.items()}
        found = self.parts[number].cells(self.column.name)
        cells: list[str | None] = [merged.get(cell, cell) for cell in found]
        labels = self.applied.labels[audited]
        for changed in np.flatnonzero(labels != self.rows.given_labels[audited]):
            code = labels[changed]
            cells[place[changed]] = "" if code == NO_LABEL else spelling[code]
        if self.drop_excluded:
            for row in place[self.applied.excluded[audited]]:
                cells[row] = None
        return cells

    def _readings(self, chosen: str | None) -> Iterator[LabelReading]:
        """Yield how columns may be read as the labels which were audited, each in two ways."""
        first = self.parts[0]
        # What an earlier correction kept as it was is not corrected.
        names = [name for name in first.candidates if not OLD_LABELS.fullmatch(name)]
        if chosen is not None:
            pick("label_column", chosen, (), dict.fromkeys(first.names, np.empty(0)))
            names = [chosen]
        read = {(name, by): LabelReading(name, by) for name in names for by in (True, False)}
        n_found = np.zeros(self.rows.n_rows, dtype=np.intp)
        for number, part in enumerate(self.parts):
            place, audited = self._audited(number)
            np.add.at(n_found, audited, 1)
            rows = self.rows.take(audited)
            for name in names:
                cells = part.cells(name)
                found = [cells[row] for row in place.tolist()]
                for by_name in (True, False):
                    read[name, by_name] = read[name, by_name].of_more(found, rows)
        self._check_each_once(n_found)
        yield from read.values()

    def _check_each_once(self, n_found: IntArray) -> None:
        """Raise unless every row that was audited is there once."""
        for is_wrong, said in ((n_found == 0, "lacks"), (n_found > 1, "has more than once")):
            wrong = np.flatnonzero(is_wrong).tolist()
            if wrong:
                few = first_few([self.rows.ids[row] for row in wrong])
                problem = f"{said} {counted(len(wrong), 'row')} of the audit ({few})"
                where = f"{problem}, where ids are {self.rows.ids.in_words()}"
                raise ArgumentError("to", where, "pass the files that were audited.")

    def _audited(self, number: int) -> tuple[IntArray, IntArray]:
        """Return which rows of a part were audited, and where they are in the audit."""
        ids = self.rows.ids
        if ids.kind == COLUMN:
            names = list(RowIds.of_column(ids.column, self.parts[number].cells(ids.column)))
        else:
            first, end = self.bounds[number : number + 2].tolist()
            names = list(map(str, range(first, end)))
        place = [row for row, name in enumerate(names) if name in self.position]
        audited = [self.position[names[row]] for row in place]
        return np.array(place, dtype=np.intp), np.array(audited, dtype=np.intp)


def _check_id_column(ids: RowIds, file: OwnFile) -> None:
    """Raise unless a file names its rows as an audit did."""
    if ids.kind == PATH:
        problem = "is a file, and the rows that were audited are images of a folder"
        raise ArgumentError({"to": file.path}, problem, "pass that folder.")
    if ids.kind == COLUMN and ids.column not in file.names:
        problem = f"has no column {ids.column!r}, by which rows were audited"
        raise ArgumentError({"to": file.path}, problem, f"its columns are {first_few(file.names)}.")


def _choose_reading(read: Sequence[LabelReading], path: Path) -> LabelReading:
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
