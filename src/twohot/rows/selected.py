"""Some rows of a matrix in the place of the matrix: each is gathered when it is asked for."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from twohot._types import IntArray, Matrix


class SelectedRows:
    """Rows of X by number, in any order; nothing is copied until it is read.

    Examples
    --------
    >>> chosen = SelectedRows(np.eye(4), np.array([3, 1]))
    >>> chosen.shape, chosen[:1].tolist()
    ((2, 4), [[0.0, 0.0, 0.0, 1.0]])
    """

    ndim = 2

    def __init__(self, X: Matrix, index: IntArray) -> None:
        # A selection from a selection is one from the whole.
        nested = isinstance(X, SelectedRows)
        self.X: Matrix = X.X if nested else X
        self.index: IntArray = X.index[index] if nested else index
        self.shape = len(self.index), self.X.shape[1]
        self.dtype = self.X.dtype

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: Any) -> Matrix:
        return self.X[self.index[rows]]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: FBT001
        if copy is False:
            raise ValueError("rows that were selected can only be gathered into a copy.")
        return np.asarray(self[:], dtype=dtype)
