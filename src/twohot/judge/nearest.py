"""Nearest rows in memory, their votes, and the distance that defines near-duplicates.

For a row x, the nearest points y have the largest

    x · y - |y|² / 2 = (|x|² - |x - y|²) / 2,

which is one matrix product in float32 for a block of rows. This product is too inexact to
distinguish copies from close rows. So the distances of the few nearest points are computed again,
from the differences x - y.

Let d_k(i) be the distance of row i to its k-th nearest row. Rows i and j are near-duplicates if

    d(i, j) ≤ t · median d_k,        t = min(1/5, (chance / (k - 1))^(1 / m)).

Here `chance` is CHANCE, and m is the intrinsic dimension of the rows. The nearest row is closer
than t d_k by chance with a probability of about (k - 1) t^m. So t must be smaller if m is small.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot.base import FloatArray, IntArray
from twohot.judge.label_model import centre
from twohot.rows import count_threads, map_on_cores

# The number of a neighbour, group or fold that does not exist.
ABSENT = -1
# Memory: number of rows compared with all points at once; 50 MB of products for 50,000 points.
BLOCK_ROWS = 256
# Chosen: number of neighbours that define the typical distance.
N_NEIGHBOURS = 10
# Chosen: maximum distance of near-duplicates, relative to the median distance to the last
# neighbour. In many dimensions, unrelated rows are never closer than half of the median distance,
# but two records of the same item are.
COPY_DISTANCE = 0.2
# Test level: expected fraction of rows that are taken for copies by chance.
CHANCE = 1e-4


def nearest_rows(
    points: FloatArray,
    k: int,
    *,
    of: FloatArray | None = None,
    groups: IntArray | None = None,
    row_groups: IntArray | None = None,
    n_jobs: int | None,
) -> tuple[IntArray, FloatArray]:
    """Return the k nearest points of each row, by brute force.

    `points` (n_points, n_features) are in float32. They should be centred, because a large common
    mean costs precision. The rows are `of` (n_rows, n_features). By default, they are the points
    themselves, and a row is not its own neighbour. If `groups` (n_points,) of the points are
    passed, the neighbours of a row exclude the points of its group. If `of` is passed too,
    `row_groups` (n_rows,) are the groups of the rows.

    Returns the positions of the neighbours among the points, and their distances in float64, both
    (n_rows, k). The nearest point is first; equally near points are in the order of the points. If
    a row has fewer than k neighbours, the remaining positions are ABSENT, at infinite distances.

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
        groups = row_groups = np.arange(len(points)) if groups is None else groups
    n_found = min(k, len(points))
    half_squares = np.einsum("ij,ij->i", points, points) / 2
    index = np.full((len(rows), k), ABSENT, dtype=np.intp)
    distances = np.full((len(rows), k), np.inf)
    firsts = range(0, len(rows) if n_found else 0, BLOCK_ROWS)
    blocks = [slice(first, first + BLOCK_ROWS) for first in firsts]

    def search(number: int) -> tuple[IntArray, FloatArray]:
        block = blocks[number]
        scores = rows[block] @ points.T
        scores -= half_squares
        if row_groups is not None:
            scores[row_groups[block, np.newaxis] == groups] = -np.inf
        return _best(scores, n_found, points, rows[block])

    results = map_on_cores(search, len(blocks), count_threads(n_jobs))
    for block, found in zip(blocks, results, strict=True):
        index[block, :n_found], distances[block, :n_found] = found
    return index, distances


def _best(
    scores: FloatArray, n_found: int, points: FloatArray, rows: FloatArray
) -> tuple[IntArray, FloatArray]:
    """For each row, return the points with the largest scores, by increasing distance."""
    # Partition first: only these points need an order.
    first = scores.shape[1] - n_found
    nearest = np.argpartition(scores, first, axis=1)[:, first:]
    # Row by row, because the differences of a whole block would take k times its memory.
    pairs = zip(rows, nearest, strict=True)
    gaps = (points[places].astype(np.float64) - row for row, places in pairs)
    distances = np.stack([np.sqrt(np.einsum("ij,ij->i", each, each)) for each in gaps])
    is_excluded = np.isneginf(np.take_along_axis(scores, nearest, 1))
    nearest[is_excluded], distances[is_excluded] = ABSENT, np.inf
    order = np.lexsort((nearest, distances), axis=1)
    return np.take_along_axis(nearest, order, 1), np.take_along_axis(distances, order, 1)


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
    """Return the intrinsic dimension: the median over rows of Levina and Bickel's estimate (2005).

    `distances` (n, k) are those to the nearest rows. Rows with a copy, and rows whose neighbours
    all have the same distance, are ignored. If no row remains, the dimension is infinite.
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
    """Return logits (n, K): the log of the sum of the targets (K,) of each row's nearest rows.

    `nearest` (n, k) are positions in `targets`, or ABSENT. One extra vote is spread evenly over all
    classes, so that no class is impossible.
    """
    votes = np.full((len(nearest), targets.shape[1]), 1 / targets.shape[1], np.float32)
    for first in range(0, len(nearest), BLOCK_ROWS):
        block = votes[first : first + BLOCK_ROWS]
        for voters in nearest[first : first + BLOCK_ROWS].T:
            exists = voters != ABSENT
            block[exists] += targets[voters[exists]]
    return centre(np.log(votes)).astype(np.float32)
