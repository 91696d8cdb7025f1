"""The paper's closed forms, Cases I-V and the lemma, formula by formula.

Each function writes out one formula for equal class sizes and stands apart from the general form
in `averaging`, so that each is a check of the other. With p, q, r the shrinkage per round, E_a
the mean given label of class a (row a of the corruption matrix) and Ē_s that of superclass s,

    y⁽ᵗ⁾(a, b) = pᵗ e(b) + (qᵗ - pᵗ) E_a + (r_sᵗ - qᵗ) Ē_s + (1 - r_sᵗ)/K,      s = h(a),

is Lemma 4.1 (Case IV); the other cases are it with terms removed or added. None needs balanced
given labels; all need n samples in every true class.

Conventions: returned arrays have axes [true class, given label, label].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from twohot.theory import _checks
from twohot.theory._checks import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """How much of each part of the labels one round, or several, keep (eq. 14)."""

    own: float  # p: what a label has beyond the mean of its true class
    class_mean: float  # q: what the class mean has beyond the superclass mean
    superclass_mean: FloatArray  # (n_superclasses,) r_s: what that has beyond uniform

    @property
    def separation(self) -> float:
        """q/p: how much faster a round forgets single labels than class means."""
        return self.class_mean / self.own

    def after(self, n_rounds: SupportsIndex) -> "Shrinkage":
        """Return what `n_rounds` equal rounds keep."""
        power = _checks.rounds(n_rounds)
        return Shrinkage(self.own**power, self.class_mean**power, self.superclass_mean**power)

    @staticmethod
    def product(rounds: Sequence["Shrinkage"]) -> "Shrinkage":
        """Return what rounds with different features keep together (the corollary)."""
        return Shrinkage(
            float(np.prod([each.own for each in rounds])),
            float(np.prod([each.class_mean for each in rounds])),
            np.prod([each.superclass_mean for each in rounds], axis=0),
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
    _checks.ordered_levels(same_class, same_superclass, min(0.0, same_superclass))
    ridge = balanced_ridge(groups.size, n_per_class, l2)
    own = 1 - same_class
    class_mean = own + n_per_class * (same_class - same_superclass)
    superclass_mean = class_mean + np.bincount(groups) * n_per_class * same_superclass
    return Shrinkage(
        own / (ridge + own),
        class_mean / (ridge + class_mean),
        superclass_mean / (ridge + superclass_mean),
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
    groups = _checks.superclass_map(superclass)
    shares = _checks.corruption_matrix(corruption, groups.size)
    r = kept.superclass_mean[groups][:, None]
    rest = (r - kept.class_mean) * superclass_means(shares, groups)[groups] + (1 - r) / groups.size
    return _outputs(shares, own=kept.own, class_mean=kept.class_mean, rest=rest)


def case_1_outputs(
    corruption: ArrayLike,
    *,
    same_class: float,
    n_per_class: float,
    l2: float,
    n_rounds: SupportsIndex,
) -> FloatArray:
    """Case I: y = pᵗ e(b) + (qᵗ - pᵗ) E_a + (1 - qᵗ)/K.

    Examples
    --------
    >>> corruption = [[0.8, 0.2], [0.2, 0.8]]
    >>> case_1_outputs(corruption, same_class=0.5, n_per_class=50, l2=1e-3, n_rounds=2)[0].round(3)
    array([[0.897, 0.103],
           [0.387, 0.613]])
    """
    return case_2_outputs(
        corruption, same_class=same_class, n_per_class=n_per_class, l2=l2, n_rounds=n_rounds
    )


def case_2_outputs(
    corruption: ArrayLike,
    *,
    same_class: ArrayLike,
    n_per_class: float,
    l2: float,
    n_rounds: SupportsIndex,
) -> FloatArray:
    """Case II: as Case I with p_a, q_a of each class.

    Examples
    --------
    >>> case_2_outputs(
    ...     [[0.8, 0.2], [0.2, 0.8]], same_class=[0.5, 0.2], n_per_class=50, l2=1e-3, n_rounds=2
    ... )[1].round(3)
    array([[0.723, 0.277],
           [0.083, 0.917]])
    """
    shares = _checks.corruption_matrix(corruption)
    c = _checks.per_class(same_class, "same_class", len(shares))
    ridge, power = balanced_ridge(len(shares), n_per_class, l2), _checks.rounds(n_rounds)
    p = ((1 - c) / (ridge + 1 - c))[:, None] ** power
    q = ((1 - c + n_per_class * c) / (ridge + 1 - c + n_per_class * c))[:, None] ** power
    return _outputs(shares, own=p, class_mean=q, rest=(1 - q) / len(shares))


def case_3_outputs(
    corruption: ArrayLike,
    *,
    same_class: float,
    same_superclass: float,
    n_per_class: float,
    l2: float,
    n_rounds: SupportsIndex,
) -> FloatArray:
    """Case III: the lemma with a single superclass.

    Examples
    --------
    >>> case_3_outputs(
    ...     [[0.8, 0.2], [0.2, 0.8]], same_class=0.5, same_superclass=0.2, n_per_class=50, l2=1e-3,
    ...     n_rounds=2,
    ... )[0].round(3)
    array([[0.894, 0.106],
           [0.384, 0.616]])
    """
    return case_4_outputs(
        corruption,
        superclass=np.zeros(len(np.asarray(corruption)), dtype=int),
        same_class=same_class,
        same_superclass=same_superclass,
        n_per_class=n_per_class,
        l2=l2,
        n_rounds=n_rounds,
    )


def case_4_outputs(
    corruption: ArrayLike,
    *,
    superclass: ArrayLike,
    same_class: float,
    same_superclass: float,
    n_per_class: float,
    l2: float,
    n_rounds: SupportsIndex,
) -> FloatArray:
    """Case IV: the lemma, superclasses of any sizes.

    Examples
    --------
    >>> case_4_outputs(
    ...     np.eye(3), superclass=[0, 0, 1], same_class=0.5, same_superclass=0.2, n_per_class=50,
    ...     l2=1e-3, n_rounds=2,
    ... )[0, 0].round(3)
    array([0.968, 0.024, 0.008])
    """
    kept = shrinkage(
        superclass=superclass,
        same_class=same_class,
        same_superclass=same_superclass,
        n_per_class=n_per_class,
        l2=l2,
    )
    return lemma_outputs(corruption, superclass=superclass, kept=kept.after(n_rounds))


def case_5_outputs(
    corruption: ArrayLike,
    *,
    superclass: ArrayLike,
    same_class: float,
    same_superclass: float,
    elsewhere: float,
    n_per_class: float,
    l2: float,
    n_rounds: SupportsIndex,
) -> FloatArray:
    """Case V, corrected: superclasses of any sizes with a correlation between them.

    Superclass means mix through a matrix A of one row per superclass instead of shrinking each
    by itself as printed. With K_i classes in superclass i, n samples a class, ridge x,

        A = (1 - c + n(c - d)) I + n(d - e) diag(K_i) + n e √(K_i K_j),    f(z) = z/(x + z),
        y = pᵗ e(b) + (qᵗ - pᵗ) E_a + Σ_j √(K_j/K_s) [f(A)ᵗ - qᵗ]_sj (Ē_j - 1/K) + (1 - qᵗ)/K.

    For equal K_i it has two eigenvalues and reads pᵗ e(b) + (qᵗ - pᵗ) E_a + (rᵗ - qᵗ) Ē_s +
    (sᵗ - rᵗ) Ē_all + (1 - sᵗ)/K, where r has K_i n (d - e) for the printed K_i n d.

    Examples
    --------
    >>> case_5_outputs(
    ...     np.eye(3), superclass=[0, 0, 1], same_class=0.5, same_superclass=0.2, elsewhere=0.1,
    ...     n_per_class=50, l2=1e-3, n_rounds=2,
    ... )[0, 0].round(3)
    array([0.966, 0.022, 0.012])
    """
    groups = _checks.superclass_map(superclass)
    shares = _checks.corruption_matrix(corruption, groups.size)
    _checks.ordered_levels(same_class, same_superclass, elsewhere)
    n, n_classes, power = n_per_class, groups.size, _checks.rounds(n_rounds)
    ridge = balanced_ridge(n_classes, n, l2)
    own = 1 - same_class
    class_mean = own + n * (same_class - same_superclass)
    p, q = (own / (ridge + own)) ** power, (class_mean / (ridge + class_mean)) ** power
    sizes = np.bincount(groups).astype(float)
    mixing = np.diag(class_mean + n * (same_superclass - elsewhere) * sizes)
    mixing += n * elsewhere * np.sqrt(np.outer(sizes, sizes))
    values, vectors = np.linalg.eigh(mixing)
    kept = (vectors * (values / (ridge + values)) ** power) @ vectors.T - q * np.eye(sizes.size)
    between = kept * np.sqrt(sizes[None, :] / sizes[:, None])
    rest = between @ (superclass_means(shares, groups) - 1 / n_classes) + (1 - q) / n_classes
    return _outputs(shares, own=p, class_mean=q, rest=rest[groups])


def balanced_ridge(n_classes: int, n_per_class: float, l2: float) -> float:
    """Return K² n λ, the ridge of equal classes."""
    n_samples = n_classes * _checks.positive(n_per_class, "n_per_class")
    return n_classes * n_samples * _checks.positive(l2, "l2")


def superclass_means(shares: FloatArray, groups: IntArray) -> FloatArray:
    """(n_superclasses, n_labels) mean over the classes of each superclass."""
    members = np.arange(groups.max() + 1)[:, None] == groups[None, :]
    return np.asarray((members @ shares) / members.sum(axis=1, keepdims=True))


def _outputs(
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
