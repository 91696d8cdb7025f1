"""The nearest rows of all rows, exact up to a number of rows, and of a sample of them above.

Rows are compared by the cosine of their prepared features. Products of all pairs are made block by
block in float32; the distances of the few that are kept are then computed from the rows themselves,
because 2 - 2 cos loses the digits by which copies are told from rows that are merely close.
"""

from dataclasses import dataclass

import numpy as np

from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.stores import fit_preparation, open_rows
from twohot.rows.threads import count_threads, map_on_cores

# All pairs of so many rows take a minute or two.
MOST_ROWS = 50_000
# Prepared rows that are held at once, 1 GB; wider features are searched in fewer rows.
MOST_ENTRIES = 2**28
# Rows that are compared with all others at once: 50 MB of cosines for 50,000 rows.
BLOCK_ROWS = 256
N_NEIGHBOURS = 10


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The nearest rows of some rows, among these, the nearest first."""

    rows: IntArray  # (n_searched,), positions in the data, ascending
    neighbours: IntArray  # (n_searched, n_neighbours), positions in the data
    distances: FloatArray  # (n_searched, n_neighbours), |x - y| of prepared rows, from 0 to 2
    n_rows: int  # of the data

    @property
    def cosines(self) -> FloatArray:
        """(n_searched, n_neighbours), how alike neighbours are."""
        return 1 - self.distances**2 / 2


def search_neighbourhood(
    X: Matrix,
    *,
    n_neighbours: int = N_NEIGHBOURS,
    most_rows: int = MOST_ROWS,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Neighbourhood:
    """Return the nearest rows of all rows, or of as many as can be compared with each other."""
    n_threads, n_rows = count_threads(n_jobs), X.shape[0]
    n_searched = min(n_rows, most_rows, max(1, MOST_ENTRIES // X.shape[1]))
    chosen = np.arange(n_rows)
    if n_searched < n_rows:
        generator = np.random.default_rng(random_state)
        chosen = np.sort(generator.choice(n_rows, n_searched, replace=False))
    preparation = fit_preparation(X, center=True, normalize=True, weights=None, n_jobs=n_threads)
    rows = open_rows(X, preparation, dtype=np.dtype(np.float32), n_jobs=n_threads)
    prepared = rows.in_memory(chosen).X
    n_kept = min(n_neighbours, n_searched - 1)

    def search(number: int) -> tuple[IntArray, FloatArray]:
        return _nearest(prepared, number * BLOCK_ROWS, n_kept)

    found = list(map_on_cores(search, -(-n_searched // BLOCK_ROWS), n_threads))
    places, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Neighbourhood(chosen, chosen[places], distances, n_rows)


def _nearest(prepared: FloatArray, first: int, n_kept: int) -> tuple[IntArray, FloatArray]:
    """Return the nearest rows of a block of rows and their distances, without the row itself."""
    block = prepared[first : first + BLOCK_ROWS]
    cosines = block @ prepared.T
    own = np.arange(len(block))
    cosines[own, first + own] = -np.inf
    # Partitioned first: only the rows that are kept need an order.
    n_others = cosines.shape[1] - n_kept
    kept = np.argpartition(cosines, min(n_others, cosines.shape[1] - 1), axis=1)[:, n_others:]
    gaps = prepared[kept].astype(np.float64) - block[:, np.newaxis]
    distances = np.sqrt(np.einsum("ikd,ikd->ik", gaps, gaps))
    order = np.lexsort((kept, distances), axis=1)  # of equals the earlier row comes first
    return np.take_along_axis(kept, order, 1), np.take_along_axis(distances, order, 1)
