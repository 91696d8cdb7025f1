"""Rows on disk, read in parts: a thread reads the next part while the current part is used.

A part holds consecutive rows. Blocks do not depend on the size of parts, so a fit gets the same
numbers in the same order as for rows in memory. At most three parts are in memory.
"""

import mmap
from abc import abstractmethod
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from os import PathLike
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import _safe_indexing

from twohot.base import ArgumentError, IntArray, Matrix, check_real
from twohot.rows.selected import GatheredRows, SelectedRows
from twohot.rows.threads import submitted

# Bytes of a part, enough for an efficient read. For much larger parts, the system would allocate
# new memory at each read, which takes a tenth of a pass.
PART_BYTES = 2**21
# The current part, the next one, and the previous one, which another thread may still use.
MOST_HELD = 3


class PartedRows(GatheredRows):
    """A matrix whose rows are read in parts when they are indexed.

    Parameters
    ----------
    bounds : array of shape (n_parts + 1,)
        Position of the first row of each part, then the number of rows.
    n_features : int
        Number of columns.
    dtype : numpy dtype
        Precision of the rows as they are read.
    """

    def __init__(self, bounds: IntArray, n_features: int, dtype: DTypeLike) -> None:
        self.bounds = np.asarray(bounds, dtype=np.intp)
        self.shape = int(self.bounds[-1]), n_features
        self.dtype = np.dtype(dtype)
        self.n_reads = 0  # parts read so far
        self._held: OrderedDict[int, Future[NDArray[Any]]] = OrderedDict()
        self._lock = Lock()
        self._reader: ThreadPoolExecutor | None = None

    @abstractmethod
    def read_part(self, number: int) -> NDArray[Any]:
        """Return the rows of a part, in memory."""

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.bounds) - 1

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Return the indexed rows in memory, for a slice, positions in any order, or a mask."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, end, _ = rows.indices(len(self))
            return self._between(first, max(first, end))
        return self._gather(np.atleast_1d(np.arange(len(self))[rows]))

    def __getstate__(self) -> dict[str, Any]:
        # Threads and locks cannot be pickled: a copy in another process makes new ones.
        return self.__dict__ | {"_held": OrderedDict(), "_lock": None, "_reader": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"_lock": Lock()})

    def _between(self, first: int, end: int) -> NDArray[Any]:
        """Return consecutive rows; if they are in one part, as a view of this part."""
        before, after = (
            np.searchsorted(self.bounds, first, "right"),
            np.searchsorted(self.bounds, end),
        )
        spans = [
            (part, *self.bounds[part : part + 2].tolist()) for part in range(before - 1, after)
        ]
        pieces = [
            self._part(part)[max(first - start, 0) : end - start]
            for part, start, stop in spans
            if start < stop
        ]
        if not pieces:
            return np.empty((0, self.shape[1]), self.dtype)
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _gather(self, index: IntArray) -> NDArray[Any]:
        """Return rows in any order; each part is read once, in the order of the parts."""
        parts = np.searchsorted(self.bounds, index, side="right") - 1
        gathered = np.empty((len(index), self.shape[1]), self.dtype)
        for number in np.unique(parts).tolist():
            chosen = parts == number
            gathered[chosen] = self._part(number)[index[chosen] - self.bounds[number]]
        return gathered

    def _part(self, number: int) -> NDArray[Any]:
        """Return the rows of a part, and start to read the next one."""
        with self._lock:
            part = self._begin(number)
            # After the last part, read the first: most work passes over all rows many times.
            self._begin((number + 1) % self.n_parts)
            while len(self._held) > MOST_HELD:
                self._held.popitem(last=False)
        return part.result()

    def _begin(self, number: int) -> "Future[NDArray[Any]]":
        held = self._held.get(number)
        if held is None or (held.done() and held.exception() is not None):  # retry after an error
            if self._reader is None:
                self._reader = ThreadPoolExecutor(1, thread_name_prefix="twohot-reader")
            self.n_reads += 1
            self._held[number] = submitted(self._reader, self.read_part, number)
        self._held.move_to_end(number)
        return self._held[number]


class SlicedRows(PartedRows):
    """A matrix on disk that is read by slices, such as a memory map or an array of Zarr or HDF5.

    Parameters
    ----------
    X : memory map, or any store of shape (n_samples, n_features), such as a Zarr array
        Where the rows are stored.
    part_rows : int, optional
        Number of rows of a part.
    """

    def __init__(self, X: Matrix, part_rows: int | None = None) -> None:
        row_bytes = X.shape[1] * np.dtype(X.dtype).itemsize
        size = part_rows or max(1, PART_BYTES // max(1, row_bytes))
        bounds = np.append(np.arange(0, X.shape[0], size), X.shape[0])
        super().__init__(bounds, X.shape[1], X.dtype)
        self.X = X
        self._map = mapped_file(X)

    def read_part(self, number: int) -> NDArray[Any]:
        """Return a copy of the rows of a part, and release their pages of a memory map."""
        part = self.X[self.bounds[number] : self.bounds[number + 1]]
        check_real("X", part)  # a store may return masked rows
        rows = np.array(part)
        if self._map is not None:
            release_pages(self._map, part)
        return rows

    def _gather(self, index: IntArray) -> NDArray[Any]:
        # A memory map can read any row without reading others.
        return super()._gather(index) if self._map is None else np.asarray(self.X[index])


def in_parts(X: Matrix) -> Matrix:
    """Return a memory map that is larger than one part as `SlicedRows`, anything else unchanged.

    Examples
    --------
    >>> stored = np.lib.format.open_memmap("rows.npy", "w+", np.float16, (2**11, 1024))
    >>> type(in_parts(stored)).__name__, type(in_parts(stored[:5])).__name__
    ('SlicedRows', 'memmap')
    """
    if isinstance(X, SelectedRows):
        inner = in_parts(X.X)
        return X if inner is X.X else SelectedRows(inner, X.index)
    if not isinstance(X, np.ndarray) or X.nbytes <= PART_BYTES or mapped_file(X) is None:
        return X
    return SlicedRows(X)


def open_store(X: Any) -> Any:
    """Return a store, such as an array of Zarr or HDF5, as rows that are read in parts.

    Anything else is returned unchanged. A store has a shape, a dtype and slices. Unlike arrays in
    memory, it has no arithmetic.
    """
    if isinstance(X, str | PathLike):
        advice = "pass an array of features, such as twohot.tables.read_table(path).features."
        raise ArgumentError("X", "is a text or a path", advice)
    is_array = all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__"))
    if not is_array or hasattr(X, "__add__") or isinstance(X, GatheredRows):
        return X
    if len(X.shape) != 2:
        problem = f"is of type {type(X).__name__} and shape {tuple(X.shape)}"
        raise ArgumentError("X", problem, "pass a two-dimensional array, one row per sample.")
    # A part consists of whole chunks of the store, because a chunk can only be decoded whole.
    row_bytes = max(1, X.shape[1] * np.dtype(X.dtype).itemsize)
    chunk_rows = (getattr(X, "chunks", None) or (1,))[0]
    return SlicedRows(X, chunk_rows * max(1, PART_BYTES // (row_bytes * chunk_rows)))


def mapped_file(X: Any) -> mmap.mmap | None:
    """Return the memory map that contains an array; None if the array is not memory-mapped."""
    while isinstance(X, np.ndarray):
        X = X.base
    return X if isinstance(X, mmap.mmap) else None


def place_in_map(file: mmap.mmap, part: NDArray[Any]) -> int:
    """Return the position, in bytes, of an array in the memory map that contains it."""
    return int(part.ctypes.data - np.frombuffer(file, np.uint8).ctypes.data)


def release_pages(file: mmap.mmap, part: NDArray[Any]) -> None:
    """Release the memory of an array in a read-only memory map; the system's cache keeps the data.

    Pages of a copy-on-write map contain written data, so these pages are not released.
    """
    if not hasattr(mmap, "MADV_DONTNEED") or not memoryview(file).readonly:
        return
    if not part.flags.c_contiguous:
        return
    start = place_in_map(file, part)
    # Release whole pages only: a page that has rows of the next part would be read again.
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (start + part.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE - first
    if length > 0:
        file.madvise(mmap.MADV_DONTNEED, first, length)


def take_rows(X: Matrix, rows: slice | IntArray) -> Matrix:
    """Return rows of an array, sparse matrix, frame or list, in the same container."""
    return X[rows] if isinstance(X, GatheredRows) else _safe_indexing(X, rows)
