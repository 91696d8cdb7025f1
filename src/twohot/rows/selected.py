"""Selected rows of X, which are copied only when they are read; and samples of rows."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from twohot.base import BoolArray, IntArray, Matrix


class GatheredRows(ABC):
    """A matrix whose rows are read when they are indexed; `np.asarray` makes a copy."""

    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @abstractmethod
    def __getitem__(self, rows: Any) -> Matrix:
        """Return some rows in memory."""

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(
        self,
        dtype: DTypeLike | None = None,
        copy: bool | None = None,  # noqa: FBT001 - numpy's protocol
    ) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array of selected rows is always a copy: pass copy=None.")
        rows = self[:]
        return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=dtype)


class SelectedRows(GatheredRows):
    """Selected rows of X; indexing returns a copy of the indexed rows.

    Parameters
    ----------
    X : array, memory map, CSR array or SelectedRows of shape (n, n_features)
        Where the rows are stored.
    index : array of shape (n_rows,)
        Positions of the selected rows in X, or a mask of all rows of X.

    Examples
    --------
    >>> rows = SelectedRows(np.eye(3), np.array([2, 0]))
    >>> rows.shape, rows[:1].tolist(), np.asarray(rows).tolist()
    ((2, 3), [[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    """

    def __init__(self, X: Matrix, index: IntArray) -> None:
        # A selection of a selection refers to the original X.
        nested = isinstance(X, SelectedRows)
        stored = X.X if nested else X
        is_other = sp.issparse(stored) and not isinstance(stored, sp.csr_array)
        self.X: Matrix = sp.csr_array(stored) if is_other else stored
        self.index: IntArray = (X.index if nested else np.arange(X.shape[0]))[index]
        self.shape = len(self.index), X.shape[1]
        self.dtype = X.dtype

    def __getitem__(self, rows: Any) -> Matrix:
        return self.X[self.index[rows]]


# Evenly spread samples of rows, which depend neither on the container nor on the size of blocks ---

# Multiples of this number, 2³² divided by the golden ratio, are spread evenly modulo 2³². The same
# is true of every second or hundredth multiple. So a periodic order of rows causes no bias.
SPREAD, RANGE = 2_654_435_769, 2**32


def is_sampled(numbers: IntArray, below: int) -> BoolArray:
    """Return whether each row number is in the sample, a fraction `below` / RANGE of all rows.

    Examples
    --------
    >>> is_sampled(np.arange(5), RANGE // 2).tolist()
    [True, False, True, False, True]
    """
    places = numbers.astype(np.uint64) * np.uint64(SPREAD) % np.uint64(RANGE)
    return np.asarray(places < np.uint64(below))


FEWEST = 2  # minimum number of sampled rows of a label: one to fit on and one to score


def shares_of_labels(sizes: IntArray, n_rows: int) -> IntArray:
    """Return how many rows of each label to sample, in proportion to the numbers `sizes`.

    The results add up to `n_rows`, or to all rows if there are fewer. If a label has two rows, at
    least two are sampled, even if the sum is then larger.

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
    # Rows that are left after rounding down go to the labels with the largest remainders.
    largest = np.argsort(-(others * room % rest), kind="stable")
    shares[largest[: room - int((shares - least).sum())]] += 1
    return shares
