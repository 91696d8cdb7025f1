"""Open a matrix of any container as `Rows`, and check its rows before a fit.

Only this module distinguishes containers. Every other module uses `Rows`.
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
    """Return one row of X with its column names, for checks; None if X is checked as a whole.

    For a container that is read in parts, one row is enough for the checks.
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

    Other features stay unchanged. Dask's workers compute and keep their chunks. If there are fewer
    rows than columns, the rows are loaded in this process, because a fit needs them here.
    """
    if isinstance(X, SelectedRows) and is_dask(X.X):
        X = X.X[X.index]
    if not is_dask(X):
        return open_store(X)
    chunked = open_chunks(X)
    return chunked[:] if len(chunked) < chunked.shape[1] else chunked


def are_far_apart(X: Matrix) -> bool:
    """Return whether selecting some rows of X reads many other rows or remote storage."""
    stored = X.X if isinstance(X, SelectedRows) else X
    return isinstance(stored, PartedRows | ChunkedFeatures)


def open_rows(X: Matrix, preparation: Preparation | None = None, **options: Any) -> Rows:
    """Return X as `Rows` or a subclass that can read its container; options are those of `Rows`."""
    if isinstance(X, SelectedRows) and isinstance(X.X, ChunkedFeatures):
        X = X.X.take(X.index)
    if isinstance(X, ChunkedFeatures):
        return DaskRows(X, preparation, **options)
    return Rows(in_parts(X), preparation, **options)


def map_rows(X: Any, kernel: Kernel, *shared: Any, like: NDArray[Any], **options: Any) -> Any:
    """Return the result of a kernel for each row of X, unprepared; a lazy array for Dask.

    `like` is the kernel's result for zero rows. Options are those of `Rows`.
    """
    if is_dask(X):
        return map_lazily(X, kernel, shared, like, options | {"n_jobs": 1})
    rows = open_rows(open_features(X), **options)
    return np.concatenate([like, *rows.map(kernel, *shared)])


# Checks of the size of features: the squares in a fit must be in the range of floats --------------
# The mean is computed as offset + mean of (x - offset). Sums are then only as large as the
# differences, so that a large common offset causes no rounding error.

# Rounding error of a mean over many rows, relative to the distances between rows. A row at a
# smaller distance from the mean counts as the mean, because scaling would amplify its rounding
# error.
MEAN_ROUNDING = 1e4 * float(np.finfo(np.float64).eps)
# A common offset is large if it is this many times the differences. A smaller offset costs at most
# one digit, and its subtraction would take half of the time of a read.
LARGE_OFFSET = 8.0
# Least factors between the norm of the rows and the largest or smallest float: norms, and sums of
# many products, must not overflow or underflow.
NORM_ROOM, PRODUCT_ROOM = 2.0**4, 2.0**12


def large_offset(few: Matrix) -> FloatArray:
    """Return the median of each column of a few rows, zero where it is not large.

    Examples
    --------
    >>> large_offset(np.array([[1e12, 0.0], [1e12 + 1, 2.0], [1e12 + 1, 1.0]]))
    array([1.e+12, 0.e+00])
    """
    dense = few.toarray() if sp.issparse(few) else np.asarray(few)
    # NaN and infinity are found when all rows are read.
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.sort(dense, axis=0)[len(dense) // 2].astype(np.float64)
        differ = np.abs(dense - middle).mean(axis=0)
        return np.where(np.abs(middle) > LARGE_OFFSET * differ, middle, 0.0)


@dataclass(frozen=True)
class Outlier:
    """A row so far from the rest that rounding makes all other rows equal."""

    name: object  # name or position of the row
    norm: float
    usual: float  # median norm of the rows

    def __str__(self) -> str:
        others = f"half of the rows have {self.usual:.1g} or less"
        return f"row {self.name} of norm {self.norm:.1g}, and {others}"


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
    problem = f"has {which} of norm {size:.1g}, and {limits.dtype} computes with {least:.0e} to"
    advice = "multiply X by a constant." if outlier is None else CORRECT_ROW
    if not normalize and outlier is None:
        advice = "multiply X by a constant, or pass {normalize}, which removes the scale."
    raise ArgumentError("X", f"{problem} {most:.0e}", advice, normalize=True)


def safe_norm(vector: FloatArray) -> float:
    """Return a norm computed without overflow; infinity if an entry is not finite."""
    largest = float(np.abs(vector).max(initial=0.0))
    if not 0 < largest < np.inf:
        return 0.0 if largest == 0 else np.inf
    return largest * float(np.linalg.norm(vector / largest))


# The size of rows is estimated from this many random rows. Taking every n-th row instead could be
# biased, if the order of the rows is periodic.
LOOK_ROWS = 200
CORRECT_ROW = "correct or remove the row."

# Names of rows, as a list or `RowIds`, and the matrix of these rows.
_names: ContextVar[tuple[Matrix, Any]] = ContextVar("names", default=(None, None))


@contextmanager
def calling_rows(X: Matrix, names: Any) -> Iterator[None]:
    """Make warnings and errors use these names for rows of X, instead of positions."""
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
    """Read X once; raise on NaN or infinity, and return the preparation with the mean row.

    The mean is weighted. Norms must be in the range of `dtype`, by default float64.
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
    # If rows are only scaled, outliers have no effect on other rows.
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
        warnings.warn(
            f"X has {outlier}: compared with this row, they are nearly equal. Correct or "
            "remove the row.",
            UserWarning,
            stacklevel=1,  # raised at one place in the code, so that the warning is shown once
        )
    return preparation


def _indistinguishable(
    size: float, mean: FloatArray, stored: np.dtype[Any], outlier: Outlier | None
) -> ArgumentError:
    """Return the error for rows that differ by less than the rounding error of their mean."""
    if outlier is not None:
        problem = f"has {outlier}, so {stored} cannot distinguish the other rows"
        return ArgumentError("X", problem, CORRECT_ROW)
    problem = f"has rows that differ from their mean (norm {safe_norm(mean):.1g}) by {size:.1g}"
    advice = "subtract a common offset before you store them, or store them in a wider type."
    return ArgumentError("X", f"{problem}, which {stored} cannot represent", advice)


def _outlier(
    rows: Rows, offset: FloatArray, shift: FloatArray, distances: FloatArray
) -> Outlier | None:
    """Return a row whose distance dominates the mean of all rows; None if there is none.

    After centring by a mean with such a row, all other rows are nearly equal. `distances` are those
    of a few rows from the offset, sorted; `shift` is the mean minus the offset. If the mean is
    nearer to the offset than half of these rows, there is no outlier, and rows are not read.
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
    # For Dask, the rows stored are exactly the rows of X.
    is_selected = isinstance(X, SelectedRows) and rows.is_here
    name = names[int(np.flatnonzero(X.index == place)[0]) if is_selected else place]
    return Outlier(name, far, usual)


def furthest_row(block: Block, offset: FloatArray) -> tuple[float, int]:
    """Return the largest distance of a row from the offset, and its position. A kernel.

    A weight below one reduces the distance of its row; a larger weight does not increase it.
    """
    distances = _distances(block.x, offset)
    if block.weights is not None:
        distances *= np.minimum(block.weights[:, 0], 1)
    row = int(np.argmax(distances))
    places = block.columns.get("place")
    return float(distances[row]), block.first + row if places is None else int(places[row])


def _distances(x: Matrix, offset: FloatArray) -> FloatArray:
    """Return the distances of rows from an offset."""
    dense = x.toarray() if sp.issparse(x) else np.asarray(x)
    with np.errstate(over="ignore", invalid="ignore"):  # another check finds NaN and infinity
        return row_norms(dense.astype(np.float64) - offset)


def mean_terms(block: Block, few: IntArray, offset: FloatArray) -> Terms:
    """Return Σ v (x - offset), and Σ |x - offset| over a few rows. A kernel."""
    x, weights = block.x, block.weights
    # If the sum is finite, all values are. If not, the sum may have overflowed: check each value.
    with np.errstate(over="ignore", invalid="ignore"):
        if offset.any():
            x = (x.toarray() if sp.issparse(x) else x) - offset
        # The product from the left is accumulated in float64, also for a sparse array.
        plain = np.asarray(np.ones(len(block)) @ x)
        if not np.isfinite(plain).all():
            check_finite("X", block.x, block.first, block.columns.get("place"))
        start, stop = np.searchsorted(few, [block.first, block.first + len(block)])
        sizes = abs(x[few[start:stop] - block.first])
        deviations = np.asarray(sizes.sum(axis=0, dtype=np.float64)).ravel()
    total = plain if weights is None else np.asarray(weights[:, 0] @ x)
    return total, deviations
