"""Rows of features, and passes over the rows.

A block holds consecutive rows. A kernel is a function of a block and of small shared arrays. All
code that reads rows is a kernel:

    rows.sum(kernel, *shared)            Σ over blocks, in float64, in the order of the blocks
    rows.sum_groups(kernel, n, *shared)  one such sum for each of n groups of rows
    rows.map(kernel, *shared)            one result per block, in order
    rows.derive(name, kernel, *shared)   one result per row, stored as a column of the rows

The sums are identical to the last bit for any number of threads. The arrays that a kernel returns
for a sum are its terms. `Rows` counts products of rows with dense matrices. A pass is two such
products over all rows.

A subclass of `Rows` can override `map` to read another container; see `twohot.rows.open`.
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

# Block: consecutive rows with their columns; kernels read nothing else ----------------------------
# A kernel is defined at module level, so that it can be sent to the process that has the block.


@dataclass(eq=False)
class Block:
    """Consecutive rows, with the two products of a pass.

    The factors s that scale rows to unit norm are applied to the smaller side of a product:

        z_i = s_i (x_i · w),        Σ_i e_i (s_i x_i) = Σ_i (s_i e_i) x_i.

    Here, w are coefficients, and e are multipliers. A kernel must not modify the arrays of a block:
    they are cached, or the same thread reuses them as buffers for its next block.
    """

    first: int  # position of the first row
    x: Matrix  # (rows, d), centred; if the rows are not prepared, as stored
    scale: FloatArray | None = None  # (rows, 1), factors that are not yet applied to x
    weights: FloatArray | None = None  # (rows, 1); None: all weights are one
    columns: Mapping[str, Matrix] = field(default_factory=dict)  # other values of each row
    intercept: bool = False
    logits: FloatArray | None = None  # (rows, K), buffer for the logits
    row_products: int = 0  # number of products with dense matrices so far, times rows

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        # The buffer is not sent with the block, but allocated again.
        return self.__dict__ | {"logits": None}

    def prepared(self) -> FloatArray:
        """Return the prepared rows: centred and scaled."""
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
        """Return eᵀφ(x) (K, d). `e` (rows, K) is CSR or dense; a dense `e` is overwritten."""
        self.row_products += 0 if sp.issparse(e) else len(self)
        total = e.sum(axis=0) if self.intercept else None
        if self.scale is not None:
            e = scale_rows(e, self.scale)
        moment: FloatArray = e.T @ self.x
        return moment if total is None else np.column_stack([moment, total])


def scale_rows(rows: Matrix, factors: FloatArray) -> Matrix:
    """Return each row times its factor (rows, 1); dense rows are overwritten."""
    if isinstance(rows, sp.csr_array):
        per_entry = np.repeat(factors[:, 0], np.diff(rows.indptr))
        return sp.csr_array((rows.data * per_entry, rows.indices, rows.indptr), rows.shape)
    rows *= factors
    return rows


Kernel: TypeAlias = Callable[..., Any]
Terms: TypeAlias = tuple[FloatArray, ...]

# Rows times features of a block. A block is large enough for efficient matrix products, and adding
# its sums is cheap. It is small enough (2 MB in float32) to stay in cache during a pass. With
# blocks of half the size, a pass took 6 % longer for 2048 features, and equally long for 512. On
# busy cores, a pass took a sixth longer for both numbers of features.
BLOCK_ENTRIES = 2**19
LEAST_BLOCK_ROWS = 64
# Minimum rows of a block if there are thousands of classes. Adding the K × d sums of a block takes
# as long as the products of 64 rows. With 256 rows, the sums take a quarter of the products' time.
LEAST_CLASS_ROWS = 256

# A fit reads its rows many times. If the prepared rows take at most this many bytes, they are
# cached, which saves a tenth of each pass.
KEPT_BYTES = 2**26


class Rows:
    """The rows of X, block by block; each row has a weight and other columns."""

    is_here = True  # whether the rows and their columns are read in this process

    def __init__(
        self,
        X: Matrix,
        preparation: Preparation | None = None,  # None: blocks hold the rows as stored
        *,
        dtype: np.dtype[Any] | None = None,  # of prepared rows
        n_classes: int = 1,
        weights: FloatArray | None = None,
        intercept: bool = False,
        n_jobs: int = 1,
        keep_small: bool = False,  # whether to cache prepared rows of at most KEPT_BYTES
        block_rows: int | None = None,
    ) -> None:
        self.X = X
        self.preparation = preparation
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
        # Options to make other `Rows` like this one.
        self.options: dict[str, Any] = {"dtype": self.dtype, "n_classes": n_classes}
        self.options |= {"intercept": intercept, "n_jobs": n_jobs}
        self.options |= {"keep_small": keep_small, "block_rows": block_rows}
        self.block_rows = block_rows or _suited_rows(self.n_samples, self.n_columns, n_classes)
        self.n_blocks = -(-self.n_samples // self.block_rows)
        # Rows that are stored in the form that a pass needs are not copied.
        self._is_prepared = (
            preparation is AS_THEY_ARE and isinstance(X, np.ndarray) and X.dtype == self.dtype
        )
        n_bytes = self.n_samples * self.n_columns * self.dtype.itemsize
        self._caches_rows = keep_small and n_bytes <= KEPT_BYTES
        self._cached: dict[int, FloatArray] = {}  # prepared rows by number of block
        self._scales: dict[int, FloatArray] = {}  # 1/norm of other rows by number of block
        self._buffers = threading.local()
        self.n_row_products = 0  # number of products with dense matrices so far, times rows
        self.first_row = 0  # position of the first row, if these are the rows of a chunk

    @property
    def n_passes(self) -> float:
        """Number of passes so far: products over all rows, divided by two."""
        return float(self.n_row_products / (2 * self.n_samples))

    def sum(self, kernel: Kernel, *shared: Any) -> Terms:
        """Return the sum over all blocks, in float64, of each term that a kernel returns."""
        results = self.map(kernel, *shared)
        total = tuple(np.array(term, dtype=np.float64) for term in next(results))
        for terms in results:
            for accumulated, term in zip(total, terms, strict=True):
                np.add(accumulated, term, out=accumulated)
        return total

    def sum_groups(self, kernel: Kernel, n_groups: int, *shared: Any) -> Terms:
        """Return the sums of a kernel's terms over each group of rows, in float64.

        A sum has one row per group. The kernel returns the numbers of the groups that occur in its
        block, then terms with one row for each of these groups.
        """
        total: Terms = ()
        for groups, *terms in self.map(kernel, *shared):
            total = total or tuple(np.zeros((n_groups, *term.shape[1:])) for term in terms)
            for accumulated, term in zip(total, terms, strict=True):
                accumulated[groups] += term
        return total

    def map(self, kernel: Kernel, *shared: Any) -> Iterator[Any]:
        """Yield a kernel's result for each block, in order; hold at most two results per thread."""

        def run(number: int) -> tuple[Any, int]:
            return run_kernel(kernel, self.block(number), shared)

        yield from self._counted(map_on_cores(run, self.n_blocks, self.n_jobs))

    def _counted(self, results: Iterator[tuple[Any, int]]) -> Iterator[Any]:
        for result, row_products in results:
            self.n_row_products += row_products
            yield result

    def attach(self, name: str, values: Matrix) -> None:
        """Store a column: one value, or one row of values, for each row of features.

        A kernel finds the values of its block in `block.columns[name]`. A column of the same name
        is replaced.
        """
        self.columns[name] = values

    def derive(self, name: str, kernel: Kernel, *shared: Any) -> None:
        """Store the result of a kernel for each row as the column `name`."""
        self.attach(name, stack(list(self.map(kernel, *shared))))

    def take(self, index: IntArray, preparation: Preparation | None = None) -> "Rows":
        """Return the rows at these positions without a copy, with another preparation if passed."""
        prepared = self.preparation if preparation is None else preparation
        return self._like(type(self), SelectedRows(self.X, index), prepared, index)

    def in_memory(self, index: IntArray) -> "Rows":
        """Return a prepared copy, in memory, of the rows at these positions."""
        prepared = stack(list(self.take(index).map(copy_prepared, self.dtype)))
        return self._like(Rows, prepared, AS_THEY_ARE, index)

    def in_axes(self, basis: FloatArray) -> "Rows":
        """Return the prepared rows in memory, as coordinates along the columns of a basis."""
        rotated = stack(list(self.map(coordinates_along, basis, self.dtype)))
        return self._like(Rows, rotated, AS_THEY_ARE, np.arange(self.n_samples))

    def last_columns(self, n_columns: int) -> "Rows":
        """Return the last columns of the rows; the rows must need no preparation."""
        everything = np.arange(self.n_samples)
        return self._like(type(self), self.X[:, -n_columns:], self.preparation, everything)

    def _like(
        self, kind: type["Rows"], X: Matrix, preparation: Preparation | None, index: IntArray
    ) -> "Rows":
        """Return X as an instance of `kind`, with weights and columns of the rows at `index`."""
        weights = None if self.given_weights is None else self.given_weights[index]
        rows = kind(X, preparation, weights=weights, **self.options)
        for name, values in self.columns.items():
            rows.attach(name, values[index])
        return rows

    def block(self, number: int) -> Block:
        """Return a block of centred rows, with the factors that scale them to unit norm."""
        first = number * self.block_rows
        rows = slice(first, min(first + self.block_rows, self.n_samples))
        n_rows = rows.stop - first
        x, scale = self._centred(number, rows, n_rows)
        return Block(
            self.first_row + first,
            x,
            scale,
            None if self.weights is None else self.weights[rows, np.newaxis].astype(self.dtype),
            {name: values[rows] for name, values in self.columns.items()},
            self.intercept,
            None if self.preparation is None else self._buffer("logits", self.n_classes)[:n_rows],
        )

    def _centred(self, number: int, rows: slice, n_rows: int) -> tuple[Matrix, FloatArray | None]:
        """Return the rows of a block, and the factors that are not yet applied to them."""
        if self.preparation is None or self._is_prepared:
            return self.X[rows], None
        if number in self._cached:
            return self._cached[number], None
        if self._caches_rows:
            prepared = np.empty((n_rows, self.n_columns), self.dtype)
            self._cached[number] = self.preparation.apply(self.X[rows], prepared)
            return self._cached[number], None
        x = self._buffer("rows", self.n_columns)[:n_rows]
        self.preparation.center(self.X[rows], x)
        if not self.preparation.normalize:
            return x, None
        if number not in self._scales:
            self._scales[number] = self.preparation.inverse_norms(x)
        scale = self._scales[number]
        if 2 * self.n_classes <= self.n_columns:  # it is cheaper to scale the logits
            return x, scale
        x *= scale
        return x, None

    def _buffer(self, name: str, width: int) -> FloatArray:
        buffer: FloatArray | None = getattr(self._buffers, name, None)
        if buffer is None:
            buffer = np.empty((self.block_rows, width), self.dtype)
            setattr(self._buffers, name, buffer)
        return buffer


def _suited_rows(n_samples: int, n_columns: int, n_classes: int) -> int:
    """Return a suitable number of rows for a block."""
    by_columns = max(LEAST_BLOCK_ROWS, BLOCK_ENTRIES // max(n_columns, 1))
    by_classes = max(LEAST_CLASS_ROWS, BLOCK_ENTRIES // n_classes)
    return max(LEAST_BLOCK_ROWS, min(n_samples, by_columns, by_classes))


def run_kernel(kernel: Kernel, block: Block, shared: tuple[Any, ...]) -> tuple[Any, int]:
    """Return the result of a kernel for a block, and how many row products the kernel computed."""
    result = kernel(block, *shared)
    return result, block.row_products


def copy_prepared(block: Block, dtype: np.dtype[Any]) -> FloatArray:
    """Return a copy of the prepared rows. A kernel."""
    return np.array(block.prepared(), dtype=dtype)


def coordinates_along(block: Block, basis: FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    """Return coordinates of the prepared rows along the columns of a basis. A kernel."""
    return np.asarray(block.prepared() @ basis.astype(block.x.dtype), dtype=dtype)


def stack(parts: list[Any]) -> NDArray[Any] | Any:
    """Return the rows of several blocks as one array, dense or CSR."""
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)
