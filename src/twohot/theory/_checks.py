"""The friendly edge of the theory: every check of its input, and every message.

Each check returns the input as the array or number the formulas work with, so that no formula has
to look at its arguments a second time.
"""

import operator
import reprlib
from collections.abc import Callable
from functools import partial
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot._checks.classes import (
    ROW_SUM_TOLERANCE,
    as_array,
    check_corruption,
    check_superclass,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

# Two triangles of one Gram matrix computed by BLAS agree to a few ulp; what differs by more was
# never symmetric.
SYMMETRY_TOLERANCE = 1e-8
# A PSD matrix of a few thousand rows has computed eigenvalues down to about -1e-14 of the largest.
PSD_TOLERANCE = 1e-12


# The theory is about two classes or more.
corruption_matrix = partial(check_corruption, least=2)
superclass_map = partial(check_superclass, least=2)


def real_array(values: ArrayLike, name: str) -> FloatArray:
    """Return `values` as a float64 array without NaN or infinity; text is not read as numbers."""
    array = as_array(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold real numbers in rows of equal length, got {reprlib.repr(values)}."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinite values; remove or replace them.")
    return array.astype(np.float64)


def finite_array(values: ArrayLike, name: str, *, ndim: int) -> FloatArray:
    """Return `values` as a float64 array of `ndim` dimensions, not empty."""
    array = real_array(values, name)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} is empty, its shape is {array.shape}; pass at least one sample.")
    return array


def number(value: float, name: str, *, above: float = -np.inf) -> float:
    """Return one finite number, above a bound where one is given."""
    array = as_array(value)
    if array.ndim or array.dtype.kind not in "iuf" or not above < array < np.inf:
        bound = f" above {above:g}" if np.isfinite(above) else ""
        raise ValueError(f"{name} must be a finite number{bound}, got {reprlib.repr(value)}.")
    return float(array)


def positive(value: float, name: str) -> float:
    """Return one finite number above zero."""
    return number(value, name, above=0.0)


def instance(value: object, kind: type, name: str, hint: str) -> None:
    """Check that `value` is one of this package's records."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}; {hint}.")


def function(value: Callable[..., object], name: str) -> None:
    """Check that `value` can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {type(value).__name__}.")


def whole_number(value: SupportsIndex, name: str, *, least: int, hint: str = "") -> int:
    """Return `value` as an int of at least `least`; fractions and booleans are refused."""
    problem = f"{name} must be a whole number of at least {least}, got {value!r}.{hint}"
    if isinstance(value, bool | np.bool_):
        raise ValueError(problem)  # noqa: TRY004 - one exception type for every bad value
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(problem) from None
    if number < least:
        raise ValueError(problem)
    return number


def rounds(n_rounds: SupportsIndex, *, least: int = 0) -> int:
    """Return the number of rounds: 0 is the given labels, 1 the teacher, 2 and up the students."""
    hint = " Round 0 is the given labels, 1 the teacher, 2 and up the students."
    return whole_number(n_rounds, "n_rounds", least=least, hint=hint)


def square(values: ArrayLike, name: str, *, size: int | None = None) -> FloatArray:
    """Return a square float64 matrix, of the given size where one is given."""
    matrix = finite_array(values, name, ndim=2)
    wanted = (size, size) if size is not None else (matrix.shape[0], matrix.shape[0])
    if matrix.shape != wanted:
        raise ValueError(f"{name} must have shape {wanted}, got {matrix.shape}.")
    return matrix


def symmetric(values: ArrayLike, name: str) -> FloatArray:
    """Return a square matrix that equals its transpose, rounding averaged away."""
    matrix = square(values, name)
    asymmetry = float(np.abs(matrix - matrix.T).max(initial=0.0))
    if asymmetry > SYMMETRY_TOLERANCE * max(1.0, float(np.abs(matrix).max(initial=0.0))):
        raise ValueError(
            f"{name} must be symmetric, but it differs from its transpose by up to {asymmetry:.3g};"
            f" average it with its transpose if that is meant."
        )
    return (matrix + matrix.T) / 2


def eigenvalues(ascending: NDArray[np.floating[Any]], problem: str) -> FloatArray:
    """Return the eigenvalues of a PSD matrix with rounding below zero cut off."""
    if ascending.size and ascending[0] < -PSD_TOLERANCE * max(1.0, float(ascending[-1])):
        raise ValueError(
            f"{problem}: it has the eigenvalue {ascending[0]:.6g}, and no features have such a"
            f" Gram matrix."
        )
    return np.asarray(np.maximum(ascending, 0.0), dtype=np.float64)


def per_class(values: ArrayLike, name: str, n_classes: int) -> FloatArray:
    """Return one finite number per class; a single number stands for all classes."""
    given = real_array(values, name)
    if given.shape not in {(), (n_classes,)}:
        raise ValueError(
            f"{name} must be one number or {n_classes} numbers, got shape {given.shape}."
        )
    return np.broadcast_to(given, (n_classes,)).copy()


def class_sizes(sizes: ArrayLike, n_classes: int, *, name: str = "class_sizes") -> FloatArray:
    """Return one size per class; a single number stands for equal classes."""
    array = per_class(sizes, name, n_classes)
    if array.min() <= 0:
        worst = int(array.argmin())
        raise ValueError(
            f"{name} must be above 0, every class needs samples, but class {worst} has size"
            f" {array[worst]:g}; drop empty classes and renumber the labels."
        )
    return array


def labels(values: ArrayLike, name: str, n_classes: int) -> IntArray:
    """Return class labels, whole numbers from 0 to n_classes - 1."""
    array = as_array(values)
    if array.dtype.kind not in "iu" or not ((array >= 0) & (array < n_classes)).all():
        raise ValueError(
            f"{name} must hold whole numbers from 0 to {n_classes - 1}, got {reprlib.repr(values)}."
        )
    return array.astype(np.intp)


def whole_sizes(sizes: FloatArray) -> IntArray:
    """Return class sizes as whole numbers, to list samples one by one."""
    rounded = np.rint(sizes)
    if not np.allclose(rounded, sizes, rtol=0, atol=1e-9):
        raise ValueError(
            f"class_sizes must be whole numbers to list samples, got {sizes.tolist()};"
            f" round them with with_class_sizes."
        )
    return rounded.astype(np.intp)


def own_levels(same_class: FloatArray) -> FloatArray:
    """Check 0 < same_class < 1, of one class or of each."""
    outside = same_class[(same_class <= 0) | (same_class >= 1)]
    if outside.size:
        raise ValueError(
            f"same_class must lie between 0 and 1, both ends excluded, where classes share nothing"
            f" with each other, got {outside[0]:g}."
        )
    return same_class


def ordered_levels(
    same_class: float, same_superclass: float, elsewhere: float
) -> tuple[float, float, float]:
    """Check 1 > same_class > same_superclass >= elsewhere."""
    c = number(same_class, "same_class")
    d = number(same_superclass, "same_superclass")
    e = number(elsewhere, "elsewhere")
    if not c < 1:
        raise ValueError(
            f"same_class must be below 1 (two different samples of a class are not identical), got"
            f" {c}: 1 - same_class is {1 - c:g}."
        )
    if not c > d:
        raise ValueError(
            f"same_class must be above same_superclass, got {c} and {d};"
            f" otherwise classes cannot be told apart."
        )
    if not d >= e:
        raise ValueError(f"same_superclass must be at least elsewhere, got {d} and {e}.")
    return c, d, e


def target_rows(targets: ArrayLike, n_samples: int) -> FloatArray:
    """Return soft targets, one row per sample, rows sum to one."""
    if as_array(targets).ndim == 1:
        raise ValueError("targets must have a row per sample; use np.eye(n_classes)[labels].")
    rows = finite_array(targets, "targets", ndim=2)
    if rows.shape[0] != n_samples:
        raise ValueError(f"targets must have {n_samples} rows, one a sample, got {rows.shape[0]}.")
    if rows.shape[1] < 2:
        raise ValueError("targets must have a column for each of 2 classes or more, got 1.")
    worst = float(np.abs(rows.sum(axis=1) - 1).max())
    if worst > ROW_SUM_TOLERANCE:
        raise ValueError(
            f"rows of targets must sum to 1, but one is off by {worst:.3g};"
            f" use np.eye(n_classes)[labels] for labels."
        )
    return rows
