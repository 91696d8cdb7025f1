"""The cells of a column, whatever holds them: an array, a list, a series, a frame of one column.

Integers beside missing values stay integers, and no missing value is lost on the way: a column with
any becomes an array of Python objects.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from twohot._checks.messages import ArgumentError

ONE_PER_ROW = "pass one label per row, None for a row without."


def as_cells(column: Any, name: str, advice: str = ONE_PER_ROW) -> NDArray[Any]:
    """Return any column as an array in one dimension, of objects where a value may be missing.

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
        texts: NDArray[Any] = cells.astype(str).astype(object)
        texts[np.isnat(cells)] = None
        return texts
    if cells.dtype.kind == "S":
        return np.char.decode(cells)
    # Strings of variable length know missing values of their own.
    return cells.astype(object) if cells.dtype.kind == "T" else np.asarray(cells)


def plain(cell: Any) -> Any:
    """Return a cell as Python has it: text and numbers as such, whatever wraps them.

    Examples
    --------
    >>> plain(np.int8(3)), plain(b"cat")
    (3, 'cat')
    """
    if isinstance(cell, np.generic):
        cell = cell.item()
    elif hasattr(cell, "as_py"):  # a scalar of Arrow
        cell = cell.as_py()
    return cell.decode() if isinstance(cell, bytes) else cell


def as_objects(cells: Iterable[Any]) -> NDArray[Any]:
    """Return values as an array of plain text or numbers where they are, else of objects."""
    listed = list(cells)
    kinds = {type(cell) for cell in listed}
    if len(kinds) == 1 and kinds <= {str, int, bool, float}:
        array = np.array(listed)
        # Text of fixed width loses zeros at its end, and large integers become other things.
        if array.dtype.kind in "iubf" or (kinds == {str} and array.tolist() == listed):
            return array
    if any(isinstance(cell, list | tuple) for cell in listed):
        return np.array(listed, dtype=object)
    objects = np.empty(len(listed), dtype=object)
    objects[:] = listed
    return objects


def _from_container(column: Any) -> NDArray[Any]:
    """Return a list, series, frame or anything that numpy can read as an array."""
    if isinstance(column, Sequence) and not isinstance(column, str):
        return as_objects(column)
    series = nw.from_native(column, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(series, nw.DataFrame) and len(series.columns) == 1:
        series = series[series.columns[0]]
    if not isinstance(series, nw.Series):
        # Arrays of pyarrow and of nullable types, which narwhals does not take.
        listed = getattr(column, "to_pylist", None) or getattr(column, "tolist", None)
        return np.asarray(column) if listed is None else as_objects(listed())
    # Floats have NaN for a null. Of all others a null would make floats, or nothing at all.
    if series.dtype.is_float() or (series.dtype.is_numeric() and not series.null_count()):
        return np.asarray(series.to_numpy())
    return as_objects(series.to_list())
