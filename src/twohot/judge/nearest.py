"""Nearest rows in memory, their votes, and the distance that defines near-duplicates.

For a row x, the nearest points y have the largest

    x · y - |y|² / 2 = (|x|² - |x - y|²) / 2,

which is one matrix product in float32 for a block of rows. The distances of the few nearest points
are then computed again from the differences: the product is too inexact to distinguish copies from
close rows.

With d_k(i) the distance of row i to its k-th nearest row, rows are near-duplicates if

    d(i, j) ≤ t · median d_k,        t = min(1/5, (chance / (k - 1))^(1 / m)).

In m dimensions, the nearest row is closer than t d_k with a probability of about (k - 1) t^m. So t
must be smaller if m is small.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot.base import FloatArray, IntArray
from twohot.judge.label_model import centre
from twohot.rows import count_threads, map_on_cores

# Size: number of rows compared with all points at once; 50 MB of products for 50,000 points.
BLOCK_ROWS = 256
# Marks missing neighbours if there are fewer candidates than k.
NO_NEIGHBOUR = -1
# Chosen: number of neighbours that define the typical distance.
N_NEIGHBOURS = 10
# Chosen: maximum distance of near-duplicates, relative to the median distance to the last
# neighbour. In many dimensions, unrelated rows are never as close as half of the usual distance;
# two records of one item are closer.
COPY_DISTANCE = 0.2
# Level: expected share of rows that are taken for copies by chance.
CHANCE = 1e-4


def nearest_rows(
    points: FloatArray,
    k: int,
    *,
    of: FloatArray | None = None,
    groups: IntArray | None = None,
    own: IntArray | None = None,
    n_jobs: int | None,
) -> tuple[IntArray, FloatArray]:
    """Return the k nearest points of each row, by brute force.

    `points` (n_points, n_features) are in float32 and should be centred, because a common offset
    costs digits. The rows are `of`, by default the points themselves. A row's neighbours exclude
    the row itself and the points of its group. `groups` (n_points,) are the groups of the points.
    If `of` is passed, `own` (n_rows,) are the groups of its rows.

    Returns positions among the points and distances in float64, both (n_rows, k). The nearest point
    is first; ties are in the order of the points. If a row has fewer than k neighbours, the
    remaining places have NO_NEIGHBOUR and an infinite distance.

    Examples
    --------
    >>> line = np.array([[0.0], [1.0], [3.0]], np.float32)
    >>> index, distances = nearest_rows(line, 2, n_jobs=1)
    >>> index.tolist(), distances.tolist()
    ([[1, 2], [0, 2], [1, 0]], [[1.0, 3.0], [1.0, 2.0], [2.0, 3.0]])
    >>> nearest_rows(line, 2, groups=np.array([0, 0, 1]), n_jobs=1)[0].tolist()
    [[2, -1], [2, -1], [1, 0]]
    """
    rows = points if of is None else of
    if of is None:
        groups = own = np.arange(len(points)) if groups is None else groups
    n_kept = min(k, len(points))
    half_squares = np.einsum("ij,ij->i", points, points) / 2
    index = np.full((len(rows), k), NO_NEIGHBOUR, dtype=np.intp)
    distances = np.full((len(rows), k), np.inf)

    def search(number: int) -> tuple[IntArray, FloatArray]:
        some = _block(number)
        scores = rows[some] @ points.T
        scores -= half_squares
        if own is not None:
            scores[own[some, np.newaxis] == groups] = -np.inf
        return _best(scores, n_kept, points, rows[some])

    n_blocks = -(-len(rows) // BLOCK_ROWS) if n_kept else 0
    for number, found in enumerate(map_on_cores(search, n_blocks, count_threads(n_jobs))):
        some = _block(number)
        index[some, :n_kept], distances[some, :n_kept] = found
    return index, distances


def _block(number: int) -> slice:
    return slice(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS)


def _best(
    scores: FloatArray, n_kept: int, points: FloatArray, rows: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the points with the largest scores of each row, by increasing distance."""
    # Partition first: only the kept points need an order.
    first = scores.shape[1] - n_kept
    kept = np.argpartition(scores, first, axis=1)[:, first:]
    # Row by row, because the differences of a whole block would take k times its memory.
    distances = np.stack(
        [_distances(row, points[others]) for row, others in zip(rows, kept, strict=True)]
    )
    left_out = np.isneginf(np.take_along_axis(scores, kept, 1))
    kept[left_out], distances[left_out] = NO_NEIGHBOUR, np.inf
    order = np.lexsort((kept, distances), axis=1)
    return np.take_along_axis(kept, order, 1), np.take_along_axis(distances, order, 1)


def _distances(row: FloatArray, others: FloatArray) -> FloatArray:
    gaps = others.astype(np.float64) - row
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", gaps, gaps)))


def copy_distance(distances: FloatArray) -> float:
    """Return the maximum distance of near-duplicates, given distances (n, k) to the nearest rows.

    Examples
    --------
    >>> distances = np.tile([1.0, 2.0, 3.0], (5, 1))
    >>> distances[0, 0] = 0.001
    >>> bool(0.001 < copy_distance(distances) < 1.0)
    True
    """
    n_others = max(distances.shape[1] - 1, 1)
    by_chance = (CHANCE / n_others) ** (1 / intrinsic_dimension(distances))
    return float(min(COPY_DISTANCE, by_chance) * np.median(distances[:, -1]))


def intrinsic_dimension(distances: FloatArray) -> float:
    """Return the intrinsic dimension: the median of the estimates of Levina and Bickel (2005).

    Rows with a copy, and rows whose neighbours all have the same distance, are ignored. If no row
    remains, the dimension is infinite.
    """
    apart = distances[distances[:, 0] > 0]
    growth = np.log(apart[:, -1:] / apart[:, :-1]).sum(axis=1)
    known = growth > 0
    if not known.any():
        return float("inf")
    return float(np.median((apart.shape[1] - 1) / growth[known]))


# Votes ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VotesRecipe:
    """A classifier whose logits are the votes of the `n_voters` nearest rows.

    Examples
    --------
    >>> print(VotesRecipe(15))
    neighbours (15)
    """

    n_voters: int

    method = "neighbours"

    def __str__(self) -> str:
        return f"{self.method} ({self.n_voters})"

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON."""
        return dict(vars(self))


def vote_logits(nearest: IntArray, targets: FloatArray) -> FloatArray:
    """Return logits (n, K): the log of the summed targets (K,) of each row's nearest rows.

    `nearest` (n, k) are positions of rows, -1 for a missing row; `targets` have one row per row.
    One extra vote is spread evenly over all classes, so that no class is impossible.
    """
    votes = np.full((len(nearest), targets.shape[1]), 1 / targets.shape[1], np.float32)
    for first in range(0, len(nearest), BLOCK_ROWS):
        some = votes[first : first + BLOCK_ROWS]
        for column in nearest[first : first + BLOCK_ROWS].T:
            there = column >= 0
            some[there] += targets[column[there]]
    return centre(np.log(votes)).astype(np.float32)
