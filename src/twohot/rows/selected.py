"""Some rows of X in the place of X, gathered as they are read and never copied whole."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from twohot._types import IntArray, Matrix


class GatheredRows(ABC):
    """A matrix whose rows are put together when they are asked for; an array of them is a copy."""

    ndim = 2
    shape: tuple[int, int]

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
