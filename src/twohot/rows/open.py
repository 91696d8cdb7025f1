"""Open a matrix of any container as `Rows`, and check its rows before a fit.

Only this module distinguishes containers. Every other module uses `Rows`. A kernel is a function of
one block of rows (see `twohot.rows.rows`).
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from twohot.base import STORED, ArgumentError, FloatArray, IntArray, Matrix, check_finite
from twohot.rows.dask_chunks import (
    ChunkedFeatures,
    check_collection,
    is_dask,
    open_chunks,
    precision_of,
)
from twohot.rows.dask_rows import DaskRows, map_lazily
from twohot.rows.preparation import Preparation, row_norms
from twohot.rows.rows import Block, Kernel, Rows, Terms
from twohot.rows.selected import GatheredRows, SelectedRows
from twohot.rows.stored import PartedRows, in_parts, open_store


def example_row(X: Any) -> Any:
    """Return one row of X with its column names; None if X is in memory.

    Features in memory are checked as a whole. For other containers, one row is checked.
    """
    if isinstance(X, SelectedRows) and is_dask(X.X):
        X = X.X
    if is_dask(X):
        check_collection(X)
        if hasattr(X, "columns"):  # a frame
            return X._meta_nonempty.iloc[:1] * 0.0  # noqa: SLF001 - known without computing
        return np.zeros((1, X.shape[1]), precision_of(X))
    X = open_store(X)
    if isinstance(X, ChunkedFeatures):
        return np.zeros((1, X.shape[1]), X.dtype)
    return X[:1] if isinstance(X, GatheredRows) and X.dtype in STORED else None


def open_features(X: Any) -> Matrix:
    """Return features of Dask or a store as a matrix that `Rows` can read.

    Other features are returned unchanged. Dask's workers compute and keep their chunks. If there
    are fewer rows than columns, this process loads all rows to compute their Gram matrix.
    """
    if isinstance(X, SelectedRows) and is_dask(X.X):
        X = X.X[X.index]
    if not is_dask(X):
        return open_store(X)
    chunked = open_chunks(X)
    return chunked[:] if len(chunked) < chunked.shape[1] else chunked


def are_far_apart(X: Matrix) -> bool:
    """Return whether it is slow to read single rows, because X is read in parts or by workers."""
    stored = X.X if isinstance(X, SelectedRows) else X
    return isinstance(stored, PartedRows | ChunkedFeatures)


def open_rows(X: Matrix, preparation: Preparation | None = None, **options: Any) -> Rows:
    """Return X as `Rows`, or as `DaskRows` for chunks; the options are those of `Rows`."""
    if isinstance(X, SelectedRows) and isinstance(X.X, ChunkedFeatures):
        X = X.X.take(X.index)
    if isinstance(X, ChunkedFeatures):
        return DaskRows(X, preparation, **options)
    return Rows(in_parts(X), preparation, **options)


def map_rows(X: Any, kernel: Kernel, *shared: Any, like: NDArray[Any], **options: Any) -> Any:
    """Return an array of the results of a kernel for the rows of X; for Dask, a lazy array.

    The kernel gets rows as they are stored. `like` is the result for zero rows: an array with the
    type and the columns of the results. The options are those of `Rows`.
    """
    if is_dask(X):
        return map_lazily(X, kernel, shared, like, options | {"n_jobs": 1})
    rows = open_rows(open_features(X), **options)
    return np.concatenate([like, *rows.map(kernel, *shared)])


# Checks of the size of features: the squares in a fit must be in the range of floats --------------
# The mean is computed as offset + mean of (x - offset). The sums are then as small as the
# differences, so that a large common offset causes no rounding error.

# Rounding error of a mean over many rows, relative to the distances between rows. A row that is
# nearer to the mean than this error counts as equal to the mean, because scaling to unit norm would
# amplify the error.
MEAN_ROUNDING = 1e4 * float(np.finfo(np.float64).eps)
# An offset of all rows is large if it is this many times the distances between rows. A smaller
# offset costs at most one digit. To subtract it would make a pass 50 % slower.
LARGE_OFFSET = 8.0
# Minimum factors between the norm of the rows and the largest or smallest float. These factors
# prevent overflow and underflow of norms and of sums of many products.
NORM_ROOM, PRODUCT_ROOM = 2.0**4, 2.0**12


def large_offset(few: Matrix) -> FloatArray:
    """Return the offset that rows have in common: each column's median, or 0 if it is not large.

    Examples
    --------
    >>> large_offset(np.array([[1e12, 0.0], [1e12 + 1, 2.0], [1e12 + 1, 1.0]]))
    array([1.e+12, 0.e+00])
    """
    dense = few.toarray() if sp.issparse(few) else np.asarray(few)
    # NaN and infinity raise an error later, when all rows are read.
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.sort(dense, axis=0)[len(dense) // 2].astype(np.float64)
        differ = np.abs(dense - middle).mean(axis=0)
        return np.where(np.abs(middle) > LARGE_OFFSET * differ, middle, 0.0)


@dataclass(frozen=True)
class Outlier:
    """A row so far from the other rows that rounding makes the other rows equal."""

    name: object  # name or position of the row
    norm: float  # distance of the row from the offset, which is its norm if the offset is zero
    usual: float  # median of this distance over rows

    def __str__(self) -> str:
        return f"row {self.name} of norm {self.norm:.1g}; the median norm is {self.usual:.1g}"


def check_size(
    size: float, dtype: DTypeLike | None, *, normalize: bool, outlier: Outlier | None = None
) -> None:
    """Raise if the square of `size`, the norm of the rows, would overflow or underflow in a fit."""
    limits = np.finfo(np.dtype(dtype))
    least, most = NORM_ROOM * float(limits.tiny), float(limits.max) / NORM_ROOM
    if not normalize:
        least = PRODUCT_ROOM * float(limits.tiny) ** 0.5
        most = float(limits.max) ** 0.5 / PRODUCT_ROOM
    if size == 0 or least < size < most:
        return
    which = "rows" if outlier is None else f"row {outlier.name}"
    needs = f"a fit in {limits.dtype} needs norms of {least:.0e} to {most:.0e}"
    problem = f"has {which} of norm {size:.1g}; {needs}"
    advice = "multiply X by a constant." if outlier is None else CORRECT_ROW
    if not normalize and outlier is None:
        advice = "multiply X by a constant, or pass {normalize}, which removes the scale."
    raise ArgumentError("X", problem, advice, normalize=True)


def safe_norm(vector: FloatArray) -> float:
    """Return a norm computed without overflow; infinity if an entry is not finite."""
    largest = float(np.abs(vector).max(initial=0.0))
    if not 0 < largest < np.inf:
        return 0.0 if largest == 0 else np.inf
    return largest * float(np.linalg.norm(vector / largest))


# The size of rows is estimated from this many random rows. Every n-th row would be a biased sample
# if the order of the rows is periodic.
LOOK_ROWS = 200
CORRECT_ROW = "correct or remove the row."

# A matrix, and the names of its rows as a list or `RowIds`.
_names: ContextVar[tuple[Matrix, Any]] = ContextVar("names", default=(None, None))


@contextmanager
def calling_rows(X: Matrix, names: Any) -> Iterator[None]:
    """In this context, warnings and errors contain the names of rows of X, not positions."""
    before = _names.set((X, names))
    try:
        yield
    finally:
        _names.reset(before)


def fit_preparation(
    X: Matrix,
    *,
    center: bool,
    normalize: bool,
    weights: FloatArray | None,
    n_jobs: int = 1,
    dtype: DTypeLike | None = None,
) -> Preparation:
    """Read X once and return the preparation of its rows, with their weighted mean.

    Raise if X contains NaN or infinity, or if norms of rows are out of the range of `dtype`, by
    default float64.
    """
    rows = open_rows(X, weights=weights, n_jobs=n_jobs)
    if isinstance(X, SelectedRows):  # errors name a row by its position in the user's data
        rows.attach("place", X.index)
    n_few = min(LOOK_ROWS, rows.n_samples)
    few = np.sort(np.random.default_rng(0).choice(rows.n_samples, n_few, replace=False))
    sample = X[few]
    offset = large_offset(sample) if center else np.zeros(rows.n_columns)
    total, deviations = rows.sum(mean_terms, few, offset)
    shift, spread = total / rows.n_samples, deviations / n_few
    distances = np.sort(_distances(sample, offset))
    # If rows are not centred but scaled, an outlier has no effect on other rows.
    outlier = _outlier(rows, offset, shift, distances) if center or not normalize else None
    if outlier is not None:
        check_size(outlier.norm, dtype, normalize=normalize, outlier=outlier)
    check_size(safe_norm(spread), dtype, normalize=normalize)
    preparation = Preparation(None, normalize)
    if center:
        mean = offset + shift
        # The mean of a constant column is exact.
        eps = float(np.finfo(np.result_type(X.dtype, np.float32)).eps)  # precision of centring
        error = MEAN_ROUNDING * safe_norm(spread) + eps * safe_norm(mean[spread > 0])
        # Omit the row with the largest distance.
        size = float(distances[:-1].mean()) if n_few > 1 else 0.0
        if 0 < size < 2 * error:
            raise _indistinguishable(size, mean, X.dtype, outlier)
        preparation = Preparation(mean, normalize, error)
    if outlier is not None:
        equal = "compared with this row, the other rows are nearly equal"
        # With this line as its location, Python shows the warning once for all callers.
        warnings.warn(f"X has {outlier}: {equal}. Correct or remove the row.", stacklevel=1)
    return preparation


def _indistinguishable(
    size: float, mean: FloatArray, stored: np.dtype[Any], outlier: Outlier | None
) -> ArgumentError:
    """Return the error for rows that differ by less than the rounding error of their mean."""
    if outlier is not None:
        problem = f"has {outlier}. {stored} cannot distinguish the other rows"
        return ArgumentError("X", problem, CORRECT_ROW)
    problem = f"has rows that differ from their mean (norm {safe_norm(mean):.1g}) by {size:.1g}"
    advice = "subtract a common offset before you store the rows, or store them in a wider type."
    return ArgumentError("X", f"{problem}, which {stored} cannot represent", advice)


def _outlier(
    rows: Rows, offset: FloatArray, shift: FloatArray, distances: FloatArray
) -> Outlier | None:
    """Return a row that is so distant that it determines the mean; None if there is none.

    If the mean that centres the rows includes such a row, the centred other rows are nearly equal.
    `offset` is the result of `large_offset`. `distances` are the sorted distances of a few rows
    from `offset`. `shift` is the mean minus `offset`. If `shift` is shorter than the median
    distance, there is no such row, and the rows are not read.
    """
    usual = float(distances[len(distances) // 2])
    if not 0 < usual < safe_norm(shift):
        return None
    far, place = max(rows.map(furthest_row, offset))
    if far <= usual * rows.n_samples:
        return None
    X, names = _names.get()
    if names is None:
        return Outlier(place, far, usual)
    # For Dask, the stored rows are the selected rows.
    is_selected = isinstance(X, SelectedRows) and rows.is_here
    name = names[int(np.flatnonzero(X.index == place)[0]) if is_selected else place]
    return Outlier(name, far, usual)


def furthest_row(block: Block, offset: FloatArray) -> tuple[float, int]:
    """Return the largest distance of a row from the offset, and the row's position. A kernel.

    A distance is multiplied by the weight of its row if the weight is below one.
    """
    distances = _distances(block.x, offset)
    if block.weights is not None:
        distances *= np.minimum(block.weights[:, 0], 1)
    row = int(np.argmax(distances))
    places = block.columns.get("place")
    return float(distances[row]), block.first + row if places is None else int(places[row])


def _distances(x: Matrix, offset: FloatArray) -> FloatArray:
    """Return the distance of each row from an offset."""
    dense = x.toarray() if sp.issparse(x) else np.asarray(x)
    with np.errstate(over="ignore", invalid="ignore"):  # another check finds NaN and infinity
        return row_norms(dense.astype(np.float64) - offset)


def mean_terms(block: Block, few: IntArray, offset: FloatArray) -> Terms:
    """Return Σ v (x - offset) with weights v, and Σ |x - offset| over the rows `few`. A kernel."""
    x, weights = block.x, block.weights
    # If the sum is finite, all values are finite. An infinite sum may be an overflow: check values.
    with np.errstate(over="ignore", invalid="ignore"):
        if offset.any():
            x = (x.toarray() if sp.issparse(x) else x) - offset
        # A product with ones adds up in float64, for sparse arrays too.
        plain = np.asarray(np.ones(len(block)) @ x)
        if not np.isfinite(plain).all():
            check_finite("X", block.x, block.first, block.columns.get("place"))
        start, stop = np.searchsorted(few, [block.first, block.first + len(block)])
        sizes = abs(x[few[start:stop] - block.first])
        deviations = np.asarray(sizes.sum(axis=0, dtype=np.float64)).ravel()
    total = plain if weights is None else np.asarray(weights[:, 0] @ x)
    return total, deviations
