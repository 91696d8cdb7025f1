"""Cells of a column in any container: an array, a list, a series or a frame of one column.

A column with missing values becomes an array of Python objects, so that integers stay integers and
missing values stay missing. Only a column of floats stays an array of floats, with NaN where a
value is missing.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from twohot.base.messages import ArgumentError
from twohot.base.numbers import is_real

WHOLE_NUMBER = re.compile(r"[+-]?\d{1,18}")  # text of an integer; longer text is an identifier
ONE_PER_ROW = "pass one label per row, and None for rows without a label."


def as_cells(column: Any, name: str, advice: str = ONE_PER_ROW) -> NDArray[Any]:
    """Return a column as a one-dimensional array; missing values other than NaN need objects.

    Examples
    --------
    >>> import pandas as pd
    >>> as_cells(pd.Series([1, None], dtype="Int64"), "y")
    array([1, <NA>], dtype=object)
    """
    cells = column if isinstance(column, np.ndarray) else _from_container(column)
    if isinstance(cells, np.ma.MaskedArray):
        cells = as_objects(cells.tolist()) if np.ma.is_masked(cells) else cells.data
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    if cells.ndim != 1:
        raise ArgumentError(name, f"has shape {cells.shape}", advice)
    if cells.dtype.kind in "mM":
        # Times become Python objects, so that equal times are equal labels.
        unit = "D" if np.datetime_data(cells.dtype)[0] in "YMWD" else "us"
        return np.asarray(cells.astype(f"{cells.dtype.kind}8[{unit}]").astype(object))
    if cells.dtype.kind == "S":
        return np.char.decode(cells)
    # numpy's variable-length strings may contain missing values.
    return cells.astype(object) if cells.dtype.kind == "T" else np.asarray(cells)


def plain(cell: Any) -> Any:
    """Return a scalar of numpy or Arrow as a Python object, and bytes as text.

    Examples
    --------
    >>> plain(np.int8(3)), plain(b"cat")
    (3, 'cat')
    """
    if isinstance(cell, np.generic):
        cell = cell.item()
    elif hasattr(cell, "as_py"):  # an Arrow scalar
        cell = cell.as_py()
    return cell.decode() if isinstance(cell, bytes) else cell


def is_missing(label: object) -> bool:
    """Return whether a value is a missing label.

    Examples
    --------
    >>> [is_missing(label) for label in (None, float("nan"), "  ", "NaN", 0)]
    [True, True, True, False, False]
    """
    if isinstance(label, str):
        return not label.strip()
    if label is None or label is np.ma.masked:
        return True
    try:
        return bool(label != label)  # noqa: PLR0124 - only NaN and NaT differ from themselves
    except (TypeError, ValueError):  # NA raises here
        return True


def as_text(label: object) -> str:
    """Return a label as text: empty text for a missing label, and "3" for the float 3.0."""
    label = plain(label)
    if isinstance(label, str):
        return label
    if is_missing(label):
        return ""
    # Programs often store a column of integers with missing values as floats.
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)


def order_key(label: Any) -> tuple[int, Any, str]:
    """Return the sort key of a label: numbers by value (also whole numbers as text), then text."""
    if isinstance(label, str):
        if WHOLE_NUMBER.fullmatch(label):
            return 0, int(label), label
        return 1, 0, label
    return (0, label, "") if isinstance(label, bool | int | float) else (2, 0, str(label))


def holds_numbers(cells: NDArray[Any]) -> bool:
    """Return whether each cell is a number or missing, and at least one cell is a number."""
    if cells.dtype != object:
        return cells.ndim == 1 and cells.dtype.kind in "fiu"
    listed = cells.tolist()
    return any(map(is_real, listed)) and all(is_real(cell) or is_missing(cell) for cell in listed)


def as_objects(cells: Iterable[Any]) -> NDArray[Any]:
    """Return values as an array of text or numbers if possible, else as an array of objects."""
    listed = list(cells)
    kinds = {type(cell) for cell in listed}
    if len(kinds) == 1 and kinds <= {str, int, bool, float}:
        array = np.array(listed)
        # In an array, text loses trailing null characters, and large integers change their type.
        if array.dtype.kind in "iubf" or (kinds == {str} and array.tolist() == listed):
            return array
    if any(isinstance(cell, list | tuple) for cell in listed):
        return np.array(listed, dtype=object)
    return np.fromiter(listed, dtype=object, count=len(listed))


def _from_container(column: Any) -> NDArray[Any]:
    """Return a list, a series, a frame or another container as an array."""
    if isinstance(column, Sequence) and not isinstance(column, str):
        return as_objects(column)
    series = nw.from_native(column, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(series, nw.DataFrame) and len(series.columns) == 1:
        series = series[series.columns[0]]
    if not isinstance(series, nw.Series):
        # narwhals accepts neither arrays of pyarrow nor nullable arrays of pandas.
        listed = getattr(column, "to_pylist", None) or getattr(column, "tolist", None)
        return np.asarray(column) if listed is None else as_objects(listed())
    # In a column of floats a null becomes NaN. In other columns it becomes None in a list.
    if series.dtype.is_float() or (series.dtype.is_numeric() and not series.null_count()):
        return np.asarray(series.to_numpy())
    return as_objects(series.to_list())
