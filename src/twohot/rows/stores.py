"""Where rows live: which store holds the rows of a matrix, and what is known of them beforehand."""

from typing import Any

import numpy as np

from twohot._checks.arrays import check_finite
from twohot._types import FloatArray, Matrix
from twohot.rows.block import Block
from twohot.rows.preparation import MEAN_ROUNDING, Preparation
from twohot.rows.rows import Rows, Terms
from twohot.rows.selected import SelectedRows

# How large rows are is judged by so many of them.
LOOK_ROWS = 200


def open_rows(X: Matrix, preparation: Preparation | None = None, **options: Any) -> Rows:
    """Return the rows of X in the store that can read them; options as for `Rows`."""
    return Rows(X, preparation, **options)


def fit_preparation(
    X: Matrix, *, center: bool, normalize: bool, weights: FloatArray | None, n_jobs: int = 1
) -> Preparation:
    """Read X once: find NaN and infinity, and the (weighted) mean row."""
    rows = open_rows(X, weights=weights, n_jobs=n_jobs)
    if isinstance(X, SelectedRows):  # an error names a row by its place among those of the user
        rows.attach("place", X.index)
    stride = -(-rows.n_samples // LOOK_ROWS)
    total, size, n_entries = rows.sum(mean_terms, stride)
    if not center:
        return Preparation(None, normalize)
    error = MEAN_ROUNDING * float(size / n_entries) * rows.n_columns**0.5
    return Preparation(total / rows.n_samples, normalize, error)


def mean_terms(block: Block, stride: int) -> Terms:
    """Return Σ v x; of every so many rows Σ |x| and the number of entries. A kernel."""
    x, weights = block.x, block.weights
    # A finite sum has finite terms; one that is not may be an overflow, hence the second look.
    with np.errstate(over="ignore", invalid="ignore"):
        # From the left, so that a sparse array adds up in float64 too.
        plain = np.asarray(np.ones(len(block)) @ x)
        if not np.isfinite(plain).all():
            check_finite("X", x, block.first, block.columns.get("place"))
        few = abs(x[-block.first % stride :: stride])
        size = np.asarray(few.sum(dtype=np.float64))
    total = plain if weights is None else np.asarray(weights[:, 0] @ x)
    return total, size, np.asarray(few.shape[0] * few.shape[1])
