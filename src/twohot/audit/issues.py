"""Which labels are wrong, what they should be, and how sure that is."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from twohot._checks.arrays import check_soft_targets
from twohot._checks.numbers import check_count, check_within
from twohot._types import FloatArray, IntArray, Matrix
from twohot.audit._rows import check_label_column
from twohot.audit.label_issues import LabelIssues
from twohot.audit.verdict import (
    CLOSE,
    Evidence,
    count_transitions,
    decide,
    join,
    most_doubtful,
    precise,
    probability_wrong,
    weigh,
)
from twohot.select.auto_probe import AutoProbe

# Rows whose probabilities are held at once.
BLOCK_ROWS = 10_000

# A class with fewer labels than this is never flagged: nothing else says what it looks like.
FEWEST_ROWS = 2

SHOWN_CLASSES = 5  # that a message names

# Standard errors by which a probe must predict more of the labels held out than one label is.
SURE_ERRORS = 2.0


def find_label_issues(
    X: Matrix,
    y: Any,
    *,
    probe: Any = None,
    probabilities: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    budget: int | None = None,
    precision: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    callback: Callable[[str], None] | None = None,
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
        Flag so many rows, the most doubtful ones: what somebody has time to look at. Fewer, if no
        more labels have a likelier class.
    precision : float, optional
        Flag as many rows as keep the expected share of truly wrong labels among them at this, by
        Bayes' rule with the estimated noise matrix; less where the probe itself often errs.
    n_jobs, random_state
        Of the `AutoProbe`.
    callback : callable, optional
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
    _check_request(probe, probabilities, classes, budget, precision)
    if probabilities is not None:
        names, labels = check_label_column(y, classes)
        rows = check_soft_targets(probabilities, len(labels), name="probabilities", beside="y")
        if rows.shape[1] != len(names):
            raise ValueError(
                f"probabilities has {rows.shape[1]} columns for {len(names)} classes: pass one "
                "column a class, and name them by classes if y does not have them all."
            )
        blocks = _stored_blocks(rows)
    else:
        names, labels = check_label_column(y, _classes_of(probe))
        X = _check_rows(X, len(labels))
        if probe is None:
            probe = AutoProbe(n_jobs=n_jobs, random_state=random_state)
            told = np.flatnonzero(labels >= 0)
            some = X if len(told) == len(labels) else _safe_indexing(X, told)
            probe.fit(some, names[labels[told]], callback=callback)
        blocks = _probe_blocks(probe, X, len(labels))
    evidence = _collect(blocks, labels)
    return _issues(names, labels, evidence, budget=budget, precision=precision, probe=probe)


def _check_request(
    probe: Any,
    probabilities: ArrayLike | None,
    classes: ArrayLike | None,
    budget: int | None,
    precision: float | None,
) -> None:
    """Raise if arguments contradict each other, before anything is fitted."""
    if probe is not None and probabilities is not None:
        raise ValueError("probe and probabilities both say who judges: pass one of them.")
    if classes is not None and probabilities is None:
        raise ValueError(
            "classes names the columns of probabilities, which are not given: pass both or none."
        )
    check_flagging(budget, precision)


def check_flagging(budget: int | None, precision: float | None) -> None:
    """Raise if how many rows to flag is not said once, or not in numbers that make sense."""
    if budget is not None and precision is not None:
        raise ValueError(
            f"budget={budget} and precision={precision} both say how many to flag: pass one."
        )
    if budget is not None:
        check_count("budget", budget, 0)
    if precision is not None:
        check_within("precision", precision, 0, 1)


def _classes_of(probe: Any) -> Any:
    """Return the classes of a probe, None without a probe."""
    if probe is None:
        return None
    if not (hasattr(probe, "classes_") and hasattr(probe, "predict_proba")):
        raise ValueError(
            f"probe={probe!r} is not a fitted classifier with classes_ and predict_proba: fit it "
            "first, or pass None to have an AutoProbe fitted."
        )
    return probe.classes_


def _check_rows(X: Matrix, n_labels: int) -> Matrix:
    """Return X, sliceable; what is in it is for the probe to check."""
    if X is None:
        raise ValueError("X is None: pass features, or probabilities in their place.")
    if _num_samples(X) != n_labels:
        raise ValueError(
            f"y has {n_labels} labels and X has {_num_samples(X)} rows: pass one label per row, "
            "None for a row without."
        )
    return X.tocsr() if sp.issparse(X) else X


def _probe_blocks(probe: Any, X: Matrix, n_rows: int) -> Iterator[FloatArray]:
    for first in range(0, n_rows, BLOCK_ROWS):
        rows = slice(first, min(first + BLOCK_ROWS, n_rows))
        yield _probabilities(probe, _safe_indexing(X, rows))


def _probabilities(probe: Any, X: Matrix) -> FloatArray:
    """Return outputs; of an AutoProbe sharpened to the temperature that held-out rows ask for."""
    outputs: FloatArray = np.asarray(probe.predict_proba(X))
    temperature = probe.temperature_ if isinstance(probe, AutoProbe) else 1.0
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
    noise_matrix = count_transitions(true, labels[told], len(names))
    # A label whose own class is the likeliest is never flagged: there is nothing to suggest.
    doubtful = eligible & (evidence.first != labels)
    if budget is not None:
        flagged = most_doubtful(verdict.quality, doubtful, budget)
    elif precision is not None:
        # AutoProbe's temperature is that of rows held out; own probabilities are taken for true.
        calibrated = probe is None or isinstance(probe, AutoProbe)
        doubt = probability_wrong(evidence, labels, noise_matrix, calibrated=calibrated)
        flagged = precise(verdict.quality, doubt, doubtful, precision)
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
        noise_matrix=noise_matrix,
        messages=(*_messages(names, sizes, told), *_not_learnt(probe, sizes)),
        probe=probe,
    )


def _not_learnt(probe: Any, sizes: IntArray) -> tuple[str, ...]:
    """Warn where labels held out are predicted no better than by one label for all."""
    if not isinstance(probe, AutoProbe):
        return ()
    chosen, frequent = probe.choice_.chosen, float(sizes.max() / sizes.sum())
    if chosen.agreement - SURE_ERRORS * chosen.agreement_error > frequent:
        return ()
    said = (
        f"Little was learnt: {chosen.agreement:.1%} of the labels held out are predicted, and the "
        f"most frequent label is {frequent:.1%} of all. Do not trust these verdicts; see forecast."
    )
    return (said,)


def _messages(names: NDArray[Any], sizes: IntArray, told: NDArray[np.bool_]) -> tuple[str, ...]:
    said = []
    if not told.all():
        said.append(f"Rows without a label: {np.count_nonzero(~told)}, predicted and not counted.")
    single = names[sizes == 1].tolist()
    if single:
        shown = ", ".join(map(str, single[:SHOWN_CLASSES]))
        shown += ", …" if len(single) > SHOWN_CLASSES else ""
        said.append(
            f"Classes with one label only: {len(single)} ({shown}), kept and never flagged, "
            "because nothing else says what they look like."
        )
    return tuple(said)
