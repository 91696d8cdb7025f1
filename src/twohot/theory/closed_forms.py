"""The paper's closed forms of Cases I-V, one function each.

Each writes out its formula for equal class sizes and stands apart from the general form in
`averaging`, so that each is a check of the other. Cases III and IV are the lemma (see `lemma_4_1`);
the others are it with terms removed or added. None needs balanced given labels.

Conventions: returned arrays have axes [true class, given label, label].
"""

import numpy as np
from numpy.typing import ArrayLike

from twohot.base import check_within
from twohot.theory import checks
from twohot.theory.averaging import power_of_ratio
from twohot.theory.checks import FloatArray
from twohot.theory.theorem_4_1 import (
    NOT_PSD,
    balanced_ridge,
    lemma_outputs,
    outputs_table,
    shrinkage,
    superclass_means,
)


def case_1_outputs(
    corruption: ArrayLike,
    *,
    same_class: float,
    n_per_class: float,
    l2: float,
    n_rounds: int,
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
    corruption: ArrayLike,
    *,
    same_class: ArrayLike,
    n_per_class: float,
    l2: float,
    n_rounds: int,
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
    values, vectors = np.linalg.eigh(mixing)  # of A
    values = checks.eigenvalues(values, NOT_PSD)
    factors = power_of_ratio(values, ridge=x, n_rounds=power)
    kept = (vectors * factors) @ vectors.T - q * np.eye(sizes.size)
    between = kept * np.sqrt(sizes[None, :] / sizes[:, None])
    rest = between @ (superclass_means(shares, groups) - 1 / n_classes) + (1 - q) / n_classes
    return outputs_table(shares, own=p, class_mean=q, rest=rest[groups])
