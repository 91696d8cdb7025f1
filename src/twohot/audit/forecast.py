"""Will it help here: what the theory and a few trials say about a data set with noisy labels.

1. trials        probes of every kind predict rows held out
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

from twohot._types import IntArray, Matrix
from twohot._validation import check_count, check_positive
from twohot.audit._counting import NoiseEstimate, count_noise, take_noise
from twohot.audit._rows import LabelledRows, check_labelled_rows
from twohot.audit.advice import Advice, advise
from twohot.audit.trials import Method, Trials, run_trials
from twohot.audit.unmixing import CorrelationEstimate, unmix
from twohot.distill.estimators import STUDENT_RIDGE
from twohot.features import class_correlation, cluster_classes
from twohot.features._checks import check_superclass
from twohot.theory import (
    CorrelationModel,
    Guarantee,
    RoundsNeeded,
    judge,
    outputs_by_round,
    rounds_until_right,
)


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is to be expected of probes on a data set, and the evidence."""

    classes: NDArray[Any]  # (n_classes,)
    given_sizes: IntArray  # (n_classes,), rows with each label
    noise: NoiseEstimate
    correlation: CorrelationEstimate
    model: CorrelationModel  # what the theory was asked about
    ridge: float  # at which it was asked
    guarantees: tuple[Guarantee, ...]  # its answer for rounds 1, 2, …: margins and accuracy
    rounds_needed: RoundsNeeded  # until every training label of a class is right
    trials: Trials
    advice: Advice

    @property
    def eigengap(self) -> float:
        """Smallest eigenvalue between classes minus the largest within; below zero they mix.

        Centred rows leave one direction fewer between classes than there are classes.
        """
        spectrum = self.model.spectrum()
        return float(spectrum.between[-2] - spectrum.within.max())

    @property
    def separation(self) -> float:
        """q/p: how much less a round shrinks what a class shares than what is a row's own."""
        own = 1 - self.correlation.same_class
        apart = self.correlation.same_class - self.correlation.other_class
        between = own + self.model.n_samples / self.model.n_classes * apart
        return float(between * (self.ridge + own) / (own * (self.ridge + between)))


def forecast(
    X: Matrix,
    y: ArrayLike,
    *,
    noise_matrix: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    superclass: ArrayLike | None = None,
    ridge: float = STUDENT_RIDGE,
    n_rounds: int = 3,
    n_folds: int = 3,
    max_rows: int = 10_000,
    random_state: int = 0,
    n_jobs: int | None = None,
    report: Callable[[str], None] = lambda _: None,
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
        those of the robust probe of the trials.
    superclass : array of shape (n_classes,), optional
        Superclass of each class, 0, 1, … without a hole; by default classes are clustered.
    ridge : float
        Penalty at which the theory is asked.
    n_rounds : int
        Rounds to try and to ask the theory about, at least 2.
    n_folds : int
        Parts that the rows are divided into; each is predicted by probes fitted on the others.
    max_rows : int
        Rows that enter the trials, at the most, chosen at random; the rest takes all rows.
    random_state : int
        Seed of that choice.
    n_jobs : int, optional
        Threads; by default all cores.
    report : callable, optional
        Told in a few words what is being done.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot.features import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y, symmetric(10, 0.6), random_state=0).given_labels
    >>> expected = forecast(X, noisy)
    >>> print(expected.advice.action)
    use a robust student
    >>> print(f"{expected.noise.rate:.2f}")  # the probe's own errors included
    0.66
    """
    data = check_labelled_rows(X, y)
    sizes = _check_sizes(data)
    strength = check_positive("ridge", ridge)
    n_rounds = check_count("n_rounds", n_rounds, 2)
    groups = None if superclass is None else check_superclass(superclass, data.n_classes)
    known = None if noise_matrix is None else take_noise(noise_matrix, sizes)
    own_labels = None if probabilities is None else _check_probabilities(probabilities, data)
    trials = run_trials(
        data,
        n_rounds=n_rounds,
        n_folds=check_count("n_folds", n_folds, 2),
        max_rows=check_count("max_rows", max_rows, 2 * data.n_classes),
        random_state=check_count("random_state", random_state, 0),
        n_jobs=n_jobs,
        report=report,
    )
    noise = known or _counted(data, trials, own_labels)
    report("Measuring correlations …")
    measured = class_correlation(data.X, data.labels, data.n_classes, n_jobs=n_jobs).means
    correlation = unmix(measured, noise, np.zeros(data.n_classes, dtype=np.intp))
    if groups is None:
        groups = cluster_classes(correlation.estimated).superclass
    correlation = unmix(measured, noise, groups)
    model = CorrelationModel.from_correlation(correlation.estimated, class_sizes=noise.class_sizes)
    l2 = strength / (model.n_classes * model.n_samples)
    rounds = outputs_by_round(model, noise.corruption, l2=l2, n_rounds=n_rounds)
    guarantees = tuple(judge(outputs) for outputs in rounds)
    needed = rounds_until_right(model, noise.corruption, l2=l2)
    theory = theory_in_words(strength, guarantees, needed)
    advice = advise(
        trials, noise, correlation, classes=data.classes, given_sizes=sizes, theory=theory
    )
    return Forecast(
        classes=data.classes,
        given_sizes=sizes,
        noise=noise,
        correlation=correlation,
        model=model,
        ridge=strength,
        guarantees=guarantees,
        rounds_needed=needed,
        trials=trials,
        advice=advice,
    )


def theory_in_words(ridge: float, guarantees: tuple[Guarantee, ...], needed: RoundsNeeded) -> str:
    """Return what the theory promises of the training labels."""
    first, last = guarantees[0].accuracy, guarantees[-1].accuracy
    rounds = (
        f"{needed.overall:g} round(s)" if np.isfinite(needed.overall) else "no number of rounds"
    )
    return (
        f"Theory, if rows differed from others of their class by chance alone, at ridge {ridge:g}: "
        f"{first:.0%} of the training labels right after one round, {last:.0%} after "
        f"{len(guarantees)}; all of them after {rounds}."
    )


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


def _counted(data: LabelledRows, trials: Trials, own_labels: IntArray | None) -> NoiseEstimate:
    """Count the noise on the rows that were predicted, and scale it up to all rows."""
    if own_labels is not None:
        labelled = data.labelled
        return count_noise(own_labels[labelled], data.labels[labelled], data.n_classes)
    predicted = trials.best(Method.ROBUST).predicted
    counted = count_noise(predicted, trials.given, data.n_classes)
    scale = float(data.labelled.sum() / counted.class_sizes.sum())
    return NoiseEstimate(counted.corruption, scale * counted.class_sizes, given=False)
