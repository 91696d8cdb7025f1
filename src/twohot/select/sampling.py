"""Rows on which a choice is made, where all of them would be too many: some of every label.

A label keeps its share of the rows, and no label is left without: a rare one keeps two of its rows,
one to fit on and one to be scored on. With thousands of labels, rows of some labels alone: what a
label has to be learnt from stays as it is, and a penalty means the same for any number of them.
"""

import numpy as np

from twohot._types import IntArray

# The choice is made on at most so many rows; the chosen probe is fitted on all. (More labels than
# half of this have two rows each.)
CHOICE_ROWS = 25_000

# Rows times labels of a choice, at the most: twice what 25,000 rows of 100 labels are. Fewer rows
# are split several times, until enough are scored on, and count as so many.
CHOICE_CELLS = 5_000_000
SPLIT_ROWS = 10_000

# Rows times labels from which on a fit of tens of passes takes longer than all of a choice.
DEAR_CELLS = 50_000_000

# Rows that are fitted on in folds, or held in memory along their axes, at the most.
SEARCH_ROWS = 50_000
FEWEST = 2  # rows of a label, if it has so many


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


def shares_of_labels(sizes: IntArray, n_rows: int) -> IntArray:
    """Return how many rows of each label are drawn: so many in all, or two of each if that is more.

    Examples
    --------
    >>> shares_of_labels(np.array([6000, 3000, 1, 0]), 100)
    array([65, 34,  1,  0])
    """
    least = np.minimum(sizes, FEWEST)
    others = sizes - least
    room, rest = max(0, n_rows - int(least.sum())), int(others.sum())
    if room >= rest:
        return sizes
    shares = least + others * room // rest
    # What rounding down has left goes to the largest remainders.
    largest = np.argsort(-(others * room % rest), kind="stable")
    shares[largest[: room - int((shares - least).sum())]] += 1
    return shares


def draw_ranks(sizes: IntArray, n_rows: int, rng: np.random.Generator) -> list[IntArray]:
    """Return which rows of each label are drawn, by their rank among the rows of the label."""
    shares = shares_of_labels(sizes, n_rows)
    pairs = zip(sizes.tolist(), shares.tolist(), strict=True)
    return [np.sort(rng.choice(size, share, replace=False)) for size, share in pairs]


def rows_of_ranks(codes: IntArray, ranks: list[IntArray]) -> IntArray:
    """Return the rows, in order, that have given ranks among those of their label.

    Examples
    --------
    >>> rows_of_ranks(np.array([1, 0, 1, 1]), [np.array([0]), np.array([0, 2])])
    array([0, 1, 3])
    """
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes, np.arange(len(ranks)), sorter=order)
    drawn = [order[start + each] for start, each in zip(starts.tolist(), ranks, strict=True)]
    return np.sort(np.concatenate(drawn))


def draw_rows(counted: IntArray, codes: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """Return so many rows at the most in random order: all that count, or some of every label."""
    if len(counted) > most:
        own = codes[counted]
        sizes = np.bincount(own)
        counted = counted[rows_of_ranks(own, draw_ranks(sizes, most, rng))]
    return rng.permutation(counted)
