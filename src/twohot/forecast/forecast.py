"""Will it help here: what AutoProbe's search and the theory say about noisy labels.

1. comparison    every candidate of AutoProbe predicts rows held out
2. noise         given labels against what the robust one of them predicts
3. correlation   of the classes, with the noise taken out
4. theory        margin of every class after each round, for these correlations and this noise
5. advice        in plain words
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot._checks.classes import check_superclass
from twohot._checks.labels import Labels
from twohot._checks.numbers import check_count, check_positive
from twohot._types import IntArray, Matrix
from twohot.audit._rows import LabelledRows, check_labelled_rows
from twohot.classes import class_correlation, cluster_classes
from twohot.distill.estimators import STUDENT_RIDGE
from twohot.forecast.advice import Advice, advise
from twohot.forecast.comparison import Comparison, compare
from twohot.forecast.noise_estimate import NoiseEstimate, count_noise, take_noise
from twohot.forecast.theory_answer import TheoryAnswer, ask_theory
from twohot.forecast.unmixing import CorrelationEstimate, unmix
from twohot.rows.threads import one_blas_thread
from twohot.select.auto_probe import AutoProbe, search_probe


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """What is to be expected of probes on a data set, and the evidence."""

    classes: NDArray[Any]  # (n_classes,)
    given_sizes: IntArray  # (n_classes,), rows with each label
    comparison: Comparison  # of the candidates on rows held out; its `choice` is AutoProbe's
    noise: NoiseEstimate
    correlation: CorrelationEstimate
    theory: TheoryAnswer
    advice: Advice

    def __str__(self) -> str:
        advice = self.advice
        code = [f"  {advice.code}"] if advice.code else []
        reasons = [f"- {sentence}" for sentence in (*advice.evidence, *advice.cautions)]
        return "\n".join([advice.summary, *code, *reasons])

    def __repr__(self) -> str:
        return (
            f"<Forecast: {self.advice.action}; {self.given_sizes.sum()} rows, "
            f"{len(self.classes)} classes, {self.noise.rate:.0%} of the labels wrong>"
        )


def forecast(
    X: Matrix,
    y: Any,
    *,
    noise_matrix: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    superclass: ArrayLike | None = None,
    ridge: float = STUDENT_RIDGE,
    n_rounds: int = 3,
    cv: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    callback: Callable[[str], None] | None = None,
) -> Forecast:
    """Say whether students will help on this data set, and which, from its noisy labels alone.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Given labels; rows of None, NaN or "" have none and are left out.
    noise_matrix : array of shape (n_classes, n_classes), optional
        Share of each given label (column) in each true class (row), if it is known, classes in
        sorted order. By default it is counted from predictions.
    probabilities : array of shape (n_rows, n_classes), optional
        Predictions to count with, each of a probe that was not fitted on that row. By default
        those of the best robust candidate for rows held out.
    superclass : array of shape (n_classes,), optional
        Superclass of each class, 0, 1, … without a hole; by default classes are clustered.
    ridge : float
        Penalty at which the theory is asked.
    n_rounds : int
        Rounds to ask the theory about, at least 2.
    cv, random_state
        Which rows are held out, as for `AutoProbe`: with the same, it chooses the same. More
        folds than by default, as cv=5, judge on more rows, and the errors get smaller.
    n_jobs : int, optional
        Threads; by default all cores.
    callback : callable, optional
        Is called with a line for every candidate that was tried.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot.noise import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y, symmetric(10, 0.6), random_state=0).given_labels
    >>> expected = forecast(X, noisy)
    >>> print(expected.advice.action)
    use a robust student
    >>> bool(0.6 <= expected.noise.rate < 0.67)  # the probe's own errors included
    True
    """
    data = check_labelled_rows(X, y)
    sizes = _check_sizes(data)
    ridge = check_positive("ridge", ridge)
    n_rounds = check_count("n_rounds", n_rounds, 2)
    groups = None if superclass is None else check_superclass(superclass, data.n_classes)
    known = None if noise_matrix is None else take_noise(noise_matrix, sizes)
    own_labels = None if probabilities is None else _check_probabilities(probabilities, data)
    comparison = _compare(
        data, AutoProbe(cv=cv, random_state=random_state, n_jobs=n_jobs), callback
    )
    noise = known or _counted(data, comparison, own_labels)
    correlation = _correlate(data, noise, groups, n_jobs)
    theory = ask_theory(correlation, noise, ridge=ridge, n_rounds=n_rounds)
    advice = advise(
        comparison,
        noise,
        correlation,
        classes=data.classes,
        given_sizes=sizes,
        theory=str(theory),
    )
    return Forecast(data.classes, sizes, comparison, noise, correlation, theory, advice)


def _check_sizes(data: LabelledRows) -> IntArray:
    """Return the rows of each label; two labels at least must have rows to fit and to try on."""
    sizes = np.bincount(data.labels[data.labelled], minlength=data.n_classes)
    if np.count_nonzero(sizes >= 2) < 2:
        raise ValueError(
            f"y has {np.count_nonzero(sizes >= 2)} class(es) with two rows or more, of "
            f"{data.n_classes}: a forecast holds rows out, so pass at least two such classes."
        )
    return np.asarray(sizes)


def _check_probabilities(probabilities: ArrayLike, data: LabelledRows) -> IntArray:
    """Return the most likely class of each row."""
    array = np.asarray(probabilities)
    wanted = (len(data.labels), data.n_classes)
    if array.shape != wanted or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise ValueError(
            f"probabilities has shape {array.shape} and dtype {array.dtype}, or holds NaN: pass "
            f"finite numbers of shape {wanted}, a row for each of X and a column for each class in "
            "sorted order."
        )
    return np.asarray(array.argmax(axis=1))


def _compare(
    data: LabelledRows, probe: AutoProbe, report: Callable[[str], None] | None
) -> Comparison:
    """Choose as AutoProbe does; nothing is fitted on all rows."""
    with one_blas_thread():
        labels = Labels(data.labels, data.classes)
        finished = search_probe(probe, data.X, labels, data.weights, report)
        return compare(finished.search, finished.best)


def _counted(
    data: LabelledRows, comparison: Comparison, own_labels: IntArray | None
) -> NoiseEstimate:
    """Count the noise on the rows that were predicted, and scale it up to all rows."""
    if own_labels is not None:
        labelled = data.labelled
        return count_noise(own_labels[labelled], data.labels[labelled], data.n_classes)
    predicted = comparison.predicted[comparison.robust]
    counted = count_noise(predicted, comparison.given, data.n_classes)
    scale = float(data.labelled.sum() / counted.class_sizes.sum())
    return NoiseEstimate(counted.corruption, scale * counted.class_sizes, given=False)


def _correlate(
    data: LabelledRows, noise: NoiseEstimate, groups: IntArray | None, n_jobs: int | None
) -> CorrelationEstimate:
    """Return the correlations of the true classes, and superclasses by them if none are given."""
    measured = class_correlation(data.X, data.labels, data.n_classes, n_jobs=n_jobs).means
    if groups is None:
        single = np.zeros(data.n_classes, dtype=np.intp)
        groups = cluster_classes(unmix(measured, noise, single).estimated).superclass
    return unmix(measured, noise, groups)
