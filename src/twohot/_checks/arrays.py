"""Arrays that a user passes: features, probabilities, coefficients."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike

from twohot._checks.foreign_arrays import as_numpy
from twohot._checks.messages import ArgumentError, counted
from twohot._types import FloatArray, IntArray, Matrix

# Precisions that features may be stored in; anything else is converted to the first.
STORED = [np.float64, np.float32, np.float16]
# Soft targets may miss one by what storing them as float16 costs.
SOFT_TARGET_TOLERANCE = 1e-3


def check_precision(dtype: DTypeLike) -> np.dtype[Any]:
    """Return a precision to compute in: float32 or float64."""
    allowed: tuple[np.dtype[Any], ...] = (np.dtype(np.float32), np.dtype(np.float64))
    for precision in allowed:
        if dtype in (precision, precision.name, precision.type):
            return precision
    problem = "is not a precision to compute in"
    raise ArgumentError({"dtype": dtype}, problem, "pass float32 or float64.")


class NotFiniteError(ArgumentError):
    """Features that hold NaN or infinity."""


def check_finite(
    name: str,
    block: Matrix,
    first_row: int,
    places: IntArray | Sequence[str] | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Raise if a block of rows holds NaN or infinity, with the place of the first.

    A row is called what `places` calls it, by default it is counted from the block's first; a
    column what `columns` calls it, or counted if there are none.
    """
    values = block.data if sp.issparse(block) else block
    # A finite sum has finite terms; one that is not may be an overflow, hence the second look.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
            return
    dense = block.toarray() if sp.issparse(block) else block
    row, column = np.argwhere(~np.isfinite(dense))[0]
    kind = "NaN" if np.isnan(dense[row, column]) else "infinity"
    place = first_row + row if places is None else places[row]
    where = repr(columns[column]) if columns else column
    problem = f"contains {kind} at row {place}, column {where}"
    advice = "features must be finite, so drop or impute the row (NaN and inf cannot be used)."
    raise NotFiniteError(name, problem, advice)


def check_start(start: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """Return given start coefficients as float64."""
    array = np.asarray(start, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        problem = f"has shape {array.shape} or holds NaN or infinity"
        shaped = f"of shape {shape} (n_classes, n_features)"
        advice = f"pass finite coefficients {shaped}, or 'teacher' or 'zero'."
        raise ArgumentError("start", problem, advice)
    return array


def check_soft_targets(
    targets: Matrix, n_samples: int, *, name: str = "targets", beside: str = "X"
) -> Matrix:
    """Return soft targets, dense or CSR, with rows that are not negative and sum to one.

    A message calls them by `name`, and by `beside` what has a row for each of theirs.
    """
    rows: Any = np.asarray(as_numpy(targets))
    if sp.issparse(targets):
        rows = sp.csr_array(targets)
        if not rows.has_canonical_format:  # a cell that is stored in parts counts once
            rows = rows.copy()
            rows.sum_duplicates()
    values = rows.data if sp.issparse(targets) else rows
    if values.dtype.kind not in "fiu":
        raise ArgumentError(name, f"has dtype {values.dtype}", "pass real numbers.")
    if rows.ndim != 2 or rows.shape[1] < 2:
        advice = "pass one row of probabilities per sample, and columns for at least two classes."
        raise ArgumentError(name, f"has shape {rows.shape}", advice)
    if rows.shape[0] != n_samples:
        problem = f"has {counted(rows.shape[0], 'row')} and {beside} has {n_samples}"
        raise ArgumentError(name, problem, f"pass one row of probabilities per row of {beside}.")
    sums = np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()
    # Written so that NaN fails too.
    if not np.all(values >= 0):
        problem = f"has the negative or missing value {np.min(values)}"
        raise ArgumentError(name, problem, "pass probabilities.")
    if not np.all(np.abs(sums - 1) <= SOFT_TARGET_TOLERANCE):
        row = int(np.argmax(np.abs(sums - 1)))
        problem = f"has rows that do not sum to one (row {row}: {sums[row]:.6g})"
        raise ArgumentError(name, problem, "divide each row by its sum.")
    return rows
