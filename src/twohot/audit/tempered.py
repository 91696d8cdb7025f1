"""Probabilities of log-probabilities divided by a temperature, some rows at a time."""

from collections.abc import Iterator

import numpy as np

from twohot._types import FloatArray, IntArray

# Entries of an array that belongs to a block of rows: 1 MB in float32, which caches like.
BLOCK_ENTRIES = 2**18
# Log-probability, less that of the likeliest class, below which all are alike: zero in any
# precision, and yet a number that a temperature can divide.
LEAST_LOG_PROBABILITY = -1000.0


def row_blocks(n_rows: int, n_classes: int) -> Iterator[slice]:
    """Yield the rows in blocks of which an array of one entry per class is small."""
    size = max(1, BLOCK_ENTRIES // n_classes)
    for first in range(0, n_rows, size):
        yield slice(first, min(first + size, n_rows))


def less_the_largest(log_probabilities: FloatArray) -> FloatArray:
    """Return scores (n_rows, n_classes) in float32 whose largest is zero in every row.

    A row without any likely class, all of it -inf, has equal scores.

    Examples
    --------
    >>> import numpy as np
    >>> less_the_largest(np.log([[0.25, 0.5], [0.5, 0.25]])).round(2).tolist()
    [[-0.6899999976158142, 0.0], [0.0, -0.6899999976158142]]
    """
    floored = np.maximum(log_probabilities, np.finfo(np.float32).min)
    floored = floored - floored.max(axis=1, keepdims=True)
    return np.asarray(np.maximum(floored, LEAST_LOG_PROBABILITY), dtype=np.float32)


def tempered(scores: FloatArray, temperature: float) -> FloatArray:
    """Return softmax(scores / temperature) of scores whose largest is zero in every row."""
    probabilities = np.exp(scores * np.float32(1 / temperature))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return np.asarray(probabilities)


def tempered_at(scores: FloatArray, labels: IntArray, temperatures: FloatArray) -> FloatArray:
    """Return the probability of each row's label at each temperature, (n_temperatures, n_rows)."""
    at_label = scores[np.arange(len(labels)), labels].astype(np.float64)
    found = np.empty((len(temperatures), len(labels)))
    for row, temperature in zip(found, temperatures, strict=True):
        total = np.exp(scores * np.float32(1 / temperature)).sum(axis=1)
        row[:] = np.exp(at_label / temperature) / total
    return found
