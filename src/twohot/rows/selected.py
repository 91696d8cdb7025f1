"""Some rows of X in the place of X, gathered as they are read and never copied whole."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from twohot.base import BoolArray, IntArray, Matrix


class GatheredRows(ABC):
    """A matrix whose rows are put together when they are asked for; an array of them is a copy."""

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
            raise ValueError("rows that are gathered are a copy: pass copy=None.")
        rows = self[:]
        return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=dtype)


class SelectedRows(GatheredRows):
    """Some rows of X; a slice or an index of them is gathered when it is asked for.

    Parameters
    ----------
    X : array, memory map, CSR array or SelectedRows of shape (n, n_features)
        Where the rows are stored.
    index : array of shape (n_rows,)
        Their positions in X, or a mask of all its rows.

    Examples
    --------
    >>> rows = SelectedRows(np.eye(3), np.array([2, 0]))
    >>> rows.shape, rows[:1].tolist(), np.asarray(rows).tolist()
    ((2, 3), [[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    """

    def __init__(self, X: Matrix, index: IntArray) -> None:
        # Rows of rows are rows of the same X: nothing is gathered twice.
        nested = isinstance(X, SelectedRows)
        stored = X.X if nested else X
        is_other = sp.issparse(stored) and not isinstance(stored, sp.csr_array)
        self.X: Matrix = sp.csr_array(stored) if is_other else stored
        self.index: IntArray = (X.index if nested else np.arange(X.shape[0]))[index]
        self.shape = len(self.index), X.shape[1]
        self.dtype = X.dtype

    def __getitem__(self, rows: Any) -> Matrix:
        return self.X[self.index[rows]]


# Rows that stand for all, the same ones wherever the rows live and in blocks of any size ----------

# Multiples of this, 2³² over the golden ratio, are spread evenly modulo 2³²; those of every second
# or every hundredth row too, so that no order of the rows is sampled one-sidedly.
SPREAD, RANGE = 2_654_435_769, 2**32


def is_sampled(numbers: IntArray, below: int) -> BoolArray:
    """Return which rows, by their numbers, have a place in RANGE that is below a number.

    Examples
    --------
    >>> is_sampled(np.arange(5), RANGE // 2).tolist()
    [True, False, True, False, True]
    """
    places = numbers.astype(np.uint64) * np.uint64(SPREAD) % np.uint64(RANGE)
    return np.asarray(places < np.uint64(below))


# Some rows of every label, where all rows would be too many ---------------------------------------
# A label keeps its share of the rows, and no label is left without: a rare one keeps two of its
# rows, one to fit on and one to be scored on, or one pair.

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
