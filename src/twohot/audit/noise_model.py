"""How probable it is that a label is wrong, if labels are wrong at random given the true class.

A row has log-probabilities z of every class, from a classifier that did not see its label. They may
be too sure or not sure enough, and some rows may be judged worse than others, so that the true
class k of a row and its given label g have the probabilities

    p_k      = Σ_t weights_t · softmax(z / temperatures_t)_k
    P(g)     = Σ_k p_k · corruption_kg
    P(wrong) = 1 - p_g · corruption_gg / P(g).

The corruption is that of `counts` rows and of `prior_rows` more per true class whose labels are
wrong alike for all classes,

    corruption_kg = (counts_kg + prior_rows · even_kg) / (Σ_h counts_kh + prior_rows)
    even_kg       = 1 - noise_rate if k = g else noise_rate / (n_classes - 1).

A row is judged without its own count: it must not be the evidence for the confusion that it is
explained by.
"""

from dataclasses import dataclass

import numpy as np

from twohot._types import FloatArray, IntArray
from twohot.audit.tempered import less_the_largest, row_blocks, tempered, tempered_at

# Turns after which the share of a row in the counts is known to a hundredth. Each goes half of the
# way: the less a row has added, the more is left to explain it by, and whole steps go to and fro.
OWN_COUNT_TURNS = 6


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """How likely each class is to be the true one of a row, and to be given each label."""

    temperatures: FloatArray  # (n_temperatures,)
    weights: FloatArray  # (n_temperatures,), they sum to one
    noise_rate: float  # share of the labels that are wrong
    noise_rate_interval: tuple[float, float]  # rates that explain the labels about as well
    log_likelihood: float  # of the labels that it was fitted on, in nats
    prior_rows: float  # per true class, with noise alike for all; inf: no other is believed
    counts: FloatArray  # (n_classes, n_classes), rows of each true class (row) by given label;
    # empty where prior_rows is inf, and may be too large to hold
    n_classes: int

    @property
    def is_even(self) -> bool:
        """Whether noise is alike for all classes."""
        return bool(np.isinf(self.prior_rows))

    @property
    def corruption(self) -> FloatArray:
        """The share of each true class (row) that is given each label (column)."""
        even = even_corruption(self.n_classes, self.noise_rate)
        if self.is_even:
            return even
        sizes = self.counts.sum(axis=1, keepdims=True)
        return np.asarray((self.counts + self.prior_rows * even) / (sizes + self.prior_rows))

    def class_probabilities(self, log_probabilities: FloatArray) -> FloatArray:
        """Return how probable each class is to be the true one of each row, whatever its label."""
        return self._tempered(less_the_largest(log_probabilities))

    def _tempered(self, scores: FloatArray) -> FloatArray:
        found = np.zeros_like(scores)
        for weight, temperature in zip(self.weights, self.temperatures, strict=True):
            found += np.float32(weight) * tempered(scores, temperature)
        return found

    def probability_wrong(self, log_probabilities: FloatArray, labels: IntArray) -> FloatArray:
        """Return how probable it is that each label is wrong, NaN where the label is -1.

        Parameters
        ----------
        log_probabilities
            (n_rows, n_classes), up to a constant per row; -inf for a class that is impossible.
        labels
            (n_rows,), codes of the given labels.
        """
        doubt = np.full(len(labels), np.nan)
        labelled = np.flatnonzero(labels >= 0)
        for block in row_blocks(len(labelled), self.n_classes):
            rows = labelled[block]
            scores = less_the_largest(log_probabilities[rows])
            wrong = self._wrong_if_even if self.is_even else self._wrong_by_counts
            doubt[rows] = wrong(scores, labels[rows])
        return doubt

    def _wrong_if_even(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        at_label = self.weights @ tempered_at(scores, labels, self.temperatures)
        right, wrong = even_joint(at_label, self.noise_rate, self.n_classes)
        return np.asarray(wrong / (right + wrong))

    def _wrong_by_counts(self, scores: FloatArray, labels: IntArray) -> FloatArray:
        prior = self._tempered(scores)
        shares = np.zeros_like(scores)
        for turn in range(OWN_COUNT_TURNS):
            found = prior * corruption_without(
                shares, labels, self.counts, self.noise_rate, self.prior_rows
            )
            found /= found.sum(axis=1, keepdims=True)
            shares = (shares + found) / 2 if turn else found
        return np.asarray(1 - shares[np.arange(len(labels)), labels])


def even_corruption(n_classes: int, noise_rate: float) -> FloatArray:
    """Return the corruption of noise that is alike for all classes.

    Examples
    --------
    >>> even_corruption(3, 0.2).tolist()
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    """
    corruption = np.full((n_classes, n_classes), noise_rate / max(1, n_classes - 1))
    np.fill_diagonal(corruption, 1 - noise_rate)
    return corruption


def even_joint(
    at_label: FloatArray, noise_rate: float, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Return how likely a label is to be given and right, and to be given and wrong.

    Noise alike for all classes asks only how likely the label is to be the true class.
    """
    return at_label * (1 - noise_rate), (1 - at_label) * (noise_rate / max(1, n_classes - 1))


def corruption_without(
    own: FloatArray, labels: IntArray, counts: FloatArray, noise_rate: float, prior_rows: float
) -> FloatArray:
    """Return how likely each true class is to be given each row's label, by all other rows.

    `own` (n_rows, n_classes) is what each row has added to the counts, the column of its label.
    """
    n_classes = len(counts)
    wrong = prior_rows * noise_rate / max(1, n_classes - 1)
    found = counts.T.astype(np.float32)[labels]
    found -= own
    # A row that was never counted may take out more than is there.
    np.maximum(found, 0, out=found)
    found += np.float32(wrong)
    found[np.arange(len(labels)), labels] += np.float32(prior_rows * (1 - noise_rate) - wrong)
    others = counts.sum(axis=1).astype(np.float32) - own
    np.maximum(others, 0, out=others)
    others += np.float32(prior_rows)
    found /= others
    return np.asarray(found)
