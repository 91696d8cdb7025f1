"""Features and columns in the chunks of a Dask collection, kept where Dask has computed them.

A chunk is some neighbouring rows. What belongs to them, labels and weights for instance, is in
chunks of the same rows, beside them.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import STORED, ArgumentError, IntArray, Matrix, check_real, counted
from twohot.rows.dask_tasks import Handle, Tasks, active_tasks
from twohot.rows.rows import stack
from twohot.rows.selected import SelectedRows, draw_ranks, rows_of_ranks

# Arrays and frames of Dask as a user passes them: what is known without computing them ------------


NUMBERS = "fiub"  # kinds of dtypes that are numbers


def check_collection(X: Any) -> None:
    """Raise unless an array or frame of Dask holds rows of numbers, as far as that is known."""
    if getattr(X, "ndim", 0) != 2:
        problem = f"has {counted(getattr(X, 'ndim', 0), 'dimension')}"
        raise ArgumentError("X", problem, "pass rows of features, in two dimensions.")
    if hasattr(X, "columns"):  # a frame
        kinds = {str(name): dtype for name, dtype in X.dtypes.items()}
        other = [
            name for name, dtype in kinds.items() if getattr(dtype, "kind", "O") not in NUMBERS
        ]
        if other:
            problem = f"has a column {other[0]!r} of {kinds[other[0]]}"
            raise ArgumentError("X", problem, "pass columns of numbers alone.")
    elif X.dtype.kind not in f"{NUMBERS}O":  # objects may turn out to be numbers
        raise ArgumentError("X", f"has dtype {X.dtype}", "pass real numbers.")


def precision_of(X: Any) -> np.dtype[Any]:
    """Return the precision that rows of Dask are kept in: their own, if features may have it."""
    dtype = X.dtype if hasattr(X, "dtype") else np.result_type(*X.dtypes)
    return np.dtype(dtype if dtype in STORED else STORED[0])


def is_dask(data: Any) -> bool:
    """Return whether data are an array, a frame or a series of Dask."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "to_delayed")


class Chunk:
    """Rows of features where they live, and how they were last read there."""

    def __init__(self, x: Matrix) -> None:
        self.x = x
        self.opened: Any = None  # norms of rows and room for a block are made once

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getitem__(self, rows: IntArray) -> "Chunk":
        return Chunk(SelectedRows(self.x, rows))

    def __sizeof__(self) -> int:
        # What a worker of Dask reckons with.
        return int(getattr(self.x, "nbytes", 0)) + object.__sizeof__(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"x": self.x, "opened": None}


@dataclass(frozen=True, eq=False)
class ChunkedColumn:
    """What belongs to rows, in their chunks."""

    tasks: Tasks
    chunks: Sequence[Handle]
    sizes: IntArray  # (n_chunks,), rows of each

    @property
    def bounds(self) -> IntArray:
        """(n_chunks + 1,) number of the first row of each chunk, and of all rows."""
        return np.append(0, np.cumsum(self.sizes))

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def derive(self, function: Callable[..., Any], *shared: Any) -> "ChunkedColumn":
        """Return what a function makes of each chunk, and of what all of them share."""
        calls = [(chunk, *shared) for chunk in self.chunks]
        chunks = self.tasks.keep(self.tasks.run(function, calls))
        return ChunkedColumn(self.tasks, chunks, self.sizes)

    def gather(self, function: Callable[..., Any], *shared: Any) -> list[Any]:
        """Return what a function makes of each chunk, here."""
        return self.tasks.results(
            self.tasks.run(function, [(chunk, *shared) for chunk in self.chunks])
        )

    def derive_with(
        self, other: "ChunkedColumn", function: Callable[..., Any], *shared: Any
    ) -> "ChunkedColumn":
        """Return what a function makes of each chunk and that of another column."""
        chunks = self.tasks.keep(self.tasks.run(function, self._beside(other, *shared)))
        return ChunkedColumn(self.tasks, chunks, self.sizes)

    def gather_with(
        self, other: "ChunkedColumn", function: Callable[..., Any], *shared: Any
    ) -> list[Any]:
        """Return what a function makes of each chunk and that of another column, here."""
        return self.tasks.results(self.tasks.run(function, self._beside(other, *shared)))

    def _beside(self, other: "ChunkedColumn", *shared: Any) -> list[tuple[Any, ...]]:
        pairs = zip(self.chunks, other.chunks, strict=True)
        return [(*pair, *shared) for pair in pairs]

    def take(self, index: IntArray) -> "ChunkedColumn":
        """Return some rows, in their order; those of each chunk stay there."""
        chosen = split_index(index, self.bounds)
        calls = [(self.chunks[number], rows) for number, rows in chosen]
        chunks = self.tasks.keep(self.tasks.run(take_from, calls)) if calls else []
        return ChunkedColumn(self.tasks, chunks, np.array([len(rows) for _, rows in chosen], int))

    def values(self) -> Any:
        """Return all of it, here."""
        return stack(self.tasks.results(self.chunks))


class ChunkedFeatures:
    """Features in chunks; some rows of them are gathered where they are asked for.

    Parameters
    ----------
    column : ChunkedColumn
        The rows.
    n_features : int
        Columns.
    dtype : numpy dtype
        Of the rows.
    """

    ndim = 2

    def __init__(self, column: ChunkedColumn, n_features: int, dtype: np.dtype[Any]) -> None:
        self.column = column
        self.tasks = column.tasks
        self.shape = len(column), n_features
        self.dtype = np.dtype(dtype)

    @cached_property
    def bounds(self) -> IntArray:
        """(n_chunks + 1,) number of the first row of each chunk, and of all rows."""
        return self.column.bounds

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Return some rows, in their order, here."""
        index = np.arange(len(self))[rows]
        taken = self.column.take(index)
        empty = np.empty((0, self.shape[1]), self.dtype)
        return np.concatenate([empty, *taken.gather(rows_of)])

    def take(self, index: IntArray) -> "ChunkedFeatures":
        """Return some rows, in their order, where they are."""
        return ChunkedFeatures(self.column.take(index), self.shape[1], self.dtype)


def open_chunks(X: Any, dtype: np.dtype[Any] | None = None) -> ChunkedFeatures:
    """Have the chunks of a Dask array or frame computed where they will stay."""
    dtype = precision_of(X) if dtype is None else dtype
    tasks = active_tasks()
    n_bytes = X.shape[0] * X.shape[1] * dtype.itemsize if hasattr(X, "chunks") else np.nan
    if n_bytes > tasks.room():
        sizes = f"{n_bytes / 1e9:.1f} GB, and workers have room for {tasks.room() / 1e9:.1f} GB"
        warnings.warn(f"X has {sizes}: it is read again each pass.", stacklevel=6)
        column = _column_read_again(tasks, X, dtype)
    else:
        about = tasks.share(dtype), X.shape[1]
        column = _column_of("X", tasks, X, as_rows, *about, numbered=True)
    if not len(column):
        raise ArgumentError("X", "has no rows", "pass at least one.")
    return ChunkedFeatures(column, X.shape[1], dtype)


def open_column(name: str, values: Any, X: ChunkedFeatures) -> ChunkedColumn:
    """Return a Dask array or series, or an array, in the chunks of the features.

    What is in other chunks is put into those, and that is said.
    """
    tasks = X.tasks
    if isinstance(values, ChunkedColumn):
        return values
    if not is_dask(values):
        here = np.asarray(values)
        _check_lengths(name, len(here), X)
        parts = np.split(here, X.bounds[1:-1])
        return ChunkedColumn(tasks, [tasks.share(part) for part in parts], X.column.sizes)
    column = _column_of(name, tasks, values, as_cells_of)
    _check_lengths(name, len(column), X)
    if np.array_equal(column.sizes, X.column.sizes):
        return column
    warnings.warn(f"{name} has other chunks than X: they are made the same.", stacklevel=5)
    calls = []
    for first, end in zip(X.bounds[:-1], X.bounds[1:], strict=True):
        chosen = split_index(np.arange(first, end), column.bounds)
        calls.append(
            ([column.chunks[number] for number, _ in chosen], [rows for _, rows in chosen])
        )
    chunks = tasks.keep(tasks.run(join_pieces, calls))
    return ChunkedColumn(tasks, chunks, X.column.sizes)


def _column_of(
    name: str,
    tasks: Tasks,
    data: Any,
    function: Callable[..., Any],
    *shared: Any,
    numbered: bool = False,
) -> ChunkedColumn:
    """Compute the chunks of a Dask collection; those without rows are left out.

    With `numbered` the function is told the number of the chunk as well.
    """
    if getattr(data, "ndim", 1) == 2 and hasattr(data, "rechunk"):
        data = data.rechunk({1: -1})
    chunks = tasks.adopt(list(np.ravel(data.to_delayed())))
    with tasks.naming_chunks(name, chunks):
        calls = [
            (chunk, *shared, *([number] if numbered else [])) for number, chunk in enumerate(chunks)
        ]
        chunks = tasks.keep(tasks.run(function, calls))
        found = tasks.results(tasks.run(len, [(chunk,) for chunk in chunks]))
    sizes = np.array(found, dtype=np.intp)
    kept = [chunk for chunk, size in zip(chunks, sizes.tolist(), strict=True) if size]
    return ChunkedColumn(tasks, kept, sizes[sizes > 0])


class ReadAgain(Sequence[Handle]):
    """Chunks of features that are computed whenever they are asked for, and kept by nobody."""

    def __init__(self, tasks: Tasks, delayed: Sequence[Any], about: tuple[Any, ...]) -> None:
        self._tasks, self._delayed, self._about = tasks, delayed, about

    def __len__(self) -> int:
        return len(self._delayed)

    def __getitem__(self, number: Any) -> Any:
        (chunk,) = self._tasks.adopt([self._delayed[number]])
        return self._tasks.run(as_rows, [(chunk, *self._about, number)])[0]


def _column_read_again(tasks: Tasks, X: Any, dtype: np.dtype[Any]) -> ChunkedColumn:
    """Return the chunks of a Dask array of known sizes, which nobody keeps."""
    whole = X.rechunk({1: -1})
    sizes = np.array(whole.chunks[0])
    delayed = [each for each, size in zip(np.ravel(whole.to_delayed()), sizes, strict=True) if size]
    return ChunkedColumn(
        tasks, ReadAgain(tasks, delayed, (tasks.share(dtype), X.shape[1])), sizes[sizes > 0]
    )


def _check_lengths(name: str, n_values: int, X: ChunkedFeatures) -> None:
    if n_values != len(X):
        nouns = ("label", "labels") if name in {"y", "labels"} else ("entry", "entries")
        problem = f"has {counted(n_values, *nouns)} and X has {len(X)} rows"
        raise ArgumentError(name, problem, "pass one for each row.")


def split_index(index: IntArray, bounds: IntArray) -> list[tuple[int, IntArray]]:
    """Return the chunks that rows in order are in, each with the numbers of its rows there.

    Examples
    --------
    >>> split_index(np.array([0, 2, 5]), np.array([0, 3, 4, 6]))
    [(0, array([0, 2])), (2, array([1]))]
    """
    if np.any(np.diff(index) < 0):
        raise ValueError("rows of chunks are taken in their order")
    places = np.searchsorted(index, bounds)
    return [
        (number, index[first:end] - bounds[number])
        for number, (first, end) in enumerate(pairwise(places.tolist()))
        if end > first
    ]


# Tasks -------------------------------------------------------------------------------------------


def as_rows(chunk: Any, dtype: np.dtype[Any], n_features: int, number: int) -> Chunk:
    """Return a chunk of features, an array or a frame, as rows.

    A chunk may be something else than its collection says, which Dask does not look at.
    """
    rows, where = np.asanyarray(chunk), f" in chunk {number}"
    check_real("X", rows, where)
    if rows.ndim != 2 or rows.shape[1] != n_features:
        problem = f"has {counted(n_features, 'column')}, and shape {rows.shape}{where}"
        raise ArgumentError("X", problem, "have every chunk made with the columns of all.")
    return Chunk(np.ascontiguousarray(rows, dtype=dtype))


def rows_of(chunk: Chunk) -> NDArray[Any]:
    """Return the rows of a chunk."""
    return np.asarray(chunk.x)


def as_cells_of(chunk: Any) -> Any:
    """Return a chunk of a column as it is; of a series its values."""
    return chunk.to_numpy() if hasattr(chunk, "to_numpy") else chunk


def take_from(chunk: Any, rows: IntArray) -> Any:
    """Return some rows of a chunk; those of features are not copied."""
    return chunk[rows]


def join_pieces(pieces: list[Any], rows: list[IntArray]) -> Any:
    """Return rows of several chunks as one."""
    return np.concatenate([piece[each] for piece, each in zip(pieces, rows, strict=True)])


# Labels in the chunks of features: how many there are, and rows drawn from every one of them ------


@dataclass(frozen=True, eq=False)
class ChunkedLabels:
    """One label for every row, in the chunks of the features."""

    codes: ChunkedColumn
    classes: NDArray[Any]  # (n_classes,), each once, in order
    sizes: IntArray  # (n_classes,), rows of each class

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)


def draw_from_chunks(
    codes: ChunkedColumn,
    n_classes: int,
    n_rows: int,
    rng: np.random.Generator,
    classes: IntArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Return about so many rows with some of every label, in order, and their labels.

    Of some classes alone, if these are given.
    """
    counts = np.array(codes.gather(count_codes, n_classes + 1))[:, :-1]  # (n_chunks, K)
    sizes = counts.sum(axis=0)
    if classes is not None:
        sizes[np.setdiff1d(np.arange(n_classes), classes)] = 0
    ranks = draw_ranks(sizes, n_rows, rng)
    before = np.cumsum(counts, axis=0) - counts
    calls = [
        (
            chunk,
            [_within(each, first, size) for each, first, size in zip(ranks, *place, strict=True)],
        )
        for chunk, place in zip(codes.chunks, zip(before, counts, strict=True), strict=True)
    ]
    drawn = codes.tasks.results(codes.tasks.run(drawn_rows, calls))
    firsts = codes.bounds[:-1].tolist()
    index = np.concatenate([rows + first for (rows, _), first in zip(drawn, firsts, strict=True)])
    return index, np.concatenate([own for _, own in drawn])


def _within(ranks: IntArray, first: int, size: int) -> IntArray:
    """Return the ranks that are those of a chunk, counted from its first row of the label."""
    return ranks[(ranks >= first) & (ranks < first + size)] - first


# Tasks -------------------------------------------------------------------------------------------


def count_codes(codes: IntArray, n_codes: int) -> IntArray:
    """Return how often each code occurs; the last one is that of no label."""
    return np.bincount(np.where(codes < 0, n_codes - 1, codes), minlength=n_codes)


def drawn_rows(codes: IntArray, ranks: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the rows of a chunk that have given ranks among those of their label; their labels."""
    rows = rows_of_ranks(codes, ranks)
    return rows, codes[rows]
