"""Decisions of a review, and the labels that follow from them.

The review page exports decisions as a file. An excluded row loses its label, so training skips it.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    IntArray,
    check_within,
    counted,
    first_few,
    other_spellings,
)
from twohot.review.records import ReviewRows, readable
from twohot.tables import DELIMITERS, read_csv

# Decisions on a row. The label becomes the suggested label ("accept"), stays the given label
# ("reject"), or becomes the second most probable label ("second"), another class ("relabel"), a
# new class ("new_class"), or no label ("exclude").
DECISIONS = ("accept", "reject", "second", "relabel", "new_class", "exclude")
OPEN = "open"  # no decision: the line has only a note
SPELLING = "spelling"  # no decision on a row: all labels `given_label` become `label`
EXCLUDED = None  # label name of an excluded row; a row without a label has the name ""
SETTLED = "-settled"  # suffix of the report's name in final decisions, after a disagreement
MOST_NAME = 80  # maximum number of characters of a reviewer's name
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # not allowed in a reviewer's name


@dataclass(frozen=True)
class Decision:
    """One line of a decision file."""

    report: str  # name of the reviewed report
    id: str  # id of the row in the data
    decision: str  # one of DECISIONS, OPEN or SPELLING
    label: str  # the new label; may be empty unless the decision is relabel or new_class
    given_label: str | None = None  # given label that the reviewer saw; None: not in the file
    suggested_label: str | None = None  # suggested label that was shown; None: not in the file
    note: str = ""  # the reviewer's note on the row
    reviewer: str = ""  # the reviewer's name; empty: unknown

    @property
    def settles(self) -> bool:
        """Whether the decision was made on the page to settle disputed rows."""
        return self.report.endswith(SETTLED)

    def check_report(self, report: str) -> None:
        """Raise if the decision was made in another report than `report`."""
        if self.report.removesuffix(SETTLED) != report:
            what = "a spelling" if self.decision == SPELLING else f"row {self.id}"
            seen = f"{what} was decided in report {self.report!r}"
            problem = f"{seen}, but the audit has report {report!r}"
            advice = "pass the audit folder of the reviewed report by {audit}."
            raise ArgumentError("", problem, advice, audit=...)


@dataclass(frozen=True, eq=False)
class Applied:
    """Labels after a review, and counts of the decisions."""

    classes: tuple[str, ...]  # classes of the audit, then new ones
    labels: IntArray  # (n_rows,), positions in classes; NO_LABEL: no given label, or excluded
    excluded: NDArray[np.bool_]  # (n_rows,)
    notes: Mapping[int, str]  # position of a row → notes on the row
    n_decided: Mapping[str, int]  # decision (one of DECISIONS) → number of rows
    # Number of rows that have another class now, without excluded rows and merged spellings.
    n_changed: int
    n_open: int  # number of flagged rows without a decision
    spellings: Mapping[str, str] = field(default_factory=dict)  # merged spelling → its class
    n_respelt: int = 0  # number of rows whose label changed only by merged spellings


def apply_decisions(rows: ReviewRows, decisions: Iterable[Decision]) -> Applied:
    """Return the labels after a review. Rows without a decision keep their given label.

    Parameters
    ----------
    rows : ReviewRows
        The rows of the reviewed audit.
    decisions : iterable of Decision
        Decisions in any order. A row may occur twice if both decisions give the same label.

    Returns
    -------
    Applied
        The labels, and counts of the decisions.

    Raises
    ------
    ValueError
        If a decision was made in another report, has an unknown row or label, or contradicts
        another decision.

    Examples
    --------
    >>> from twohot import find_label_issues
    >>> given = ["cat", "cat", "dog", "dog"]
    >>> issues = find_label_issues(None, given, probabilities=np.eye(2)[[1, 0, 1, 1]])
    >>> rows = issues.report("report.html")
    >>> report = rows.report_id()
    >>> applied = apply_decisions(rows, [Decision(report, "0", "accept", "")])
    >>> applied.labels.tolist(), applied.n_changed
    ([1, 0, 1, 1], 1)
    >>> new_class = Decision(report, "0", "new_class", "fox", note="red")
    >>> applied = apply_decisions(rows, [new_class, Decision(report, "1", "exclude", "")])
    >>> applied.labels.tolist(), applied.classes, applied.excluded[1], applied.notes
    ([2, -1, 1, 1], ('cat', 'dog', 'fox'), np.True_, {0: 'red'})
    """
    decisions = list(decisions)
    reader = DecisionReader(rows, decisions)
    outcomes: dict[int, tuple[str | None, str]] = {}  # position of a row → label name, decision
    notes: dict[int, dict[str, None]] = {}  # position of a row → different notes in order
    for decision in decisions:
        if decision.decision == SPELLING:
            continue
        place = reader.place(decision)
        if decision.note:
            notes.setdefault(place, {})[decision.note] = None
        if decision.decision == OPEN:
            continue
        label = reader.label(decision, place)
        before = outcomes.setdefault(place, (label, decision.decision))[0]
        if before != label:
            both = f"as {in_words(before)} and as {in_words(label)}"
            raise ValueError(f"row {decision.id} was decided twice, {both}: keep one of the lines.")
    joined = {place: "\n".join(texts) for place, texts in notes.items()}
    return _applied(rows, outcomes, joined, reader.spellings)


class DecisionReader:
    """Read decisions on the rows of an audit; raise if a decision is invalid.

    `decisions` are all decisions that are applied together. If one of them merges spellings, the
    merge applies to all.
    """

    def __init__(self, rows: ReviewRows, decisions: Iterable[Decision]) -> None:
        self.rows, self.report = rows, rows.report_id()
        self.position = {name: place for place, name in enumerate(rows.id_texts())}
        self.classes = frozenset(rows.classes)
        self.spellings: dict[str, str] = {}  # merged spelling → the class that it becomes
        for decision in decisions:
            if decision.decision == SPELLING:
                self._merge(decision)
        chained = [name for name in self.spellings.values() if name in self.spellings]
        if chained:
            into = f"merged into {self.spellings[chained[0]]!r}"
            problem = f"the spelling {chained[0]!r} is {into}, but others are merged into it"
            raise ValueError(f"{problem}: merge all these spellings into one class.")

    def place(self, decision: Decision) -> int:
        """Return the position of a decision's row; raise if the reviewer saw other labels.

        The labels are compared even if the line has only a note.
        """
        decision.check_report(self.report)
        row = f"row {decision.id}"
        if decision.id not in self.position:
            few = f"{counted(len(self.position), 'row')} ({first_few(self.position)})"
            problem = f"{row} was decided but is not in the audit, which has {few}"
            advice = "export the decisions from the report.html of the audit; keep leading zeros."
            raise ValueError(f"{problem}: {advice}")
        place = self.position[decision.id]
        given, suggested, _ = self._names(place)
        for column, name in (("given_label", given), ("suggested_label", suggested)):
            seen = getattr(decision, column)
            if seen not in (None, name):
                both = f"the {column} {seen!r} in the decisions, but {name!r} in the audit"
                advice = "the lines are mixed up, so export the decisions again."
                raise ValueError(f"{row} has {both}: {advice}")
        return place

    def label(self, decision: Decision, place: int) -> str | None:
        """Return the name of the label after a decision; raise if the decision is invalid."""
        meant = self._outcome(decision, place)
        return meant if meant is EXCLUDED else self.spellings.get(meant, meant)

    def _names(self, place: int) -> list[str]:
        """Return the given, the suggested and the second label of a row."""
        columns = (self.rows.given_labels, self.rows.suggested_labels, self.rows.second_labels)
        return [self.rows.label_name(int(codes[place])) for codes in columns]

    def _outcome(self, decision: Decision, place: int) -> str | None:
        """Return the name of the label that a decision chooses, before spellings are merged."""
        row, named, made = f"row {decision.id}", decision.label, decision.decision
        if made == "new_class":
            name = named.strip()
            if not name or readable(name) != name:
                problem = f"{row} has decision new_class and label {named!r}, which is not a name"
                raise ValueError(f"{problem}: enter the name of the new class.")
            return name
        if named and named not in self.classes:
            problem = f"{row} has the label {named!r}, which is none of the {len(self.classes)}"
            few = f"use one of them ({first_few(self.rows.classes)}), or the decision new_class."
            raise ValueError(f"{problem} classes: {few}")
        if made == "relabel":
            if not named:
                raise ValueError(f"{row} has decision relabel and no label: enter the new label.")
            return named
        given, suggested, second = self._names(place)
        meant = {"accept": suggested, "reject": given, "second": second, "exclude": EXCLUDED}[made]
        if made == "second" and not meant:
            problem = f"{row} has decision second, but there is no second candidate"
            raise ValueError(f"{problem}: use decision relabel, and enter the new label.")
        if named and named != meant:
            becomes = "no label" if meant is EXCLUDED else f"the label {meant!r}"
            problem = f"{row} has decision {made}, which gives {becomes}, but label {named!r}"
            raise ValueError(f"{problem}: correct the decision or the label.")
        return meant

    def _merge(self, decision: Decision) -> None:
        """Record the spelling that a decision merges, and the class that it becomes."""
        decision.check_report(self.report)
        old, new = decision.given_label or "", decision.label
        if not {old, new} <= self.classes or not other_spellings([old, new]) or old == new:
            problem = f"the spelling {old!r} cannot be merged into {new!r}"
            advice = "name two classes of the audit that differ only in spelling."
            raise ValueError(f"{problem}: {advice}")
        if self.spellings.setdefault(old, new) != new:
            both = f"{self.spellings[old]!r} and {new!r}"
            raise ValueError(f"the spelling {old!r} is merged into {both}: keep one of the lines.")


def _applied(
    rows: ReviewRows,
    outcomes: Mapping[int, tuple[str | None, str]],
    notes: Mapping[int, str],
    spellings: Mapping[str, str],
) -> Applied:
    names = [name for name, _ in outcomes.values()]
    new = {name for name in names if name} - {*rows.classes}
    classes = (*rows.classes, *sorted(new))
    code = {name: i for i, name in enumerate(classes)}
    decided = np.fromiter(outcomes, np.intp, len(outcomes))
    # Class of the audit → class after merging; the last entry is for no label (-1).
    merged = np.array([*(code[spellings.get(name, name)] for name in rows.classes), NO_LABEL])
    given, suggested = merged[rows.given_labels], merged[rows.suggested_labels]
    is_respelt = given != rows.given_labels
    # A row needs no decision if its two labels are spellings of one class.
    is_one_class = (is_respelt | (suggested != rows.suggested_labels)) & (given == suggested)
    is_open = rows.is_label_issue & ~is_one_class
    is_open[decided] = is_respelt[decided] = False
    labels, excluded = given.copy(), np.zeros(rows.n_rows, dtype=bool)
    labels[decided] = [code[name] if name else NO_LABEL for name in names]
    excluded[decided] = [name is EXCLUDED for name in names]
    counts = Counter(decision for _, decision in outcomes.values())
    return Applied(
        classes,
        labels,
        excluded,
        notes,
        n_decided={decision: counts[decision] for decision in DECISIONS},
        n_changed=int(np.sum((labels != given) & ~excluded)),
        n_open=int(is_open.sum()),
        spellings=spellings,
        n_respelt=int(is_respelt.sum()),
    )


def accept_above(
    rows: ReviewRows, probability: float, decided: Iterable[Decision] = ()
) -> list[Decision]:
    """Return decisions that accept all suggestions with at least the given probability.

    Two probabilities must be at least `probability`: that the given label is wrong, and that the
    suggested label is right. Close calls are left for a review, as in `corrected.csv`. Rows that a
    person decided (in `decided`) are skipped.

    Examples
    --------
    >>> from twohot import find_label_issues
    >>> given = np.repeat([0, 1], 20)
    >>> issues = find_label_issues(None, given, probabilities=np.eye(2)[[1, *given[1:]]])
    >>> [made.id for made in accept_above(issues.report("report.html"), 0.3)]
    ['0']
    """
    check_within("accept_all", probability, 0, 1)
    done = {decision.id for decision in decided if decision.decision != OPEN}
    report, ids, flagged = rows.report_id(), rows.id_texts(), rows.flagged
    # Compare in the type of the scores: 0.9 in single precision is less than 0.9 in double.
    least = np.minimum(rows.confidence, 1 - rows.label_quality).astype(np.float32)[flagged]
    is_accepted = (least >= np.float32(probability)) & ~rows.is_undecided[flagged]
    accepted = (ids[row] for row in flagged[is_accepted].tolist())
    return [Decision(report, name, "accept", "") for name in accepted if name not in done]


def in_words(label: str | None) -> str:
    """Return a label as text for messages."""
    return "excluded" if label is EXCLUDED else repr(label)


# The decision file: one line per row --------------------------------------------------------------
# The columns are the fields of `Decision`, in any order. Fields with a default may be missing, as
# in files of older reports. A spreadsheet may have saved the file with semicolons or tabs.
# decision_file.mjs accepts and refuses the same files.

FIELDS = [field.name for field in fields(Decision)]
REQUIRED = [field.name for field in fields(Decision) if field.default is MISSING]


def read_decisions(path: str | os.PathLike[str]) -> list[Decision]:
    r"""Read a decision file.

    Parameters
    ----------
    path : path
        CSV file in UTF-8, with commas, semicolons or tabs as separators.

    Returns
    -------
    list of Decision
        The decisions in the order of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("decisions.csv").write_text("report,id,decision,label\nr1,7,relabel,cat\n")
    >>> read_decisions("decisions.csv")
    [Decision(report='r1', id='7', decision='relabel', label='cat', given_label=None, ...)]
    """
    header, *lines = _lines(path) or [[]]
    missing = [name for name in REQUIRED if name not in header]
    unknown = [name for name in header if name not in FIELDS]
    repeated = [name for name in FIELDS if header.count(name) > 1]
    if missing or unknown or repeated:
        problems = [f"lacks {counted(len(missing), 'column')} ({', '.join(missing)})"] * bool(
            missing
        )
        problems += [
            f"has {counted(len(unknown), 'unknown column')} ({first_few(unknown)})"
        ] * bool(unknown)
        problems += [f"repeats {counted(len(repeated), 'column')} ({first_few(repeated)})"] * bool(
            repeated
        )
        needed = f"the columns {', '.join(REQUIRED)} are required"
        optional = f"{', '.join(FIELDS[len(REQUIRED) :])} are optional"
        advice = f"{needed}, and {optional}. Separate them by commas, semicolons or tabs."
        raise ValueError(f"{path} {' and '.join(problems)}: {advice}")
    return [
        _decision(f"{path}, decision {number}", header, line)
        for number, line in enumerate(lines, start=1)
    ]


def _lines(path: str | os.PathLike[str]) -> list[list[str]]:
    """Return the lines of a file, read with the first separator that gives all columns."""
    for delimiter in DELIMITERS:
        with suppress(ValueError):  # try the next separator
            lines = read_csv(path, delimiter, is_guarded=True)
            if lines and {*REQUIRED} <= {*lines[0]}:
                return lines
    return read_csv(path, is_guarded=True)


def _decision(place: str, header: Sequence[str], line: Sequence[str]) -> Decision:
    """Return the decision of a line; raise if the line is invalid."""
    if len(line) != len(header):
        both = f"{len(line)} fields, but the header has {len(header)}"
        raise ValueError(f"{place} has {both}: export the decisions again.")
    made = Decision(**dict(zip(header, line, strict=True)))
    allowed = (*DECISIONS, OPEN, SPELLING)
    if made.decision not in allowed:
        known = ", ".join(allowed)
        raise ValueError(f"{place} has the unknown decision {made.decision!r}: use one of {known}.")
    name = made.reviewer.strip()
    if len(name) > MOST_NAME or CONTROL.search(name):
        fault = "is too long" if len(name) > MOST_NAME else "contains control characters"
        problem = f"{place} has the reviewer's name {name[:MOST_NAME]!r}, which {fault}"
        raise ValueError(f"{problem}: use one line of at most {MOST_NAME} characters.")
    return replace(made, reviewer=name)
