"""Rows that a person checked in a review: read for the next audit, and put into its verdict."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from twohot.base import NO_LABEL, ArgumentError, as_text, first_few
from twohot.judge import Checked, LabelVerdict, recalibrate
from twohot.review import DECISIONS, OPEN, Decision, read_decisions
from twohot.tables import frame_columns, unguarded

COLUMNS = ("id", "decision", "label", "given_label", "suggested_label")


def read_checked(checked: Any) -> Mapping[Any, Any] | list[tuple[str, str | bool]]:
    r"""Return rows and verdicts as `check_checked` takes them, of whatever a user passes.

    Parameters
    ----------
    checked : mapping, path or data frame
        A mapping stays as it is. A file of decisions, or a frame of its columns `id` and
        `decision`, and `label`, `given_label` and `suggested_label` where it has them, gives a
        pair for every decision.

    Returns
    -------
    mapping, or list of pairs
        From the id of a row to its true label. True stands where a given label was kept that the
        file does not name, False where no class of the audit is the true one: the row was
        excluded, is of a new class, or its new label is not in the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("checked.csv").write_text(
    ...     "report,id,decision,label\nr,7,relabel,cat\nr,8,exclude,\nr,9,reject,\n"
    ... )
    >>> read_checked("checked.csv")
    [('7', 'cat'), ('8', False), ('9', True)]
    """
    if isinstance(checked, Mapping):
        return checked
    is_path = isinstance(checked, str | os.PathLike)
    decisions = read_decisions(checked) if is_path else _of_frame(checked)
    verdicts = [(made.id, _verdict(made)) for made in decisions if made.decision != OPEN]
    if not verdicts:
        advice = "pass the decisions that the review page exported, or leave {checked} out."
        raise ArgumentError("checked", "holds no decision", advice, checked=...)
    return verdicts


def _of_frame(frame: Any) -> Iterable[Decision]:
    """Return the decisions that the rows of a frame hold."""
    try:
        columns = frame_columns(frame)
    except ArgumentError as error:
        problem = f"is a {type(frame).__name__}"
        advice = "pass a mapping from rows to verdicts, a data frame or the path of a CSV file."
        raise ArgumentError("checked", problem, advice) from error
    missing = [name for name in COLUMNS[:2] if name not in columns]
    if missing:
        problem = f"lacks the column {first_few(missing)}"
        advice = "pass the file of decisions that the review page exports, or its columns."
        raise ArgumentError("checked", problem, advice)
    names = [name for name in COLUMNS if name in columns]
    cells = zip(*(columns[name].tolist() for name in names), strict=True)
    known = (*DECISIONS, OPEN)
    for line in cells:
        texts = {name: unguarded(as_text(cell)) for name, cell in zip(names, line, strict=True)}
        decision = Decision(**{"report": "", "label": "", **texts})
        if decision.decision not in known:
            problem = f"has decision {decision.decision!r} for row {decision.id!r}"
            raise ArgumentError("checked", problem, f"pass one of {', '.join(known)}.")
        yield decision


def _verdict(made: Decision) -> str | bool:
    """Return the true label that follows from a decision, or whether the given one is right."""
    if made.decision in {"exclude", "new_class"}:
        return False
    named = {"accept": made.suggested_label, "reject": made.given_label}.get(made.decision)
    return made.label or named or made.decision == "reject"


def with_checked(verdict: LabelVerdict, checked: Checked) -> LabelVerdict:
    """Return the verdict with checked rows as they were checked, and the others recalibrated."""
    doubt = recalibrate(verdict.doubt, checked.rows, checked.wrong)
    first, second = verdict.first.copy(), verdict.second.copy()
    confidence, runner_up = verdict.confidence.copy(), verdict.runner_up.copy()
    named = checked.labels != NO_LABEL
    rows, true = checked.rows[named], checked.labels[named]
    second[rows] = np.where(first[rows] == true, second[rows], first[rows])
    first[rows], confidence[rows], runner_up[rows] = true, 1.0, 0.0
    share = float(np.mean(doubt[verdict.codes != NO_LABEL]))
    low, high = verdict.interval
    return replace(
        verdict,
        first=first,
        second=second,
        confidence=confidence,
        runner_up=runner_up,
        doubt=doubt,
        share=share,
        interval=(min(low, share), max(high, share)),
        checked=checked,
    )
