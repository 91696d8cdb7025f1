"""Which labels are wrong, what they should be, and how sure that is."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from twohot._types import FloatArray, IntArray, Matrix
from twohot._validation import check_count, check_known_labels, check_soft_targets, check_within
from twohot.audit._rows import LabelledRows, check_label_column, check_labelled_rows
from twohot.audit.label_issues import LabelIssues
from twohot.audit.selection import AutoProbe
from twohot.audit.verdict import (
    CLOSE,
    Evidence,
    count_transitions,
    decide,
    join,
    most_doubtful,
    precise,
    weigh,
)

# Rows whose probabilities are held at once.
BLOCK_ROWS = 10_000

# A class with fewer labels than this is never flagged: nothing else says what it looks like.
FEWEST_ROWS = 2


def find_label_issues(
    X: Matrix,
    y: ArrayLike,
    *,
    probe: Any = None,
    probabilities: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    budget: int | None = None,
    precision: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    report: Callable[[str], None] | None = None,
) -> LabelIssues:
    """Find the labels that are wrong, and what they should be.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame of shape (n_samples, n_features)
        None if `probabilities` are given.
    y : array of shape (n_samples,)
        Labels. Rows whose label is None, NaN or empty are predicted and never counted.
    probe : fitted classifier, optional
        Who judges: anything with `predict_proba` and `classes_`. By default an `AutoProbe` is
        fitted.
    probabilities : array of shape (n_samples, n_classes), optional
        A user's own probabilities, in the place of a probe: best those of a model that has not
        seen the row.
    classes : array of shape (n_classes,), optional
        The labels of the columns of `probabilities`; by default those of `y`, sorted.
    budget : int, optional
        Flag so many rows, the most doubtful ones: what somebody has time to look at.
    precision : float, optional
        Flag as many rows as keep the expected share of truly wrong labels among them at this.
    n_jobs, random_state
        Of the `AutoProbe`.
    report : callable, optional
        Is called with a line for everything that was tried.

    Returns
    -------
    LabelIssues
        One row a sample: `is_label_issue`, `label_quality`, `given_label`, `predicted_label`,
        `second_label`, `confidence`, `is_undecided`; and `noise_rate`, `noise_matrix`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import find_label_issues
    >>> from twohot.features import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y, symmetric(10, 0.3), random_state=0)
    >>> issues = find_label_issues(X, noisy.given_labels)
    >>> found = issues["is_label_issue"]
    >>> print(f"{(found & noisy.flipped).sum() / noisy.flipped.sum():.0%} of the errors found")
    99% of the errors found
    >>> print(f"{noisy.flipped[found].mean():.0%} of what was flagged is wrong")
    95% of what was flagged is wrong
    """
    if probe is not None and probabilities is not None:
        raise ValueError("probe and probabilities both say who judges: pass one of them.")
    if budget is not None and precision is not None:
        raise ValueError("budget and precision both say how many to flag: pass one of them.")
    if probabilities is not None:
        names, labels = check_label_column(y, classes)
        rows = check_soft_targets(probabilities, len(labels))
        if rows.shape[1] != len(names):
            raise ValueError(
                f"probabilities has {rows.shape[1]} columns for {len(names)} classes: pass one "
                "column a class, and name them by classes if y does not have them all."
            )
        blocks = _stored_blocks(rows)
    else:
        data = check_labelled_rows(X, y)
        if probe is None:
            probe = _fit_probe(data, n_jobs, random_state, report)
        names, labels = _in_order_of(probe, data)
        blocks = _probe_blocks(probe, data.X)
    evidence = _collect(blocks, labels)
    return _issues(names, labels, evidence, budget=budget, precision=precision, probe=probe)


def _fit_probe(
    data: LabelledRows, n_jobs: int | None, random_state: Any, report: Callable[[str], None] | None
) -> AutoProbe:
    """Return a probe chosen and fitted on the rows that have a label."""
    probe = AutoProbe(n_jobs=n_jobs, random_state=random_state)
    told = data.labelled
    X = data.X if told.all() else data.X[np.flatnonzero(told)]
    return probe.fit_reporting(X, data.classes[data.labels[told]], report)


def _in_order_of(probe: Any, data: LabelledRows) -> tuple[NDArray[Any], IntArray]:
    """Return the classes of a probe, and where each given label stands among them."""
    names = np.asarray(probe.classes_)
    check_known_labels(data.classes, names)
    place = np.append(np.searchsorted(names, data.classes), -1)
    return names, place[data.labels]


def _probe_blocks(probe: Any, X: Matrix) -> Iterator[FloatArray]:
    for first in range(0, X.shape[0], BLOCK_ROWS):
        yield _probabilities(probe, X[first : first + BLOCK_ROWS])


def _probabilities(probe: Any, X: Matrix) -> FloatArray:
    """Return outputs; of an AutoProbe sharpened to the temperature that held-out rows ask for."""
    outputs: FloatArray = np.asarray(probe.predict_proba(X))
    temperature = getattr(probe, "temperature_", 1.0)
    if temperature >= 1:
        return outputs
    sharp = outputs ** (1 / temperature)
    sharper: FloatArray = sharp / sharp.sum(axis=1, keepdims=True)
    return sharper


def _stored_blocks(rows: Matrix) -> Iterator[FloatArray]:
    for first in range(0, rows.shape[0], BLOCK_ROWS):
        block = rows[first : first + BLOCK_ROWS]
        yield np.asarray(block.toarray() if sp.issparse(block) else block, dtype=np.float64)


def _collect(blocks: Iterator[FloatArray], labels: IntArray) -> Evidence:
    parts, first = [], 0
    for block in blocks:
        parts.append(weigh(block, labels[first : first + len(block)]))
        first += len(block)
    return join(parts)


def _issues(
    names: NDArray[Any],
    labels: IntArray,
    evidence: Evidence,
    *,
    budget: int | None,
    precision: float | None,
    probe: Any,
) -> LabelIssues:
    told = labels >= 0
    sizes = np.bincount(labels[told], minlength=len(names))
    eligible = told & (sizes[labels] >= FEWEST_ROWS)
    verdict = decide(evidence.margin, eligible)
    flagged = verdict.is_issue
    true = np.where(flagged, evidence.first, labels)[told]
    if budget is not None:
        flagged = most_doubtful(verdict.quality, eligible, check_count("budget", budget, 0))
    elif precision is not None:
        share = check_within("precision", precision, 0, 1)
        flagged = precise(verdict.quality, eligible, share)
    return LabelIssues(
        is_label_issue=flagged,
        label_quality=verdict.quality,
        given_label=np.array([*names.tolist(), None], dtype=object)[labels],
        predicted_label=names[evidence.first],
        second_label=names[evidence.second],
        confidence=evidence.confidence,
        is_undecided=evidence.runner_up * CLOSE > evidence.confidence,
        classes=names,
        noise_rate=verdict.noise_rate,
        noise_matrix=count_transitions(true, labels[told], len(names)),
        messages=_messages(names, sizes, told),
        probe=probe,
    )


def _messages(names: NDArray[Any], sizes: IntArray, told: NDArray[np.bool_]) -> tuple[str, ...]:
    said = []
    if not told.all():
        said.append(f"{np.count_nonzero(~told)} rows have no label: predicted, and not counted.")
    single = names[sizes == 1].tolist()
    if single:
        shown = ", ".join(str(name) for name in single[:5])
        said.append(
            f"{len(single)} classes have one label only ({shown}): kept and never flagged, "
            "because nothing else says what they look like."
        )
    return tuple(said)
