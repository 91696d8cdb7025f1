"""Some rows of each block, the same ones wherever the blocks live and however large they are."""

import numpy as np

from twohot._types import BoolArray
from twohot.rows.block import Block

# Multiples of this, 2³² over the golden ratio, are spread evenly modulo 2³²; those of every second
# or every hundredth row too, so that no order of the rows is sampled one-sidedly.
SPREAD, RANGE = 2_654_435_769, 2**32


def sampled_rows(block: Block, below: int) -> BoolArray:
    """Return which rows of a block are sampled: those whose place in RANGE is below a number.

    Examples
    --------
    >>> sampled_rows(Block(0, np.zeros((5, 1))), RANGE // 2).tolist()
    [True, False, True, False, True]
    """
    numbers = np.arange(block.first, block.first + len(block), dtype=np.uint64)
    places = numbers * np.uint64(SPREAD) % np.uint64(RANGE)
    return np.asarray(places < np.uint64(below))
