"""How far a prediction may be off because class correlations are estimated from a few rows.

Let the rows of class a be drawn independently with mean μ_a and covariance Σ_a: Gaussian, with
‖Σ_a‖ ≤ τ and tr Σ_a = δ_a. The theory needs W_ab = μ_a · μ_b; the rows give the mean products of
pairs, Ŵ. With D = diag(√n) and B = D W D + diag(δ), which decides all outputs,

    B̂ - B = H + Hᵀ + Q,   H = D [μ]ᵀ G,   Q = Gᵀ G - diag(δ),   column a of G ~ N(0, Σ_a).

With probability 1 - α, for α in equal parts of three,

    ‖H‖ ≤ √(τ ‖D W D‖) (2 √K + √(2 ln(3/α)))          (Davidson-Szarek, after Anderson)
    ‖Q‖ ≤ 4 √(τ δ_max L) + 4 τ L,  L = K ln 9 + ln(6/α)   (Laurent-Massart on a net of directions)
    |δ̂_a - δ_a| ≤ 2 √(τ δ_a M) + 2 τ M,  M = ln(6 K/α) / (n_a - 1),   in all classes.

‖D W D‖ ≤ ‖D Ŵ D‖ + β for β = 2‖H‖ + ‖Q‖, which gives β from what is known. As
f(B̂) - f(B) = x (x + B̂)⁻¹ (B̂ - B) (x + B)⁻¹, f(z) = z/(x + z), and f ≤ m = f(λ_max(B̂) + β),

    ‖f(B̂)ᵗ - f(B)ᵗ‖ ≤ t mᵗ⁻¹ x β / ((x + λ_min(B̂)) (x + max(λ_min(B̂) - β, 0))).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from twohot._checks.messages import ArgumentError
from twohot._checks.numbers import check_within
from twohot.theory import _checks
from twohot.theory._checks import FloatArray
from twohot.theory.averaging import power_of_ratio
from twohot.theory.class_reduction import ClassReduction
from twohot.theory.correlation_models import CorrelationModel, check_model
from twohot.theory.outputs import after_rounds

# A net of directions in K dimensions of width 1/4 has at most 9ᴷ of them, and a quadratic form is
# at most twice its largest value on it.
NET_SIZE, NET_FACTOR = 9, 2


@dataclass(frozen=True, eq=False)
class PredictionBound:
    """What predictions may be off by; see `prediction_bound`."""

    outputs: FloatArray  # (n_classes,) largest error of an output of the samples of each class
    gram_error: float  # β, the error of the class Gram matrix in the spectral norm
    accuracy: float  # predicted share of training samples that are right
    lowest_accuracy: float  # share that is right whatever the error
    highest_accuracy: float  # one minus the share that is wrong whatever the error
    confidence: float  # probability that all of this holds


def prediction_bound(
    model: CorrelationModel,
    corruption: ArrayLike,
    *,
    l2: float,
    n_rounds: int,
    within_norm: float,
    confidence: float = 0.95,
) -> PredictionBound:
    """Bound the error of `type_outputs` that comes from estimated correlations.

    The bound is about the theory's prediction for the distribution that the rows are from. It says
    nothing about how well the linear theory describes a trained classifier, which is
    `softmax_error`, nor about noise in the true classes.

    Parameters
    ----------
    model : CorrelationModel
        Correlations estimated from rows of known classes, with the numbers of these rows:
        mean products of pairs of different rows, and mean squared norms.
    corruption, l2, n_rounds
        As for `type_outputs`.
    within_norm : float
        Largest eigenvalue τ of the covariance inside any class.
    confidence : float
        Probability with which the bound holds, above 0 and below 1.

    Examples
    --------
    With 50 rows of each class, and with 500:

    >>> corruption = 0.6 * np.eye(4) + 0.1 * np.ones((4, 4))
    >>> for n_per_class in (50, 500):
    ...     model = CorrelationModel.case_3(
    ...         n_classes=4, same_class=0.5, same_superclass=0.1, n_per_class=n_per_class
    ...     )
    ...     bound = prediction_bound(
    ...         model, corruption, l2=0.5 / (16 * n_per_class), n_rounds=3, within_norm=0.005
    ...     )
    ...     print(n_per_class, f"±{bound.outputs.max():.3f}", bound.lowest_accuracy)
    50 ±0.035 1.0
    500 ±0.005 1.0
    """
    check_model(model)
    shares = _checks.corruption_matrix(corruption, model.n_classes)
    power = _checks.round_count(n_rounds)
    level = check_within("confidence", confidence, 0, 1)
    norm = _checks.scale_number("within_norm", within_norm)
    if not 0 < level < 1:
        advice = "pass a probability above 0 and below 1; 1 takes an infinite bound."
        raise ArgumentError({"confidence": confidence}, "is not allowed", advice)
    if model.class_sizes.min() < 2:
        advice = "correlations inside a class need pairs: drop classes of fewer than 2 rows."
        raise ArgumentError("model", "has a class with fewer than 2 rows", advice)
    reduction = ClassReduction(model, l2=l2)
    gram_error = _gram_error(model, norm, 1 - level)
    of_means = _power_error(reduction, gram_error, power) * np.linalg.norm(
        reduction.root[:, None] * (shares - 1 / len(shares)), axis=0
    ).max(initial=0.0)
    of_own = _own_error(model, reduction, norm, 1 - level, power)
    # Neither part of an output can be off by more than 1: both are averages of labels.
    outputs = np.minimum(of_own + of_means / reduction.root, 1.0)
    predicted = after_rounds(reduction, shares, power)
    margins, weights = predicted.margins(), shares * model.class_sizes[:, None] / model.n_samples
    apart = 2 * outputs[:, None]  # of two outputs
    return PredictionBound(
        outputs=outputs,
        gram_error=gram_error,
        accuracy=predicted.accuracy(),
        lowest_accuracy=float(weights[margins > apart].sum()),
        highest_accuracy=float(1 - weights[margins < -apart].sum()),
        confidence=level,
    )


def _gram_error(model: CorrelationModel, norm: float, risk: float) -> float:
    """Return β: the root u = √(‖D Ŵ D‖ + β) of u² - κ u - (‖D Ŵ D‖ + ‖Q‖) = 0."""
    n_classes, root = model.n_classes, np.sqrt(model.class_sizes)
    scaled = root[:, None] * model.correlation * root
    estimated = max(float(np.linalg.eigvalsh(scaled)[-1]), 0.0)
    directions = n_classes * math.log(NET_SIZE) + math.log(6 / risk)
    own = float(model.own_part.max())
    quadratic = 2 * NET_FACTOR * (math.sqrt(norm * own * directions) + norm * directions)
    slope = 2 * math.sqrt(norm) * (2 * math.sqrt(n_classes) + math.sqrt(2 * math.log(3 / risk)))
    largest = (slope + math.sqrt(slope**2 + 4 * (estimated + quadratic))) / 2
    return float(largest**2 - estimated)


def _power_error(reduction: ClassReduction, gram_error: float, n_rounds: int) -> float:
    """Return the bound on ‖f(B̂)ᵗ - f(B)ᵗ‖, which is never more than 1."""
    ridge, least = reduction.ridge, float(reduction.values.min())
    below = (ridge + least) * (ridge + max(least - gram_error, 0.0))
    largest = np.asarray(reduction.values.max() + gram_error)
    kept = float(power_of_ratio(largest, ridge=ridge, n_rounds=max(n_rounds - 1, 0)))
    return min(n_rounds * kept * ridge * gram_error / below, 1.0)


def _own_error(
    model: CorrelationModel, reduction: ClassReduction, norm: float, risk: float, n_rounds: int
) -> FloatArray:
    """(n_classes,) bound on |f(δ̂)ᵗ - f(δ)ᵗ|, by the ends of the interval that δ is in."""
    own = model.own_part
    spread = norm * math.log(6 * model.n_classes / risk) / (model.class_sizes - 1)
    off = 2 * np.sqrt(own * spread) + 2 * spread
    ends = [np.maximum(own - off, 0.0), own, own + off]
    low, here, high = (
        power_of_ratio(end, ridge=reduction.ridge, n_rounds=n_rounds) for end in ends
    )
    return np.asarray(np.maximum(here - low, high - here))
