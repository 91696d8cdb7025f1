"""What holds the rows of a matrix, and what has to be known of them before they are prepared.

Only this module asks which container features came in. To every other one they are `Rows`.
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
from twohot.rows.chunked import (
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
    """Return a row like those of X, with its names; None where X is to be looked at as a whole.

    A row is enough of a container that is read in parts.
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
    """Return features that Dask, Zarr or HDF5 hold as a matrix that `Rows` reads; others stay.

    The chunks of Dask are computed where they stay. Fewer rows than columns come here: a fit would
    gather them anyway.
    """
    if isinstance(X, SelectedRows) and is_dask(X.X):
        X = X.X[X.index]
    if not is_dask(X):
        return open_store(X)
    chunked = open_chunks(X)
    return chunked[:] if len(chunked) < chunked.shape[1] else chunked


def are_far_apart(X: Matrix) -> bool:
    """Return whether some rows of X can only be gathered by reading many others, or from afar."""
    stored = X.X if isinstance(X, SelectedRows) else X
    return isinstance(stored, PartedRows | ChunkedFeatures)


def open_rows(X: Matrix, preparation: Preparation | None = None, **options: Any) -> Rows:
    """Return the rows of X in the store that can read them; options as for `Rows`."""
    if isinstance(X, SelectedRows) and isinstance(X.X, ChunkedFeatures):
        X = X.X.take(X.index)
    if isinstance(X, ChunkedFeatures):
        return DaskRows(X, preparation, **options)
    return Rows(in_parts(X), preparation, **options)


def map_rows(X: Any, kernel: Kernel, *shared: Any, like: NDArray[Any], **options: Any) -> Any:
    """Return what a kernel makes of each row of X, as it is stored; of Dask a lazy array.

    `like` is what it makes of no rows. Options are those of `Rows`.
    """
    if is_dask(X):
        return map_lazily(X, kernel, shared, like, options | {"n_jobs": 1})
    rows = open_rows(open_features(X), **options)
    return np.concatenate([like, *rows.map(kernel, *shared)])


# How large features are, where they lie, and whether the squares of a fit can hold them -----------
# A mean is found in two steps, offset + mean of (x - offset), so that what rows have in common
# costs no digits: sums are then of the size of the differences alone.

# What a mean over many rows may be off by, relative to how far rows are from each other. A row no
# further from it is at the mean; scaling would blow rounding up.
MEAN_ROUNDING = 1e4 * float(np.finfo(np.float64).eps)
# What rows have in common is large if it is so many times as large as their differences: less costs
# a sum one digit, and subtracting it half a read of the rows.
LARGE_OFFSET = 8.0
# Room that is left between the largest or smallest float and the size of the rows: for their norms,
# and for sums of many products of two entries.
NORM_ROOM, PRODUCT_ROOM = 2.0**4, 2.0**12


def large_offset(few: Matrix) -> FloatArray:
    """Return the median of each column of a few rows, zero where rows differ about as much.

    Examples
    --------
    >>> large_offset(np.array([[1e12, 0.0], [1e12 + 1, 2.0], [1e12 + 1, 1.0]]))
    array([1.e+12, 0.e+00])
    """
    dense = few.toarray() if sp.issparse(few) else np.asarray(few)
    # NaN and infinity are found where all rows are read.
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.sort(dense, axis=0)[len(dense) // 2].astype(np.float64)
        differ = np.abs(dense - middle).mean(axis=0)
        return np.where(np.abs(middle) > LARGE_OFFSET * differ, middle, 0.0)


def mean_rounding(mean: FloatArray, spread: FloatArray, stored: DTypeLike) -> float:
    """Return the norm of what a mean may be off by.

    `spread` is how far rows are from their offset, column by column. A column in which they do not
    differ has an exact mean.
    """
    eps = float(np.finfo(np.result_type(stored, np.float32)).eps)  # what a row is centred in
    return MEAN_ROUNDING * safe_norm(spread) + eps * safe_norm(mean[spread > 0])


@dataclass(frozen=True)
class Outlier:
    """A row that is so far from the others that they look alike beside it."""

    name: object  # what the row is called
    norm: float
    usual: float  # norm that half of the rows do not exceed

    def __str__(self) -> str:
        others = f"half of the rows have {self.usual:.1g} or less"
        return f"row {self.name} of norm {self.norm:.1g}, and {others}"


def check_told_apart(
    error: float, mean: FloatArray, size: float, stored: DTypeLike, outlier: Outlier | None = None
) -> None:
    """Raise if rows of such a size about their mean cannot be told from it."""
    if not 0 < size < 2 * error:
        return
    if outlier is not None:
        problem = f"has {outlier}, which {np.dtype(stored)} cannot tell apart beside it"
        raise ArgumentError("X", problem, CORRECT_ROW)
    problem = f"has rows that differ by {size:.1g} about a mean row of norm {safe_norm(mean):.1g}"
    hidden = f"of which {np.dtype(stored)} does not keep enough digits"
    advice = "subtract what they have in common where they are made, or store more digits."
    raise ArgumentError("X", f"{problem}, {hidden}", advice)


def check_size(
    size: float, dtype: DTypeLike | None, *, normalize: bool, outlier: Outlier | None = None
) -> None:
    """Raise if rows of such a norm, or an outlier, are too large or small to be computed with."""
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
        advice = "multiply X by a constant, or pass {normalize}, to which no scale matters."
    raise ArgumentError("X", f"{problem} {most:.0e}", advice, normalize=True)


def safe_norm(vector: FloatArray) -> float:
    """Return a norm whose squares do not overflow, infinity where an entry is none."""
    largest = float(np.abs(vector).max(initial=0.0))
    if not 0 < largest < np.inf:
        return 0.0 if largest == 0 else np.inf
    return largest * float(np.linalg.norm(vector / largest))


# How large rows are is judged by so many of them, drawn at random: every so many rows might be the
# ones that are unlike the others.
LOOK_ROWS = 200
CORRECT_ROW = "correct the row, or leave it out."

# What rows are called, as a list or `RowIds` has it, and the rows that are.
_names: ContextVar[tuple[Matrix, Any]] = ContextVar("names", default=(None, None))


@contextmanager
def calling_rows(X: Matrix, names: Any) -> Iterator[None]:
    """Let warnings and errors call the rows of X by their names, not by their places."""
    before = _names.set((X, names))
    try:
        yield
    finally:
        _names.reset(before)


def row_name(rows: Rows, place: int) -> object:
    """Return what messages call a row that is at some place in its store."""
    X, names = _names.get()
    if names is None:
        return place
    # Dask has the rows of X, and no others.
    is_selected = isinstance(X, SelectedRows) and rows.is_here
    return names[int(np.flatnonzero(X.index == place)[0]) if is_selected else place]


def fit_preparation(
    X: Matrix,
    *,
    center: bool,
    normalize: bool,
    weights: FloatArray | None,
    n_jobs: int = 1,
    dtype: DTypeLike | None = None,
) -> Preparation:
    """Read X once: find NaN and infinity, and the (weighted) mean row.

    Rows must be of a size that `dtype`, by default float64, can compute with.
    """
    rows = open_rows(X, weights=weights, n_jobs=n_jobs)
    if isinstance(X, SelectedRows):  # an error names a row by its place among those of the user
        rows.attach("place", X.index)
    n_few = min(LOOK_ROWS, rows.n_samples)
    few = np.sort(np.random.default_rng(0).choice(rows.n_samples, n_few, replace=False))
    looked_at = X[few]
    offset = large_offset(looked_at) if center else np.zeros(rows.n_columns)
    total, deviations = rows.sum(mean_terms, few, offset)
    spread = deviations / n_few
    distances = np.sort(_distances(looked_at, offset))
    # Rows that are only scaled, each by itself, do not depend on each other.
    is_shared = center or not normalize
    outlier = _outlier(rows, offset, total / rows.n_samples, distances) if is_shared else None
    if outlier is not None:
        check_size(outlier.norm, dtype, normalize=normalize, outlier=outlier)
    check_size(safe_norm(spread), dtype, normalize=normalize)
    mean = offset + total / rows.n_samples
    error = mean_rounding(mean, spread, X.dtype)
    if center:
        # Of all but the furthest, which alone tells nothing apart.
        size = float(distances[:-1].mean()) if n_few > 1 else 0.0
        check_told_apart(error, mean, size, X.dtype, outlier)
    if outlier is not None:
        warnings.warn(
            f"X has {outlier}: beside it they can hardly be told apart. Correct the row, or leave "
            "it out.",
            UserWarning,
            stacklevel=1,  # one place, so that it is said once
        )
    return Preparation(mean, normalize, error) if center else Preparation(None, normalize)


def _outlier(
    rows: Rows, offset: FloatArray, shift: FloatArray, distances: FloatArray
) -> Outlier | None:
    """Return a row that alone could move the mean further than half of the rows are from it.

    Centred by such a mean, or compared with such a row, all others look alike. `distances`, sorted,
    are those of a few rows from the offset, and `shift` is that of the mean: unless it is further
    from the offset than half of them, no row has moved it so far, and none is looked for.
    """
    usual = float(distances[len(distances) // 2])
    if not 0 < usual < safe_norm(shift):
        return None
    far, place = max(rows.map(furthest_row, offset))
    return Outlier(row_name(rows, place), far, usual) if far > usual * rows.n_samples else None


def furthest_row(block: Block, offset: FloatArray) -> tuple[float, int]:
    """Return the largest distance of a row from the offset, and its place. A kernel.

    A row of little weight is as near as its weight makes it; a large weight makes no row further.
    """
    distances = _distances(block.x, offset)
    if block.weights is not None:
        distances *= np.minimum(block.weights[:, 0], 1)
    row = int(np.argmax(distances))
    places = block.columns.get("place")
    return float(distances[row]), block.first + row if places is None else int(places[row])


def _distances(x: Matrix, offset: FloatArray) -> FloatArray:
    """Return how far rows are from an offset."""
    dense = x.toarray() if sp.issparse(x) else np.asarray(x)
    with np.errstate(over="ignore", invalid="ignore"):  # NaN and infinity are found elsewhere
        return row_norms(dense.astype(np.float64) - offset)


def mean_terms(block: Block, few: IntArray, offset: FloatArray) -> Terms:
    """Return Σ v (x - offset), and Σ |x - offset| over a few rows. A kernel."""
    x, weights = block.x, block.weights
    # A finite sum has finite terms; one that is not may be an overflow, hence the second look.
    with np.errstate(over="ignore", invalid="ignore"):
        if offset.any():
            x = (x.toarray() if sp.issparse(x) else x) - offset
        # From the left, so that a sparse array adds up in float64 too.
        plain = np.asarray(np.ones(len(block)) @ x)
        if not np.isfinite(plain).all():
            check_finite("X", block.x, block.first, block.columns.get("place"))
        start, stop = np.searchsorted(few, [block.first, block.first + len(block)])
        sizes = abs(x[few[start:stop] - block.first])
        deviations = np.asarray(sizes.sum(axis=0, dtype=np.float64)).ravel()
    total = plain if weights is None else np.asarray(weights[:, 0] @ x)
    return total, deviations
