"""The nearest rows of all rows, exact up to a number of rows, and of a sample of them above.

Rows are compared by the distance of their prepared features, of unit norm.
"""

from dataclasses import dataclass

import numpy as np

from twohot._types import FloatArray, IntArray, Matrix
from twohot.judge.nearest import N_NEIGHBOURS, nearest_rows
from twohot.rows.stores import fit_preparation, open_rows
from twohot.rows.threads import count_threads

# All pairs of so many rows take a minute or two.
MOST_ROWS = 50_000
# Prepared rows that are held at once, 1 GB; wider features are searched in fewer rows.
MOST_ENTRIES = 2**28


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
    places, distances = nearest_rows(prepared, n_kept, n_jobs=n_threads)
    return Neighbourhood(chosen, chosen[places], distances, n_rows)
