"""The noise of the given labels: what the audit says of them, or what a user knows."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot._checks.classes import check_corruption
from twohot._checks.messages import ArgumentError, counted
from twohot._types import FloatArray, IntArray
from twohot.judge.verdict import LabelVerdict
from twohot.noise import symmetric


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """How often a row of each class was given each label."""

    corruption: NDArray[np.float64]  # (n_classes, n_classes), row true class, column given label
    class_sizes: NDArray[np.float64]  # (n_classes,), rows of each true class
    given: bool  # whether a user said so, and nothing was estimated
    interval: tuple[float, float] = (0.0, 1.0)  # that an estimated share of wrong labels is in

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
        """What agreement with the given labels gains for each unit of accuracy.

        A right prediction agrees with the label as often as labels are right; one that is wrong,
        as often as a wrong label is that one, on average over the other classes.
        """
        kept = np.diag(self.corruption)
        gain = kept - (1 - kept) / (len(kept) - 1)
        return float(np.average(gain, weights=self.class_sizes))

    def as_accuracy(self, agreement: float) -> float:
        """Return what a difference of agreement means in accuracy; NaN if it says nothing of it."""
        return agreement / self.slope if self.slope > 0 else float("nan")


def expected_noise(verdict: LabelVerdict) -> NoiseEstimate:
    """Count each label as wrong as probably as the audit has it; the share of wrong ones is its.

    A wrong one is of the likeliest other class.
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
    # One row with its own label keeps a class in that no row is of.
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
    return NoiseEstimate(shares, np.maximum(sizes, 1.0), given=True)
