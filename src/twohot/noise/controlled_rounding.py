"""Controlled rounding: whole numbers in place of a table of expected counts, both margins kept.

Given expected counts E (n_rows, n_columns) whose row sums are whole, find whole counts X with

    X[i, j]        the floor or the ceiling of E[i, j],
    Σ_j X[i, j]  = Σ_j E[i, j],
    Σ_i X[i, j]    the floor or the ceiling of Σ_i E[i, j].

Such an X exists for every E: the remainders E - floor(E) are a fractional flow from rows to
columns through arcs of capacity one, and a flow problem with whole capacities that has a
fractional solution has a whole one too.

Any maximum flow would do, but it rounds up wherever it happens to pass, so that a remainder of .6
fares no better than one of .3. Hence two steps. `_diffuse` rounds row after row and hands each
column's error on to the next row, so that a cell is rounded up about as often as its remainder
says and the column sums are nearly right. `_repair` moves what is left, by a maximum flow.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from twohot._types import IntArray

# An expected count this near a whole number is that number: far above the rounding error of
# n_per_class * corruption, and so small that the errors of 1000 × 1000 cells stay below one, the
# least by which a flow problem with whole capacities can fail.
WHOLE = 1e-7


def controlled_rounding(
    expected: NDArray[np.float64], row_sums: IntArray, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Round a table of expected counts and keep its margins; chance decides between equals.

    The row sums are those of `expected` and whole numbers. The counts have exactly these row sums;
    every count and every column sum is the floor or the ceiling of its expectation.

    Examples
    --------
    >>> import numpy as np
    >>> expected = np.array([[1.5, 0.5], [0.5, 1.5]])
    >>> counts = controlled_rounding(expected, np.array([2, 2]), np.random.default_rng(0))
    >>> counts.sum(axis=0), counts.sum(axis=1)
    (array([2, 2]), array([2, 2]))
    """
    whole = np.floor(expected + WHOLE)
    remainder = expected - whole
    remainder[remainder < WHOLE] = 0.0
    counts: NDArray[np.int64] = whole.astype(np.int64)
    rounded_up = _diffuse(remainder, row_sums - counts.sum(axis=1), generator)
    return counts + _repair(remainder, rounded_up)


def _diffuse(
    remainder: NDArray[np.float64], n_up: IntArray, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Choose `n_up[i]` cells of each row i to round up, with column sums near the expected."""
    n_rows, n_columns = remainder.shape
    rounded_up = np.zeros(remainder.shape, dtype=bool)
    # The start is random, or the first rows would always favour the same columns.
    owed = generator.uniform(-0.5, 0.5, n_columns)
    for row in generator.permutation(n_rows):
        claim = np.where(remainder[row] > 0, remainder[row] + owed, -np.inf)
        if n_up[row] > 0:
            rounded_up[row, np.argpartition(-claim, n_up[row] - 1)[: n_up[row]]] = True
        owed += remainder[row] - rounded_up[row]
    return rounded_up


def _repair(remainder: NDArray[np.float64], rounded_up: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Shift units within rows until each column sum is the floor or ceiling of the expected.

    The units of a column flow from the source into its node, and on to the sink if the column
    may keep them. A column node also reaches each row where it is rounded up, and a row each
    column where it is rounded down: a unit on this way leaves the one column for the other.
    """
    n_rows, n_columns = remainder.shape
    column_sums = rounded_up.sum(axis=0)
    # K · WHOLE bounds the error of a column sum of K remainders.
    slack = n_rows * WHOLE
    lowest = np.floor(remainder.sum(axis=0) + slack).astype(np.int64)
    highest = np.ceil(remainder.sum(axis=0) - slack).astype(np.int64)
    if np.all((lowest <= column_sums) & (column_sums <= highest)):
        return rounded_up.astype(np.int64)

    columns = n_rows + np.arange(n_columns)
    source, sink, above_floor = n_rows + n_columns + np.arange(3)
    row, column = np.nonzero(remainder)
    is_up = rounded_up[row, column]
    tail, head = np.where(is_up, (columns[column], row), (row, columns[column]))
    network = _network(
        n_rows + n_columns + 3,
        [
            (tail, head, 1),
            (source, columns, column_sums),
            (columns, sink, lowest),
            # The ceilings share one node, which passes on only what the floors leave over: a flow
            # of all units therefore fills every floor.
            (columns, above_floor, highest - lowest),
            (above_floor, sink, column_sums.sum() - lowest.sum()),
        ],
    )
    flow = maximum_flow(network, source, sink).flow
    # Flow from a row to a column rounds the cell up; the other way counts -1 and rounds it down.
    moved: NDArray[np.int64] = flow[:n_rows, n_rows : n_rows + n_columns].toarray().astype(np.int64)
    return rounded_up.astype(np.int64) + moved


def _network(n_nodes: int, arcs: list[tuple[ArrayLike, ArrayLike, ArrayLike]]) -> csr_array:
    """Return the capacities of all arcs (tail, head, capacity) as a sparse matrix."""
    listed = [np.atleast_2d(np.stack(np.broadcast_arrays(*arc), axis=-1)) for arc in arcs]
    # Older versions of scipy take the places of a network as int32 only.
    tail, head, capacity = np.concatenate(listed).T.astype(np.int32)
    return csr_array((capacity, (tail, head)), shape=(n_nodes, n_nodes))
