"""Labels as they come, numbers or strings, into positions among class names."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot._checks.labels import NO_LABEL
from twohot._types import IntArray

INTEGER = re.compile(r"[+-]?\d+")


def encode_labels(
    labels: ArrayLike, classes: Iterable[object] | None = None, *, name: str = "labels"
) -> tuple[IntArray, tuple[str, ...]]:
    """Return the position of each label among the classes, and the classes.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Strings, integers, booleans or whole floats. None, NaN and the empty string are no label.
    classes : sequence, optional
        The classes in their order; by default the labels that occur, sorted, and sorted as numbers
        if all are integers. Integer labels are positions in classes whose names are words, and
        -1 is then no label.
    name : str, default "labels"
        What to call the labels in an error.

    Returns
    -------
    codes : array of shape (n_rows,)
        Positions in the classes, -1 where there is no label.
    classes : tuple of str
        Their names.

    Examples
    --------
    >>> encode_labels(["10", "2", "", "10"])
    (array([ 1,  0, -1,  1]), ('2', '10'))
    >>> encode_labels([1, 0, -1], classes=["dog", "cat"])
    (array([ 1,  0, -1]), ('dog', 'cat'))
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: pass one label per row.")
    named = [_name(f"{name}[{row}]", value) for row, value in enumerate(array.tolist())]
    if classes is None:
        class_names = _sorted_names({entry for entry in named if entry})
    else:
        class_names = tuple(_name("a class", value) for value in classes)
        if _are_positions(array, class_names):
            return _positions(name, named, class_names), class_names
    code = {entry: place for place, entry in enumerate(class_names)}
    unknown = next((row for row, entry in enumerate(named) if entry and entry not in code), None)
    if unknown is not None:
        raise ValueError(
            f"{name}[{unknown}]={named[unknown]!r} is none of the {len(code)} classes: add it to "
            "classes=…, or leave that out to take the labels that occur."
        )
    return np.array([code[entry] if entry else NO_LABEL for entry in named]), class_names


def as_text(value: object) -> str:
    """Return a cell as text: nothing for None and NaN, and whole floats as integers."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        # Integers beside missing ones often come as floats.
        value = int(value)
    return value.decode() if isinstance(value, bytes) else str(value)


def _name(place: str, value: object) -> str:
    """Return the name of one label, empty if it is missing."""
    name = as_text(value)
    if name and isinstance(value, float | np.floating) and not INTEGER.fullmatch(name):
        raise ValueError(f"{place}={name} is no class: pass integers or strings as labels.")
    return name


def _sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in order: as numbers if all are integers ("2" before "10"), else as strings."""
    found = sorted(names)
    if all(INTEGER.fullmatch(name) for name in found):
        found.sort(key=int)
    return tuple(found)


def _are_positions(labels: NDArray[Any], class_names: Sequence[str]) -> bool:
    """Return whether integer labels count classes; where classes are integers they are names."""
    return labels.dtype.kind in "iuf" and not all(INTEGER.fullmatch(name) for name in class_names)


def _positions(name: str, named: Sequence[str], class_names: Sequence[str]) -> IntArray:
    """Return integer labels as they are, or say which one is no position."""
    codes = np.array([int(entry) if entry else NO_LABEL for entry in named], dtype=int)
    outside = np.flatnonzero((codes < NO_LABEL) | (codes >= len(class_names)))
    if outside.size:
        raise ValueError(
            f"{name}[{outside[0]}]={codes[outside[0]]} is no position among the {len(class_names)} "
            f"classes: pass integers from 0 to {len(class_names) - 1}, or -1 for no label."
        )
    return codes
