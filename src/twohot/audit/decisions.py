"""What a person decided in a review, and the labels that follow from it.

The browser exports one line per decided row, with these columns in any order:

    report            name of the report that was reviewed
    row               number of the row in the data
    decision          accept (the suggestion), reject (keep the given label), second (take the
                      second candidate), relabel (any other class)
    label             the label that follows; may be empty unless the decision is relabel
    given_label       for the reader, and checked against the audit if it is there
    suggested_label   for the reader, and checked against the audit if it is there
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from twohot._checks.labels import NO_LABEL
from twohot._checks.messages import ArgumentError, counted, first_few
from twohot._types import IntArray
from twohot.review.records import ReviewRows
from twohot.tables.csv_file import read_csv, unguarded

DECISIONS = ("accept", "reject", "second", "relabel")
REQUIRED_COLUMNS = ("report", "row", "decision", "label")
CHECKED_COLUMNS = ("given_label", "suggested_label")


@dataclass(frozen=True)
class Decision:
    """One line of a decisions file."""

    report: str  # name of the report it was made in
    row: int  # number of the row in the data
    decision: str  # one of DECISIONS
    label: str  # the label that follows; empty: what the decision says
    given_label: str | None = None  # as the reviewer saw it; None: not in the file
    suggested_label: str | None = None


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
    >>> _ = Path("decisions.csv").write_text("report,row,decision,label\nr1,7,relabel,cat\n")
    >>> read_decisions("decisions.csv")
    [Decision(report='r1', row=7, decision='relabel', label='cat', given_label=None, ...)]
    """
    header, *lines = read_csv(path) or [[]]
    _check_header(path, header)
    decisions = []
    for number, line in enumerate(lines, start=1):
        if len(line) != len(header):
            raise ValueError(
                f"{path}, decision {number} has {len(line)} fields and the header has "
                f"{len(header)}: export the decisions again, or mend the line."
            )
        fields = {name: unguarded(field) for name, field in zip(header, line, strict=True)}
        decisions.append(_decision(f"{path}, decision {number}", fields))
    return decisions


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
    >>> import numpy as np
    >>> rows = ReviewRows(
    ...     classes=("cat", "dog"),
    ...     row=np.arange(2),
    ...     given_labels=np.array([0, 1]),
    ...     suggested_labels=np.array([1, 1]),
    ...     second_labels=np.array([0, 0]),
    ...     label_quality=np.array([0.1, 0.9]),
    ...     confidence=np.array([0.8, 0.9]),
    ...     is_label_issue=np.array([True, False]),
    ...     is_undecided=np.array([False, False]),
    ... )
    >>> applied = apply_decisions(rows, [Decision(rows.report_id(), 0, "accept", "")])
    >>> applied.labels, applied.n_changed
    (array([1, 1]), 1)
    """
    report = rows.report_id()
    position = {row: i for i, row in enumerate(rows.row.tolist())}
    code = {name: i for i, name in enumerate(rows.classes)}
    outcomes: dict[int, tuple[int, str]] = {}  # position → label, decision
    for decision in decisions:
        _check_report(decision, report)
        if decision.row not in position:
            raise ValueError(
                f"row {decision.row} was decided and is not in the audit, which has "
                f"{counted(rows.n_rows, 'row')}: take the decisions exported from its report.html."
            )
        place = position[decision.row]
        _check_seen(decision, rows, place)
        label = _outcome(decision, rows, place, code)
        before = outcomes.setdefault(place, (label, decision.decision))[0]
        if before != label:
            raise ValueError(
                f"row {decision.row} was decided twice, as {rows.label_name(before)!r} and as "
                f"{rows.label_name(label)!r}: keep one of the two lines."
            )
    return _applied(rows, outcomes)


def _applied(rows: ReviewRows, outcomes: Mapping[int, tuple[int, str]]) -> Applied:
    """Return the labels with the outcomes put in place."""
    labels = np.array(rows.given_labels)
    for place, (label, _) in outcomes.items():
        labels[place] = label
    counts = Counter(decision for _, decision in outcomes.values())
    is_open = np.array(rows.is_label_issue)
    is_open[list(outcomes)] = False
    return Applied(
        labels,
        {decision: counts[decision] for decision in DECISIONS},
        int(np.sum(labels != rows.given_labels)),
        int(is_open.sum()),
    )


def _outcome(decision: Decision, rows: ReviewRows, place: int, code: Mapping[str, int]) -> int:
    """Return the label that a decision leads to."""
    if decision.label and decision.label not in code:
        raise ValueError(
            f"row {decision.row} was given the label {decision.label!r}, which is none of the "
            f"{len(code)} classes: use one of them ({first_few(rows.classes)})."
        )
    meant = {
        "accept": rows.suggested_labels,
        "reject": rows.given_labels,
        "second": rows.second_labels,
    }
    if decision.decision not in meant:
        if not decision.label:
            raise ValueError(
                f"row {decision.row} is to be relabelled and has no label: fill it in."
            )
        return code[decision.label]
    label = int(meant[decision.decision][place])
    if label == NO_LABEL and decision.decision == "second":
        raise ValueError(f"row {decision.row} has no second candidate to take: use relabel.")
    if decision.label and code[decision.label] != label:
        raise ValueError(
            f"row {decision.row}: {decision.decision} means {rows.label_name(label)!r}, but its "
            f"label says {decision.label!r}: make them agree, or use relabel."
        )
    return label


def _check_report(decision: Decision, report: str) -> None:
    if decision.report != report:
        raise ArgumentError(
            "",
            f"row {decision.row} was decided in report {decision.report!r}, and the audit's is "
            f"{report!r}",
            "pass the folder of the report that was reviewed by {audit}.",
            audit=...,
        )


def _check_seen(decision: Decision, rows: ReviewRows, place: int) -> None:
    """Raise if the labels in a line are not those of its row: lines were mixed up."""
    for name, seen, codes in (
        ("given_label", decision.given_label, rows.given_labels),
        ("suggested_label", decision.suggested_label, rows.suggested_labels),
    ):
        label = rows.label_name(int(codes[place]))
        if seen is not None and seen != label:
            raise ValueError(
                f"row {decision.row} has the {name} {seen!r} in the decisions and {label!r} in the "
                "audit: export the decisions again, their lines were mixed up."
            )


def _check_header(path: str | os.PathLike[str], header: Sequence[str]) -> None:
    missing = [name for name in REQUIRED_COLUMNS if name not in header]
    allowed = {*REQUIRED_COLUMNS, *CHECKED_COLUMNS}
    unknown = [name for name in header if name not in allowed or header.count(name) > 1]
    if missing or unknown:
        said = [f"lacks {', '.join(missing)}"] if missing else []
        if unknown:
            said.append(f"has {first_few(unknown)}, not known or repeated")
        raise ValueError(
            f"{path} {' and '.join(said)}: its columns must be {', '.join(REQUIRED_COLUMNS)}, and "
            f"may be {', '.join(CHECKED_COLUMNS)}, separated by commas."
        )


def _decision(place: str, fields: Mapping[str, str]) -> Decision:
    """Return one decision, or say what is wrong with its line."""
    row, decision = fields["row"], fields["decision"]
    if not (row.isascii() and row.isdigit()):
        raise ValueError(f"{place} has row {row!r}: pass the number of a row, from 0.")
    if decision not in DECISIONS:
        raise ValueError(f"{place} has decision {decision!r}: pass one of {', '.join(DECISIONS)}.")
    return Decision(
        fields["report"],
        int(row),
        decision,
        fields["label"],
        fields.get("given_label"),
        fields.get("suggested_label"),
    )
