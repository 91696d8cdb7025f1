"""Which labels are wrong, what they should be, and how sure that is."""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot._checks.labels import Labels, check_two_classes, code_labels, label_notes
from twohot._checks.messages import ArgumentError
from twohot._checks.numbers import check_count, check_within
from twohot._types import FloatArray, Matrix
from twohot.audit.audit_notes import learnt_by_heart, row_notes, tells_nothing, unclear_notes
from twohot.audit.audited_classes import OfferedClasses, offered_classes
from twohot.audit.chunked_issues import find_chunked_issues
from twohot.audit.class_probabilities import (
    column_classes,
    given_blocks,
    probe_blocks,
    probe_classes,
)
from twohot.audit.issue_ids import audited_ids, repeated_index_note
from twohot.audit.issue_table import LabelIssues
from twohot.audit.judged_rows import judge_labels
from twohot.audit.opinions import given_opinions
from twohot.audit.partly_labelled import check_sliceable, naming_rows
from twohot.audit.two_likeliest import CLOSE
from twohot.audit.verdict import LabelVerdict, reach_verdict
from twohot.rows.chunked import is_dask
from twohot.select.auto_probe import AutoProbe
from twohot.tables.frames import check_same_index, pandas_index


def find_label_issues(
    X: Matrix,
    y: Any,
    *,
    probe: Any = None,
    probabilities: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    budget: int | None = None,
    precision: float | None = None,
    missing: Collection[str] = (),
    ids: Any = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    callback: Callable[[str], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> LabelIssues:
    """Find the labels that are wrong, and what they should be.

    Parameters
    ----------
    X : array, memory map, sparse matrix, data frame or Dask collection of shape \
    (n_samples, n_features)
        None if `probabilities` are given. Labelled rows of an array are not copied.
    y : array, list, series or Labels of shape (n_samples,)
        Labels. Rows without one (None, NaN, NA, empty or blank text) are predicted and never
        counted. Classes of a `Labels` record keep their order, with rows or without.
    probe : fitted classifier, optional
        Who judges: anything with `predict_proba` and `classes_`, matched with labels by their
        text, so that 2 is "2". If it has a method `predict_calibrated_proba`, that is called
        instead. By default an `AutoProbe` is fitted, and every row is judged without its label.
    probabilities : array of shape (n_samples, n_classes), optional
        A user's own probabilities, in the place of a probe: best those of a model that has not
        seen the row.
    classes : array of shape (n_classes,), optional
        The labels of the columns of `probabilities`; by default the names that a data frame gives
        them, else the labels of `y` in order. For text that is a number one of these is needed.
    budget : int, optional
        Flag at most this many labels, the most doubtful ones: what somebody has time to look at.
        Fewer, if no more labels have a likelier class.
    precision : float, optional
        Flag as many labels as keep the expected share of truly wrong ones among them at this, as
        far as that can be promised: doubts that may be overlap of classes do not count, and where
        noise differs between classes they count by the `confidence` in the suggestion; those of
        classes with fewer than ten labels do not, if a probe is fitted on them. That may be more
        labels than are flagged by default.
    missing : collection of str
        Texts that mean no label, as "NA": they are classes otherwise.
    ids : array, list or RowIds of shape (n_samples,), optional
        What the rows are called, `table.ids` for instance; by default the index of a pandas X or y,
        else their positions.
    n_jobs, random_state
        Of the `AutoProbe`.
    callback : callable, optional
        Is called with a line for every candidate that was tried. By default a notebook shows a bar.
    checkpoint : path, optional
        File of what the `AutoProbe` has finished, as for its `fit`.

    Returns
    -------
    LabelIssues, or LazyLabelIssues of a Dask collection
        One row per sample: `is_label_issue`, `label_quality`, `probability_wrong`, `given_label`,
        `predicted_label`, `second_label`, `confidence`, `second_confidence`, `is_undecided`; and
        `noise_rate`, `noise_interval`, `corruption`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import find_label_issues
    >>> from twohot.noise import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y, symmetric(10, 0.3), random_state=0)
    >>> issues = find_label_issues(X, noisy.given_labels)
    >>> found = issues["is_label_issue"]
    >>> bool(found[noisy.flipped].mean() > 0.95)  # of the wrong labels are found
    True
    >>> bool(noisy.flipped[found].mean() > 0.93)  # of the flagged labels are wrong
    True
    """
    _check_request(probe, probabilities, classes)
    check_flagging(budget, precision)
    if is_dask(X):
        _check_chunked(probe=probe, probabilities=probabilities, ids=ids, classes=classes)
        lazy = find_chunked_issues(
            X,
            y,
            probe=AutoProbe(n_jobs=n_jobs, random_state=random_state),
            missing=missing,
            flag=lambda verdict, learnt: _flags(verdict, budget, precision, learnt=learnt),
            doubts=lambda verdict, labels, flagged: unclear_notes(
                verdict, labels, precision, flagged
            ),
            messages=row_notes,
            callback=callback,
            checkpoint=checkpoint,
        )
        return cast(LabelIssues, lazy)  # the same columns and estimates
    given = code_labels(y, missing=missing)
    if probabilities is None:
        if X is None:
            raise ArgumentError("", "X is None", "pass features, or probabilities in their place.")
        X = check_sliceable(X, given)
    row_ids = audited_ids(X, y, ids, len(given.codes))
    check_same_index("probabilities", probabilities, "y", pandas_index(y))
    # Coded as the columns of the probabilities are; the result is coded as the labels came.
    labels = given.present()
    if probabilities is not None:
        labels = given.among(column_classes(probabilities, y, given, classes=classes))
    elif probe is not None:
        labels = given.among(probe_classes(probe))
    check_two_classes(labels)
    said, told = cast(tuple[str, ...], ()), True
    with naming_rows(X, row_ids):
        if probabilities is not None:
            blocks = given_blocks(probabilities, labels)
            verdict, said, told = _judge_given(labels, None, blocks)
        elif probe is not None:
            blocks = probe_blocks(probe, X, len(labels.codes))
            verdict, said, told = _judge_given(labels, probe, blocks)
        else:
            probe = AutoProbe(n_jobs=n_jobs, random_state=random_state)
            verdict = judge_labels(probe, X, labels, callback, checkpoint)
    offered = offered_classes(given, labels.classes, in_order=isinstance(y, Labels))
    notes = (*label_notes(given.present()), *repeated_index_note(row_ids))
    by_nearest = verdict.trust.by_nearest
    messages = (*said, *row_notes(labels, probe, by_nearest=by_nearest), *notes)
    learnt = told and (by_nearest or getattr(getattr(probe, "choice_", None), "learnt", True))
    found = _issues(
        labels, verdict, offered, budget, precision, learnt=learnt, probe=probe, messages=messages
    )
    return replace(found, ids=row_ids)


def _judge_given(
    labels: Labels, probe: Any, blocks: Iterator[FloatArray]
) -> tuple[LabelVerdict, tuple[str, ...], bool]:
    """Return the verdict by given probabilities, what to say, and whether they tell anything."""
    opinions = given_opinions(blocks)
    predicted = opinions.outputs.argmax(axis=1)
    nothing = tells_nothing(labels, predicted)
    said = (*learnt_by_heart(labels, probe, predicted), *nothing)
    return reach_verdict(opinions, labels), said, not nothing


def check_flagging(budget: int | None, precision: float | None) -> None:
    """Raise if how many rows to flag is not said once, or not in numbers that make sense."""
    if budget is not None and precision is not None:
        both = {"budget": budget, "precision": precision}
        raise ArgumentError(both, "both say how many to flag", "pass one.")
    if budget is not None:
        check_count("budget", budget, 0)
    if precision is not None:
        check_within("precision", precision, 0, 1)


def _check_request(probe: Any, probabilities: ArrayLike | None, classes: ArrayLike | None) -> None:
    """Raise if who judges is said twice, or columns are named that nobody has."""
    if probe is not None and probabilities is not None:
        raise ArgumentError("", "probe and probabilities both say who judges", "pass one of them.")
    if classes is not None and probabilities is None:
        problem = "names the columns of probabilities, which are not given"
        raise ArgumentError("classes", problem, "pass both or none.")


def _issues(
    labels: Labels,
    verdict: LabelVerdict,
    offered: OfferedClasses,
    budget: int | None,
    precision: float | None,
    *,
    learnt: bool,
    messages: tuple[str, ...],
    probe: Any,
) -> LabelIssues:
    candidates, codes = verdict.candidates, labels.codes
    flagged = _flags(verdict, budget, precision, learnt=learnt)
    return LabelIssues(
        is_label_issue=flagged,
        label_quality=1 - verdict.doubt,
        given=offered.codes(codes),
        predicted=offered.codes(candidates.first),
        second=offered.codes(candidates.second),
        confidence=candidates.confidence,
        second_confidence=candidates.runner_up,
        is_undecided=candidates.runner_up * CLOSE > candidates.confidence,
        classes=offered.names,
        noise_rate=verdict.noise_rate,
        noise_interval=verdict.noise_interval if learnt else (0.0, 1.0),
        corruption=offered.corruption(verdict.corruption),
        # Where nothing was learnt there is no more to say.
        messages=(
            *(unclear_notes(verdict, labels, precision, flagged) if learnt else ()),
            *messages,
        ),
        probe=probe,
    )


def _flags(
    verdict: LabelVerdict, budget: int | None, precision: float | None, *, learnt: bool
) -> NDArray[np.bool_]:
    """Return the labels to look at: as many as is asked for, or as make the best F1."""
    if budget is not None:
        return verdict.flag_within(budget)
    if not learnt:  # and nothing is known
        return np.zeros_like(verdict.eligible)
    return verdict.flagged if precision is None else verdict.flag_for(precision)


def _check_chunked(**arguments: Any) -> None:
    """Raise if something is asked for that rows in chunks cannot have yet."""
    for name, value in arguments.items():
        if value is not None:
            problem = f"{name} is given, and X is in chunks of Dask"
            raise ArgumentError("", problem, "leave it out, or pass X as an array.")
