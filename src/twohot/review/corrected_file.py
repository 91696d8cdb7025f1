"""Copies of a user's files with corrected labels.

A file is read twice. First, its ids and labels are compared with the ids and labels of the audit;
an error is raised if they differ. Then the file is copied. Rows of the file and of the audit are
matched by id.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot.base import NO_LABEL, ArgumentError, IntArray, counted, first_few
from twohot.review.decisions import Applied
from twohot.review.own_file import OLD_LABELS, OwnFile, open_own_file
from twohot.review.records import ReviewRows
from twohot.tables import COLUMN, PATH, PartFolder, RowIds, both_meant, pick


@dataclass(frozen=True)
class LabelReading:
    """Comparison of a column with the labels of an audit, to find the column of labels."""

    name: str  # name of the column
    by_name: bool  # whether cells are names of classes; otherwise they are positions of classes
    n_different: int = 0  # number of rows in which the column differs from the audited label
    example: str = ""  # the first such row, as text for an error message

    def of_more(self, cells: Sequence[str], rows: ReviewRows) -> "LabelReading":
        """Compare more cells with the labels of `rows`; return the comparison so far."""
        spelling, classes = self.spelling(rows.classes), {*self.spelling(rows.classes)}
        different = [
            row
            for row, (cell, code) in enumerate(zip(cells, rows.given_labels.tolist(), strict=True))
            for label in [rows.spellings.get(cell, cell) if self.by_name else cell]
            # Any text that is not a class may mean "no label".
            if (label in classes if code == NO_LABEL else label != spelling[code])
        ]
        example = self.example
        if different and not example:
            row = different[0]
            seen = f"in row {rows.ids[row]} the column {self.name!r} has {cells[row]!r}"
            example = f"{seen}, but the audit has {rows.label_name(rows.given_labels[row])!r}"
        return replace(self, n_different=self.n_different + len(different), example=example)

    def spelling(self, classes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the text of each class in the file: the name of the class, or its position."""
        return classes if self.by_name else tuple(map(str, range(len(classes))))


def write_corrected_file(
    source: Path,
    target: Path,
    rows: ReviewRows,
    applied: Applied,
    *,
    label_column: str | None = None,
    drop_excluded: bool = False,
) -> "CorrectedFile":
    r"""Write a copy of a user's file with corrected labels; a new column has the old labels.

    `source` is the CSV or Parquet file with the audited labels. `label_column` is the name of its
    label column; by default, it is the column that equals the audited labels. Excluded rows lose
    their label. With `drop_excluded`, excluded rows are left out, so later rows change position.

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
    options: dict[str, Any] = {"label_column": label_column, "drop_excluded": drop_excluded}
    file = CorrectedFile([open_own_file(source)], rows, applied, **options)
    file.write(0, target)
    return file


class CorrectedFile:
    """A user's file in one or more parts, which can be copied one by one with corrected labels.

    The options are those of `write_corrected_file`.
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
        reading = _choose_reading(self._readings(label_column), parts[0].path)
        self.by_name, self.label_column = reading.by_name, reading.name
        self.before_column = parts[0].before  # for the old labels
        self.n_not_audited = int(self.bounds[-1]) - rows.n_rows  # rows whose label stays unchanged
        self.spelling = reading.spelling(applied.classes)  # text of each class in the file
        self.new_classes = self.spelling[len(rows.classes) :]
        for name in self.new_classes:
            parts[0].check_cell(self.label_column, name)

    def write(self, number: int, target: Path | str) -> None:
        """Write the corrected copy of a part."""
        self.parts[number].write(target, self.label_column, self._cells(number))

    def write_missing(self, folder: PartFolder, done: Callable[[], None]) -> None:
        """Write the parts that a folder lacks, and call `done` after each part."""
        for number in folder.missing():
            self.write(number, folder.path_of(number))
            done()

    def _cells(self, number: int) -> list[str | None]:
        """Return the corrected labels of a part as text; None for a row to leave out."""
        place, audited = self._audited(number)
        named = dict(zip(self.applied.classes, self.spelling, strict=True))
        # Merged spellings are replaced in all rows, even in rows that were not audited.
        merged = {**self.rows.spellings} if self.by_name else {}
        merged |= {named[old]: named[new] for old, new in self.applied.spellings.items()}
        before = self.parts[number].cells(self.label_column)
        cells: list[str | None] = [merged.get(cell, cell) for cell in before]
        labels = self.applied.labels[audited]
        for changed in np.flatnonzero(labels != self.rows.given_labels[audited]):
            code = labels[changed]
            cells[place[changed]] = "" if code == NO_LABEL else self.spelling[code]
        if self.drop_excluded:
            for row in place[self.applied.excluded[audited]]:
                cells[row] = None
        return cells

    def _readings(self, chosen: str | None) -> list[LabelReading]:
        """Compare each column with the audited labels, by class names and by class positions.

        Raise unless every audited row occurs exactly once in the file.
        """
        first = self.parts[0]
        # Skip columns with old labels from earlier corrections.
        names = [name for name in first.candidates if not OLD_LABELS.fullmatch(name)]
        if chosen is not None:
            pick("label_column", chosen, (), dict.fromkeys(first.names, np.empty(0)))
            names = [chosen]
        readings = {(name, by): LabelReading(name, by) for name in names for by in (True, False)}
        n_times = np.zeros(self.rows.n_rows, dtype=np.intp)  # how often each audited row occurs
        for number, part in enumerate(self.parts):
            place, audited = self._audited(number)
            np.add.at(n_times, audited, 1)
            rows = self.rows.take(audited)
            for name in names:
                cells = np.array(part.cells(name), dtype=object)[place].tolist()
                for key in ((name, True), (name, False)):
                    readings[key] = readings[key].of_more(cells, rows)
        for is_wrong, verb in ((n_times == 0, "lacks"), (n_times > 1, "repeats")):
            wrong = np.flatnonzero(is_wrong)
            if wrong.size:
                ids = self.rows.ids
                few = f"{counted(wrong.size, 'row')} of the audit ({first_few(ids[wrong])})"
                problem = f"{verb} {few}; the ids of the audit are {ids.in_words()}"
                raise ArgumentError("to", problem, "pass the audited files.")
        return list(readings.values())

    def _audited(self, number: int) -> tuple[IntArray, IntArray]:
        """Return the positions of audited rows in a part, and in the audit."""
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
        raise ArgumentError({"to": file.path}, problem, "pass the folder that was audited.")
    if ids.kind == COLUMN and ids.column not in file.names:
        problem = f"has the columns {first_few(file.names)}, but no column {ids.column!r} of ids"
        raise ArgumentError({"to": file.path}, problem, "pass the file that was audited.")


def _choose_reading(readings: Sequence[LabelReading], path: Path) -> LabelReading:
    """Return the comparison without differences; raise unless exactly one column has the labels."""
    equal = [each for each in readings if not each.n_different]
    names = list(dict.fromkeys(each.name for each in equal))
    if len(names) > 1:
        raise both_meant("label_column", *names[:2])
    if equal:
        return equal[0]
    problem = "has no column of text or whole numbers, which could be labels"
    advice = "name the column by {label_column}."
    if readings:
        best = min(readings, key=lambda reading: reading.n_different)
        problem = f"has other labels than the audit ({best.example})"
        advice = (
            "pass the audited file, name its label column by {label_column}, or repeat the audit."
        )
    raise ArgumentError({"to": path}, problem, advice, label_column=...)
