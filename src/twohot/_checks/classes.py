"""Checks of what the noise models and the synthetic features take, and their messages."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot._checks.numbers import check_count, is_integer

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None

# Rows may miss one by what printing to seven digits or storing as float32 costs, not by more.
ROW_SUM_TOLERANCE = 1e-6


def check_generator(random_state: RandomState) -> np.random.Generator:
    """Return a numpy Generator: the one given, or a new one seeded by what is given."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if random_state is None or (is_integer(random_state) and int(random_state) >= 0):
        return np.random.default_rng(random_state)
    raise ValueError(
        f"random_state={random_state!r} seeds nothing: "
        "pass a non-negative integer, a numpy.random.Generator or RandomState, or None."
    )


def check_class_sizes(n_per_class: int | Sequence[int], n_classes: int) -> NDArray[np.int64]:
    """Return the number of samples of each class."""
    sizes = np.asarray(n_per_class)
    if sizes.ndim == 0:
        return np.full(n_classes, check_count("n_per_class", sizes.item(), 1))
    if sizes.shape != (n_classes,) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise ValueError(
            f"n_per_class has shape {sizes.shape} and dtype {sizes.dtype}, or a size below 1, for "
            f"{n_classes} classes: pass one integer, or one per class, each at least 1."
        )
    return sizes.astype(np.int64)


def check_class_map(name: str, class_map: ArrayLike, n_classes: int | None) -> NDArray[np.intp]:
    """Return a map class -> integer as a new array, one entry per class."""
    array = np.asarray(class_map)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}: "
            "pass one integer per class, in one dimension."
        )
    if n_classes is not None and array.size != n_classes:
        raise ValueError(
            f"{name} has {array.size} entries for {n_classes} classes: pass one entry per class."
        )
    return array.astype(np.intp)


def check_superclass(superclass: ArrayLike, n_classes: int | None = None) -> NDArray[np.intp]:
    """Return the map class -> superclass; the superclasses must be 0, 1, … without a hole."""
    array = check_class_map("superclass", superclass, n_classes)
    names = np.unique(array)
    if not np.array_equal(names, np.arange(names.size)):
        raise ValueError(
            f"superclass numbers {names.size} superclasses from {names[0]} to {names[-1]}: number "
            "them 0, 1, … without a hole, for instance by "
            "np.unique(superclass, return_inverse=True)[1]."
        )
    return array


def check_confused_with(n_classes: int, confused_with: ArrayLike | None) -> NDArray[np.intp]:
    """Return the class each class is taken for, by default the next (the first for the last)."""
    if confused_with is None:
        return np.roll(np.arange(n_classes), -1)
    array = check_class_map("confused_with", confused_with, n_classes)
    if array.min() < 0 or array.max() >= n_classes:
        raise ValueError(
            f"confused_with ranges from {array.min()} to {array.max()}: "
            f"pass classes from 0 to {n_classes - 1}."
        )
    itself = np.flatnonzero(array == np.arange(n_classes))
    if itself.size:
        raise ValueError(
            f"confused_with[{itself[0]}]={itself[0]} takes a class for itself: "
            "name another class, or write the matrix yourself if this class stays clean."
        )
    return array


def check_corruption(corruption: ArrayLike, n_classes: int | None = None) -> NDArray[np.float64]:
    """Return a corruption matrix as float64 with rows that sum to one, or say what is wrong.

    Parameters
    ----------
    corruption : array of shape (n_classes, n_classes)
        Row true class, column given label; not negative, rows sum to one within 1e-6.
    n_classes : int, optional
        The number of classes it must have.

    Returns
    -------
    array of shape (n_classes, n_classes)
        A copy, each row divided by its sum.

    Examples
    --------
    >>> check_corruption([[1, 0], [0.5, 0.5]])
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    matrix = np.asarray(corruption)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(
            f"corruption has shape {matrix.shape}: pass a square matrix, one row per true class "
            "and one column per given label."
        )
    if matrix.dtype.kind not in "iuf":
        raise ValueError(f"corruption has dtype {matrix.dtype}: pass real numbers.")
    if n_classes is not None and len(matrix) != n_classes:
        raise ValueError(
            f"corruption has {len(matrix)} rows for {n_classes} classes: pass one row per class, "
            "and name classes that have no sample in `classes`."
        )
    matrix = matrix.astype(np.float64)
    # Written so that NaN fails too.
    if not np.all(matrix >= 0):
        row, column = np.argwhere(~(matrix >= 0))[0]
        raise ValueError(
            f"corruption[{row}, {column}]={matrix[row, column]} is not a probability: "
            "pass numbers from 0 to 1."
        )
    row_sums = matrix.sum(axis=1)
    if not np.all(np.abs(row_sums - 1) <= ROW_SUM_TOLERANCE):
        row = np.argmax(np.abs(row_sums - 1))
        raise ValueError(
            f"corruption has a row that does not sum to one (row {row}: {row_sums[row]:.8g}): "
            "row k holds the shares of true class k; divide each row by its sum, or transpose."
        )
    normalized: NDArray[np.float64] = matrix / row_sums[:, np.newaxis]
    return normalized


def check_labels(
    labels: ArrayLike, classes: ArrayLike | None
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the position of each label in the classes, and the classes."""
    label_array = np.asarray(labels)
    if label_array.ndim != 1 or label_array.size == 0:
        raise ValueError(
            f"labels has shape {label_array.shape}: pass one label per sample, in one dimension."
        )
    found, index = _distinct("labels", label_array)
    if classes is None:
        return index, found
    class_array = np.array(classes)
    if class_array.ndim != 1 or len(_distinct("classes", class_array)[0]) != class_array.size:
        raise ValueError(
            f"classes has shape {class_array.shape} or names a class twice: "
            "pass each class once, in one dimension."
        )
    position = {name: place for place, name in enumerate(class_array.tolist())}
    unknown = [name for name in found.tolist() if name not in position]
    if unknown:
        raise ValueError(
            f"labels holds {unknown[0]!r}, which is not among the {len(position)} classes: "
            "add it to `classes`, or leave `classes` out to take the labels found."
        )
    return np.array([position[name] for name in found.tolist()], dtype=np.intp)[index], class_array


def _distinct(name: str, array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted distinct values and where each entry stands among them."""
    try:
        found, index = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"{name} mixes values that do not sort ({error}): "
            "pass labels of one type, with none missing."
        ) from error
    if any(isinstance(value, float) and math.isnan(value) for value in found.tolist()):
        raise ValueError(f"{name} holds NaN, which is no class: drop or fill missing labels.")
    return found, index
