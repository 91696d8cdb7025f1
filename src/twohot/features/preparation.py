"""Raw rows into the rows a probe sees: centred, then scaled to unit norm.

    φ(x) = (x - mean) / ‖x - mean‖,        φ(mean) = 0

Both steps are optional. They are applied to one block of rows at a time, whatever the rows are
stored in, so that X is never copied whole.
"""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from twohot._types import FloatArray, Matrix
from twohot._validation import not_finite

# Entries of a block of features: large enough for an efficient matrix product, small enough
# (4 MB in float32) that a block is still in cache when the second product of a pass reads it.
BLOCK_ENTRIES = 2**20


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done to every row, when fitting and when predicting."""

    mean: FloatArray | None  # subtracted from every row; None: rows are not centred
    normalize: bool  # rows are then divided by their norm; a zero row stays zero

    def apply(self, rows: Matrix, out: FloatArray) -> FloatArray:
        """Write the prepared rows into `out`, in its precision."""
        dense = rows.toarray() if isinstance(rows, sp.csr_array) else rows
        if self.mean is None:
            out[...] = dense
        else:
            np.subtract(dense, self.mean.astype(out.dtype), out=out, casting="same_kind")
        if self.normalize:
            norm = np.sqrt(np.einsum("ij,ij->i", out, out))
            norm[norm == 0] = 1
            out /= norm[:, np.newaxis]
        return out


class FeatureSet:
    """The rows of X as a solver reads them: prepared, block by block, each with its weight."""

    def __init__(
        self,
        X: Matrix,
        preparation: Preparation,
        *,
        dtype: np.dtype[Any],
        weights: FloatArray | None = None,
        intercept: bool = False,
        block_width: int = 1,
    ) -> None:
        self.X = X
        self.preparation = preparation
        self.dtype = dtype
        self.intercept = intercept
        self.n_samples, n_columns = X.shape
        self.n_features = n_columns + intercept
        self.total_weight = float(self.n_samples if weights is None else weights.sum())
        # Mean one over the rows that count, so that sums stay of the order of n_samples.
        self.weights = None if weights is None else weights * (self.n_samples / self.total_weight)
        widest = max(self.n_features, block_width)
        self.block_rows = max(64, min(self.n_samples, BLOCK_ENTRIES // widest))
        self.n_blocks = -(-self.n_samples // self.block_rows)
        self._buffers = threading.local()

    def rows(self, block: int) -> slice:
        """Return which rows are in a block."""
        first = block * self.block_rows
        return slice(first, min(first + self.block_rows, self.n_samples))

    def block(self, block: int) -> FloatArray:
        """Return the prepared rows of a block, in a buffer that this thread's next call reuses."""
        rows = self.rows(block)
        out = self._buffer()[: rows.stop - rows.start]
        n_columns = self.X.shape[1]
        self.preparation.apply(self.X[rows], out[:, :n_columns])
        return out

    def block_weights(self, block: int) -> FloatArray | None:
        """Return the weights of the rows in a block, as a column; None if all weigh one."""
        if self.weights is None:
            return None
        column: FloatArray = self.weights[self.rows(block), np.newaxis].astype(self.dtype)
        return column

    def _buffer(self) -> FloatArray:
        if not hasattr(self._buffers, "rows"):
            # The last column stays one where there is an intercept.
            self._buffers.rows = np.ones((self.block_rows, self.n_features), self.dtype)
        buffer: FloatArray = self._buffers.rows
        return buffer


def fit_preparation(
    X: Matrix, *, center: bool, normalize: bool, weights: FloatArray | None
) -> Preparation:
    """Read X once: find NaN and infinity, and the (weighted) mean row."""
    block_rows = max(64, BLOCK_ENTRIES // X.shape[1])
    total = np.zeros(X.shape[1])
    for first in range(0, X.shape[0], block_rows):
        rows = slice(first, first + block_rows)
        block = X[rows]
        values = block.data if isinstance(block, sp.csr_array) else block
        # A finite sum has finite terms; an infinite one may be an overflow, hence the second look.
        if not np.isfinite(values.sum(dtype=np.float64)) and not np.isfinite(values).all():
            raise not_finite("X", block, first)
        if center:
            weight = None if weights is None else weights[rows]
            total += _weighted_sum(block, weight)
    if not center:
        return Preparation(None, normalize)
    return Preparation(total / (X.shape[0] if weights is None else weights.sum()), normalize)


def _weighted_sum(block: Matrix, weights: FloatArray | None) -> FloatArray:
    """Return the sum of the rows in float64."""
    if weights is not None:
        return np.asarray(weights @ block, dtype=np.float64)
    total: FloatArray = np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
    return total
