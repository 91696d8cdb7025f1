"""The noise model that explains the given labels best.

Temperatures, weights and corruption are those of the greatest likelihood of the given labels, by
expectation maximisation: how likely each true class is given the label, and the weights and the
corruption that follow, by turns.

1. One temperature of a grid, with noise alike for all classes. Only the probability of the label
   matters then, and the likelihood is concave in the noise rate and the weights: one optimum.
2. Temperatures around it. With one alone a classifier's own confident errors look like noise.
3. Noise that differs between classes, as far as it explains the labels: a corruption has
   n_classes² entries, and the confusions of a classifier look a little like noise.

Noise that explains the labels no better than its absence is not believed: where labels are pure
chance, any noise rate explains them, and the interval says so.
"""

from dataclasses import replace
from typing import TypeVar

import numpy as np

from twohot._checks.messages import ArgumentError
from twohot._types import FloatArray, IntArray
from twohot.audit.class_noise import fit_class_noise
from twohot.audit.even_noise import (
    REFUTED,
    EvenNoise,
    fit_even_noise,
    fit_no_noise,
    simplest,
    unrefuted_rates,
)
from twohot.audit.noise_model import NoiseModel
from twohot.audit.tempered import less_the_largest, tempered_at

# Rows that a model is fitted on; a share of wrong labels among them is known to a point. With more
# than 2,000 classes they are fewer, and it is known to two.
MOST_ROWS, FEWEST_ROWS = 10_000, 2_000
MOST_CELLS = 20_000_000
# Share of the mean size of a class below which it hardly occurs.
RARE = 0.1
# Classes up to which noise may differ between them. With more there is less than a row for 25
# entries of a corruption to learn them from, and each turn takes a number for each row and class.
MOST_CLASSES = 500
# Temperatures tried: logits that should be thirty times larger, to thirty times smaller, and such
# as say nothing at all.
CENTRES = np.array([*(2.0 ** np.arange(-5, 6)), np.inf])
# Temperatures around the one and the weights they start with. Those above twice the one are so
# close to noise alike for all classes that they would take its place: of 30 % wrong labels of
# BANKING77, 20 % were found with four times the one, and 28 % without.
AROUND = np.array([0.25, 0.5, 1.0, 2.0])
AROUND_WEIGHTS = np.array([0.1, 0.2, 0.5, 0.2])
# Turns of expectation maximisation with noise that differs between classes: to compare
# temperatures, and to settle.
SEARCH_TURNS, CLASS_TURNS = 8, 25
# Prior rows, and the nats per entry of the corruption by which they must explain the labels better
# than noise alike for all: few prior rows learn confusions by heart. With 30 of them, symmetric
# noise on BANKING77 and CIFAR-100 gained up to .09, human labels .11, noise inside superclasses
# (digits, where 100 prior rows are too many) .6 and more. If either is believed, noise does differ
# between classes, and the likelier one says how.
BELIEVED_FROM = ((100.0, 0.0), (30.0, 0.2))
LEAST_GAIN = 10.0  # nats that chance alone seldom reaches
# Nats per label beside that, for each class up to so many: what a classifier confuses looks like
# noise, and the more classes there are, the more it confuses. Measured with 100 prior rows and 20
# classes or more: symmetric noise up to .03 and .048 (CIFAR-100, StanfordCars), noise at the
# boundary up to .043, clean labels of which three in four are predicted up to .046; all of them are
# ranked worse than with noise alike for all (CIFAR-100 with .1: average precision 84 instead of
# 94). Human labels .058, noise inside superclasses .1 and more; of 10 classes .07, and noise at the
# boundary .002.
GAIN_PER_LABEL, GAINING_CLASSES = 0.0025, 20
# Nats per label that noise alike for all explains: where a wrong label came from must be worth
# some. Measured with 100 prior rows: superclass noise .3 and more; symmetric noise below .05, and
# .15 on StanfordCars, of which it would make a tenth too many wrong labels.
GAIN_PER_WRONG = 0.2

Fitted = TypeVar("Fitted", EvenNoise, NoiseModel)


def fit_noise_model(
    log_probabilities: FloatArray, labels: IntArray, temperatures: FloatArray | None = None
) -> NoiseModel:
    """Return the noise model of the greatest likelihood of the given labels.

    At most 10,000 rows are looked at, always the same; fewer of more than 2,000 classes. They are
    held in float32, and as much again for what is thought of their true classes; with what is held
    per pair of classes and per block of rows that is some 30 MB with 100 classes and 300 MB with
    2,000 or 10,000.

    Parameters
    ----------
    log_probabilities
        (n_rows, n_classes), up to a constant per row, of a classifier that has not seen the row's
        label; -inf for a class that is impossible.
    labels
        (n_rows,), codes of the given labels; -1 for none.
    temperatures
        Take these, with weights as they fit best, instead of those that explain the labels best.
        One of 1 takes the probabilities as they are.

    Examples
    --------
    Two classes with the exact probabilities, and one label in five is wrong:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=4000) * 6
    >>> true = (rng.random(4000) < 1 / (1 + np.exp(-log_odds))).astype(int)
    >>> given = np.where(rng.random(4000) < 0.2, 1 - true, true)
    >>> scores = np.stack([np.zeros(4000), log_odds], axis=1)
    >>> model = fit_noise_model(scores, given)
    >>> print(f"{model.noise_rate:.2f}")
    0.20
    >>> wrong = model.probability_wrong(scores, given)
    >>> print(f"{np.mean((given != true)[wrong > 0.5]):.2f} {wrong[wrong > 0.5].mean():.2f}")
    0.85 0.85
    """
    common = _common_classes(_sizes(labels, log_probabilities.shape[1]))
    scores, label = _scores_of(log_probabilities, labels, common)
    model = _fit(scores, label, temperatures)
    return _among_all(model, common, log_probabilities.shape[1])


def best_temperature(log_probabilities: FloatArray, labels: IntArray) -> float:
    """Return the temperature that explains the labels best, with noise alike for all classes."""
    common = _common_classes(_sizes(labels, log_probabilities.shape[1]))
    return _best_centre(*_scores_of(log_probabilities, labels, common))


def most_rows(n_classes: int) -> int:
    """Return how many rows a model is fitted on at the most."""
    return min(MOST_ROWS, max(FEWEST_ROWS, MOST_CELLS // n_classes))


def rare_classes(sizes: IntArray) -> IntArray:
    """Return the classes that hardly occur: less than a tenth as often as the mean."""
    return np.setdiff1d(np.arange(len(sizes)), _common_classes(sizes))


def _common_classes(sizes: IntArray) -> IntArray:
    """Return the classes that noise alike for all would fall on: not those that hardly occur.

    A misspelt label is one. A wrong label would be that one as often as any other, which it is not,
    and any doubt of all labels would explain them better. Classes that no label is of stay: rows
    may be of them.
    """
    mean_size = sizes.sum() / max(1, np.count_nonzero(sizes))
    common = np.flatnonzero((sizes == 0) | (sizes >= RARE * mean_size))
    return common if len(common) > 1 else np.arange(len(sizes))


def _sizes(labels: IntArray, n_classes: int) -> IntArray:
    return np.bincount(labels[labels >= 0], minlength=n_classes)


def _scores_of(
    log_probabilities: FloatArray, labels: IntArray, classes: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return the rows of some classes to fit on, their scores of these, and their labels."""
    place = np.full(log_probabilities.shape[1] + 1, -1)
    place[classes] = np.arange(len(classes))  # the last stays -1, for no label
    coded = place[labels]
    chosen = _chosen_rows(coded, most_rows(len(classes)))
    scores = log_probabilities[chosen]
    if len(classes) < scores.shape[1]:
        scores = scores[:, classes]
    return less_the_largest(scores), coded[chosen]


def _among_all(model: NoiseModel, classes: IntArray, n_classes: int) -> NoiseModel:
    """Return a model of some classes as one of all, to the others of which no label was given."""
    counts = model.counts
    if counts.size and len(classes) < n_classes:
        counts = np.zeros((n_classes, n_classes), dtype=counts.dtype)
        counts[np.ix_(classes, classes)] = model.counts
    return replace(model, counts=counts, n_classes=n_classes)


def _fit(scores: FloatArray, label: IntArray, temperatures: FloatArray | None) -> NoiseModel:
    even = _fit_even_model(scores, label, temperatures)
    n_classes = scores.shape[1]
    # Scores that say nothing cannot tell which classes are confused.
    if not 2 <= n_classes <= MOST_CLASSES or np.isinf(even.temperatures).any():
        return even
    # Labels alone, by their frequency: what a corruption can explain without knowing any row.
    sizes = np.bincount(label, minlength=n_classes)
    alone = float(sizes @ np.log(np.maximum(sizes, 1) / len(label)))
    explained = max(even.log_likelihood, alone)
    per_label = max(
        GAIN_PER_LABEL * min(n_classes, GAINING_CLASSES), GAIN_PER_WRONG * even.noise_rate
    )
    found, believed = [], False
    for prior_rows, per_entry in BELIEVED_FROM:
        start = replace(even, prior_rows=prior_rows)
        found.append(_fit_by_class(scores, label, start, searched=temperatures is None))
        needed = max(LEAST_GAIN, per_label * len(label), per_entry * n_classes**2)
        # The larger prior may be too strong for small classes, and the smaller one not.
        believed |= found[-1].log_likelihood - explained > needed
    return _likeliest(found) if believed else even


def _chosen_rows(labels: IntArray, most: int) -> IntArray:
    """Return the rows to fit on, those of a label side by side: they share its counts."""
    chosen = np.flatnonzero(labels >= 0)
    if not len(chosen):
        raise ArgumentError("labels", "are all missing", "pass some labelled rows.")
    if len(chosen) > most:
        # At random, since every fifth row may be of one class, but always the same.
        chosen = np.random.default_rng(0).choice(chosen, most, replace=False)
    return chosen[np.argsort(labels[chosen], kind="stable")]


def _fit_even_model(
    scores: FloatArray, labels: IntArray, temperatures: FloatArray | None
) -> NoiseModel:
    n_classes = scores.shape[1]
    if temperatures is None:
        temperatures, weights = _best_centre(scores, labels) * AROUND, AROUND_WEIGHTS
    else:
        temperatures = np.asarray(temperatures, dtype=np.float64)
        weights = np.full(len(temperatures), 1 / len(temperatures))
    at_label = tempered_at(scores, labels, temperatures)
    noisy = fit_even_noise(at_label, weights, n_classes)
    best = simplest(noisy, fit_no_noise(at_label, weights, n_classes))
    return NoiseModel(
        temperatures=temperatures,
        weights=best.weights,
        noise_rate=best.noise_rate,
        noise_rate_interval=unrefuted_rates(at_label, noisy, n_classes),
        log_likelihood=best.log_likelihood,
        prior_rows=np.inf,
        counts=np.zeros((0, 0)),
        n_classes=n_classes,
    )


def _best_centre(scores: FloatArray, labels: IntArray) -> float:
    """Return the temperature that explains the labels best, without noise unless it is needed.

    Infinity if it is not refuted that scores say nothing at all.
    """
    one, n_classes = np.ones(1), scores.shape[1]
    at_label = tempered_at(scores, labels, CENTRES)[:, None]  # (n_centres, 1, n_rows)
    noisy = [fit_even_noise(row, one, n_classes) for row in at_label]
    clean = [fit_no_noise(row, one, n_classes) for row in at_label]
    found = simplest(_likeliest(noisy), _likeliest(clean))
    if clean[-1].log_likelihood > found.log_likelihood - REFUTED:
        return float(CENTRES[-1])
    return float(CENTRES[[*noisy, *clean].index(found) % len(CENTRES)])


def _fit_by_class(
    scores: FloatArray, labels: IntArray, start: NoiseModel, *, searched: bool
) -> NoiseModel:
    """Return the model with noise that differs between classes, at the best temperatures."""
    if searched:
        ones = (
            replace(start, temperatures=np.array([centre]), weights=np.ones(1))
            for centre in start.temperatures
        )
        found = _likeliest([fit_class_noise(scores, labels, one, SEARCH_TURNS) for one in ones])
        start = replace(found, temperatures=found.temperatures * AROUND, weights=AROUND_WEIGHTS)
    return fit_class_noise(scores, labels, start, CLASS_TURNS)


def _likeliest(found: list[Fitted]) -> Fitted:
    return max(found, key=lambda one: one.log_likelihood)
