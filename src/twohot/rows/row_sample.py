"""Rows that stand for all, the same ones wherever the rows live and in blocks of any size."""

import numpy as np

from twohot._types import BoolArray, IntArray

# Multiples of this, 2³² over the golden ratio, are spread evenly modulo 2³²; those of every second
# or every hundredth row too, so that no order of the rows is sampled one-sidedly.
SPREAD, RANGE = 2_654_435_769, 2**32


def is_sampled(numbers: IntArray, below: int) -> BoolArray:
    """Return which rows, by their numbers, have a place in RANGE that is below a number.

    Examples
    --------
    >>> is_sampled(np.arange(5), RANGE // 2).tolist()
    [True, False, True, False, True]
    """
    places = numbers.astype(np.uint64) * np.uint64(SPREAD) % np.uint64(RANGE)
    return np.asarray(places < np.uint64(below))
