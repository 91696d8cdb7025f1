"""How well a candidate predicts held-out labels, though many of them are wrong.

Two measures, both of the label that was given:

    agreement    is it the most likely one?
    likelihood   log((1 - noise) p_given(temperature) + noise / K), at the noise rate and
                 temperature that suit the candidate best

Where labels are wrong independently of the features, a candidate that agrees more is more accurate;
that holds for any noise that leaves the right label the most frequent one. The likelihood sees
more of each row and so tells candidates apart with fewer rows, but takes noise to be uniform.
So agreement decides, and likelihood between candidates that agreement cannot tell apart.
"""

from bisect import bisect
from dataclasses import dataclass

import numpy as np

from twohot._types import FloatArray, IntArray
from twohot.solve.loss_kernels import softmax

# What logits may be divided by, and shares of wrong labels, to choose from.
TEMPERATURES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0, 4.5, 7.0, 10.0)
NOISE_RATES = np.linspace(0.005, 0.985, 50)

LEAST_ERROR = 1e-9  # of two that agree with the same labels, which differ by none


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a candidate says about rows it has not seen, pooled over all splits."""

    predicted: IntArray  # (n,), the most likely class
    margin: FloatArray  # (n,), by how much its logit is ahead of the next
    given: FloatArray  # (n_temperatures, n), p of the given label at each of TEMPERATURES


@dataclass(frozen=True, eq=False)
class Calibration:
    """The temperature and the noise rate at which a candidate predicts held-out labels best."""

    temperature: float
    noise_rate: float  # share of labels drawn at random, some of which are right
    likelihood: FloatArray  # (n,), log of the probability of every held-out label


def judge_logits(logits: FloatArray, labels: IntArray) -> HeldOut:
    """Return what logits (n, K) say about the given labels."""
    rows = np.arange(len(labels))
    given = np.empty((len(TEMPERATURES), len(labels)), np.float32)
    for place, temperature in enumerate(TEMPERATURES):
        given[place] = softmax(logits / logits.dtype.type(temperature))[0][rows, labels]
    # Kept for every candidate, so in four bytes a row.
    return HeldOut(logits.argmax(axis=1).astype(np.int32), _margin(logits), given)


def _margin(logits: FloatArray) -> FloatArray:
    """Return by how much the largest logit of each row is ahead of the next."""
    second, first = np.partition(logits, -2, axis=1)[:, -2:].T
    return np.asarray(first - second, dtype=np.float32)


def pool(parts: list[HeldOut]) -> HeldOut:
    """Return the rows of all splits as one."""
    return HeldOut(
        np.concatenate([part.predicted for part in parts]),
        np.concatenate([part.margin for part in parts]),
        np.concatenate([part.given for part in parts], axis=1),
    )


def calibrate(held_out: HeldOut, n_classes: int, weights: FloatArray) -> Calibration:
    """Return the temperature and noise rate of the largest mean likelihood.

    A row of weight 2 counts as two rows, here and below.
    """
    best = Calibration(1.0, 0.0, np.full(len(weights), -np.inf))
    largest = -np.inf
    for temperature, given in zip(TEMPERATURES, held_out.given, strict=True):
        for noise_rate in _likely_rates(given, n_classes, weights):
            likelihood = np.log((1 - noise_rate) * given + noise_rate / n_classes)
            total = float(likelihood @ weights)
            if total > largest:
                largest, best = total, Calibration(temperature, float(noise_rate), likelihood)
    return best


def _likely_rates(given: FloatArray, n_classes: int, weights: FloatArray) -> FloatArray:
    """Return the one or two noise rates among which the likeliest is.

    The likelihood is concave in the rate: the largest is where its slope changes sign.
    """
    excess = 1 / n_classes - given

    def descent(rate: float) -> float:
        return -float((excess / (given + rate * excess)) @ weights)

    after = bisect(NOISE_RATES, 0.0, key=descent)
    return NOISE_RATES[max(after - 1, 0) : after + 1]


def mean(values: FloatArray, weights: FloatArray) -> float:
    """Return a weighted mean."""
    return float(values @ weights / weights.sum())


def standard_error(values: FloatArray, weights: FloatArray) -> float:
    """Return the standard error of a weighted mean."""
    deviation = values - mean(values, weights)
    return float(np.sqrt(deviation**2 @ weights) / weights.sum())


def is_behind(
    values: FloatArray, others: FloatArray, weights: FloatArray, *, errors: float
) -> bool:
    """Return whether values are below others by more than so many standard errors, row by row."""
    behind = others - values
    return mean(behind, weights) > errors * standard_error(behind, weights)


def errors_ahead(agrees: FloatArray, others: FloatArray) -> float:
    """Return by how many standard errors one agrees with more labels than another does."""
    ahead, weights = agrees - others, np.ones(len(agrees))
    return mean(ahead, weights) / max(standard_error(ahead, weights), LEAST_ERROR)
