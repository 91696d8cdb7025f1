"""Where rows live: which store holds the rows of a matrix, and what is known of them beforehand."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from twohot._checks.arrays import check_finite
from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.block import Block
from twohot.rows.chunked import ChunkedFeatures
from twohot.rows.dask_rows import DaskRows
from twohot.rows.feature_scale import (
    check_size,
    check_told_apart,
    large_offset,
    mean_rounding,
    safe_norm,
)
from twohot.rows.parted import in_parts
from twohot.rows.preparation import Preparation, row_norms
from twohot.rows.rows import Rows, Terms
from twohot.rows.selected import SelectedRows

# How large rows are is judged by so many of them, drawn at random: every so many rows might be the
# ones that are unlike the others.
LOOK_ROWS = 200


def open_rows(X: Matrix, preparation: Preparation | None = None, **options: Any) -> Rows:
    """Return the rows of X in the store that can read them; options as for `Rows`."""
    if isinstance(X, ChunkedFeatures):
        return DaskRows(X, preparation, **options)
    return Rows(in_parts(X), preparation, **options)


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
    furthest, row = _warn_of_outlier(rows, offset, total / rows.n_samples, distances)
    check_size(furthest, dtype, normalize=normalize, row=row)
    check_size(safe_norm(spread), dtype, normalize=normalize)
    if not center:
        return Preparation(None, normalize)
    mean = offset + total / rows.n_samples
    error = mean_rounding(mean, spread, X.dtype)
    # Of all but the furthest, which alone tells nothing apart.
    size = float(distances[:-1].mean()) if n_few > 1 else 0.0
    check_told_apart(error, mean, size, X.dtype)
    return Preparation(mean, normalize, error)


def _warn_of_outlier(
    rows: Rows, offset: FloatArray, shift: FloatArray, distances: FloatArray
) -> tuple[float, int]:
    """Warn of a row that alone could move the mean further than half of the rows are from it.

    Centred by such a mean, or compared with such a row, all others look alike. `distances`, sorted,
    are those of a few rows from the offset, and `shift` is that of the mean: unless it is further
    from the offset than half of them, no row has moved it so far, and none is looked for. Returned
    are the distance of that row, or zero, and its place.
    """
    usual = float(distances[len(distances) // 2])
    if not 0 < usual < safe_norm(shift):
        return 0.0, 0
    far, place = max(rows.map(furthest_row, offset))
    if far > usual * rows.n_samples:
        warnings.warn(
            f"X has row {place} of norm {far:.1g}, and half of the rows have {usual:.1g} or less: "
            "beside it they can hardly be told apart. Correct the row, or leave it out.",
            UserWarning,
            stacklevel=2,
        )
        return float(far), int(place)
    return 0.0, 0


def furthest_row(block: Block, offset: FloatArray) -> tuple[float, int]:
    """Return the largest distance of a row from the offset, times its weight, and its place.

    A kernel.
    """
    distances = _distances(block.x, offset)
    if block.weights is not None:
        distances *= block.weights[:, 0]
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
