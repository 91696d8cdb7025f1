"""Rows whose true classes and exact probabilities are known, and labels wrong at random."""

from dataclasses import dataclass

import numpy as np

from twohot._types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SimulatedLabels:
    """Log-probabilities of the true class, and the labels that were given."""

    log_probabilities: FloatArray  # (n_rows, n_classes), exact up to a constant per row
    true: IntArray  # (n_rows,)
    given: IntArray  # (n_rows,)

    @property
    def wrong(self):
        return self.given != self.true


def simulate(n_rows, corruption, *, spread=1.0, seed=0):
    """Draw classes around random means, and labels by the corruption.

    The means are of unit variance in eight dimensions, so that a spread of 1 overlaps a little.
    """
    rng = np.random.default_rng(seed)
    n_classes = len(corruption)
    means = rng.normal(size=(n_classes, 8))
    true = rng.integers(n_classes, size=n_rows)
    rows = means[true] + spread * rng.normal(size=(n_rows, 8))
    distances = ((rows[:, None] - means) ** 2).sum(axis=2)
    # The first class at which the cumulated probability passes a draw.
    chances = np.cumsum(corruption[true], axis=1)
    given = (rng.random((n_rows, 1)) > chances).sum(axis=1)
    return SimulatedLabels(-distances / (2 * spread**2), true, np.minimum(given, n_classes - 1))
