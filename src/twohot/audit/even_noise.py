"""Noise alike for all classes: the rate, and the weights of the temperatures, by likelihood.

Only how likely the label is to be the true class matters then. With p_t that probability at
temperature t,

    log-likelihood = Σ_rows log Σ_t weights_t · ((1 - rate) p_t + rate (1 - p_t) / (n_classes - 1))

is concave: in v_t = weights_t · (1 - rate · n_classes / (n_classes - 1)) and the rate it is a sum
of logarithms of linear functions. There is one optimum, and the rates that explain the labels
about as well as the best are an interval.
"""

from dataclasses import dataclass

import numpy as np

from twohot._types import FloatArray
from twohot.audit.noise_model import even_joint

# The noise rate to start from, and the least: labels are never taken for certain.
FIRST_NOISE_RATE = 0.2
LEAST_NOISE_RATE = 1e-4
# Turns of expectation maximisation after which the noise rate moves by less than a point.
EVEN_TURNS = 60
# Nats, half of the 95 % quantile of chi-squared with one degree of freedom: what costs less is not
# refuted.
REFUTED = 1.92
# Nats that noise must explain more than its absence does, to be believed at all: where scores say
# nothing, it explains none.
LEAST_EVIDENCE = 0.1
# Halvings by which an end of the interval is found, to a thousandth.
HALVINGS = 10


@dataclass(frozen=True, eq=False)
class EvenNoise:
    """Noise alike for all classes at given temperatures."""

    noise_rate: float
    weights: FloatArray  # (n_temperatures,)
    log_likelihood: float  # in nats


def fit_even_noise(
    at_label: FloatArray, weights: FloatArray, n_classes: int, noise_rate: float | None = None
) -> EvenNoise:
    """Return the weights, and the noise rate if none is given, of the greatest likelihood.

    `at_label` (n_temperatures, n_rows) is how likely each label is to be the true class, `weights`
    where to start.

    Examples
    --------
    >>> import numpy as np
    >>> found = fit_even_noise(np.array([[1.0, 1.0, 1.0, 0.0]]), np.ones(1), n_classes=2)
    >>> round(found.noise_rate, 3)
    0.25
    """
    rate = FIRST_NOISE_RATE if noise_rate is None else noise_rate
    for _ in range(EVEN_TURNS if noise_rate is None or len(weights) > 1 else 0):
        right, wrong = even_joint(weights @ at_label, rate, n_classes)
        total = right + wrong
        each = np.add(*even_joint(at_label, rate, n_classes))
        weights = weights * (each / total).mean(axis=1)
        weights = weights / weights.sum()
        if noise_rate is None:
            rate = possible_rate((wrong / total).mean(), n_classes)
    total = np.add(*even_joint(weights @ at_label, rate, n_classes))
    return EvenNoise(rate, weights, float(np.log(total).sum()))


def fit_no_noise(at_label: FloatArray, weights: FloatArray, n_classes: int) -> EvenNoise:
    """Return the weights that explain the labels best if all are right."""
    return fit_even_noise(at_label, weights, n_classes, possible_rate(0.0, n_classes))


def simplest(noisy: EvenNoise, clean: EvenNoise) -> EvenNoise:
    """Return the labels without noise, unless noise explains more."""
    return clean if clean.log_likelihood > noisy.log_likelihood - LEAST_EVIDENCE else noisy


def unrefuted_rates(at_label: FloatArray, best: EvenNoise, n_classes: int) -> tuple[float, float]:
    """Return the least and the largest noise rate that explain the labels about as well."""
    ends = possible_rate(0.0, n_classes), possible_rate(1.0, n_classes)
    low, high = (_last_unrefuted(at_label, best, n_classes, end) for end in ends)
    # The least rate stands for none.
    return (0.0 if low == ends[0] else low), high


def _last_unrefuted(at_label: FloatArray, best: EvenNoise, n_classes: int, end: float) -> float:
    def refuted(noise_rate: float) -> bool:
        fixed = fit_even_noise(at_label, best.weights, n_classes, noise_rate)
        return fixed.log_likelihood < best.log_likelihood - REFUTED

    if not refuted(end):
        return end
    kept = best.noise_rate
    for _ in range(HALVINGS):
        middle = (kept + end) / 2
        kept, end = (kept, middle) if refuted(middle) else (middle, end)
    return kept


def possible_rate(noise_rate: float, n_classes: int) -> float:
    """Return a rate between hardly any noise and labels that say nothing."""
    return float(min(max(noise_rate, LEAST_NOISE_RATE), 1 - 1 / n_classes))
