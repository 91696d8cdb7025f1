"""How large features are, where they lie, and whether the squares of a fit can hold them.

A mean is found in two steps, offset + mean of (x - offset), so that what rows have in common costs
no digits: sums are then of the size of the differences alone.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from twohot._checks.messages import ArgumentError
from twohot._types import FloatArray, Matrix

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


def check_told_apart(error: float, mean: FloatArray, size: float, stored: DTypeLike) -> None:
    """Raise if rows of such a size about their mean cannot be told from it."""
    if size > 0 and error > size / 2:
        problem = (
            f"has rows that differ by {size:.1g} about a mean row of norm {safe_norm(mean):.1g}"
        )
        hidden = f"of which {np.dtype(stored)} does not keep enough digits"
        advice = "subtract what they have in common where they are made, or store more digits."
        raise ArgumentError("X", f"{problem}, {hidden}", advice)


def check_size(
    size: float, dtype: DTypeLike | None, *, normalize: bool, row: int | None = None
) -> None:
    """Raise if rows of such a norm, or a row, are too large or too small to be computed with."""
    limits = np.finfo(np.dtype(dtype))
    least, most = NORM_ROOM * float(limits.tiny), float(limits.max) / NORM_ROOM
    if not normalize:
        least = PRODUCT_ROOM * float(limits.tiny) ** 0.5
        most = float(limits.max) ** 0.5 / PRODUCT_ROOM
    if size == 0 or least < size < most:
        return
    which = "rows" if row is None else f"row {row}"
    problem = f"has {which} of norm {size:.1g}, and {limits.dtype} computes with {least:.0e} to"
    advice = "multiply X by a constant" if row is None else "correct the row, or leave it out"
    if not normalize and row is None:
        advice += ", or pass {normalize}, to which no scale matters"
    raise ArgumentError("X", f"{problem} {most:.0e}", f"{advice}.", normalize=True)


def safe_norm(vector: FloatArray) -> float:
    """Return a norm whose squares do not overflow, infinity where an entry is none."""
    largest = float(np.abs(vector).max(initial=0.0))
    if not 0 < largest < np.inf:
        return 0.0 if largest == 0 else np.inf
    return largest * float(np.linalg.norm(vector / largest))
