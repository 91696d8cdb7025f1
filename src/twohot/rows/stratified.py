"""Some rows of every label, where all rows would be too many.

A label keeps its share of the rows, and no label is left without: a rare one keeps two of its rows,
one to fit on and one to be scored on, or one pair.
"""

import numpy as np

from twohot._types import IntArray

FEWEST = 2  # rows of a label, if it has so many


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
