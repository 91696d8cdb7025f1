"""Noise that differs between classes: the corruption, by expectation maximisation.

By turns, with p_t the probabilities of a row's true class at temperature t and g its label,

    1. share_k   ∝ Σ_t weights_t · p_tk · corruption_kg        what is thought of each row,
    2. counts_kg = Σ_{rows with label g} share_k
       weights_t ∝ Σ_rows weights_t · Σ_k p_tk · corruption_kg / P(g)

where the corruption in 1 is that of all rows but the one (`corruption_without`). The likelihood
is then that of labels that have not been seen: more freedom does not raise it by itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from twohot._types import FloatArray, IntArray
from twohot.audit.even_noise import FIRST_NOISE_RATE, possible_rate
from twohot.audit.noise_model import NoiseModel, corruption_without
from twohot.audit.tempered import row_blocks, tempered
from twohot.distill.targets import one_hot

# Probabilities at all temperatures that are kept from turn to turn, at the most: 32 MB.
KEPT_ENTRIES = 2**23

# Of an interval that covers in 95 % of all cases.
STANDARD_ERRORS = 1.96


@dataclass(frozen=True, eq=False)
class _Sums:
    """What the rows add up to in one turn."""

    log_likelihood: float  # in nats
    right: float  # labels that are thought to be right
    information: float  # about the noise rate: its squared derivatives of the log-likelihood
    weights: FloatArray  # (n_temperatures,)


def fit_class_noise(
    scores: FloatArray, labels: IntArray, start: NoiseModel, n_turns: int
) -> NoiseModel:
    """Return the model with the prior rows and temperatures of `start`, fitted to labelled rows.

    `scores` (n_rows, n_classes) are in float32, with largest zero.
    """
    n_classes = start.n_classes
    tempering = _tempering(scores, start.temperatures)
    by_label = one_hot(labels, n_classes).T
    shares = np.zeros_like(scores)
    # Where no noise was found that is alike for all classes, there may be some that is not.
    model = replace(
        start,
        noise_rate=possible_rate(max(start.noise_rate, FIRST_NOISE_RATE), n_classes),
        counts=np.zeros((n_classes, n_classes)),
    )
    for _ in range(n_turns):
        sums = _share_out(tempering, labels, model, shares)
        # Of 10,000 rows at the most, for which sums in float32 do.
        counts = np.asarray((by_label @ shares).T, dtype=np.float64)
        rate = possible_rate(1 - sums.right / len(labels), n_classes)
        # Labels that tell nothing leave a margin that is wider than all rates.
        margin = STANDARD_ERRORS / max(sums.information, 1.0) ** 0.5
        model = replace(
            model,
            weights=sums.weights / sums.weights.sum(),
            noise_rate=rate,
            noise_rate_interval=(max(0.0, rate - margin), min(1.0, rate + margin)),
            counts=counts,
            log_likelihood=sums.log_likelihood,
        )
    return model


def _tempering(
    scores: FloatArray, temperatures: FloatArray
) -> Callable[[slice], Sequence[FloatArray]]:
    """Return what gives the probabilities of rows at each temperature, kept if not too many."""
    if scores.size * len(temperatures) > KEPT_ENTRIES:
        return lambda rows: [tempered(scores[rows], each) for each in temperatures]
    kept = [tempered(scores, each) for each in temperatures]
    return lambda rows: [probabilities[rows] for probabilities in kept]


def _share_out(
    tempering: Callable[[slice], Sequence[FloatArray]],
    labels: IntArray,
    model: NoiseModel,
    shares: FloatArray,
) -> _Sums:
    """Write how likely each true class is into `shares`, in place of that of the last turn."""
    log_likelihood = right = information = 0.0
    weights = np.zeros(len(model.weights))
    for rows in row_blocks(len(labels), model.n_classes):
        label = labels[rows]
        chance = corruption_without(
            shares[rows], label, model.counts, model.noise_rate, model.prior_rows
        )
        joint = np.zeros_like(chance)
        each = np.empty((len(weights), len(label)))
        for place, (weight, given) in enumerate(zip(model.weights, tempering(rows), strict=True)):
            each[place] = weight * np.einsum("ij,ij->i", given, chance)
            joint += np.float32(weight) * given
        joint *= chance
        total = each.sum(axis=0)
        np.divide(joint, total[:, None], out=shares[rows], casting="same_kind")
        log_likelihood += float(np.log(total).sum())
        at_label = joint[np.arange(len(label)), label] / total
        right += float(at_label.sum())
        slopes = (1 - at_label) / model.noise_rate - at_label / (1 - model.noise_rate)
        information += float(slopes @ slopes)
        weights += (each / total).sum(axis=1)
    return _Sums(log_likelihood, right, information, weights)
