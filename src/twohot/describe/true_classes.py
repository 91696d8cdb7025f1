"""Estimate the noise of given labels, and the correlations of the true classes.

Noise: C[a, b] is the fraction of rows of true class a whose given label is b. This matrix is
estimated by the label model, or passed by the user.

Correlation: Let W be the mean correlations of pairs of true classes. Among the rows with given
label b, a fraction P[a, b] has true class a (columns of P sum to one). If the given label of a row
depends only on its true class, the mean correlations of rows by given label are mixtures of W,

    measured = Pᵀ W P,        W = P⁻ᵀ measured P⁻¹.

So noise makes the measured correlations of different classes more similar than W.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot.base import ArgumentError, BoolArray, FloatArray, IntArray, check_corruption, counted
from twohot.judge import LabelVerdict
from twohot.noise import symmetric
from twohot.theory import label_gaps

# Numerical guard: with a correlation of exactly one, all rows of a class would be equal, and the
# correlation matrix would be singular.
LARGEST_CORRELATION = 0.999


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """The frequency of each given label in each true class: estimated, or passed by a user."""

    corruption: NDArray[np.float64]  # (n_classes, n_classes), row true class, column given label
    class_sizes: NDArray[np.float64]  # (n_classes,), number of rows of each true class
    given: bool  # whether the user passed the corruption matrix; else it is estimated
    # Lower and upper bound of the fraction of wrong labels, as `LabelIssues.noise_interval`
    interval: tuple[float, float] = (0.0, 1.0)
    n_likely_wrong: int = 0  # labels that an audit flags and that are more likely wrong than right

    @property
    def rate(self) -> float:
        """Fraction of rows whose given label differs from the true one."""
        return float(np.average(1 - np.diag(self.corruption), weights=self.class_sizes))

    @property
    def posterior(self) -> FloatArray:
        """(n_classes, n_classes) fraction of each true class (row) by given label (column)."""
        joint = self.class_sizes[:, np.newaxis] * self.corruption
        return np.asarray(joint / joint.sum(axis=0))

    @property
    def confused(self) -> IntArray:
        """Positions of classes in which a wrong label is at least as frequent as the right one."""
        return np.flatnonzero(label_gaps(self.corruption) <= 0)

    @property
    def slope(self) -> float:
        """Increase of the expected agreement with given labels, divided by that of the accuracy.

        A correct prediction agrees with the given label if this label is right. A wrong prediction
        agrees with the given label if both are the same wrong class. The probability of this is
        averaged over all wrong classes.
        """
        right = np.diag(self.corruption)
        gain = right - (1 - right) / (len(right) - 1)
        return float(np.average(gain, weights=self.class_sizes))

    def as_accuracy(self, agreement: float) -> float:
        """Convert a difference in agreement to a difference in accuracy; NaN if `slope` <= 0."""
        return agreement / self.slope if self.slope > 0 else float("nan")


def expected_noise(verdict: LabelVerdict) -> NoiseEstimate:
    """Return the noise, estimated from the probability that each label is wrong.

    The true class of a wrong label is assumed to be the most probable other class.
    """
    labelled = verdict.codes >= 0
    given, doubt = verdict.codes[labelled], verdict.doubt[labelled]
    true = np.concatenate([given, verdict.likeliest_other[labelled]])
    weights = np.concatenate([1 - doubt, doubt])
    found = count_noise(true, np.concatenate([given, given]), weights, verdict.n_classes)
    return replace(found, interval=verdict.interval, n_likely_wrong=verdict.n_likely_wrong)


def count_noise(
    true: IntArray, given: IntArray, weights: FloatArray, n_classes: int
) -> NoiseEstimate:
    """Return the noise estimated from weighted counts of given labels by true class.

    If there are few rows, the counts are mostly random. So the estimate is shrunk towards symmetric
    noise of the same rate. The weight of symmetric noise is the fraction of the difference between
    the two that chance explains (James and Stein).
    """
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (true, given), weights)
    # A class without rows gets one row with the right label, so that its fractions are defined.
    counts += np.diag(counts.sum(axis=1) < 1)
    sizes = counts.sum(axis=1)
    fractions = counts / sizes[:, np.newaxis]
    even = symmetric(n_classes, float(np.average(1 - np.diag(fractions), weights=sizes)))
    by_chance = float((sizes @ (even * (1 - even) / sizes[:, np.newaxis])).sum())
    difference = float((sizes @ (fractions - even) ** 2).sum())
    pull = min(1.0, by_chance / max(difference, np.finfo(float).tiny))
    return NoiseEstimate(pull * even + (1 - pull) * fractions, sizes, given=False)


def take_noise(corruption: ArrayLike, given_sizes: IntArray) -> NoiseEstimate:
    """Return the noise that a user passed, with the sizes of true classes that it implies."""
    matrix = check_corruption(corruption)
    if len(matrix) != len(given_sizes):
        problem = f"has {counted(len(matrix), 'row')} for {len(given_sizes)} classes"
        advice = "pass one row and one column per class that has rows, sorted like the classes."
        raise ArgumentError("corruption", problem, advice)
    # given_sizes = corruptionᵀ sizes; rounding and chance can make a size zero or negative.
    sizes = np.linalg.lstsq(matrix.T, given_sizes.astype(np.float64))[0]
    found = NoiseEstimate(matrix, np.maximum(sizes, 1.0), given=True)
    return replace(found, interval=(found.rate, found.rate))


# Correlations -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CorrelationEstimate:
    """Mean correlation of all pairs of classes, by given labels and by true classes."""

    measured: FloatArray  # (n_classes, n_classes), mean correlations by given label
    estimated: FloatArray  # (n_classes, n_classes), estimated mean correlations by true class
    n_limited: int  # number of axes along which the correction is limited (see `unmix`)
    superclass: IntArray  # (n_classes,), superclass of each class

    @property
    def same_class(self) -> float:
        """Mean of the estimated correlations within classes."""
        return float(np.diag(self.estimated).mean())

    @property
    def same_superclass(self) -> float:
        """Mean over pairs of different classes in one superclass; NaN if there is no such pair."""
        same = self.superclass[:, np.newaxis] == self.superclass
        return self._mean(same & ~np.eye(len(same), dtype=bool))

    @property
    def elsewhere(self) -> float:
        """Mean over pairs of classes in different superclasses; NaN if there is no such pair."""
        return self._mean(self.superclass[:, np.newaxis] != self.superclass)

    @property
    def other_class(self) -> float:
        """Mean over all pairs of different classes."""
        return self._mean(~np.eye(len(self.estimated), dtype=bool))

    def _mean(self, pairs: BoolArray) -> float:
        return float(self.estimated[pairs].mean()) if pairs.any() else float("nan")


def unmix(measured: FloatArray, noise: NoiseEstimate, superclass: IntArray) -> CorrelationEstimate:
    """Return the correlations of the true classes; limit the correction where errors would grow.

    With P = U diag(σ) Vᵀ, the correction divides the class means by σ along each axis. The mean of
    n rows of unit norm has an error of norm at most about 1/√n. The correction increases this error
    to 1/(σ √n). So a σ below 1/√n is replaced by 1/√n. The error is then at most 1, the norm of a
    row.

    Examples
    --------
    >>> corruption = np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> noise = NoiseEstimate(corruption, np.array([50.0, 50.0]), given=True)
    >>> measured = corruption.T @ [[0.5, -0.5], [-0.5, 0.5]] @ corruption
    >>> measured.round(2).tolist()
    [[0.08, -0.08], [-0.08, 0.08]]
    >>> unmix(measured, noise, np.array([0, 0])).estimated.round(2).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    filled, same = measured.copy(), np.diag(measured)
    # A class of one row has no pair of rows. The mean over the other classes is used instead.
    np.fill_diagonal(filled, np.where(np.isnan(same), np.nanmean(same), same))
    left, sigma, right = np.linalg.svd(noise.posterior)
    least = 1 / np.sqrt(noise.class_sizes.mean())
    inverse = (right.T / np.maximum(sigma, least)) @ left.T
    estimated = feasible(inverse.T @ filled @ inverse)
    return CorrelationEstimate(filled, estimated, int((sigma < least).sum()), superclass)


def feasible(correlation: FloatArray) -> NDArray[np.float64]:
    """Return mean correlations, adjusted to values that rows of unit norm can have.

    Estimation errors cause small negative eigenvalues, which are set to zero. Estimation errors
    also cause correlations that are too large for rows of unit norm. These are scaled down.
    """
    values, vectors = np.linalg.eigh((correlation + correlation.T) / 2)
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(LARGEST_CORRELATION / np.maximum(np.diag(positive), LARGEST_CORRELATION))
    return np.asarray(scale[:, np.newaxis] * positive * scale)
