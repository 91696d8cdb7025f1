"""What a person decided in a review, and the labels that follow from it.

The browser exports one line per decided row. Its columns are the fields of `Decision`, in any
order.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np

from twohot._checks.labels import NO_LABEL
from twohot._checks.messages import ArgumentError, counted, first_few
from twohot._checks.numbers import check_within
from twohot._types import IntArray
from twohot.review.records import ReviewRows
from twohot.tables.csv_file import read_csv
from twohot.tables.spreadsheet_cells import unguarded

# Take the suggestion, keep the given label, take the second candidate, take any other class.
DECISIONS = ("accept", "reject", "second", "relabel")


@dataclass(frozen=True)
class Decision:
    """One line of a decisions file."""

    report: str  # name of the report that was reviewed
    id: str  # what the row is called in the data
    decision: str  # one of DECISIONS
    label: str  # the label that follows; may be empty unless the decision is relabel
    given_label: str | None = None  # as the reviewer saw it, checked against the audit;
    suggested_label: str | None = None  # likewise; None: not in the file


@dataclass(frozen=True, eq=False)
class Applied:
    """Labels after a review."""

    labels: IntArray  # (n_rows,), positions in classes; NO_LABEL where none was given
    n_decided: Mapping[str, int]  # rows by decision, of every one of DECISIONS
    n_changed: int  # rows whose label is no longer the given one
    n_open: int  # flagged rows without a decision


def read_decisions(path: str | os.PathLike[str]) -> list[Decision]:
    r"""Read the decisions that a review exported.

    Parameters
    ----------
    path : path
        CSV file in UTF-8.

    Returns
    -------
    list of Decision
        In the order of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("decisions.csv").write_text("report,id,decision,label\nr1,7,relabel,cat\n")
    >>> read_decisions("decisions.csv")
    [Decision(report='r1', id='7', decision='relabel', label='cat', given_label=None, ...)]
    """
    header, *lines = read_csv(path) or [[]]
    _check_header(path, header)
    return [
        _decision(f"{path}, decision {number}", header, [unguarded(cell) for cell in line])
        for number, line in enumerate(lines, start=1)
    ]


def apply_decisions(rows: ReviewRows, decisions: Iterable[Decision]) -> Applied:
    """Return the labels that follow from a review; what was not decided keeps its given label.

    Parameters
    ----------
    rows : ReviewRows
        The rows of the audit that was reviewed.
    decisions : iterable of Decision
        In any order; a row may stand there twice if the outcome is the same.

    Returns
    -------
    Applied
        The labels, and counts of what happened.

    Raises
    ------
    ValueError
        If a decision is for another report, for a row that is not there, for a label that is no
        class, or contradicts another one.

    Examples
    --------
    >>> from twohot import find_label_issues
    >>> from twohot.audit.review_content import review_rows
    >>> from twohot.tables import FeatureTable
    >>> given = np.array([0, 0, 1, 1])
    >>> table = FeatureTable(features=np.eye(4), labels=given, classes=("cat", "dog"))
    >>> issues = find_label_issues(None, table.coded, probabilities=np.eye(2)[[1, 0, 1, 1]])
    >>> rows = review_rows(table, issues)
    >>> applied = apply_decisions(rows, [Decision(rows.report_id(), "0", "accept", "")])
    >>> applied.labels, applied.n_changed
    (array([1, 0, 1, 1]), 1)
    """
    report = rows.report_id()
    position = {name: i for i, name in enumerate(rows.id_texts())}
    code = {name: i for i, name in enumerate(rows.classes)}
    outcomes: dict[int, tuple[int, str]] = {}  # position → label, decision
    for decision in decisions:
        if decision.report != report:
            seen = f"report {decision.report!r}, and the audit's is {report!r}"
            problem = f"row {decision.id} was decided in {seen}"
            advice = "pass the folder of the report that was reviewed by {audit}."
            raise ArgumentError("", problem, advice, audit=...)
        if decision.id not in position:
            audit = f"the audit, which has {counted(rows.n_rows, 'row')}"
            problem = f"row {decision.id} was decided and is not in {audit}"
            raise ValueError(f"{problem}: take the decisions exported from its report.html.")
        place = position[decision.id]
        label = _outcome(decision, rows, place, code)
        before = outcomes.setdefault(place, (label, decision.decision))[0]
        if before != label:
            raise ValueError(
                f"row {decision.id} was decided twice, as {rows.label_name(before)!r} and as "
                f"{rows.label_name(label)!r}: keep one of the two lines."
            )
    labels, is_open = rows.given_labels.copy(), rows.is_label_issue.copy()
    labels[list(outcomes)] = [label for label, _ in outcomes.values()]
    is_open[list(outcomes)] = False
    counts = Counter(decision for _, decision in outcomes.values())
    return Applied(
        labels,
        n_decided={decision: counts[decision] for decision in DECISIONS},
        n_changed=int(np.sum(labels != rows.given_labels)),
        n_open=int(is_open.sum()),
    )


def accept_above(
    rows: ReviewRows, probability: float, decided: Iterable[Decision] = ()
) -> list[Decision]:
    """Return decisions that accept all suggestions which are at least so probable.

    Parameters
    ----------
    rows : ReviewRows
        The rows of an audit; those that are flagged have a suggestion.
    probability : float
        Of the suggestion, from 0 to 1.
    decided : iterable of Decision
        What a person decided is not decided again.

    Examples
    --------
    >>> from twohot import find_label_issues
    >>> from twohot.audit.review_content import review_rows
    >>> from twohot.tables import FeatureTable
    >>> given = np.array([0, 0, 1, 1])
    >>> table = FeatureTable(features=np.eye(4), labels=given, classes=("cat", "dog"))
    >>> issues = find_label_issues(None, table.coded, probabilities=np.eye(2)[[1, 0, 1, 1]])
    >>> [made.id for made in accept_above(review_rows(table, issues), 0.5)]
    ['0']
    """
    check_within("accept_all", probability, 0, 1)
    taken = {decision.id for decision in decided}
    report, names = rows.report_id(), rows.id_texts()
    sure = rows.flagged[rows.confidence[rows.flagged] >= probability]
    accepted = (names[row] for row in sure.tolist())
    return [Decision(report, name, "accept", "") for name in accepted if name not in taken]


def _outcome(decision: Decision, rows: ReviewRows, place: int, code: Mapping[str, int]) -> int:
    """Return the label that a decision leads to, or say what contradicts it."""
    row, named, made = f"row {decision.id}", decision.label, decision.decision
    columns = (rows.given_labels, rows.suggested_labels, rows.second_labels)
    given, suggested, second = (int(codes[place]) for codes in columns)
    for column, label in (("given_label", given), ("suggested_label", suggested)):
        seen, name = getattr(decision, column), rows.label_name(label)
        if seen not in (None, name):
            what = f"the {column} {seen!r} in the decisions and {name!r} in the audit"
            raise ValueError(f"{row} has {what}: export them again, their lines were mixed up.")
    if named and named not in code:
        known = f"none of the {len(code)} classes: use one of them ({first_few(rows.classes)})."
        raise ValueError(f"{row} was given the label {named!r}, which is {known}")
    if made == "relabel":
        if not named:
            raise ValueError(f"{row} is to be relabelled and has no label: fill it in.")
        return code[named]
    meant = {"accept": suggested, "reject": given, "second": second}[made]
    if meant == NO_LABEL and made == "second":
        raise ValueError(f"{row} has no second candidate to take: use relabel.")
    if named and code[named] != meant:
        problem = f"{row}: {made} means {rows.label_name(meant)!r}, but its label says {named!r}"
        raise ValueError(f"{problem}: make them agree, or use relabel.")
    return meant


def _check_header(path: str | os.PathLike[str], header: Sequence[str]) -> None:
    columns = [field.name for field in fields(Decision)]
    required = [field.name for field in fields(Decision) if field.default is MISSING]
    missing = [name for name in required if name not in header]
    times = Counter(header)
    unknown = [name for name in header if name not in columns or times[name] > 1]
    if missing or unknown:
        said = [f"lacks {', '.join(missing)}"] * bool(missing)
        said += [f"has {first_few(unknown)}, not known or repeated"] * bool(unknown)
        raise ValueError(
            f"{path} {' and '.join(said)}: its columns must be {', '.join(required)}, and may be "
            f"{', '.join(columns[len(required) :])}, separated by commas."
        )


def _decision(place: str, header: Sequence[str], line: Sequence[str]) -> Decision:
    """Return one decision, or say what is wrong with its line."""
    if len(line) != len(header):
        fields_found = f"{len(line)} fields and the header has {len(header)}"
        raise ValueError(f"{place} has {fields_found}: export the decisions again.")
    cells: dict[str, Any] = dict(zip(header, line, strict=True))
    decision = cells["decision"]
    if decision not in DECISIONS:
        raise ValueError(f"{place} has decision {decision!r}: pass one of {', '.join(DECISIONS)}.")
    return Decision(**cells)
