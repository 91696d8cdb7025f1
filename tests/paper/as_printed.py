"""Formulas that the paper prints and that do not hold, for comparison only.

* `printed_condition`: that of Theorem 5.1, not sufficient; `sufficient_condition` is one that is.
* `case_3_balanced`: the last line of Case III, which needs balanced given labels.
* `case_5_printed`: the final formula of Case V, wrong for elsewhere > 0 and several superclasses.
* `algorithm_1`: the numerical method for the exact softmax, which does not converge. The authors'
  code is another method, Adam on the squared norm with projection.

The right results are `partial_label_condition`, `case_3_outputs`, `case_5_outputs` and
`softmax_rounds`; docs/theory.md lists every erratum with its test.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from twohot.theory import Shrinkage, label_gaps

FloatArray: TypeAlias = NDArray[np.float64]


def printed_condition(corruption: FloatArray) -> NDArray[np.bool_]:
    """(n_classes,) C_kk > C_kk' for all k' ≠ k: necessary for every round, sufficient for none."""
    return label_gaps(corruption) > 0


def sufficient_condition(
    corruption: FloatArray, *, superclass: ArrayLike, kept: Shrinkage
) -> NDArray[np.bool_]:
    """(n_classes,) a condition under which the student is right, in the paper's setting.

    For classes of equal size, labels balanced and confused inside superclasses: one wrong label ỹ
    of the class commoner than the others, and C_kk above it; (q/p - 1)(C_kỹ - min C_kb) < 1 over
    labels b that occur, so that every given label stays a candidate; and
    (q - p)(1 - C_kk - C_kỹ) > r_s - q, so that no superclass mean can outweigh the class mean.
    """
    right = np.diag(corruption)
    wrong = corruption - np.diag(right)
    second, commonest = np.sort(wrong, axis=1)[:, -2:].T
    rarest = np.where(wrong > 0, wrong, np.inf).min(axis=1)
    stays_candidate = (kept.separation - 1) * (commonest - rarest) < 1
    superclass_pull = kept.superclass_mean[np.asarray(superclass)] - kept.class_mean
    class_pull = (kept.class_mean - kept.own) * (1 - right - commonest)
    unique = commonest > second
    return (right > commonest) & unique & stays_candidate & (class_pull > superclass_pull)


def case_3_balanced(
    corruption: ArrayLike,
    *,
    same_class: float,
    same_superclass: float,
    n_per_class: float,
    l2: float,
    n_rounds: int,
) -> FloatArray:
    """Case III, last line: y = pᵗ e(b) + (qᵗ - pᵗ) E_a + (1 - qᵗ)/K."""
    shares, c, d = np.asarray(corruption, dtype=float), same_class, same_superclass
    n_classes = len(shares)
    ridge = n_classes**2 * n_per_class * l2
    p = _ratio(1 - c, ridge) ** n_rounds
    q = _ratio(1 - c + n_per_class * (c - d), ridge) ** n_rounds
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
    """Case V's printed formula; `case_5_outputs` has the right outputs.

    δ_i is taken from the printed γ/(α + K_i(β + γ)) form, as the last of its printed forms is
    0/0 at K_i d = K e.
    """
    shares, groups = np.asarray(corruption, dtype=float), np.asarray(superclass)
    c, d, e = same_class, same_superclass, elsewhere
    n_classes, sizes = groups.size, np.bincount(groups)
    ridge = n_classes**2 * n_per_class * l2
    between = 1 - c + n_per_class * (c - d)
    p, q = _ratio(1 - c, ridge), _ratio(between, ridge)
    s = _ratio(between + n_classes * n_per_class * e, ridge)
    alpha = (ridge + between) / ridge
    beta, gamma = (n_per_class * level / ridge for level in (e, d - e))
    delta = (gamma / alpha - sizes * beta * gamma / (alpha * (alpha + n_classes * beta))) / (
        alpha + sizes * (beta + gamma)
    )
    shift = (q - s) / n_classes
    mu = (q + sizes * (shift + delta)) ** n_rounds - (q + sizes * shift) ** n_rounds
    members = np.eye(len(sizes))[groups]  # (n_classes, n_superclasses)
    rest = mu[:, None] * (members.T @ shares) / sizes[:, None]
    rest += (1 - mu - q**n_rounds)[:, None] / n_classes
    by_class = (q**n_rounds - p**n_rounds) * shares + rest[groups]
    return p**n_rounds * np.eye(n_classes) + by_class[:, None, :]


@dataclass(frozen=True, eq=False)
class DescentResult:
    """The result of `algorithm_1`."""

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
    """
    rows = np.asarray(targets)
    scaled = np.asarray(gram) / (len(rows) * l2)
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
