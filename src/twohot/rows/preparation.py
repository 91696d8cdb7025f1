"""Raw rows into the rows a probe sees: centred, then scaled to unit norm.

    φ(x) = (x - mean) / ‖x - mean‖,        φ(mean) = 0

Both steps are optional. They are applied to one block of rows at a time, whatever the rows are
stored in, so that X is never copied whole, unless it is small.
"""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from twohot._checks.arrays import check_finite
from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.selected import SelectedRows

# Entries of a block of features: large enough for an efficient matrix product, small enough
# (1 MB in float32) that a block stays in cache from its preparation to the second product.
BLOCK_ENTRIES = 2**18

# Rows that are read many times are prepared once and kept, if all of them take no more than this:
# gathering and centring is a tenth of a pass.
KEPT_BYTES = 2**25

# What a mean over many rows may be off by, relative to the rows, beside being rounded to the
# precision of a pass. A row no further from it is at the mean; scaling would blow rounding up.
# How large rows are is judged by so many of them.
MEAN_ROUNDING = 1e4 * float(np.finfo(np.float64).eps)
LOOK_ROWS = 200


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done to every row, when fitting and when predicting."""

    mean: FloatArray | None  # subtracted from every row; None: rows are not centred
    normalize: bool  # rows are then divided by their norm; a zero row stays zero
    mean_error: float = 0.0  # norm of what the mean may be off by

    def inverse_norms(self, centered: FloatArray) -> FloatArray:
        """Return 1/‖row‖ as a column; zero for a row that differs from the mean by rounding."""
        norms = np.sqrt(np.einsum("ij,ij->i", centered, centered, dtype=np.float64))
        negligible = self.mean_error
        if self.mean is not None:
            rounding = 2 * float(np.finfo(centered.dtype).eps)
            negligible += rounding * float(np.linalg.norm(self.mean))
        inverse = np.zeros((len(centered), 1), centered.dtype)
        np.divide(1, norms, out=inverse[:, 0], where=norms > negligible, casting="same_kind")
        return inverse

    def center(self, rows: Matrix, out: FloatArray) -> None:
        """Write the rows into `out`, the mean subtracted."""
        dense = rows.toarray() if isinstance(rows, sp.csr_array) else rows
        if self.mean is None:
            out[...] = dense
        else:
            mean = self.mean.astype(np.result_type(dense.dtype, out.dtype))
            np.subtract(dense, mean, out=out, casting="same_kind")


def scale_rows(rows: Matrix, factors: FloatArray) -> Matrix:
    """Return the rows times a column of factors; dense rows are overwritten."""
    if isinstance(rows, sp.csr_array):
        per_entry = np.repeat(factors[:, 0], np.diff(rows.indptr))
        return sp.csr_array((rows.data * per_entry, rows.indices, rows.indptr), rows.shape)
    rows *= factors
    return rows


@dataclass(eq=False)
class Block:
    """Some rows of a feature set, ready for the two products of a pass.

    Scaling rows to unit norm is left to the smaller side of a product, where that is the logits:

        z_i = s_i (x_i · w),        Σ_i e_i (s_i x_i) = Σ_i (s_i e_i) x_i.

    Arrays are buffers that the next block of the same thread reuses, or kept: not to be changed.
    """

    rows: slice  # which rows
    x: FloatArray  # (rows, d), centred
    scale: FloatArray | None  # (rows, 1), what they are still to be multiplied by
    weights: FloatArray | None  # (rows, 1); None if all weigh one
    logits: FloatArray  # (rows, K), room for the logits
    intercept: bool

    def prepared(self) -> FloatArray:
        """Return the prepared rows."""
        if self.scale is not None:
            self.x *= self.scale
            self.scale = None
        return self.x

    def project(self, coef: FloatArray) -> FloatArray:
        """Return the logits (rows, K)."""
        np.matmul(self.x, coef[:, : self.x.shape[1]].T, out=self.logits)
        if self.scale is not None:
            self.logits *= self.scale
        if self.intercept:
            self.logits += coef[:, -1]
        return self.logits

    def gather(self, e: Matrix) -> FloatArray:
        """Return eᵀφ(x) (K, d), e being (rows, K), CSR or dense (and then overwritten)."""
        total = e.sum(axis=0) if self.intercept else None
        if self.scale is not None:
            e = scale_rows(e, self.scale)
        moment: FloatArray = e.T @ self.x
        return moment if total is None else np.column_stack([moment, total])


class FeatureSet:
    """The rows of X as a solver reads them: prepared, block by block, each with its weight."""

    def __init__(
        self,
        X: Matrix,
        preparation: Preparation,
        *,
        dtype: np.dtype[Any],
        n_classes: int,
        weights: FloatArray | None = None,
        intercept: bool = False,
        keep_small: bool = False,
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
        self.n_classes = n_classes
        n_bytes = self.n_samples * self.n_columns * dtype.itemsize
        self._keeps_rows = keep_small and n_bytes <= KEPT_BYTES
        self._kept: dict[int, FloatArray] = {}  # prepared rows, from the first read of a block
        self._scales: dict[int, FloatArray] = {}  # 1/norm, likewise, for rows that are not kept
        self._buffers = threading.local()

    @property
    def given_weights(self) -> FloatArray | None:
        """(n_samples,) weights as they were given; None if all weigh one."""
        if self.weights is None:
            return None
        weights: FloatArray = self.weights * (self.total_weight / self.n_samples)
        return weights

    def take(self, index: IntArray) -> "FeatureSet":
        """Return some of the rows, prepared as all of them are."""
        weights = self.given_weights
        return FeatureSet(
            SelectedRows(self.X, index),
            self.preparation,
            dtype=self.dtype,
            n_classes=self.n_classes,
            weights=None if weights is None else weights[index],
            intercept=self.intercept,
            keep_small=self._keeps_rows,
        )

    def rows(self, block: int) -> slice:
        """Return which rows are in a block."""
        first = block * self.block_rows
        return slice(first, min(first + self.block_rows, self.n_samples))

    def block(self, block: int) -> Block:
        """Return a block of rows, centred, with what is needed to finish them."""
        rows = self.rows(block)
        n_rows = rows.stop - rows.start
        x, scale = self._centered(block, n_rows)
        return Block(
            rows=rows,
            x=x,
            scale=scale,
            weights=None if self.weights is None else self._column(self.weights[rows]),
            logits=self._buffer("logits", self.n_classes)[:n_rows],
            intercept=self.intercept,
        )

    def _centered(self, block: int, n_rows: int) -> tuple[FloatArray, FloatArray | None]:
        """Return the rows of a block, and what they are still to be multiplied by."""
        if block in self._kept:
            return self._kept[block], None
        if self._keeps_rows:
            x = np.empty((n_rows, self.n_columns), self.dtype)
        else:
            x = self._buffer("rows", self.n_columns)[:n_rows]
        self.preparation.center(self.X[self.rows(block)], x)
        if self._keeps_rows:
            if self.preparation.normalize:
                x *= self.preparation.inverse_norms(x)
            self._kept[block] = x
            return x, None
        scale = self._scale(block, x) if self.preparation.normalize else None
        if scale is not None and 2 * self.n_classes > self.n_columns:
            x *= scale
            scale = None
        return x, scale

    def _scale(self, block: int, x: FloatArray) -> FloatArray:
        if block not in self._scales:
            self._scales[block] = self.preparation.inverse_norms(x)
        return self._scales[block]

    def _column(self, values: FloatArray) -> FloatArray:
        column: FloatArray = values[:, np.newaxis].astype(self.dtype)
        return column

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
        # A finite sum has finite terms; one that is not may be an overflow, hence the second look.
        with np.errstate(over="ignore", invalid="ignore"):
            block_sum = _sum_rows(block)
        if not np.isfinite(block_sum).all():
            check_finite("X", block, first)
        total += block_sum if weights is None else weights[rows] @ block
    if not center:
        return Preparation(None, normalize)
    mean = total / (X.shape[0] if weights is None else weights.sum())
    few = X[:: -(-X.shape[0] // LOOK_ROWS)]
    size = float(abs(few).mean(dtype=np.float64))
    return Preparation(mean, normalize, MEAN_ROUNDING * size * X.shape[1] ** 0.5)


def _sum_rows(block: Matrix) -> FloatArray:
    """Return the sum of the rows in float64; a sparse array would add up in its own precision."""
    if isinstance(block, sp.csr_array):
        return np.asarray(np.ones(block.shape[0]) @ block)
    return np.asarray(block.sum(axis=0, dtype=np.float64))
