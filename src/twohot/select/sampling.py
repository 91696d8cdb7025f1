"""Rows on which a choice is made, where all of them would be too many: some of every label.

A label keeps its share of the rows, and no label is left without: a rare one keeps two of its rows,
one to fit on and one to be scored on. With thousands of labels, rows of some labels alone: what a
label has to be learnt from stays as it is, and a penalty means the same for any number of them.
"""

import numpy as np

from twohot._types import IntArray
from twohot.rows.stratified import FEWEST, draw_ranks, rows_of_ranks

# The choice is made on at most so many rows; the chosen probe is fitted on all. (More labels than
# half of this have two rows each.)
CHOICE_ROWS = 25_000

# Rows times labels of a choice, at the most: twice what 25,000 rows of 100 labels are. Fewer rows
# are split several times, until enough are scored on, and count as so many.
CHOICE_CELLS = 5_000_000
SPLIT_ROWS = 10_000

# Rows times labels from which on a fit of tens of passes takes longer than all of a choice.
DEAR_CELLS = 25_000_000

# Rows that are fitted on in folds, or held in memory along their axes, at the most.
SEARCH_ROWS = 50_000


def choose_labels(sizes: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the labels on whose rows a choice is made: all, or some at random if too many.

    Examples
    --------
    >>> len(choose_labels(np.full(100, 500), np.random.default_rng(0)))
    100
    >>> len(choose_labels(np.full(10_000, 5), np.random.default_rng(0)))
    500
    """
    # One row of a label cannot be both fitted on and scored on.
    usable = np.flatnonzero(sizes >= FEWEST)
    n_rows = min(int(sizes.sum()), CHOICE_ROWS)
    if max(n_rows, SPLIT_ROWS) * len(sizes) <= CHOICE_CELLS or len(usable) < FEWEST:
        return np.arange(len(sizes))
    by_rows = (CHOICE_CELLS / float(sizes[usable].mean())) ** 0.5
    most = max(CHOICE_CELLS / CHOICE_ROWS, min(by_rows, CHOICE_CELLS / SPLIT_ROWS))
    n_labels = min(int(most), len(usable))
    return np.sort(rng.choice(usable, n_labels, replace=False))


def draw_rows(counted: IntArray, codes: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """Return so many rows at the most in random order: all that count, or some of every label."""
    if len(counted) > most:
        own = codes[counted]
        sizes = np.bincount(own)
        counted = counted[rows_of_ranks(own, draw_ranks(sizes, most, rng))]
    return rng.permutation(counted)
