"""Compute the paper's closed forms: separation q/p, penalty, Lemma 4.1 (eq. 13, 14), Cases I-V.

A *superclass* is a set of similar classes. Let c be the cosine of two samples of one class. Let d
be the cosine of two samples of different classes of one superclass. Let n be the number of samples
per class, K the number of classes, and ‖φ‖² the squared norm of a sample. Let A = 1 - c and
B = A + n(c - d). For features scaled to unit norm, the ridge is x = K² n l2 / ‖φ‖². Then

    p = A/(x + A),   q = B/(x + B),   q/p = B (x + A) / (A (x + B)).

The ratio q/p is called *separation*. It increases with the penalty, from 1 (no penalty) to B/A
(infinite penalty). For 1 < ρ < B/A, the separation is ρ at the penalty

    l2 = ‖φ‖² A B (ρ - 1) / ((B - ρ A) K² n).

Every round multiplies the deviation of a label from its class mean by p, the deviation of a class
mean from its superclass mean by q, and the deviation of the mean of superclass s from 1/K by r_s.
Let e(b) be the one-hot label b. Let E_a be the mean given label of class a, which is row a of the
corruption matrix. Let Ē_s be the mean of E over the classes of superclass s. By Lemma 4.1, the
output of round t for a sample of class a (in superclass s) with the given label b is

    y⁽ᵗ⁾(a, b) = pᵗ e(b) + (qᵗ - pᵗ) E_a + (r_sᵗ - qᵗ) Ē_s + (1 - r_sᵗ)/K.

A *case* is a set of assumptions on the correlations; see `CorrelationModel.case_1` … `case_5`. The
lemma is Case IV, and Case III is the lemma with one superclass. Cases I and II have fewer terms,
and Case V has more. All cases require n samples in every class, but given labels need not be
balanced. The functions do not use the general form of `averaging`, so tests can compare the two.

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

NOT_PSD = "the Gram matrix of these correlations is not positive semidefinite"
RAISE_LEVELS = "raise the negative ones of same_superclass and elsewhere towards 0"


@dataclass(frozen=True)
class PairLevels:
    """The numbers that determine the separation q/p if all classes have the same size."""

    n_classes: int
    n_per_class: float
    same_class: float  # mean cosine of two samples of one class
    same_superclass: float  # mean cosine of two samples of different classes of one superclass
    squared_norm: float = 1.0  # mean squared norm of the features of a sample

    def __post_init__(self) -> None:
        check_count("n_classes", self.n_classes, 2)
        checks.scale_number("n_per_class", self.n_per_class)
        checks.scale_number("squared_norm", self.squared_norm)
        c, d = checks.ordered_levels(
            same_class=self.same_class, same_superclass=self.same_superclass
        )
        vars(self).update(same_class=c, same_superclass=d)

    @classmethod
    def of_model(cls, model: CorrelationModel, *, superclass: ArrayLike) -> Self:
        """Return the levels of a model, as means over its classes.

        `same_class` is the mean cosine over classes, and `same_superclass` is the mean cosine over
        pairs of classes in one superclass. `n_per_class` is the mean class size. `squared_norm` is
        the mean over samples.

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
            why = "same_superclass is the mean cosine of such classes"
            raise ValueError(f"superclass must give two classes the same number, because {why}.")
        return cls(
            n_classes=model.n_classes,
            n_per_class=model.n_samples / model.n_classes,
            same_class=float(np.diag(cosines).mean()),
            same_superclass=float(cosines[pairs].mean()),
            squared_norm=float(np.average(model.squared_norms, weights=model.class_sizes)),
        )

    @property
    def own(self) -> float:
        """Eigenvalue A of the Gram matrix, for differences between samples of one class."""
        return 1 - self.same_class

    @property
    def class_mean(self) -> float:
        """Eigenvalue B of the Gram matrix, for differences between the classes of a superclass."""
        return self.own + self.n_per_class * (self.same_class - self.same_superclass)

    @property
    def ridge_per_l2(self) -> float:
        """Ridge x of the features scaled to unit norm, divided by l2: K² n / squared_norm."""
        return self.n_classes**2 * self.n_per_class / self.squared_norm


def largest_separation(levels: PairLevels) -> float:
    """Return B/A, the limit of the separation q/p for an infinite penalty.

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
    """Return log(q/p) at the penalty `l2`, accurate even if q/p is 1 up to rounding.

    In the notation of the module docstring, the result is log(1 + x (B - A)/(A (x + B))).

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
    """Return the penalty at which the separation q/p equals `separation`.

    The separation must be above 1 and below `largest_separation`. The penalty is proportional to
    the squared norm of the features.

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
        sizes = f"{levels.n_per_class:g} samples per class"
        advice = f"pass a number in this range. With {sizes}, no penalty gives a q/p outside it."
        raise ArgumentError({"separation": separation}, problem, advice)
    own, class_mean = levels.own, levels.class_mean
    ridge = own * class_mean * (ratio - 1) / (class_mean - ratio * own)
    return ridge / levels.ridge_per_l2


def _check_levels(levels: object) -> None:
    hint = "build one with PairLevels(...) or, from a CorrelationModel, PairLevels.of_model"
    checks.instance(levels, PairLevels, "levels", hint)


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Factors by which one or several rounds multiply the deviations of labels (eq. 14)."""

    own: float  # p, factor of the deviation of a label from the mean of its true class
    class_mean: float  # q, factor of the deviation of a class mean from its superclass mean
    # (n_superclasses,) r_s, factor of the deviation of a superclass mean from 1/K
    superclass_mean: FloatArray
    # log(q/p); if p and q are near 1 or underflow, it cannot be computed accurately from them.
    log_separation: float

    @property
    def separation(self) -> float:
        """Return q/p, the factor of class means divided by the factor of single labels."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_separation))

    def after(self, n_rounds: int) -> "Shrinkage":
        """Return the factors of `n_rounds` rounds with the same features."""
        power = checks.round_count(n_rounds)
        return Shrinkage(
            self.own**power,
            self.class_mean**power,
            self.superclass_mean**power,
            power * self.log_separation if power else 0.0,
        )

    @staticmethod
    def product(rounds: Sequence["Shrinkage"]) -> "Shrinkage":
        """Return the factors of several rounds with different features (the paper's corollary).

        `rounds` has one `Shrinkage` per round.
        """
        counts = sorted({each.superclass_mean.size for each in rounds})
        if len(counts) != 1:
            needed = "one Shrinkage per round, all with the same number of superclasses"
            found = f"the numbers {counts}" if counts else "no rounds"
            raise ValueError(f"rounds must hold {needed}, got {found}.")
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
    """Return p, q and r_s of one round for the paper's main correlation model, Case IV (eq. 14).

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
    levels = PairLevels(groups.size, n_per_class, same_class, same_superclass)
    superclass_mean = levels.class_mean + np.bincount(groups) * n_per_class * levels.same_superclass
    checks.psd_eigenvalues(np.sort(superclass_mean), NOT_PSD, "raise same_superclass towards 0")
    log_separation = log_separation_at(levels, l2=l2)
    ridge = levels.ridge_per_l2 * l2
    return Shrinkage(
        levels.own / (ridge + levels.own),
        levels.class_mean / (ridge + levels.class_mean),
        superclass_mean / (ridge + superclass_mean),
        log_separation,
    )


def lemma_outputs(corruption: ArrayLike, *, superclass: ArrayLike, kept: Shrinkage) -> FloatArray:
    """Return the outputs by Lemma 4.1, with the factors `kept`.

    For t rounds with the same features, pass the result of `Shrinkage.after`. For rounds with
    different features (the paper's corollary), pass the result of `Shrinkage.product`.

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
        problem = f"kept has {known} superclass(es), but superclass lists {listed}"
        raise ValueError(f"{problem}; pass the superclass for which kept was computed.")
    r = kept.superclass_mean[groups][:, None]
    rest = (r - kept.class_mean) * superclass_means(shares, groups)[groups] + (1 - r) / groups.size
    return outputs_table(shares, own=kept.own, class_mean=kept.class_mean, rest=rest)


def superclass_means(shares: FloatArray, groups: IntArray) -> FloatArray:
    """Return Ē (n_superclasses, n_labels), the mean row of `shares` in each superclass."""
    members = np.arange(groups.max() + 1)[:, None] == groups[None, :]
    return np.asarray((members @ shares) / members.sum(axis=1, keepdims=True))


def outputs_table(
    shares: FloatArray, *, own: float | FloatArray, class_mean: float | FloatArray, rest: FloatArray
) -> FloatArray:
    """Return `own` e(b) + (`class_mean` - `own`) E_a + `rest`[a], for classes a and labels b."""
    own_column = np.broadcast_to(np.asarray(own), (len(shares), 1))
    by_class: FloatArray = (class_mean - own_column) * shares + rest
    return own_column[:, :, None] * np.eye(len(shares))[None] + by_class[:, None, :]


def case_1_outputs(
    corruption: ArrayLike, *, same_class: float, n_per_class: float, l2: float, n_rounds: int
) -> FloatArray:
    """Return the outputs in Case I: y = pᵗ e(b) + (qᵗ - pᵗ) E_a + (1 - qᵗ)/K.

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
    """Return the outputs in Case II: as in Case I, but every class a has its own p_a and q_a.

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
    n_samples = len(shares) * checks.scale_number("n_per_class", n_per_class)
    ridge = len(shares) * n_samples * checks.scale_number("l2", l2)
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
    """Return the outputs in Case III: the lemma with one superclass of all classes.

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
        superclass=[0] * len(shares),
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
    """Return the outputs in Case IV: the lemma, with superclasses of any sizes.

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
    """Return the outputs in Case V, corrected: superclasses are correlated with each other.

    A round mixes the superclass means by a matrix M with one row per superclass. The formula
    printed in the paper is wrong, because it scales each superclass mean separately. With K_i
    classes in superclass i and the correlation e between superclasses,

        M = B I + n(d - e) diag(K_i) + n e √(K_i K_j),    f(z) = z/(x + z),
        y = pᵗ e(b) + (qᵗ - pᵗ) E_a + Σ_j √(K_j/K_s) [f(M)ᵗ - qᵗ]_sj (Ē_j - 1/K) + (1 - qᵗ)/K.

    If all superclasses have the same number m of classes, M has two eigenvalues. Let r = f(B +
    m n (d - e)) and u = f(B + m n (d - e) + K n e), and let Ē_all be the mean of E. Then

        y = pᵗ e(b) + (qᵗ - pᵗ) E_a + (rᵗ - qᵗ) Ē_s + (uᵗ - rᵗ) Ē_all + (1 - uᵗ)/K.

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
    levels, n, n_classes = PairLevels(groups.size, n_per_class, c, d), n_per_class, groups.size
    x, power = levels.ridge_per_l2 * checks.scale_number("l2", l2), checks.round_count(n_rounds)
    p, q = power_of_ratio(np.array([levels.own, levels.class_mean]), ridge=x, n_rounds=power)
    sizes = np.bincount(groups).astype(float)
    mixing = np.diag(levels.class_mean + n * (d - e) * sizes)
    mixing += n * e * np.sqrt(np.outer(sizes, sizes))
    values, vectors = np.linalg.eigh(mixing)  # of M
    values = checks.psd_eigenvalues(values, NOT_PSD, RAISE_LEVELS)
    factors = power_of_ratio(values, ridge=x, n_rounds=power)
    kept = (vectors * factors) @ vectors.T - q * np.eye(sizes.size)
    between = kept * np.sqrt(sizes[None, :] / sizes[:, None])
    rest = between @ (superclass_means(shares, groups) - 1 / n_classes) + (1 - q) / n_classes
    return outputs_table(shares, own=p, class_mean=q, rest=rest[groups])
