"""Rows that a person checked: read and validate them, and use them in the result of an audit.

A *verdict* on a row is either its true label, or the statement that its given label is right or
wrong.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    BoolArray,
    IntArray,
    as_text,
    counted,
    first_few,
    is_missing,
    plain,
)
from twohot.judge import LabelVerdict, recalibrate
from twohot.review import DECISIONS, OPEN, SPELLING, Decision, read_decisions
from twohot.tables import RowIds, frame_columns, unguarded

COLUMNS_READ = ("id", "decision", "label", "given_label", "suggested_label")  # of a decision
TRUE_LABEL = ("label", "true_label")  # column of true labels in a frame without decisions


class Given(Enum):
    """The verdict that a given label is right or wrong; unlike text, it is not a class name."""

    RIGHT = "right"
    WRONG = "wrong"


# Verdicts without the true label.
VERDICTS = {"right": True, "wrong": False, Given.RIGHT: True, Given.WRONG: False}


@dataclass(frozen=True, eq=False)
class Checked:
    """The rows that a person checked, with their true labels if known."""

    rows: IntArray  # (n_checked,), positions in the data, ascending, without repetition
    wrong: BoolArray  # (n_checked,), the given label is wrong; False for rows without given label
    labels: IntArray  # (n_checked,), true class; NO_LABEL: unknown, but not the given class


@dataclass(frozen=True)
class OutsideVerdict:
    """The verdict that none of the audited classes is right."""

    new_class: str = ""  # name of the new class; empty if the row was excluded


def read_checked(checked: Any) -> list[tuple[Any, Any]]:
    """Return pairs of row id and verdict from a mapping, series, data frame or file of decisions.

    The index of a series has the ids. A frame has the columns `id` and either `label` or
    `true_label`; or it has the columns of a file of decisions: `id`, `decision`, and optionally
    `label`, `given_label` and `suggested_label`. A decision gives one of these verdicts:

    - the true label, from `label`, or from `suggested_label` if the suggestion was accepted
    - `Given.RIGHT`, if the given label was kept and the file does not contain this label
    - an `OutsideVerdict`, if the row was excluded or has a new class
    """
    if is_keyed(checked):
        return list(checked.items())
    if isinstance(checked, str | os.PathLike):
        decisions: Iterable[Decision] = read_decisions(checked)
    else:
        columns = _columns_of(checked)
        if "decision" not in columns:
            (name,) = {*TRUE_LABEL} & {*columns}
            return list(zip(columns["id"].tolist(), columns[name].tolist(), strict=True))
        decisions = _decisions_of(columns)
    verdicts = [(made.id, _verdict(made)) for made in decisions if made.decision in DECISIONS]
    if not verdicts:
        advice = "pass the decisions that the review page exported, or leave {checked} out."
        raise ArgumentError("checked", "holds no decision", advice, checked=...)
    return verdicts


def is_keyed(checked: Any) -> bool:
    """Return whether `checked` has ids as keys: a mapping, or a pandas series."""
    return isinstance(checked, Mapping) or nw.dependencies.is_pandas_series(checked)


def _columns_of(frame: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a frame; raise unless it has either true labels or decisions."""
    try:
        columns = frame_columns(frame)
    except ArgumentError as error:
        problem = f"is a {type(frame).__name__}"
        advice = "pass a mapping from ids to verdicts, a pandas series, a data frame or a CSV file."
        raise ArgumentError("checked", problem, advice) from error
    is_labels = len({*TRUE_LABEL} & {*columns}) == 1
    if "id" not in columns or not ("decision" in columns or is_labels):
        problem = f"has the {counted(len(columns), 'column')} {first_few(columns)}"
        labels = f"id and one of {' and '.join(TRUE_LABEL)}"
        advice = f"pass the column {labels}, or all columns that the review page exports."
        raise ArgumentError("checked", problem, advice)
    return columns


def _decisions_of(columns: Mapping[str, NDArray[Any]]) -> Iterable[Decision]:
    """Yield the decisions in the rows of a frame."""
    names = [name for name in COLUMNS_READ if name in columns]
    known = (*DECISIONS, OPEN, SPELLING)
    for cells in zip(*(columns[name].tolist() for name in names), strict=True):
        texts = (unguarded(as_text(cell)) for cell in cells)
        decision = Decision(**{"report": "", "label": "", **dict(zip(names, texts, strict=True))})
        if decision.decision not in known:
            problem = f"has decision {decision.decision!r} for row {decision.id!r}"
            raise ArgumentError("checked", problem, f"pass one of {', '.join(known)}.")
        yield decision


def _verdict(made: Decision) -> str | Given | OutsideVerdict:
    """Return the verdict of a decision, as described in `read_checked`."""
    if made.decision in {"exclude", "new_class"}:
        return OutsideVerdict(made.label)
    named = {"accept": made.suggested_label, "reject": made.given_label or Given.RIGHT}
    label = made.label or named.get(made.decision)
    if not label:
        problem = f"has decision {made.decision!r} for row {made.id!r}, but no label"
        advice = "fill in the column label, or export the decisions from the review page again."
        raise ArgumentError("checked", problem, advice)
    return label


def check_checked(
    verdicts: Iterable[tuple[Any, Any]],
    given: IntArray,
    classes: NDArray[Any],
    *,
    ids: RowIds | None = None,
) -> Checked:
    """Return the checked rows, by their positions in the data.

    `verdicts` are pairs of row id and verdict. A verdict is the true label of a row; or "right",
    True or `Given.RIGHT` for a right given label; or "wrong", False or `Given.WRONG` for a wrong
    given label. If a class is called "right" or "wrong", this text means the class. A row may have
    several verdicts if they agree. `given` (n_rows,) has the given labels as positions in
    `classes`, and NO_LABEL for rows without a label. Ids are compared as text.
    """
    ids = RowIds.by_position(len(given)) if ids is None else ids
    said = [(as_text(row), plain(verdict)) for row, verdict in verdicts]
    places = _places([row for row, _ in said], ids)
    code = {as_text(name): k for k, name in enumerate(classes.tolist())}
    outcomes: dict[int, tuple[bool, int]] = {}
    for row, verdict in said:
        place = places[row]
        wrong, label = _outcome(row, verdict, int(given[place]), code)
        before, known = outcomes.get(place, (wrong, NO_LABEL))
        if before != wrong or (NO_LABEL not in (label, known) and label != known):
            problem = f"has different verdicts on row {row!r}"
            raise ArgumentError("checked", problem, "pass only one of them.")
        outcomes[place] = wrong, known if label == NO_LABEL else label
    rows = sorted(outcomes)
    wrong_rows, labels = np.array([outcomes[row] for row in rows], np.intp).reshape(-1, 2).T
    return Checked(np.array(rows, dtype=np.intp), wrong_rows.astype(bool), labels)


def _places(rows: list[str], ids: RowIds) -> dict[str, int]:
    """Return the position of each row, given by its id; each id must occur once in the data."""
    wanted = set(rows)
    places: dict[str, int] = {}
    for place, text in enumerate(ids):
        if text in wanted and places.setdefault(text, place) != place:
            problem = f"names row {text!r}, and several rows of the data have this id"
            raise ArgumentError("checked", problem, "give every row a different id.")
    if unknown := [row for row in dict.fromkeys(rows) if row not in places]:
        few = f"{counted(len(unknown), 'id')} ({first_few(unknown)})"
        verb = "is" if len(unknown) == 1 else "are"
        problem = f"has {few} that {verb} not in the data; ids of the data are {ids.in_words()}"
        advice = "leave these rows out, or pass the data to which they belong."
        if ids.are_index:
            advice = "use index values as keys; the row at position i has the key issues.ids[i]."
        raise ArgumentError("checked", problem, advice)
    return places


def _outcome(row: str, verdict: Any, given: int, code: Mapping[str, int]) -> tuple[bool, int]:
    """Return whether the given label of a row is wrong, and its true class or NO_LABEL."""
    is_outside = isinstance(verdict, OutsideVerdict)
    text = verdict.new_class if is_outside else verdict
    if not isinstance(verdict, Given):
        text = "" if is_missing(text) else as_text(text)
    if text in code:
        return given not in (NO_LABEL, code[text]), code[text]
    if is_outside:
        # In labels that were already corrected, an excluded row has no label that could be wrong.
        return given != NO_LABEL, NO_LABEL
    is_right = verdict if isinstance(verdict, bool) else VERDICTS.get(text)
    if is_right is None:
        known = f"one of the {counted(len(code), 'class', 'classes')} ({first_few(code)})"
        problem = f"has {verdict!r} for row {row!r}, which is neither {known} nor a verdict"
        advice = 'pass the true label of the row, "right" (True) or "wrong" (False).'
        raise ArgumentError("checked", problem, advice)
    if given == NO_LABEL:
        said = verdict.value if isinstance(verdict, Given) else verdict
        problem = f"has {said!r} for row {row!r}, which has no given label"
        raise ArgumentError("checked", problem, "pass its true label, or leave the row out.")
    return (False, given) if is_right else (True, NO_LABEL)


def with_checked(verdict: LabelVerdict, checked: Checked) -> LabelVerdict:
    """Return the verdict of the audit, with checked rows as decided and the others recalibrated."""
    doubt = recalibrate(verdict.doubt, checked.rows, checked.wrong)
    columns = {
        name: getattr(verdict, name).copy()
        for name in ("first", "second", "confidence", "runner_up")
    }
    first, second, confidence, runner_up = columns.values()
    named = checked.labels != NO_LABEL
    rows, true = checked.rows[named], checked.labels[named]
    second[rows] = np.where(first[rows] == true, second[rows], first[rows])
    first[rows], confidence[rows], runner_up[rows] = true, 1.0, 0.0
    # If a label is wrong and the true label is unknown, suggest the most probable other class. Its
    # probability is conditional on a wrong label.
    rows = checked.rows[checked.wrong & ~named]
    rows = rows[first[rows] == verdict.codes[rows]]
    first[rows], second[rows] = second[rows], first[rows]
    other = np.maximum(runner_up[rows], np.finfo(np.float64).tiny)
    rest = np.maximum(1 - confidence[rows], other)
    confidence[rows] = other / rest
    runner_up[rows] = np.minimum(other, rest - other) / rest  # no other class has more
    labelled = verdict.codes != NO_LABEL
    share, n_labels = float(np.mean(doubt[labelled])), np.count_nonzero(labelled)
    # The verdicts on checked rows imply exact bounds of the fraction of wrong labels.
    n_right = np.count_nonzero(labelled[checked.rows] & ~checked.wrong)
    low = max(verdict.interval[0], np.count_nonzero(checked.wrong) / n_labels)
    high = min(verdict.interval[1], 1 - n_right / n_labels)
    interval = (min(low, share), max(high, share))
    return replace(verdict, doubt=doubt, share=share, interval=interval, **columns)
