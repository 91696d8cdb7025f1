"""Check the arguments of the theory's functions: matrices, correlations and class sizes.

A check returns its argument as the array or number that the formulas use, or raises an error.
"""

import reprlib
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot.base import (
    ROW_SUM_TOLERANCE,
    ArgumentError,
    FloatArray,
    IntArray,
    as_array,
    check_corruption,
    check_count,
    check_positive,
    check_superclass,
    check_within,
)

# Largest relative difference between a matrix and its transpose. BLAS computes the two triangles of
# a Gram matrix with a difference of a few ulps.
SYMMETRY_TOLERANCE = 1e-8
# A positive semidefinite matrix of a few thousand rows may have a computed eigenvalue as low as
# -1e-14 times the largest one.
PSD_TOLERANCE = 1e-12
# Range of penalties, class sizes and squared norms. The formulas multiply at most five of these
# numbers, so that products stay below 1e300, which is finite.
SMALLEST, LARGEST = 1e-60, 1e60
# float64 represents whole numbers exactly up to 9e15.
MOST_ROUNDS = 10**15

# The theory needs at least two classes.
corruption_matrix = partial(check_corruption, least=2)
superclass_map = partial(check_superclass, least=2)


def real_array(values: ArrayLike, name: str, *, ndim: int | None = None) -> FloatArray:
    """Return `values` as a finite float64 array; if `ndim` is given, check shape and size too."""
    array = as_array(values)
    if array.dtype.kind not in "biuf":
        shown = reprlib.repr(values)
        raise ValueError(f"{name} must hold real numbers in rows of equal length, got {shown}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinite values; remove or replace them.")
    if ndim is not None and (array.ndim != ndim or array.size == 0):
        raise ValueError(f"{name} must have {ndim} dimension(s) and an entry, got {array.shape}.")
    return array.astype(np.float64)


def scale_number(name: str, value: float) -> float:
    """Return a penalty, class size or squared norm; raise if it is out of range."""
    if SMALLEST <= check_positive(name, value) <= LARGEST:
        return float(value)
    advice = f"pass a number from {SMALLEST:g} to {LARGEST:g}, to avoid overflow and underflow."
    raise ArgumentError({name: value}, "is out of range", advice)


def round_count(n_rounds: int, minimum: int = 0, *, name: str = "n_rounds") -> int:
    """Return a number of rounds; raise unless float64 represents it exactly."""
    if check_count(name, n_rounds, minimum) <= MOST_ROUNDS:
        return int(n_rounds)
    advice = "pass at most 10**15; rounds_until_right also decides later rounds."
    raise ArgumentError({name: n_rounds}, "is out of range", advice)


def instance(value: object, kind: Any, name: str, hint: str) -> None:
    """Raise unless `value` is an instance of `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}; {hint}.")


def symmetric_matrix(values: ArrayLike, name: str) -> FloatArray:
    """Return an exactly symmetric matrix; raise unless `values` is symmetric up to rounding."""
    matrix = real_array(values, name, ndim=2)
    if len(matrix) != len(matrix.T):
        raise ValueError(f"{name} must be square, got shape {matrix.shape}.")
    asymmetry = float(np.abs(matrix - matrix.T).max(initial=0.0))
    if asymmetry > SYMMETRY_TOLERANCE * max(1.0, float(np.abs(matrix).max(initial=0.0))):
        problem = f"it differs from its transpose by up to {asymmetry:.3g}"
        raise ValueError(
            f"{name} must be symmetric, but {problem}; average the two if this is intended."
        )
    return (matrix + matrix.T) / 2


def psd_eigenvalues(ascending: NDArray[np.floating[Any]], problem: str) -> FloatArray:
    """Return the eigenvalues of a PSD matrix; set negative ones to zero if rounding caused them."""
    if ascending.size and ascending[0] < -PSD_TOLERANCE * max(1.0, float(ascending[-1])):
        raise ValueError(f"{problem}: it has the negative eigenvalue {ascending[0]:.6g}.")
    return np.asarray(np.maximum(ascending, 0.0), dtype=np.float64)


def per_class(
    values: ArrayLike, name: str, n_classes: int, *, above: float = -np.inf, below: float = np.inf
) -> FloatArray:
    """Return one number per class, between bounds; repeat a single number for all classes."""
    given = real_array(values, name)
    if given.shape not in {(), (n_classes,)}:
        raise ValueError(
            f"{name} must be one number or {n_classes} numbers, but has shape {given.shape}."
        )
    array = np.broadcast_to(given, (n_classes,)).copy()
    outside = np.flatnonzero((array <= above) | (array >= below))
    if outside.size:
        allowed = f"above {above:g} and below {below:g}"
        problem = f"class {outside[0]} has {array[outside[0]]:g}"
        raise ValueError(f"{name} must be {allowed}, but {problem}; leave out empty classes.")
    return array


def whole_sizes(sizes: FloatArray) -> IntArray:
    """Return class sizes as integers; raise unless they are whole numbers."""
    rounded = np.rint(sizes)
    if not np.allclose(rounded, sizes, rtol=0, atol=1e-9):
        raise ValueError(f"class_sizes must be whole numbers to list samples; round {sizes}.")
    return rounded.astype(np.intp)


def ordered_levels(**levels: float) -> list[float]:
    """Return the correlations; raise unless 1 > same_class > same_superclass >= elsewhere."""
    values = [check_within(name, level, -1, 1) for name, level in levels.items()]
    c, d, *e = values
    if 1 > c > d >= min(e, default=d):
        return values
    advice = "pass correlations with 1 > same_class > same_superclass >= elsewhere."
    raise ArgumentError(levels, "are out of order", advice)


def target_rows(targets: ArrayLike, n_samples: int) -> FloatArray:
    """Return soft targets, one row per sample; raise unless every row sums to one."""
    rows = real_array(targets, "targets")
    if rows.ndim != 2 or len(rows) != n_samples or rows.shape[1] < 2:
        needed = f"{n_samples} rows, one per sample, and one column per class (at least 2)"
        advice = "use np.eye(n_classes)[labels] for labels"
        raise ValueError(f"targets must have {needed}, got shape {rows.shape}; {advice}.")
    worst = float(np.abs(rows.sum(axis=1) - 1).max())
    if worst > ROW_SUM_TOLERANCE:
        raise ValueError(f"rows of targets must sum to 1, but a sum differs by {worst:.3g}.")
    return rows
