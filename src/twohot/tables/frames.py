"""Data frames and Parquet files, as columns."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from twohot.base import ArgumentError, as_cells, is_polars_frame, load_extra
from twohot.tables.parquet_files import check_once
from twohot.tables.row_ids import COLUMN, RowIds


def frame_columns(frame: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a pandas, polars or pyarrow table, or of a Hugging Face Dataset.

    Examples
    --------
    >>> import polars as pl
    >>> frame_columns(pl.DataFrame({"features": [[1.0, 2.0], [3.0, 4.0]], "label": ["a", None]}))
    {'features': array([[1., 2.],
           [3., 4.]]), 'label': array(['a', None], dtype=object)}
    """
    if hasattr(frame, "with_format") and hasattr(frame, "features"):  # a Dataset of Hugging Face
        frame = frame.with_format("arrow")[:]
    if is_polars_frame(frame):
        frame = frame.lazy().collect()
    try:
        columns = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        problem = f"has two columns of one name ({error})"
        raise ArgumentError("source", problem, "rename one.") from error
    except TypeError as error:
        advice = "pass a path, or a table of pandas, polars or pyarrow."
        raise ArgumentError("source", f"is a {type(frame).__name__}", advice) from error
    # Names may be numbers, as pandas gives them by itself.
    return {str(series.name): _cells(str(series.name), series) for series in columns.iter_columns()}


def frame_ids(source: Any) -> RowIds | None:
    """Return the index of a pandas frame as ids, None where it has none that names the rows.

    Examples
    --------
    >>> import pandas as pd
    >>> list(frame_ids(pd.DataFrame({"a": [1, 2]}, index=["x", "y"])))
    ['x', 'y']
    """
    index = pandas_index(source)
    if index is None or not index.is_unique or counts_up(index):
        return None
    return RowIds(index, COLUMN, str(index.name or "index"))


def pandas_index(data: Any) -> Any:
    """Return the index of a frame or series of pandas, None of anything else."""
    native = nw.from_native(data, pass_through=True, allow_series=True)
    return nw.maybe_get_index(native) if isinstance(native, nw.DataFrame | nw.Series) else None


def counts_up(index: Any) -> bool:
    """Return whether an index is 0, 1, 2 and so on, which nobody chose."""
    return index.nlevels == 1 and list(index) == list(range(len(index)))


def check_same_index(name: str, data: Any, owner: str, index: Any) -> None:
    """Raise if an argument of pandas has the index of other rows, or of these in another order.

    An index that counts up says nothing beside other names of rows: nobody chose it. Beside the
    same numbers in another order it does.

    Parameters
    ----------
    name : str
        The argument.
    data : object
        What was passed; only that of pandas has an index.
    owner : str
        What has the rows, in the words of Python.
    index : pandas index or None
        Of its rows; None where they have no index to compare.
    """
    own = pandas_index(data)
    if own is None or index is None or own.equals(index):
        return
    if (counts_up(own) or counts_up(index)) and set(own) != set(index):
        return
    problem = f"has another index than {owner}, so its entries may be for other rows"
    order = f"pass {name}.loc[{owner}.index], or {name}.to_numpy() if they are in the same order."
    raise ArgumentError(name, problem, order)


def parquet_columns(path: Path) -> dict[str, NDArray[Any]]:
    """Return the columns of a Parquet file."""
    with _reading_parquet(path) as parquet:
        check_once(path, parquet.read_schema(path).names)
        return frame_columns(parquet.read_table(path))


def parquet_header(path: Path) -> dict[str, bool]:
    """Return the columns of a Parquet file, and whether each holds lists; no cell is read."""
    kinds = load_extra("pyarrow", "parquet", "Parquet files").types
    lists = (kinds.is_list, kinds.is_large_list, kinds.is_fixed_size_list)
    with _reading_parquet(path) as parquet:
        schema = parquet.read_schema(path)
    return {column.name: any(is_one(column.type) for is_one in lists) for column in schema}


@contextmanager
def _reading_parquet(path: Path) -> Iterator[Any]:
    """Yield what reads Parquet files; say of a file that it is none."""
    arrow = load_extra("pyarrow", "parquet", "Parquet files")
    try:
        yield load_extra("pyarrow.parquet", "parquet", "Parquet files")
    except (FileNotFoundError, ArgumentError):
        raise
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file, or is cut short ({error}).") from error


def _cells(name: str, series: Any) -> NDArray[Any]:
    """Return one column; lists as rows."""
    is_list = len(series) and isinstance(series[0], list | tuple | np.ndarray)
    if not is_list and not isinstance(series.dtype, nw.List | nw.Array):
        return as_cells(series.to_native(), name)
    cells: NDArray[Any] = series.to_numpy()
    if cells.dtype != object:
        return cells
    rows = [np.asarray(cell) for cell in cells]
    for place, row in enumerate(rows):
        if row.shape != rows[0].shape:
            places = f"in row 0 and not in row {place}: every row needs as many."
            raise ValueError(f"column {name!r} holds {len(rows[0])} numbers {places}")
    return np.stack(rows)
