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
from twohot._validation import check_finite

# Entries of a block of features: large enough for an efficient matrix product, small enough
# (1 MB in float32) that a block stays in cache from its preparation to the second product.
BLOCK_ENTRIES = 2**18

# Rows are used as stored if the squared norm of the mean is at most this many times their mean
# squared distance from it, judged by so many of them. It is 1 to 4 for the outputs of ReLU.
LARGEST_MEAN = 10.0
LOOK_ROWS = 200


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done to every row, when fitting and when predicting."""

    mean: FloatArray | None  # subtracted from every row; None: rows are not centred
    normalize: bool  # rows are then divided by their norm; a zero row stays zero

    def apply(self, rows: Matrix, out: FloatArray) -> FloatArray:
        """Write the prepared rows into `out`, in its precision."""
        self.center(rows, out)
        if self.normalize:
            out *= inverse_norms(out)
        return out

    def center(self, rows: Matrix, out: FloatArray) -> None:
        """Write the rows into `out`, the mean subtracted."""
        dense = rows.toarray() if isinstance(rows, sp.csr_array) else rows
        if self.mean is None:
            out[...] = dense
        else:
            np.subtract(dense, self.mean.astype(out.dtype), out=out, casting="same_kind")


def scale_rows(rows: Matrix, factors: FloatArray) -> Matrix:
    """Return the rows times a column of factors; dense rows are overwritten."""
    if isinstance(rows, sp.csr_array):
        per_entry = np.repeat(factors[:, 0], np.diff(rows.indptr))
        return sp.csr_array((rows.data * per_entry, rows.indices, rows.indptr), rows.shape)
    rows *= factors
    return rows


def inverse_norms(rows: FloatArray) -> FloatArray:
    """Return 1/‖row‖ as a column; one for a zero row, which stays zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    norms[norms == 0] = 1
    inverse: FloatArray = (1 / norms[:, np.newaxis]).astype(rows.dtype)
    return inverse


class FeatureSet:
    """The rows of X as a solver reads them: prepared, block by block, each with its weight.

    The two products of a pass are `project` and `gather`. With m the mean and s_i = 1/‖x_i - m‖
    they take the rows as they are stored, dense or sparse, and prepare the result instead:

        φ(x_i)·w = s_i (x_i·w - m·w),        Σ_i e_i φ(x_i) = Σ_i (s_i e_i) x_i - (Σ_i s_i e_i) m.

    That is a K-th of the work. It costs a digit where the mean is far larger than the spread of
    the rows, so rows are then centred first.
    """

    def __init__(
        self,
        X: Matrix,
        preparation: Preparation,
        *,
        dtype: np.dtype[Any],
        weights: FloatArray | None = None,
        intercept: bool = False,
        n_classes: int = 1,
    ) -> None:
        self.X = X
        self.preparation = preparation
        self.dtype = dtype
        self.intercept = intercept
        self.n_samples, self.n_columns = X.shape
        self.n_features = self.n_columns + intercept
        self.total_weight = float(self.n_samples if weights is None else weights.sum())
        # Mean one over the rows, so that sums stay of the order of n_samples.
        self.weights = None if weights is None else weights * (self.n_samples / self.total_weight)
        widest = max(self.n_columns, n_classes)
        self.block_rows = max(64, min(self.n_samples, BLOCK_ENTRIES // widest))
        self.n_blocks = -(-self.n_samples // self.block_rows)
        mean = preparation.mean
        self._mean = None if mean is None else mean.astype(dtype)
        self._as_stored = X.dtype == dtype and self._mean_is_small()
        self._scales: dict[int, FloatArray] = {}  # 1/norm, kept from the first read of a block
        self._buffers = threading.local()

    def rows(self, block: int) -> slice:
        """Return which rows are in a block."""
        first = block * self.block_rows
        return slice(first, min(first + self.block_rows, self.n_samples))

    def block(self, block: int) -> FloatArray:
        """Return the prepared rows of a block, in a buffer that this thread's next call reuses."""
        x = self._centered(block)
        if self.preparation.normalize:
            x *= self._scale(block, x)
        return x

    def block_weights(self, block: int) -> FloatArray | None:
        """Return the weights of the rows in a block, as a column; None if all weigh one."""
        if self.weights is None:
            return None
        column: FloatArray = self.weights[self.rows(block), np.newaxis].astype(self.dtype)
        return column

    def project(self, block: int, coef: FloatArray) -> FloatArray:
        """Return logits (rows, K), in a buffer that this thread's next call reuses."""
        x, mean = self._source(block)
        slopes = coef[:, : self.n_columns]
        logits = self._buffer("logits", len(coef))[: x.shape[0]]
        if isinstance(x, sp.csr_array):
            logits[...] = x @ slopes.T
        else:
            np.matmul(x, slopes.T, out=logits)
        if mean is not None:
            logits -= slopes @ mean
        if self.preparation.normalize:
            logits *= self._scale(block)
        if self.intercept:
            logits += coef[:, -1]
        return logits

    def gather(self, block: int, e: Matrix) -> FloatArray:
        """Return eᵀ φ(x) (K, d), e being (rows, K), dense (and overwritten) or CSR."""
        x, mean = self._source(block)
        moment = np.empty((e.shape[1], self.n_features), self.dtype)
        if self.intercept:
            moment[:, -1] = e.sum(axis=0)
        if self.preparation.normalize:
            e = scale_rows(e, self._scale(block))
        slopes = moment[:, : self.n_columns]
        product = (x.T @ e).T if isinstance(x, sp.csr_array) else e.T @ x
        slopes[...] = product.toarray() if sp.issparse(product) else product
        if mean is not None:
            slopes -= np.outer(e.sum(axis=0), mean)
        return moment

    def _source(self, block: int) -> tuple[Matrix, FloatArray | None]:
        """Return the rows for a product, and the mean that is still to be taken off."""
        if self._as_stored:
            return self.X[self.rows(block)], self._mean
        return self._centered(block), None

    def _centered(self, block: int) -> FloatArray:
        rows = self.rows(block)
        x = self._buffer("rows", self.n_columns)[: rows.stop - rows.start]
        self.preparation.center(self.X[rows], x)
        return x

    def _scale(self, block: int, centered: FloatArray | None = None) -> FloatArray:
        if block not in self._scales:
            x = self._centered(block) if centered is None else centered
            self._scales[block] = inverse_norms(x)
        return self._scales[block]

    def _mean_is_small(self) -> bool:
        """Return whether the mean is no larger than the spread of a few rows, about."""
        if self._mean is None:
            return True
        stride = -(-self.n_samples // LOOK_ROWS)
        few = self.X[::stride]
        dense = few.toarray() if isinstance(few, sp.csr_array) else few
        spread = np.mean((dense - self._mean.astype(np.float64)) ** 2, axis=0).sum()
        return bool(np.sum(self._mean.astype(np.float64) ** 2) <= LARGEST_MEAN * spread)

    def _buffer(self, name: str, width: int) -> FloatArray:
        buffer: FloatArray | None = getattr(self._buffers, name, None)
        if buffer is None:
            buffer = np.empty((self.block_rows, width), self.dtype)
            setattr(self._buffers, name, buffer)
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
        check_finite("X", block, first)
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
