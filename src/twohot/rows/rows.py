"""Rows of features and the passes over them.

All code that reads rows is a kernel: a function of a block and of small shared arrays.

    rows.sum(kernel, *shared)            Σ over blocks, in float64, in the order of the blocks
    rows.sum_groups(kernel, n, *shared)  Σ by groups of rows; a block has rows of some groups
    rows.map(kernel, *shared)            one result per block, in order
    rows.derive(name, kernel, *shared)   one result per row, stored with the rows

Sums are identical, to the last bit, for any number of threads. `Rows` counts its products with
dense matrices: a pass is two such products over all rows.

Rows in other containers are subclasses with their own `map`; see `twohot.rows.open`.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from twohot.base import FloatArray, IntArray, Matrix
from twohot.rows.preparation import AS_THEY_ARE, Preparation
from twohot.rows.selected import SelectedRows
from twohot.rows.threads import map_on_cores

# Block: some rows with their columns; kernels read nothing else -----------------------------------
# A kernel is a function of a block and a few small shared arrays, defined at module level. It can
# therefore be sent to the process that has the block.


@dataclass(eq=False)
class Block:
    """A block of rows, prepared for the two products of a pass.

    The factors that scale rows to unit norm are applied to the smaller side of a product:

        z_i = s_i (x_i · w),        Σ_i e_i (s_i x_i) = Σ_i (s_i e_i) x_i.

    Do not modify the arrays: they are cached, or are buffers that the same thread reuses for its
    next block.
    """

    first: int  # number of the first row
    x: Matrix  # (rows, d), centred; unprepared rows are as stored
    scale: FloatArray | None = None  # (rows, 1), factors still to be applied
    weights: FloatArray | None = None  # (rows, 1); None: all weights are one
    columns: Mapping[str, Matrix] = field(default_factory=dict)  # other values of each row
    intercept: bool = False
    logits: FloatArray | None = None  # (rows, K), buffer for the logits
    row_products: int = 0  # rows times products with dense matrices, so far

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        # The buffer is not sent with the block, but allocated again.
        return self.__dict__ | {"logits": None}

    def prepared(self) -> FloatArray:
        """Return the prepared rows."""
        if self.scale is not None:
            self.x *= self.scale
            self.scale = None
        prepared: FloatArray = self.x
        return prepared

    def project(self, coef: FloatArray) -> FloatArray:
        """Return the logits (rows, K)."""
        self.row_products += len(self)
        logits: FloatArray = np.matmul(self.x, coef[:, : self.x.shape[1]].T, out=self.logits)
        if self.scale is not None:
            logits *= self.scale
        if self.intercept:
            logits += coef[:, -1]
        return logits

    def gather(self, e: Matrix) -> FloatArray:
        """Return eᵀφ(x) (K, d) for e (rows, K), CSR or dense; a dense e is overwritten."""
        self.row_products += 0 if sp.issparse(e) else len(self)
        total = e.sum(axis=0) if self.intercept else None
        if self.scale is not None:
            e = scale_rows(e, self.scale)
        moment: FloatArray = e.T @ self.x
        return moment if total is None else np.column_stack([moment, total])


def scale_rows(rows: Matrix, factors: FloatArray) -> Matrix:
    """Return the rows times a column of factors; dense rows are overwritten."""
    if isinstance(rows, sp.csr_array):
        per_entry = np.repeat(factors[:, 0], np.diff(rows.indptr))
        return sp.csr_array((rows.data * per_entry, rows.indices, rows.indptr), rows.shape)
    rows *= factors
    return rows


Kernel: TypeAlias = Callable[..., Any]
Terms: TypeAlias = tuple[FloatArray, ...]

# Numbers in a block of features. Blocks are large enough for efficient matrix products, and so that
# adding their sums is cheap. They are small enough (2 MB in float32) to stay in cache during a
# pass. Blocks of half the size took 6 % longer for 2048 features, and equally long for 512; on busy
# cores, they took a sixth longer for both.
BLOCK_ENTRIES = 2**19
LEAST_BLOCK_ROWS = 64
# Minimum rows of a block with thousands of classes. Adding the K × d sums of a block takes as long
# as the products of 64 rows: for 256 rows, a quarter of the time of their products.
LEAST_CLASS_ROWS = 256

# Rows that are read many times are prepared once and cached, if they take at most this many bytes.
# This saves a tenth of each pass.
KEPT_BYTES = 2**26


class Rows:
    """The rows of X, block by block, each with its weight and other columns."""

    is_here = True  # whether `columns` has the columns of rows in this process

    def __init__(
        self,
        X: Matrix,
        preparation: Preparation | None = None,
        *,
        dtype: np.dtype[Any] | None = None,
        n_classes: int = 1,
        weights: FloatArray | None = None,
        intercept: bool = False,
        n_jobs: int = 1,
        keep_small: bool = False,
        block_rows: int | None = None,
    ) -> None:
        self.X = X
        self.preparation = preparation  # None: blocks hold the rows as stored
        self.dtype = np.dtype(np.float64) if dtype is None else dtype
        self.intercept = intercept
        self.n_classes = n_classes
        self.n_jobs = n_jobs
        self.n_samples, self.n_columns = X.shape
        self.n_features = self.n_columns + intercept
        self.total_weight = float(self.n_samples if weights is None else weights.sum())
        # Weights have mean one, so that sums stay of the order of n_samples.
        unit = self.n_samples / (self.total_weight or 1.0)  # rows of weight zero stay at zero
        self.weights = None if weights is None else weights * unit
        self.given_weights: Any = weights
        self.columns: dict[str, Matrix] = {}
        # Options for `Rows` that are read in the same way.
        self.options: dict[str, Any] = {"dtype": self.dtype, "n_classes": n_classes}
        self.options |= {"intercept": intercept, "n_jobs": n_jobs}
        self.options |= {"keep_small": keep_small, "block_rows": block_rows}
        self.block_rows = block_rows or _suited_rows(self.n_samples, self.n_columns, n_classes)
        self.n_blocks = -(-self.n_samples // self.block_rows)
        # Rows that are stored in the form a pass reads are not copied.
        self._is_prepared = (
            preparation is AS_THEY_ARE and isinstance(X, np.ndarray) and X.dtype == self.dtype
        )
        n_bytes = self.n_samples * self.n_columns * self.dtype.itemsize
        self._keeps_rows = keep_small and n_bytes <= KEPT_BYTES
        self._kept: dict[int, FloatArray] = {}  # prepared rows, cached when a block is first read
        self._scales: dict[int, FloatArray] = {}  # 1/norm, if rows are not cached
        self._buffers = threading.local()
        self.n_row_products = 0  # rows times products with dense matrices, so far
        self.first_row = 0  # number of the first row, if these rows are part of others

    @property
    def n_passes(self) -> float:
        """Number of products over all rows so far, divided by two: a gradient takes two."""
        return float(self.n_row_products / (2 * self.n_samples))

    def sum(self, kernel: Kernel, *shared: Any) -> Terms:
        """Return the sums over all blocks of the terms that a kernel returns, in float64."""
        results = self.map(kernel, *shared)
        total = tuple(np.array(term, dtype=np.float64) for term in next(results))
        for terms in results:
            for accumulated, term in zip(total, terms, strict=True):
                np.add(accumulated, term, out=accumulated)
        return total

    def sum_groups(self, kernel: Kernel, n_groups: int, *shared: Any) -> Terms:
        """Return sums over all blocks, in float64, with one row of each term per group.

        A kernel returns the groups of a block, each once, and terms with one row per group.
        """
        total: Terms = ()
        for groups, *terms in self.map(kernel, *shared):
            total = total or tuple(np.zeros((n_groups, *term.shape[1:])) for term in terms)
            for accumulated, term in zip(total, terms, strict=True):
                accumulated[groups] += term
        return total

    def map(self, kernel: Kernel, *shared: Any) -> Iterator[Any]:
        """Yield the result of a kernel for each block, in order; keep at most two per thread."""

        def run(number: int) -> tuple[Any, int]:
            return run_kernel(kernel, self.block(number), shared)

        yield from self._counted(map_on_cores(run, self.n_blocks, self.n_jobs))

    def _counted(self, results: Iterator[tuple[Any, int]]) -> Iterator[Any]:
        for result, row_products in results:
            self.n_row_products += row_products
            yield result

    def attach(self, name: str, values: Matrix) -> None:
        """Store a column: one value, or one row of values, for each row; replace an equal name.

        A kernel finds the values for its block in `block.columns[name]`.
        """
        self.columns[name] = values

    def derive(self, name: str, kernel: Kernel, *shared: Any) -> None:
        """Store the result of a kernel for each row, as the column `name`."""
        self.attach(name, stack(list(self.map(kernel, *shared))))

    def take(self, index: IntArray, preparation: Preparation | None = None) -> "Rows":
        """Return some of the rows, with the same preparation or another; nothing is copied."""
        prepared = self.preparation if preparation is None else preparation
        return self._like(type(self), SelectedRows(self.X, index), prepared, index)

    def in_memory(self, index: IntArray) -> "Rows":
        """Return some of the rows in memory, already prepared."""
        prepared = stack(list(self.take(index).map(copy_prepared, self.dtype)))
        return self._like(Rows, prepared, AS_THEY_ARE, index)

    def in_axes(self, basis: FloatArray) -> "Rows":
        """Return the prepared rows in memory, along the columns of a basis."""
        rotated = stack(list(self.map(coordinates_along, basis, self.dtype)))
        return self._like(Rows, rotated, AS_THEY_ARE, np.arange(self.n_samples))

    def last_columns(self, n_columns: int) -> "Rows":
        """Return the rows with their last columns only; the rows must need no preparation."""
        everything = np.arange(self.n_samples)
        return self._like(type(self), self.X[:, -n_columns:], self.preparation, everything)

    def _like(
        self,
        kind: type["Rows"],
        X: Matrix,
        preparation: Preparation | None,
        index: IntArray,
    ) -> "Rows":
        """Return X as `Rows` of this kind, with the labels and other columns of these rows."""
        weights = self.given_weights
        some = None if weights is None else weights[index]
        rows = kind(X, preparation, weights=some, **self.options)
        for name, values in self.columns.items():
            rows.attach(name, values[index])
        return rows

    def block(self, number: int) -> Block:
        """Return a block of centred rows, with the factors that scale them to unit norm."""
        first = number * self.block_rows
        rows = slice(first, min(first + self.block_rows, self.n_samples))
        n_rows = rows.stop - first
        x, scale = self._read(number, rows, n_rows)
        return Block(
            self.first_row + first,
            x,
            scale,
            None if self.weights is None else self.weights[rows, np.newaxis].astype(self.dtype),
            {name: values[rows] for name, values in self.columns.items()},
            self.intercept,
            None if self.preparation is None else self._buffer("logits", self.n_classes)[:n_rows],
        )

    def _read(self, number: int, rows: slice, n_rows: int) -> tuple[Matrix, FloatArray | None]:
        """Return the rows of a block, and the factors still to be applied."""
        if self.preparation is None or self._is_prepared:
            return self.X[rows], None
        if number in self._kept:
            return self._kept[number], None
        if self._keeps_rows:
            kept = np.empty((n_rows, self.n_columns), self.dtype)
            self._kept[number] = self.preparation.apply(self.X[rows], kept)
            return self._kept[number], None
        x = self._buffer("rows", self.n_columns)[:n_rows]
        self.preparation.center(self.X[rows], x)
        if not self.preparation.normalize:
            return x, None
        if number not in self._scales:
            self._scales[number] = self.preparation.inverse_norms(x)
        scale = self._scales[number]
        if 2 * self.n_classes > self.n_columns:
            x *= scale
            return x, None
        return x, scale

    def _buffer(self, name: str, width: int) -> FloatArray:
        buffer: FloatArray | None = getattr(self._buffers, name, None)
        if buffer is None:
            buffer = np.empty((self.block_rows, width), self.dtype)
            setattr(self._buffers, name, buffer)
        return buffer


def _suited_rows(n_samples: int, n_columns: int, n_classes: int) -> int:
    """Return the number of rows of a block."""
    by_columns = max(LEAST_BLOCK_ROWS, BLOCK_ENTRIES // max(n_columns, 1))
    by_classes = max(LEAST_CLASS_ROWS, BLOCK_ENTRIES // n_classes)
    return max(LEAST_BLOCK_ROWS, min(n_samples, by_columns, by_classes))


def run_kernel(kernel: Kernel, block: Block, shared: tuple[Any, ...]) -> tuple[Any, int]:
    """Return the result of a kernel for a block, and the number of its row products."""
    result = kernel(block, *shared)
    return result, block.row_products


def copy_prepared(block: Block, dtype: np.dtype[Any]) -> FloatArray:
    """Return a copy of the prepared rows; a kernel."""
    return np.array(block.prepared(), dtype=dtype)


def coordinates_along(block: Block, basis: FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    """Return the prepared rows along the columns of a basis; a kernel."""
    return np.asarray(block.prepared() @ basis.astype(block.x.dtype), dtype=dtype)


def stack(parts: list[Any]) -> NDArray[Any] | Any:
    """Return the rows of several blocks as one array, dense or CSR."""
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)
