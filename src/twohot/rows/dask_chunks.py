"""Features in the chunks of a Dask array or frame; chunks stay on the workers.

A chunk holds consecutive rows. Columns that are derived from the rows have the same chunks. Labels,
weights and results are in the memory of this process.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import STORED, ArgumentError, IntArray, Matrix, check_real, counted
from twohot.rows.dask_tasks import Handle, Tasks, active_tasks
from twohot.rows.rows import stack
from twohot.rows.selected import GatheredRows, SelectedRows

NUMBERS = "fiub"  # kinds of dtypes that are numbers


def is_dask(data: Any) -> bool:
    """Return whether `data` is an array, a frame or a series of Dask."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "to_delayed")


def check_collection(X: Any) -> None:
    """Raise unless a Dask array or frame has rows of numbers, according to its metadata."""
    if getattr(X, "ndim", 0) != 2:
        problem = f"has {counted(getattr(X, 'ndim', 0), 'dimension')}"
        raise ArgumentError("X", problem, "pass a two-dimensional array, one row per sample.")
    if hasattr(X, "columns"):  # a frame
        for name, dtype in X.dtypes.items():
            if getattr(dtype, "kind", "O") not in NUMBERS:
                problem = f"has a column {str(name)!r} of type {dtype}"
                raise ArgumentError("X", problem, "pass numeric columns only.")
    elif X.dtype.kind not in f"{NUMBERS}O":  # objects may turn out to be numbers
        raise ArgumentError("X", f"has dtype {X.dtype}", "pass real numbers.")


def precision_of(X: Any) -> np.dtype[Any]:
    """Return the precision in which rows are read: their own if it is supported, else float64.

    A frame has the precision that can represent all of its columns.
    """
    dtype = X.dtype if hasattr(X, "dtype") else np.result_type(*X.dtypes)
    return np.dtype(dtype if dtype in STORED else STORED[0])


def column_here(name: str, values: Any) -> Any:
    """Compute a Dask array or series; return anything else unchanged."""
    if not is_dask(values):
        return values
    tasks = active_tasks()
    with tasks.naming_chunks(name, ()):
        return tasks.results(tasks.adopt([values]))[0]


class Chunk:
    """Features of one chunk on a worker, and what the worker caches for the next pass."""

    def __init__(self, x: Matrix) -> None:
        self.x = x
        self.opened: Any = None  # the chunk as `Rows`, with cached norms and a buffer for a block

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getitem__(self, rows: IntArray) -> "Chunk":
        return Chunk(SelectedRows(self.x, rows))

    def __sizeof__(self) -> int:
        # The workers of Dask use this size to limit their memory.
        return int(getattr(self.x, "nbytes", 0)) + object.__sizeof__(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"x": self.x, "opened": None}


@dataclass(frozen=True, eq=False)
class ChunkedColumn:
    """A column with a value per row, divided into the same chunks as the rows."""

    tasks: Tasks
    chunks: Sequence[Handle]
    sizes: IntArray  # (n_chunks,), number of rows of each chunk

    @cached_property
    def bounds(self) -> IntArray:
        """(n_chunks + 1,) position of the first row of each chunk, then the number of rows."""
        return np.append(0, np.cumsum(self.sizes))

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def __getitem__(self, index: IntArray) -> "ChunkedColumn":
        """Return the values of rows at ascending positions; the values stay in their chunks."""
        chosen = split_index(index, self.bounds)
        calls = [(self.chunks[number], rows) for number, rows in chosen]
        chunks = self.tasks.keep(self.tasks.run(getitem, calls)) if calls else []
        return ChunkedColumn(self.tasks, chunks, np.array([len(rows) for _, rows in chosen], int))

    def values(self) -> Any:
        """Copy all values to this process, and return them as one array."""
        return stack(self.tasks.results(self.chunks))


class ChunkedFeatures(GatheredRows):
    """Features in chunks; indexing returns rows in memory."""

    def __init__(self, column: ChunkedColumn, n_features: int, dtype: np.dtype[Any]) -> None:
        self.column = column
        self.tasks = column.tasks
        self.shape = len(column), n_features
        self.dtype = np.dtype(dtype)

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Return the indexed rows in memory; positions must be ascending."""
        index = np.arange(len(self))[rows]
        calls = [(chunk,) for chunk in self.column[index].chunks]
        read = self.tasks.results(self.tasks.run(rows_of, calls)) if calls else []
        return np.concatenate([np.empty((0, self.shape[1]), self.dtype), *read])

    def take(self, index: IntArray) -> "ChunkedFeatures":
        """Return the rows at ascending positions; the rows stay in their chunks."""
        return ChunkedFeatures(self.column[index], self.shape[1], self.dtype)


def open_chunks(X: Any) -> ChunkedFeatures:
    """Return the chunks of a Dask array or frame; workers keep computed chunks in memory."""
    dtype, tasks = precision_of(X), active_tasks()
    whole = X.rechunk({1: -1}) if hasattr(X, "rechunk") else X
    delayed = list(np.ravel(whole.to_delayed()))
    about = tasks.share(dtype), X.shape[1]
    n_bytes = X.shape[0] * X.shape[1] * dtype.itemsize if hasattr(X, "chunks") else np.nan
    chunks: Sequence[Handle]
    if n_bytes > tasks.room():
        needed = f"{n_bytes / 1e9:.1f} GB, but workers have room for {tasks.room() / 1e9:.1f} GB"
        slow = "so every pass computes X again. To avoid this, give the workers more memory."
        warnings.warn(f"X takes {needed}, {slow}", stacklevel=6)
        sizes = np.array(whole.chunks[0])
        chunks = ReadAgain(tasks, [delayed[place] for place in np.flatnonzero(sizes)], about)
    else:
        handles = tasks.adopt(delayed)
        with tasks.naming_chunks("X", handles):
            calls = [(chunk, *about, number) for number, chunk in enumerate(handles)]
            made = tasks.keep(tasks.run(as_rows, calls))
            found = tasks.results(tasks.run(len, [(chunk,) for chunk in made]))
        sizes = np.array(found, dtype=np.intp)
        chunks = [made[place] for place in np.flatnonzero(sizes)]
    if not sizes.any():
        raise ArgumentError("X", "has no rows", "pass at least one row.")
    return ChunkedFeatures(ChunkedColumn(tasks, chunks, sizes[sizes > 0]), X.shape[1], dtype)


class ReadAgain(Sequence[Handle]):
    """Chunks of features that are computed at every access, because they exceed the memory."""

    def __init__(self, tasks: Tasks, delayed: Sequence[Any], about: tuple[Any, ...]) -> None:
        self._tasks, self._delayed, self._about = tasks, delayed, about

    def __len__(self) -> int:
        return len(self._delayed)

    def __getitem__(self, number: Any) -> Any:
        (chunk,) = self._tasks.adopt([self._delayed[number]])
        return self._tasks.run(as_rows, [(chunk, *self._about, number)])[0]


def split_index(index: IntArray, bounds: IntArray) -> list[tuple[int, IntArray]]:
    """Split row numbers by chunk: return pairs of a chunk number and of positions in this chunk.

    Chunks without such rows are omitted. `index` contains ascending row numbers. `bounds` contains
    the first row of each chunk, then the number of rows.

    Examples
    --------
    >>> split_index(np.array([0, 2, 5]), np.array([0, 3, 4, 6]))
    [(0, array([0, 2])), (2, array([1]))]
    """
    if np.any(np.diff(index) < 0):
        raise ValueError("row numbers of chunked features must be in ascending order")
    places = np.searchsorted(index, bounds)
    return [
        (number, index[first:end] - bounds[number])
        for number, (first, end) in enumerate(pairwise(places.tolist()))
        if end > first
    ]


# Functions that run where a chunk is --------------------------------------------------------------


def as_rows(chunk: Any, dtype: np.dtype[Any], n_features: int, number: int) -> Chunk:
    """Return an array or frame as a `Chunk`; raise if its type or shape is wrong.

    Dask does not check the type and the shape of a chunk.
    """
    rows, where = np.asanyarray(chunk), f" in chunk {number}"
    check_real("X", rows, where)
    if rows.ndim != 2 or rows.shape[1] != n_features:
        problem = f"has {counted(n_features, 'column')}, but chunk {number} has shape {rows.shape}"
        raise ArgumentError("X", problem, "give all chunks the same columns.")
    return Chunk(np.ascontiguousarray(rows, dtype=dtype))


def rows_of(chunk: Chunk) -> NDArray[Any]:
    """Return the rows of a chunk as an array."""
    return np.asarray(chunk.x)
