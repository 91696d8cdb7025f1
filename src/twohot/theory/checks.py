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

# Largest difference between a matrix and its transpose, divided by the largest entry (or by 1, if
# this entry is below 1). Rounding makes the two triangles of a Gram matrix slightly different.
SYMMETRY_TOLERANCE = 1e-8
# Rounding can make the smallest eigenvalue of a positive semidefinite matrix negative: about -1e-14
# times the largest eigenvalue for a few thousand rows. This tolerance is larger.
PSD_TOLERANCE = 1e-12
# Range of penalties, class sizes and squared norms. The formulas multiply at most five of these
# numbers, so a product is at most 1e300, which does not overflow.
SMALLEST, LARGEST = 1e-60, 1e60
# Maximum number of rounds; float64 represents every whole number up to 9e15.
MOST_ROUNDS = 10**15

# The theory needs at least two classes.
corruption_matrix = partial(check_corruption, least=2)
superclass_map = partial(check_superclass, least=2)


def real_array(values: ArrayLike, name: str, *, ndim: int | None = None) -> FloatArray:
    """Return `values` as a finite float64 array.

    If `ndim` is passed, raise unless the array has `ndim` dimensions and at least one entry.
    """
    array = as_array(values)
    if array.dtype.kind not in "biuf":
        shown = reprlib.repr(values)
        raise ValueError(f"{name} must contain real numbers in rows of equal length, got {shown}.")
    if not np.isfinite(array).all():
        kind = "NaN" if np.isnan(array).any() else "infinite values"
        raise ValueError(f"{name} contains {kind}; remove or replace them.")
    if ndim is not None and (array.ndim != ndim or array.size == 0):
        needed = f"{ndim} dimension(s) and at least one entry"
        raise ValueError(f"{name} must have {needed}, but has shape {array.shape}.")
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
    advice = "pass at most 10**15; rounds_until_right also searches later rounds."
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
        advice = f"to use its symmetric part, pass ({name} + {name}.T) / 2"
        raise ValueError(f"{name} must be symmetric, but {problem}; {advice}.")
    return (matrix + matrix.T) / 2


def psd_eigenvalues(ascending: NDArray[np.floating[Any]], problem: str, advice: str) -> FloatArray:
    """Return the eigenvalues of a positive semidefinite matrix.

    Eigenvalues that are negative because of rounding are set to zero. If another eigenvalue is
    negative, the function raises an error with the texts `problem` and `advice`.
    """
    if ascending.size and ascending[0] < -PSD_TOLERANCE * max(1.0, float(ascending[-1])):
        found = f"the lowest eigenvalue is {ascending[0]:.6g}"
        raise ValueError(f"{problem}: {found}; {advice}.")
    return np.asarray(np.maximum(ascending, 0.0), dtype=np.float64)


def per_class(
    values: ArrayLike, name: str, n_classes: int, *, above: float = -np.inf, below: float = np.inf
) -> FloatArray:
    """Return one number per class; repeat a single number for all classes.

    Raise unless every number is above `above` and below `below`.
    """
    given = real_array(values, name)
    if given.shape not in {(), (n_classes,)}:
        raise ValueError(
            f"{name} must be one number or {n_classes} numbers, one per class, but has shape"
            f" {given.shape}."
        )
    array = np.broadcast_to(given, (n_classes,)).copy()
    outside = np.flatnonzero((array <= above) | (array >= below))
    if outside.size:
        problem = f"but class {outside[0]} has {array[outside[0]]:g}"
        if np.isinf(below):
            advice = "leave out empty classes"
            raise ValueError(f"{name} must be above {above:g}, {problem}; {advice}.")
        raise ValueError(f"{name} must be above {above:g} and below {below:g}, {problem}.")
    return array


def whole_sizes(sizes: FloatArray) -> IntArray:
    """Return class sizes as integers; raise unless they are whole numbers."""
    rounded = np.rint(sizes)
    if not np.allclose(rounded, sizes, rtol=0, atol=1e-9):
        why = "because the result has one entry per sample"
        advice = "call model.with_class_sizes(np.rint(model.class_sizes)) first"
        raise ValueError(f"class_sizes must be whole numbers, {why}, but are {sizes}; {advice}.")
    return rounded.astype(np.intp)


def ordered_levels(**levels: float) -> list[float]:
    """Return the correlations as a list; raise if their order is wrong.

    The right order is 1 > same_class > same_superclass >= elsewhere; `elsewhere` is optional.
    """
    values = [check_within(name, level, -1, 1) for name, level in levels.items()]
    c, d, *e = values
    if 1 > c > d >= min(e, default=d):
        return values
    order = "1 > same_class > same_superclass" + " >= elsewhere" * len(e)
    raise ArgumentError(levels, "are out of order", f"pass correlations with {order}.")


def target_rows(targets: ArrayLike, n_samples: int) -> FloatArray:
    """Return soft targets, one row per sample; raise unless every row sums to one."""
    rows = real_array(targets, "targets")
    if rows.ndim != 2 or len(rows) != n_samples or rows.shape[1] < 2:
        needed = f"{n_samples} rows, one per sample, and one column per class (at least 2)"
        advice = "to convert integer labels, pass np.eye(n_classes)[labels]"
        raise ValueError(f"targets must have {needed}, but have shape {rows.shape}; {advice}.")
    sums = rows.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > ROW_SUM_TOLERANCE:
        problem = f"but row {worst} sums to {sums[worst]:.6g}"
        raise ValueError(f"every row of targets must sum to 1, {problem}; pass probabilities.")
    return rows
