"""Lemma 4.1: what a round keeps of the labels, and the outputs that follow (eq. 13 and 14).

With p, q, r_s what one round keeps, E_a the mean given label of class a (row a of the corruption
matrix) and Ē_s that of superclass s = h(a),

    y⁽ᵗ⁾(a, b) = pᵗ e(b) + (qᵗ - pᵗ) E_a + (r_sᵗ - qᵗ) Ē_s + (1 - r_sᵗ)/K.

It needs n samples in every true class and no balance of the given labels. It is written out as
printed and stands apart from the general form in `averaging`: each is a check of the other.

Conventions: returned arrays have axes [true class, given label, label].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from twohot.theory import _checks
from twohot.theory._checks import FloatArray, IntArray

NOT_PSD = "the Gram matrix of these correlations is not positive semidefinite (raise the lowest)"


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """How much of each part of the labels one round, or several, keep (eq. 14)."""

    own: float  # p: what a label has beyond the mean of its true class
    class_mean: float  # q: what the class mean has beyond the superclass mean
    superclass_mean: FloatArray  # (n_superclasses,) r_s: what that has beyond uniform
    # log(q/p), of which p and q keep few digits where both are near 1 and none where both vanish;
    # taken from them if it is not given.
    log_separation: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.log_separation):
            with np.errstate(divide="ignore"):
                found = float(np.log(self.class_mean) - np.log(self.own))
            vars(self).update(log_separation=found)

    @property
    def separation(self) -> float:
        """q/p: how much faster a round forgets single labels than class means."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_separation))

    def after(self, n_rounds: int) -> "Shrinkage":
        """Return what `n_rounds` equal rounds keep."""
        power = _checks.round_count(n_rounds)
        return Shrinkage(
            self.own**power,
            self.class_mean**power,
            self.superclass_mean**power,
            power * self.log_separation if power else 0.0,
        )

    @staticmethod
    def product(rounds: Sequence["Shrinkage"]) -> "Shrinkage":
        """Return what rounds with different features keep together (the corollary)."""
        if len({each.superclass_mean.size for each in rounds}) != 1:
            raise ValueError("rounds must hold one Shrinkage or more, of the same superclasses.")
        return Shrinkage(
            float(np.prod([each.own for each in rounds])),
            float(np.prod([each.class_mean for each in rounds])),
            np.prod([each.superclass_mean for each in rounds], axis=0),
            math.fsum(each.log_separation for each in rounds),
        )


def shrinkage(
    *,
    superclass: ArrayLike,
    same_class: float,
    same_superclass: float,
    n_per_class: float,
    l2: float,
) -> Shrinkage:
    """Return p, q and r_s of one round for the paper's correlation model (eq. 14).

    Examples
    --------
    >>> kept = shrinkage(
    ...     superclass=[0, 0, 0, 0], same_class=0.4, same_superclass=0.1, n_per_class=100,
    ...     l2=3.125e-4,
    ... )
    >>> round(kept.own, 4), round(kept.class_mean, 4), round(kept.separation, 3)
    (0.5455, 0.9839, 1.804)
    """
    groups = _checks.superclass_map(superclass)
    c, d = _checks.ordered_levels(same_class=same_class, same_superclass=same_superclass)
    ridge = balanced_ridge(groups.size, n_per_class, l2)
    own = 1 - c
    class_mean = own + n_per_class * (c - d)
    superclass_mean = class_mean + np.bincount(groups) * n_per_class * d
    _checks.eigenvalues(np.sort(superclass_mean), NOT_PSD)
    return Shrinkage(
        own / (ridge + own),
        class_mean / (ridge + class_mean),
        superclass_mean / (ridge + superclass_mean),
        math.log1p(ridge * (class_mean - own) / (own * (ridge + class_mean))),
    )


def lemma_outputs(corruption: ArrayLike, *, superclass: ArrayLike, kept: Shrinkage) -> FloatArray:
    """Lemma 4.1: outputs from what the rounds so far keep; with `Shrinkage.product`, the corollary.

    Examples
    --------
    >>> kept = shrinkage(
    ...     superclass=[0, 0], same_class=0.4, same_superclass=0.1, n_per_class=100, l2=1e-3
    ... )
    >>> lemma_outputs(np.eye(2), superclass=[0, 0], kept=kept.after(2))[0, 0].round(4).tolist()
    [0.9872, 0.0128]
    """
    shares = _checks.corruption_matrix(corruption)
    groups = _checks.superclass_map(superclass, len(shares))
    known, listed = kept.superclass_mean.size, groups.max() + 1
    if known != listed:
        problem = f"kept is of {known} superclass(es), superclass lists {listed}"
        raise ValueError(f"{problem}; they must be the same.")
    r = kept.superclass_mean[groups][:, None]
    rest = (r - kept.class_mean) * superclass_means(shares, groups)[groups] + (1 - r) / groups.size
    return outputs_table(shares, own=kept.own, class_mean=kept.class_mean, rest=rest)


def balanced_ridge(n_classes: int, n_per_class: float, l2: float) -> float:
    """Return K² n λ, the ridge of equal classes."""
    n_samples = n_classes * _checks.scale_number("n_per_class", n_per_class)
    return n_classes * n_samples * _checks.scale_number("l2", l2)


def superclass_means(shares: FloatArray, groups: IntArray) -> FloatArray:
    """(n_superclasses, n_labels) mean over the classes of each superclass."""
    members = np.arange(groups.max() + 1)[:, None] == groups[None, :]
    return np.asarray((members @ shares) / members.sum(axis=1, keepdims=True))


def outputs_table(
    shares: FloatArray,
    *,
    own: float | FloatArray,
    class_mean: float | FloatArray,
    rest: FloatArray,
) -> FloatArray:
    """Return own e(b) + (class_mean - own) E_a + rest_a."""
    own_column = np.broadcast_to(np.asarray(own), (len(shares), 1))
    by_class: FloatArray = (class_mean - own_column) * shares + rest
    return own_column[:, :, None] * np.eye(len(shares))[None] + by_class[:, None, :]
