"""What the paper prints and what does not hold, kept for comparison only.

* `case_3_balanced`: the last line of Case III, which needs balanced given labels.
* `case_5_printed`: the final formula of Case V, wrong for elsewhere > 0 and several superclasses.
* `algorithm_1`: the numerical method for the exact softmax, which does not converge. The authors'
  code is another method, Adam on the squared norm with projection.

The printed condition of Theorem 5.1 is `partial_label_guarantees.printed_condition`. The right
results are `closed_forms.case_3_outputs`, `case_5_outputs` and `exact_softmax.softmax_rounds`;
`docs/theory.md` lists every erratum with its test.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from twohot.base import check_count, check_positive
from twohot.theory import (
    FloatArray,
    balanced_ridge,
    corruption_matrix,
    ordered_levels,
    outputs_table,
    round_count,
    scale_number,
    superclass_map,
    superclass_means,
    symmetric_matrix,
    target_rows,
)


def case_3_balanced(
    corruption: ArrayLike,
    *,
    same_class: float,
    same_superclass: float,
    n_per_class: float,
    l2: float,
    n_rounds: int,
) -> FloatArray:
    """Case III, last line: y = pᵗ e(b) + (qᵗ - pᵗ) E_a + (1 - qᵗ)/K.

    Examples
    --------
    >>> from twohot.theory import case_3_outputs
    >>> known = {"same_class": 0.5, "same_superclass": 0.3, "n_per_class": 20, "l2": 2e-3}
    >>> unbalanced = [[1.0, 0.0], [0.4, 0.6]]
    >>> case_3_balanced(unbalanced, **known, n_rounds=3)[0, 0].round(3)
    array([0.95, 0.05])
    >>> case_3_outputs(unbalanced, **known, n_rounds=3)[0, 0].round(3)
    array([0.964, 0.036])
    """
    shares = corruption_matrix(corruption)
    c, d = ordered_levels(same_class=same_class, same_superclass=same_superclass)
    n_classes, power = len(shares), round_count(n_rounds)
    ridge = balanced_ridge(n_classes, n_per_class, l2)
    p = _ratio(1 - c, ridge) ** power
    q = _ratio(1 - c + n_per_class * (c - d), ridge) ** power
    return p * np.eye(n_classes) + ((q - p) * shares + (1 - q) / n_classes)[:, None, :]


def case_5_printed(
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
    """Case V's printed formula; use `cases.case_5_outputs` for right outputs.

    δ_i is taken from the printed γ/(α + K_i(β + γ)) form, as the last of its printed forms is
    0/0 at K_i d = K e.

    Examples
    --------
    >>> from twohot.theory import case_5_outputs
    >>> known = {"superclass": [0, 0, 1, 1], "same_class": 0.6, "same_superclass": 0.3,
    ...          "elsewhere": 0.1, "n_per_class": 30, "l2": 1e-3, "n_rounds": 3}
    >>> case_5_printed(np.eye(4), **known)[0, 0].round(3)
    array([0.906, 0.045, 0.025, 0.025])
    >>> case_5_outputs(np.eye(4), **known)[0, 0].round(3)
    array([0.915, 0.053, 0.016, 0.016])
    """
    shares = corruption_matrix(corruption)
    groups = superclass_map(superclass, len(shares))
    c, d, e = ordered_levels(
        same_class=same_class, same_superclass=same_superclass, elsewhere=elsewhere
    )
    n_classes, power = groups.size, round_count(n_rounds)
    sizes = np.bincount(groups)
    ridge = balanced_ridge(n_classes, n_per_class, l2)
    between = 1 - c + n_per_class * (c - d)
    p, q = _ratio(1 - c, ridge), _ratio(between, ridge)
    s = _ratio(between + n_classes * n_per_class * e, ridge)
    alpha = (ridge + between) / ridge
    beta, gamma = (n_per_class * level / ridge for level in (e, d - e))
    delta = (gamma / alpha - sizes * beta * gamma / (alpha * (alpha + n_classes * beta))) / (
        alpha + sizes * (beta + gamma)
    )
    shift = (q - s) / n_classes
    mu = (q + sizes * (shift + delta)) ** power - (q + sizes * shift) ** power
    rest = mu[:, None] * superclass_means(shares, groups) + (1 - mu - q**power)[:, None] / n_classes
    return outputs_table(shares, own=p**power, class_mean=q**power, rest=rest[groups])


@dataclass(frozen=True, eq=False)
class DescentResult:
    """Where `algorithm_1` stopped."""

    outputs: FloatArray  # (n_samples, n_classes)
    losses: FloatArray  # (n_iter,) ‖Y - Ŷ‖ before every update
    converged: bool


def algorithm_1(
    gram: ArrayLike,
    targets: ArrayLike,
    *,
    l2: float,
    learning_rate: float,
    max_iter: int,
    tolerance: float,
    seed: int,
) -> DescentResult:
    """One round of the paper's Algorithm 1: gradient descent on ‖Y - σ(Φ (U - Y)/(N l2))‖.

    The norm is not squared, so its gradient does not fade near the solution and a constant
    learning rate cannot settle. Random rows are normalised over the K labels; the printed sum
    over K n numbers is taken as a misprint.

    Examples
    --------
    >>> gram = 0.5 + 0.5 * np.eye(4)
    >>> result = algorithm_1(
    ...     gram, np.eye(2)[[0, 0, 1, 1]], l2=0.01, learning_rate=0.01, max_iter=500,
    ...     tolerance=1e-6, seed=0,
    ... )
    >>> result.converged
    False
    """
    matrix = symmetric_matrix(gram, "gram")
    rows = target_rows(targets, matrix.shape[0])
    max_iter = check_count("max_iter", max_iter, 1)
    learning_rate = check_positive("learning_rate", learning_rate)
    scaled = matrix / (len(rows) * scale_number("l2", l2))
    outputs = np.random.default_rng(seed).uniform(size=rows.shape)
    outputs /= outputs.sum(axis=1, keepdims=True)
    losses = []
    for _ in range(max_iter):
        implied = softmax(scaled @ (rows - outputs), axis=1)
        error = outputs - implied
        losses.append(np.linalg.norm(error))
        if losses[-1] < tolerance:
            break
        bent = implied * (error - (implied * error).sum(axis=1, keepdims=True))
        outputs = outputs - learning_rate * (error + scaled @ bent) / losses[-1]
    return DescentResult(outputs, np.array(losses), bool(losses[-1] < tolerance))


def _ratio(eigenvalue: float, ridge: float) -> float:
    return eigenvalue / (ridge + eigenvalue)
