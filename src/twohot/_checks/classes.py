"""Checks of what describes classes: their sizes, superclasses, confusions and corruption."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot._checks.messages import ArgumentError, counted
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
    raise ArgumentError(
        {"random_state": random_state},
        "seeds nothing",
        "pass a non-negative integer, a numpy.random.Generator or RandomState, or None.",
    )


def check_class_sizes(n_per_class: int | Sequence[int], n_classes: int) -> NDArray[np.int64]:
    """Return the number of samples of each class."""
    sizes = np.asarray(n_per_class)
    if sizes.ndim == 0:
        return np.full(n_classes, check_count("n_per_class", sizes.item(), 1))
    if sizes.shape != (n_classes,) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise ArgumentError(
            "n_per_class",
            f"has shape {sizes.shape} and dtype {sizes.dtype}, or a size below 1, for {n_classes} "
            "classes",
            "pass one integer, or one per class, each at least 1.",
        )
    return sizes.astype(np.int64)


def check_codes(
    name: str, codes: NDArray[Any], n_codes: int, n_names: int | None = None, *, least: int = -1
) -> None:
    """Raise unless there are so many integers, each a position among the names, or -1 for none."""
    if codes.shape != (n_codes,) or codes.dtype.kind not in "iu":
        raise ArgumentError(
            name,
            f"has shape {codes.shape} and dtype {codes.dtype}",
            f"pass {counted(n_codes, 'integer')} in one dimension.",
        )
    if n_names is None:
        n_names = int(codes.max()) + 1 if codes.size else 0
    outside = np.flatnonzero((codes < least) | (codes >= n_names))
    if outside.size:
        raise ArgumentError(
            {f"{name}[{outside[0]}]": int(codes[outside[0]])},
            "names nothing",
            f"there {'is' if n_names == 1 else 'are'} {counted(n_names, 'name')}, so pass integers "
            f"from {least} to {n_names - 1}.",
        )


def check_class_map(name: str, class_map: ArrayLike, n_classes: int | None) -> NDArray[np.intp]:
    """Return a map class -> integer as a new array, one entry per class."""
    array = as_array(class_map)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise ArgumentError(
            name,
            f"has shape {array.shape} and dtype {array.dtype}",
            "pass one integer per class, in one dimension.",
        )
    if n_classes is not None and array.size != n_classes:
        raise ArgumentError(
            name,
            f"has {counted(array.size, 'entry', 'entries')} for {n_classes} classes",
            "pass one entry per class.",
        )
    return array.astype(np.intp)


def check_superclass(
    superclass: ArrayLike, n_classes: int | None = None, *, least: int = 1
) -> NDArray[np.intp]:
    """Return the map class -> superclass; the superclasses must be 0, 1, … without a hole."""
    array = check_class_map("superclass", superclass, n_classes)
    if array.size < least:
        raise ArgumentError(
            "superclass",
            f"has {counted(array.size, 'entry', 'entries')}",
            f"pass at least {least}.",
        )
    names = np.unique(array)
    if not np.array_equal(names, np.arange(names.size)):
        raise ArgumentError(
            "superclass",
            f"numbers {names.size} superclasses from {names[0]} to {names[-1]}",
            "number them 0, 1, … without a hole, for instance by "
            "np.unique(superclass, return_inverse=True)[1].",
        )
    return array


def check_confused_with(n_classes: int, confused_with: ArrayLike | None) -> NDArray[np.intp]:
    """Return the class each class is taken for, by default the next (the first for the last)."""
    if confused_with is None:
        return np.roll(np.arange(n_classes), -1)
    array = check_class_map("confused_with", confused_with, n_classes)
    if array.min() < 0 or array.max() >= n_classes:
        raise ArgumentError(
            "confused_with",
            f"ranges from {array.min()} to {array.max()}",
            f"pass classes from 0 to {n_classes - 1}.",
        )
    itself = np.flatnonzero(array == np.arange(n_classes)).tolist()
    if itself:
        raise ArgumentError(
            {f"confused_with[{itself[0]}]": itself[0]},
            "takes a class for itself",
            "name another class, or write the matrix yourself if this class stays clean.",
        )
    return array


def check_corruption(
    corruption: ArrayLike, n_classes: int | None = None, *, least: int = 1
) -> NDArray[np.float64]:
    """Return a corruption matrix as float64 with rows that sum to one, or say what is wrong.

    Parameters
    ----------
    corruption : array of shape (n_classes, n_classes)
        Row true class, column given label; not negative, rows sum to one within 1e-6.
    n_classes : int, optional
        The number of classes it must have.
    least : int, default 1
        The number of classes it must have at least.

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
    matrix = as_array(corruption)
    if matrix.dtype.kind not in "biuf":
        raise ArgumentError("corruption", f"has dtype {matrix.dtype}", "pass real numbers.")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < least:
        raise ArgumentError(
            "corruption",
            f"has shape {matrix.shape}",
            f"pass a square matrix of at least {counted(least, 'class', 'classes')}, one row per "
            "true class and one column per given label.",
        )
    if n_classes is not None and len(matrix) != n_classes:
        raise ArgumentError(
            "corruption",
            f"has {counted(len(matrix), 'row')} for {counted(n_classes, 'class', 'classes')}",
            "pass one row per class; name the classes where some have no sample.",
        )
    matrix = matrix.astype(np.float64)
    # Written so that NaN fails too.
    if not np.all(matrix >= 0):
        row, column = np.argwhere(~(matrix >= 0))[0]
        raise ArgumentError(
            {f"corruption[{row}, {column}]": float(matrix[row, column])},
            "is not a probability",
            "pass numbers from 0 to 1.",
        )
    row_sums = matrix.sum(axis=1)
    if not np.all(np.abs(row_sums - 1) <= ROW_SUM_TOLERANCE):
        row = np.argmax(np.abs(row_sums - 1))
        raise ArgumentError(
            "corruption",
            f"has a row that does not sum to one (row {row}: {row_sums[row]:.8g})",
            "row k holds the shares of true class k; divide each row by its sum, or transpose.",
        )
    normalized: NDArray[np.float64] = matrix / row_sums[:, np.newaxis]
    return normalized


def as_array(values: ArrayLike) -> NDArray[Any]:
    """Return an array; rows of different lengths, which make none, come out as no numbers."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.asarray(None)
