"""Rows on which a choice is made, where all of them would be too many: some of every label."""

import numpy as np

from twohot._types import IntArray
from twohot.rows.stratified import draw_ranks, rows_of_ranks

# The choice is made on at most so many rows; the chosen probe is fitted on all. (More labels than
# half of this have two rows each.)
CHOICE_ROWS = 25_000

# Rows that are fitted on in folds, or held in memory along their axes, at the most.
SEARCH_ROWS = 50_000


def draw_rows(counted: IntArray, codes: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """Return so many rows at the most in random order: all that count, or some of every label."""
    if len(counted) > most:
        own = codes[counted]
        sizes = np.bincount(own)
        counted = counted[rows_of_ranks(own, draw_ranks(sizes, most, rng))]
    return rng.permutation(counted)
