"""The true classes behind given labels: how noise mixes them, and how their rows correlate.

Noise: C[a, b] is the share of the rows of true class a with the given label b, as the label model
judges it or as a user knows it.

Correlation: of the rows with given label b, a share P[a, b] is of true class a (columns sum to
one). If the label of a row depends on its class alone, the mean correlation of the rows of two
labels mixes those of the classes,

    measured = Pᵀ W P,        W = P⁻ᵀ measured P⁻¹,

so that noise makes different classes look alike.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot.base import ArgumentError, FloatArray, IntArray, check_corruption, counted
from twohot.judge import LabelVerdict
from twohot.noise import symmetric

# A guard of the computation: at a correlation of exactly one, rows of a class would be copies, and
# the correlation matrix of a class would be singular.
LARGEST_CORRELATION = 0.999


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """How often a row of each class was given each label."""

    corruption: NDArray[np.float64]  # (n_classes, n_classes), row true class, column given label
    class_sizes: NDArray[np.float64]  # (n_classes,), rows of each true class
    given: bool  # whether a user passed it, so that nothing was estimated
    interval: tuple[float, float] = (0.0, 1.0)  # of the share of wrong labels

    @property
    def rate(self) -> float:
        """Share of the rows whose given label is not the true one."""
        return float(np.average(1 - np.diag(self.corruption), weights=self.class_sizes))

    @property
    def posterior(self) -> NDArray[np.float64]:
        """(n_classes, n_classes) share of each true class (row) among a given label (column)."""
        joint = self.class_sizes[:, np.newaxis] * self.corruption
        return np.asarray(joint / joint.sum(axis=0))

    @property
    def slope(self) -> float:
        """Agreement with the given labels that one unit of accuracy gains.

        A right prediction agrees with the label as often as labels are right; a wrong one as often
        as a wrong label is that class, on average over the other classes.
        """
        kept = np.diag(self.corruption)
        gain = kept - (1 - kept) / (len(kept) - 1)
        return float(np.average(gain, weights=self.class_sizes))

    def as_accuracy(self, agreement: float) -> float:
        """Return a difference of agreement as one of accuracy; NaN if the two are unrelated."""
        return agreement / self.slope if self.slope > 0 else float("nan")


def expected_noise(verdict: LabelVerdict) -> NoiseEstimate:
    """Return the noise by the posterior: each label is wrong with the probability of its verdict.

    A wrong label counts for the likeliest other class.
    """
    labelled = verdict.codes >= 0
    given, doubt = verdict.codes[labelled], verdict.doubt[labelled]
    true = np.concatenate([given, verdict.likeliest_other[labelled]])
    weights = np.concatenate([1 - doubt, doubt])
    found = count_noise(true, np.concatenate([given, given]), weights, verdict.n_classes)
    return replace(found, interval=verdict.interval)


def count_noise(
    true: IntArray, given: IntArray, weights: FloatArray, n_classes: int
) -> NoiseEstimate:
    """Count given labels by true class.

    Counts of K² cells from few rows are mostly chance. As far as chance explains how they differ
    from noise that falls on all classes alike, that noise is taken instead (James and Stein).
    """
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (true, given), weights)
    # A class without a row would have no shares: it gets one row with its own label.
    counts += np.diag(counts.sum(axis=1) < 1)
    sizes = counts.sum(axis=1)
    shares = counts / sizes[:, np.newaxis]
    even = symmetric(n_classes, float(np.average(1 - np.diag(shares), weights=sizes)))
    by_chance = sizes @ (even * (1 - even) / sizes[:, np.newaxis])
    found = sizes @ (shares - even) ** 2
    pull = min(1.0, float(by_chance.sum() / max(found.sum(), np.finfo(float).tiny)))
    return NoiseEstimate(pull * even + (1 - pull) * shares, sizes, given=False)


def take_noise(corruption: ArrayLike, given_sizes: IntArray) -> NoiseEstimate:
    """Return the noise that a user knows, with the sizes of the true classes that it implies."""
    shares = check_corruption(corruption)
    if len(shares) != len(given_sizes):
        problem = f"has {counted(len(shares), 'row')} for {len(given_sizes)} classes"
        advice = "pass one row and one column per class that rows have, in the order of classes."
        raise ArgumentError("corruption", problem, advice)
    # given_sizes = corruptionᵀ sizes; rounding and chance can leave a class no rows, or fewer.
    sizes = np.linalg.lstsq(shares.T, given_sizes.astype(np.float64))[0]
    found = NoiseEstimate(shares, np.maximum(sizes, 1.0), given=True)
    return replace(found, interval=(found.rate, found.rate))


# Correlations -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CorrelationEstimate:
    """Mean correlation of every two classes, by given labels and by true classes."""

    measured: NDArray[np.float64]  # (n_classes, n_classes), by given label
    estimated: NDArray[np.float64]  # (n_classes, n_classes), by true class
    n_limited: int  # axes, of n_classes, along which some noise had to be left in
    superclass: IntArray  # (n_classes,)

    @property
    def same_class(self) -> float:
        """Mean over the classes of the correlation inside."""
        return float(np.diag(self.estimated).mean())

    @property
    def same_superclass(self) -> float:
        """Mean over pairs of classes of one superclass; NaN if there is none."""
        same = self.superclass[:, np.newaxis] == self.superclass
        return _mean(self.estimated[same & ~np.eye(len(same), dtype=bool)])

    @property
    def elsewhere(self) -> float:
        """Mean over pairs of classes of two superclasses; NaN if there is none."""
        return _mean(self.estimated[self.superclass[:, np.newaxis] != self.superclass])

    @property
    def other_class(self) -> float:
        """Mean over all pairs of two classes."""
        return _mean(self.estimated[~np.eye(len(self.estimated), dtype=bool)])


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if values.size else float("nan")


def unmix(
    measured: NDArray[np.float64], noise: NoiseEstimate, superclass: IntArray
) -> CorrelationEstimate:
    """Return the correlations of the true classes, as far as the noise can be taken out.

    With P = U diag(σ) Vᵀ, taking the noise out divides the class means by σ along each axis. The
    mean of n rows of unit norm has an error of norm 1/√n at most, which grows to 1/(σ √n). σ counts
    as 1/√n at least, so that no error becomes longer than a row.

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
    filled = measured.copy()
    same = np.diag(measured)
    # A class of one row has no pair: the mean of the other classes is used.
    np.fill_diagonal(filled, np.where(np.isnan(same), np.nanmean(same), same))
    left, sigma, right = np.linalg.svd(noise.posterior)
    least = 1 / np.sqrt(noise.class_sizes.mean())
    inverse = (right.T / np.maximum(sigma, least)) @ left.T
    estimated = feasible(inverse.T @ filled @ inverse)
    return CorrelationEstimate(filled, estimated, int((sigma < least).sum()), superclass)


def feasible(correlation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations made such as rows of unit norm can have.

    Errors of estimation leave small negative eigenvalues, which are cut off, and classes that
    correlate more than rows of unit norm can, which are scaled down.
    """
    values, vectors = np.linalg.eigh((correlation + correlation.T) / 2)
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(LARGEST_CORRELATION / np.maximum(np.diag(positive), LARGEST_CORRELATION))
    return np.asarray(scale[:, np.newaxis] * positive * scale)
