"""Copies of a user's own files with corrected labels.

Rows are found by their ids. A file is read twice. First, its ids and labels are compared with those
of the audit; an error is raised if they differ. Then the file is copied.
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
    """Summary of a corrected copy: its columns, new classes, and rows that were not audited."""

    label_column: str  # the column whose labels are corrected
    before_column: str  # the column with the old labels
    n_not_audited: int  # rows that keep their label because they were not audited
    new_classes: tuple[str, ...]  # new classes as they are written in the file


@dataclass(frozen=True)
class LabelReading:
    """Comparison of a column with the labels of an audit, to find the column of labels."""

    name: str
    by_name: bool  # whether cells are class names; otherwise they are positions
    n_wrong: int = 0  # rows in which the column differs from the audited label
    example: str = ""  # for the error message: text on the first of these rows

    def of_more(self, cells: Sequence[str], rows: ReviewRows) -> "LabelReading":
        """Compare `cells` with the labels of `rows`; return the comparison of all rows so far."""
        spelling, classes = self.spelling(rows.classes), {*self.spelling(rows.classes)}
        # Any text that is not a class may mean "no label".
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
        """Return the text by which the file names each class: its name or its position."""
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
    r"""Write a copy of a user's file with corrected labels; the old ones are in a new column.

    `source` is the CSV or Parquet file of the audited labels. `label_column` is its column of
    labels, by default the one with the audited labels. `drop_excluded` leaves out excluded rows,
    which changes the positions of later rows; by default they only lose their label.

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
    """A user's file, in one or several parts, to be copied as `write_corrected_file` does.

    The parts may be in any order.
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
        """Return the summary of the file."""
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
        """Return the corrected labels of a part as text; None for a row to leave out."""
        place, audited = self._audited(number)
        spelling = self.column.spelling(self.applied.classes)
        named = dict(zip(self.applied.classes, spelling, strict=True))
        # Merged spellings are replaced in all rows, even in rows that were not audited.
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
        """Compare each column with the audited labels, by class names and by class positions."""
        first = self.parts[0]
        # Skip columns with old labels from earlier corrections.
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
        """Raise unless every audited row occurs once."""
        for is_wrong, said in ((n_found == 0, "lacks"), (n_found > 1, "has more than once")):
            wrong = np.flatnonzero(is_wrong).tolist()
            if wrong:
                few = first_few([self.rows.ids[row] for row in wrong])
                problem = f"{said} {counted(len(wrong), 'row')} of the audit ({few})"
                where = f"{problem}, where ids are {self.rows.ids.in_words()}"
                raise ArgumentError("to", where, "pass the audited files.")

    def _audited(self, number: int) -> tuple[IntArray, IntArray]:
        """Return the audited rows of a part, and their positions in the audit."""
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
    """Raise unless a file has the id column of the audit."""
    if ids.kind == PATH:
        problem = "is a file, but the audited rows are images of a folder"
        raise ArgumentError({"to": file.path}, problem, "pass that folder.")
    if ids.kind == COLUMN and ids.column not in file.names:
        problem = f"has no column {ids.column!r}, which has the ids of the audit"
        raise ArgumentError({"to": file.path}, problem, f"its columns are {first_few(file.names)}.")


def _choose_reading(read: Sequence[LabelReading], path: Path) -> LabelReading:
    """Return the comparison without a difference; raise if not exactly one column has it."""
    right = [column for column in read if not column.n_wrong]
    several = list(dict.fromkeys(column.name for column in right))
    if len(several) > 1:
        raise both_meant("label_column", *several[:2])
    if right:
        return right[0]
    if not read:
        problem = "has no column of text or whole numbers, which could be labels"
        raise ArgumentError(
            {"to": path}, problem, "name the column by {label_column}.", label_column=...
        )
    best = min(read, key=lambda column: column.n_wrong)
    problem = f"has other labels than the audited ones: {best.example}"
    advice = "pass the audited file, name its column by {label_column}, or audit it again."
    raise ArgumentError({"to": path}, problem, advice, label_column=...)
