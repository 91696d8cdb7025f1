"""The paper's closed forms: the separation q/p, the penalty, Lemma 4.1 (eq. 13, 14), Cases I-V.

Let c be the cosine of two samples of one class, d that of two classes of one superclass, n the
number of samples per class, and s the squared norm. With A = 1 - c, B = A + n(c - d), and the ridge
at unit norm x = K² n l2 / s,

    p = A/(x + A),   q = B/(x + B),   q/p = B (x + A) / (A (x + B)).

q/p increases from 1 (no penalty) to B/A (infinite penalty), and for 1 < ρ < B/A

    l2 = s A B (ρ - 1) / ((B - ρ A) K² n)   gives q/p = ρ.

One round multiplies three deviations: of a label from its class mean by p, of a class mean from its
superclass mean by q, and of the mean of superclass s from 1/K by r_s. Let e(b) be the one-hot label
b. Let E_a be the mean given label of class a (row a of the corruption matrix), and Ē_s its mean
over the superclass s of a. Lemma 4.1 is

    y⁽ᵗ⁾(a, b) = pᵗ e(b) + (qᵗ - pᵗ) E_a + (r_sᵗ - qᵗ) Ē_s + (1 - r_sᵗ)/K.

Cases III and IV are the lemma; the other cases remove or add terms. All cases require n samples in
every class, but given labels may be imbalanced. These functions do not use the general form in
`averaging`, so that tests can compare the two.

Conventions: returned arrays have axes [true class, given label, label].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from twohot.base import (
    ArgumentError,
    FloatArray,
    IntArray,
    check_count,
    check_positive,
    check_within,
)
from twohot.theory import checks
from twohot.theory.averaging import power_of_ratio
from twohot.theory.correlation_models import CorrelationModel, check_model

NOT_PSD = "the Gram matrix of these correlations is not positive semidefinite (raise the lowest)"


@dataclass(frozen=True)
class PairLevels:
    """What determines q/p for equal classes: their number and size, correlations, norm."""

    n_classes: int
    n_per_class: float
    same_class: float  # mean cosine of two samples of one class
    same_superclass: float  # mean cosine of two samples of different, confusable classes
    squared_norm: float = 1.0  # mean ‖φ(x)‖²

    def __post_init__(self) -> None:
        check_count("n_classes", self.n_classes, 2)
        checks.scale_number("n_per_class", self.n_per_class)
        checks.scale_number("squared_norm", self.squared_norm)
        checks.ordered_levels(same_class=self.same_class, same_superclass=self.same_superclass)

    @classmethod
    def of_model(cls, model: CorrelationModel, *, superclass: ArrayLike) -> Self:
        """Return the mean cosines of a dataset, averaged over classes and over pairs of classes.

        The squared norm is averaged over samples.

        Examples
        --------
        >>> model = CorrelationModel.from_correlation(
        ...     [[0.5, 0.2, 0.0], [0.2, 0.3, 0.1], [0.0, 0.1, 0.4]], class_sizes=[50, 70, 60]
        ... )
        >>> levels = PairLevels.of_model(model, superclass=[0, 0, 1])
        >>> levels.n_per_class, round(levels.same_class, 3), round(levels.same_superclass, 3)
        (60.0, 0.4, 0.2)
        """
        check_model(model)
        groups = checks.superclass_map(superclass, model.n_classes)
        root = np.sqrt(model.squared_norms)
        cosines = model.correlation / np.outer(root, root)
        pairs = (groups[:, None] == groups[None, :]) & ~np.eye(groups.size, dtype=bool)
        if not pairs.any():
            raise ValueError(
                "superclass must hold at least one superclass with two or more classes."
            )
        return cls(
            n_classes=model.n_classes,
            n_per_class=model.n_samples / model.n_classes,
            same_class=float(np.diag(cosines).mean()),
            same_superclass=float(cosines[pairs].mean()),
            squared_norm=float(np.average(model.squared_norms, weights=model.class_sizes)),
        )

    @property
    def own(self) -> float:
        """Eigenvalue A of the Gram matrix for directions inside a class."""
        return 1 - self.same_class

    @property
    def class_mean(self) -> float:
        """Eigenvalue B of the Gram matrix for directions between classes of one superclass."""
        return self.own + self.n_per_class * (self.same_class - self.same_superclass)

    @property
    def ridge_per_l2(self) -> float:
        """Ridge x of the features scaled to unit norm, for l2 = 1: K² n / s."""
        return self.n_classes**2 * self.n_per_class / self.squared_norm


def largest_separation(levels: PairLevels) -> float:
    """Return B/A, the limit of q/p at an infinite penalty.

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> round(largest_separation(levels), 2)
    154.33
    """
    _check_levels(levels)
    return levels.class_mean / levels.own


def separation_at(levels: PairLevels, *, l2: float) -> float:
    """Return the separation q/p at the penalty `l2`.

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> round(separation_at(levels, l2=5e-5), 2)
    105.81
    """
    return math.exp(log_separation_at(levels, l2=l2))


def log_separation_at(levels: PairLevels, *, l2: float) -> float:
    """Return log(q/p) at a penalty, accurate even if q/p is 1 up to rounding.

    It is log(1 + x (B - A)/(A (x + B))).

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> separation_at(levels, l2=1e-25), f"{log_separation_at(levels, l2=1e-25):.4e}"
    (1.0, '6.6235e-19')
    """
    _check_levels(levels)
    ridge = levels.ridge_per_l2 * checks.scale_number("l2", l2)
    own, class_mean = levels.own, levels.class_mean
    return math.log1p(ridge * (class_mean - own) / (own * (ridge + class_mean)))


def l2_for_separation(levels: PairLevels, *, separation: float) -> float:
    """Return the penalty at which q/p = `separation`, from 1 to `largest_separation`.

    The penalty is proportional to the squared norm of the features.

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> from dataclasses import replace
    >>> f"{l2_for_separation(levels, separation=2.0):.3e}"
    '1.520e-07'
    >>> raw = replace(levels, squared_norm=1000.0)
    >>> f"{l2_for_separation(raw, separation=2.0):.3e}"
    '1.520e-04'
    """
    largest = largest_separation(levels)
    ratio = check_positive("separation", separation)
    if not 1 < ratio < largest:
        problem = f"is not between 1 and {largest:.6g}"
        advice = f"no penalty gives another q/p at {levels.n_per_class:g} samples per class."
        raise ArgumentError({"separation": separation}, problem, advice)
    own, class_mean = levels.own, levels.class_mean
    ridge = own * class_mean * (ratio - 1) / (class_mean - ratio * own)
    return ridge / levels.ridge_per_l2


def _check_levels(levels: object) -> None:
    hint = "build one with PairLevels(...) or, from a CorrelationModel, PairLevels.of_model"
    checks.instance(levels, PairLevels, "levels", hint)


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Factors by which one or several rounds shrink each part of the labels (eq. 14)."""

    own: float  # p: factor of a label's deviation from the mean of its true class
    class_mean: float  # q: factor of a class mean's deviation from its superclass mean
    superclass_mean: FloatArray  # (n_superclasses,) r_s: of a superclass mean's deviation
    # log(q/p), which p and q do not determine accurately if both are near 1 or underflow.
    log_separation: float

    @property
    def separation(self) -> float:
        """q/p: shrinkage of class means, divided by that of single labels."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_separation))

    def after(self, n_rounds: int) -> "Shrinkage":
        """Return the combined shrinkage of `n_rounds` rounds with the same features."""
        power = checks.round_count(n_rounds)
        return Shrinkage(
            self.own**power,
            self.class_mean**power,
            self.superclass_mean**power,
            power * self.log_separation if power else 0.0,
        )

    @staticmethod
    def product(rounds: Sequence["Shrinkage"]) -> "Shrinkage":
        """Return the combined shrinkage of rounds with different features (the corollary)."""
        if len({each.superclass_mean.size for each in rounds}) != 1:
            raise ValueError(
                "rounds must hold at least one Shrinkage, all of the same superclasses."
            )
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
    groups = checks.superclass_map(superclass)
    c, d = checks.ordered_levels(same_class=same_class, same_superclass=same_superclass)
    ridge = balanced_ridge(groups.size, n_per_class, l2)
    own = 1 - c
    class_mean = own + n_per_class * (c - d)
    superclass_mean = class_mean + np.bincount(groups) * n_per_class * d
    checks.psd_eigenvalues(np.sort(superclass_mean), NOT_PSD)
    return Shrinkage(
        own / (ridge + own),
        class_mean / (ridge + class_mean),
        superclass_mean / (ridge + superclass_mean),
        math.log1p(ridge * (class_mean - own) / (own * (ridge + class_mean))),
    )


def lemma_outputs(corruption: ArrayLike, *, superclass: ArrayLike, kept: Shrinkage) -> FloatArray:
    """Return the outputs by Lemma 4.1 or, with `Shrinkage.product`, by the corollary.

    Examples
    --------
    >>> kept = shrinkage(
    ...     superclass=[0, 0], same_class=0.4, same_superclass=0.1, n_per_class=100, l2=1e-3
    ... )
    >>> lemma_outputs(np.eye(2), superclass=[0, 0], kept=kept.after(2))[0, 0].round(4).tolist()
    [0.9872, 0.0128]
    """
    shares = checks.corruption_matrix(corruption)
    groups = checks.superclass_map(superclass, len(shares))
    known, listed = kept.superclass_mean.size, groups.max() + 1
    if known != listed:
        problem = f"kept has {known} superclass(es) and superclass lists {listed}"
        raise ValueError(f"{problem}; they must be the same.")
    r = kept.superclass_mean[groups][:, None]
    rest = (r - kept.class_mean) * superclass_means(shares, groups)[groups] + (1 - r) / groups.size
    return outputs_table(shares, own=kept.own, class_mean=kept.class_mean, rest=rest)


def balanced_ridge(n_classes: int, n_per_class: float, l2: float) -> float:
    """Return K² n λ, the ridge of equal classes."""
    n_samples = n_classes * checks.scale_number("n_per_class", n_per_class)
    return n_classes * n_samples * checks.scale_number("l2", l2)


def superclass_means(shares: FloatArray, groups: IntArray) -> FloatArray:
    """Return the mean (n_superclasses, n_labels) over the classes of each superclass."""
    members = np.arange(groups.max() + 1)[:, None] == groups[None, :]
    return np.asarray((members @ shares) / members.sum(axis=1, keepdims=True))


def outputs_table(
    shares: FloatArray, *, own: float | FloatArray, class_mean: float | FloatArray, rest: FloatArray
) -> FloatArray:
    """Return own e(b) + (class_mean - own) E_a + rest_a, for all classes a and given labels b."""
    own_column = np.broadcast_to(np.asarray(own), (len(shares), 1))
    by_class: FloatArray = (class_mean - own_column) * shares + rest
    return own_column[:, :, None] * np.eye(len(shares))[None] + by_class[:, None, :]


def case_1_outputs(
    corruption: ArrayLike, *, same_class: float, n_per_class: float, l2: float, n_rounds: int
) -> FloatArray:
    """Case I: y = pᵗ e(b) + (qᵗ - pᵗ) E_a + (1 - qᵗ)/K.

    Examples
    --------
    >>> corruption = [[0.8, 0.2], [0.2, 0.8]]
    >>> case_1_outputs(corruption, same_class=0.5, n_per_class=50, l2=1e-3, n_rounds=2)[0].round(3)
    array([[0.897, 0.103],
           [0.387, 0.613]])
    """
    level = check_within("same_class", same_class, 0, 1)
    return case_2_outputs(
        corruption, same_class=level, n_per_class=n_per_class, l2=l2, n_rounds=n_rounds
    )


def case_2_outputs(
    corruption: ArrayLike, *, same_class: ArrayLike, n_per_class: float, l2: float, n_rounds: int
) -> FloatArray:
    """Case II: as Case I, with p_a and q_a for each class.

    Examples
    --------
    >>> case_2_outputs(
    ...     [[0.8, 0.2], [0.2, 0.8]], same_class=[0.5, 0.2], n_per_class=50, l2=1e-3, n_rounds=2
    ... )[1].round(3)
    array([[0.723, 0.277],
           [0.083, 0.917]])
    """
    shares = checks.corruption_matrix(corruption)
    c = checks.per_class(same_class, "same_class", len(shares), above=0, below=1)
    ridge = balanced_ridge(len(shares), n_per_class, l2)
    power = checks.round_count(n_rounds)
    p = power_of_ratio(1 - c, ridge=ridge, n_rounds=power)[:, None]
    q = power_of_ratio(1 - c + n_per_class * c, ridge=ridge, n_rounds=power)[:, None]
    return outputs_table(shares, own=p, class_mean=q, rest=(1 - q) / len(shares))


def case_3_outputs(
    corruption: ArrayLike,
    *,
    same_class: float,
    same_superclass: float,
    n_per_class: float,
    l2: float,
    n_rounds: int,
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
    shares = checks.corruption_matrix(corruption)
    return case_4_outputs(
        shares,
        superclass=np.zeros(len(shares), dtype=int),
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
    n_rounds: int,
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
    n_rounds: int,
) -> FloatArray:
    """Case V, corrected: superclasses of any sizes, also correlated with each other.

    Superclass means mix through a matrix A with one row per superclass. The printed formula scales
    each one separately. With K_i classes in superclass i, n samples per class and ridge x,

        A = (1 - c + n(c - d)) I + n(d - e) diag(K_i) + n e √(K_i K_j),    f(z) = z/(x + z),
        y = pᵗ e(b) + (qᵗ - pᵗ) E_a + Σ_j √(K_j/K_s) [f(A)ᵗ - qᵗ]_sj (Ē_j - 1/K) + (1 - qᵗ)/K.

    For equal K_i, A has two eigenvalues: y = pᵗ e(b) + (qᵗ - pᵗ) E_a + (rᵗ - qᵗ) Ē_s +
    (sᵗ - rᵗ) Ē_all + (1 - sᵗ)/K, where r has K_i n (d - e) for the printed K_i n d.

    Examples
    --------
    >>> case_5_outputs(
    ...     np.eye(3), superclass=[0, 0, 1], same_class=0.5, same_superclass=0.2, elsewhere=0.1,
    ...     n_per_class=50, l2=1e-3, n_rounds=2,
    ... )[0, 0].round(3)
    array([0.966, 0.022, 0.012])
    """
    shares = checks.corruption_matrix(corruption)
    groups = checks.superclass_map(superclass, len(shares))
    c, d, e = checks.ordered_levels(
        same_class=same_class, same_superclass=same_superclass, elsewhere=elsewhere
    )
    n, n_classes, power = n_per_class, groups.size, checks.round_count(n_rounds)
    x = balanced_ridge(n_classes, n, l2)
    class_mean = 1 - c + n * (c - d)
    p, q = power_of_ratio(np.array([1 - c, class_mean]), ridge=x, n_rounds=power)
    sizes = np.bincount(groups).astype(float)
    mixing = np.diag(class_mean + n * (d - e) * sizes) + n * e * np.sqrt(np.outer(sizes, sizes))
    values, vectors = np.linalg.eigh(mixing)  # eigenvalues of A
    values = checks.psd_eigenvalues(values, NOT_PSD)
    factors = power_of_ratio(values, ridge=x, n_rounds=power)
    kept = (vectors * factors) @ vectors.T - q * np.eye(sizes.size)
    between = kept * np.sqrt(sizes[None, :] / sizes[:, None])
    rest = between @ (superclass_means(shares, groups) - 1 / n_classes) + (1 - q) / n_classes
    return outputs_table(shares, own=p, class_mean=q, rest=rest[groups])
