"""Checks of class sizes, superclasses, confused classes and corruption matrices.

A superclass is a group of similar classes. A corruption matrix has the probability of each given
label (columns) for each true class (rows).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot.base.messages import ArgumentError, counted
from twohot.base.numbers import check_count, check_random_state

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None

# Tolerance for the sum of a row of probabilities: the error of seven digits or of float32.
ROW_SUM_TOLERANCE = 1e-6


def check_generator(random_state: RandomState) -> np.random.Generator:
    """Return a numpy Generator: the generator passed, or a new one for the seed passed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    check_random_state("random_state", random_state)
    return np.random.default_rng(random_state)


def check_class_sizes(n_per_class: int | Sequence[int], n_classes: int) -> NDArray[np.int64]:
    """Return the number of samples of each class; one number passed applies to all classes."""
    if np.ndim(n_per_class) == 0:
        return np.full(n_classes, check_count("n_per_class", np.asarray(n_per_class).item(), 1))
    sizes = check_integers("n_per_class", n_per_class, n_classes)
    for k, size in enumerate(sizes.tolist()):
        check_count(f"n_per_class[{k}]", size, 1)
    return sizes.astype(np.int64)


def check_integers(name: str, values: ArrayLike, n_values: int) -> NDArray[Any]:
    """Return values as an array; raise unless they are `n_values` integers in one dimension."""
    array = as_array(values)
    if array.shape == (n_values,) and array.dtype.kind in "iu":
        return array
    came = f"has shape {array.shape} and dtype {array.dtype}"
    raise ArgumentError(name, came, f"pass {counted(n_values, 'integer')} in one dimension.")


def check_codes(
    name: str, codes: ArrayLike, n_codes: int, n_names: int, *, least: int = -1
) -> NDArray[Any]:
    """Return codes as an array; raise unless they are `n_codes` integers in the valid range.

    A code is a position in a list of `n_names` names. If `least` is -1, the code -1 means no name.
    """
    array = check_integers(name, codes, n_codes)
    outside = np.flatnonzero((array < least) | (array >= n_names))
    if outside.size:
        entry = {f"{name}[{outside[0]}]": int(array[outside[0]])}
        known = f"there {'is' if n_names == 1 else 'are'} {counted(n_names, 'name')}"
        advice = f"{known}, so pass integers from {least} to {n_names - 1}."
        raise ArgumentError(entry, "is out of range", advice)
    return array


def check_superclass(
    superclass: ArrayLike, n_classes: int | None = None, *, least: int = 1
) -> NDArray[np.intp]:
    """Return the superclass of each class; raise unless superclasses are 0, 1, … without gaps."""
    if n_classes is None:
        n_classes = max(as_array(superclass).size, least)
    array = check_integers("superclass", superclass, n_classes).astype(np.intp)
    names = np.unique(array)
    if not np.array_equal(names, np.arange(names.size)):
        problem = f"has {names.size} superclasses, with numbers from {names[0]} to {names[-1]}"
        advice = "number them without gaps, by np.unique(superclass, return_inverse=True)[1]."
        raise ArgumentError("superclass", problem, advice)
    return array


def check_confused_with(n_classes: int, confused_with: ArrayLike | None) -> NDArray[np.intp]:
    """Return the class that each class is confused with.

    By default, each class is confused with the next class, and the last class with the first.
    """
    classes = np.arange(n_classes)
    if confused_with is None:
        return np.roll(classes, -1)
    array = check_codes("confused_with", confused_with, n_classes, n_classes, least=0)
    itself = np.flatnonzero(array == classes).tolist()
    if itself:
        entry = {f"confused_with[{itself[0]}]": itself[0]}
        advice = "pass another class; if this class has no noise, pass a corruption matrix."
        raise ArgumentError(entry, "confuses a class with itself", advice)
    return array.astype(np.intp)


def check_corruption(
    corruption: ArrayLike, n_classes: int | None = None, *, least: int = 1
) -> NDArray[np.float64]:
    """Return a corruption matrix as float64; raise if it is invalid.

    Parameters
    ----------
    corruption : array of shape (n_classes, n_classes)
        Rows are true classes, columns are given labels. Entries are not negative; each row
        sums to one within 1e-6.
    n_classes : int, optional
        The number of classes that the matrix must have.
    least : int, default 1
        The minimum number of classes.

    Returns
    -------
    array of shape (n_classes, n_classes)
        A copy, in which each row is divided by its sum.

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
        size = f"at least {counted(least, 'class', 'classes')}"
        advice = f"pass a square matrix of {size}: true classes in rows, given labels in columns."
        raise ArgumentError("corruption", f"has shape {matrix.shape}", advice)
    if n_classes is not None and len(matrix) != n_classes:
        problem = f"has {counted(len(matrix), 'row')} for {counted(n_classes, 'class', 'classes')}"
        advice = (
            "pass one row per class. If some classes have no sample, pass all classes as `classes`."
        )
        raise ArgumentError("corruption", problem, advice)
    matrix = matrix.astype(np.float64)
    # The condition is written so that NaN fails too.
    if not np.all(matrix >= 0):
        row, column = np.argwhere(~(matrix >= 0))[0]
        entry = {f"corruption[{row}, {column}]": float(matrix[row, column])}
        raise ArgumentError(entry, "is not a probability", "pass numbers from 0 to 1.")
    row_sums = matrix.sum(axis=1)
    if not np.all(np.abs(row_sums - 1) <= ROW_SUM_TOLERANCE):
        row = np.argmax(np.abs(row_sums - 1))
        problem = f"has a row that does not sum to one (row {row}: {row_sums[row]:.8g})"
        advice = "divide each row by its sum. If columns are true classes, transpose the matrix."
        raise ArgumentError("corruption", problem, advice)
    normalized: NDArray[np.float64] = matrix / row_sums[:, np.newaxis]
    return normalized


def as_array(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array; rows of different lengths give an array without dimensions."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.asarray(None)


# Names of classes, superclasses and splits: text for files, figures and reports ------------------


def check_names(name: str, names: Sequence[str]) -> None:
    r"""Raise unless names are distinct strings that UTF-8 can encode.

    Examples
    --------
    >>> check_names("classes", ("cat", "caf\udce9"))
    Traceback (most recent call last):
    twohot.base.messages.ArgumentError: classes holds 'caf\udce9', which is not UTF-8: rename it.
    """
    if isinstance(names, str) or not all(isinstance(entry, str) for entry in names):
        raise ArgumentError({name: names}, "is not allowed", "pass a tuple of strings.")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ArgumentError(name, f"holds {twice!r} twice", "pass each name once.")
    for entry in names:
        try:
            entry.encode()
        except UnicodeEncodeError as error:
            problem = f"holds {entry!r}, which is not UTF-8"
            raise ArgumentError(name, problem, "rename it.") from error
