"""Check the arguments of the theory's functions: matrices, correlations and class sizes.

Each check returns its input as the array or number that the formulas use.
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

# The two triangles of a Gram matrix computed by BLAS agree to a few ulp; a matrix with a larger
# difference is not symmetric.
SYMMETRY_TOLERANCE = 1e-8
# The computed eigenvalues of a PSD matrix of a few thousand rows may be -1e-14 of the largest.
PSD_TOLERANCE = 1e-12


# Range of penalties, class sizes and squared norms. The formulas multiply at most five of them, and
# 1e300 is finite.
SMALLEST, LARGEST = 1e-60, 1e60
# Rounds are whole numbers, which float64 represents exactly up to 9e15.
MOST_ROUNDS = 10**15

# The theory needs at least two classes.
corruption_matrix = partial(check_corruption, least=2)
superclass_map = partial(check_superclass, least=2)


def real_array(values: ArrayLike, name: str, *, ndim: int | None = None) -> FloatArray:
    """Return `values` as a finite, non-empty float64 array with `ndim` dimensions; else raise."""
    array = as_array(values)
    if array.dtype.kind not in "biuf":
        shown = reprlib.repr(values)
        raise ValueError(f"{name} must hold real numbers in rows of equal length, got {shown}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinite values; remove or replace them.")
    if ndim is not None and (array.ndim != ndim or array.size == 0):
        raise ValueError(f"{name} must have {ndim} dimension(s) and a sample, got {array.shape}.")
    return array.astype(np.float64)


def scale_number(name: str, value: float) -> float:
    """Return a penalty, class size or squared norm; raise if it is out of range."""
    if SMALLEST <= check_positive(name, value) <= LARGEST:
        return float(value)
    advice = f"pass a number from {SMALLEST:g} to {LARGEST:g}; others overflow or underflow."
    raise ArgumentError({name: value}, "is out of range", advice)


def round_count(n_rounds: int, minimum: int = 0, *, name: str = "n_rounds") -> int:
    """Return a number of rounds; raise unless float64 represents it exactly."""
    if check_count(name, n_rounds, minimum) <= MOST_ROUNDS:
        return int(n_rounds)
    advice = "pass at most 10**15; rounds_until_right covers all later rounds."
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
    """Return the eigenvalues of a PSD matrix; small negative ones, from rounding, become zero."""
    if ascending.size and ascending[0] < -PSD_TOLERANCE * max(1.0, float(ascending[-1])):
        found = f"it has the eigenvalue {ascending[0]:.6g}"
        raise ValueError(f"{problem}: {found}, which features cannot have.")
    return np.asarray(np.maximum(ascending, 0.0), dtype=np.float64)


def per_class(
    values: ArrayLike, name: str, n_classes: int, *, above: float = -np.inf, below: float = np.inf
) -> FloatArray:
    """Return one number per class, between bounds; a single number applies to all classes."""
    given = real_array(values, name)
    if given.shape not in {(), (n_classes,)}:
        raise ValueError(
            f"{name} must be one number or {n_classes} numbers, but has shape {given.shape}."
        )
    array = np.broadcast_to(given, (n_classes,)).copy()
    outside = np.flatnonzero((array <= above) | (array >= below))
    if outside.size:
        raise ValueError(
            f"{name} must lie between {above:g} and {below:g}, both ends excluded, but class"
            f" {outside[0]} has {array[outside[0]]:g}; drop classes without samples."
        )
    return array


def whole_sizes(sizes: FloatArray) -> IntArray:
    """Return class sizes as integers; raise unless they are whole numbers."""
    rounded = np.rint(sizes)
    if not np.allclose(rounded, sizes, rtol=0, atol=1e-9):
        raise ValueError(f"class_sizes must be whole numbers to list samples: round {sizes}.")
    return rounded.astype(np.intp)


def ordered_levels(**levels: float) -> list[float]:
    """Return the correlations; raise unless 1 > same_class > same_superclass >= elsewhere."""
    values = [check_within(name, level, -1, 1) for name, level in levels.items()]
    c, d, *e = values
    if not 1 > c > d >= min(e, default=d):
        why = "closer samples must correlate more, and by less than 1"
        advice = f"{why}: same_class > same_superclass >= elsewhere."
        raise ArgumentError(levels, "are out of order", advice)
    return values


def target_rows(targets: ArrayLike, n_samples: int) -> FloatArray:
    """Return soft targets, one row per sample; raise unless rows sum to one."""
    rows = real_array(targets, "targets")
    if rows.ndim != 2 or len(rows) != n_samples or rows.shape[1] < 2:
        needed = f"{n_samples} rows, one per sample, and one column per class (at least 2)"
        advice = "use np.eye(n_classes)[labels] for labels"
        raise ValueError(f"targets must have {needed}, got shape {rows.shape}; {advice}.")
    worst = float(np.abs(rows.sum(axis=1) - 1).max())
    if worst > ROW_SUM_TOLERANCE:
        raise ValueError(f"rows of targets must sum to 1, but one is off by {worst:.3g}.")
    return rows
