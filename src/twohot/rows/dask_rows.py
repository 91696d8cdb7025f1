"""Rows in the chunks of a Dask array: workers run kernels on chunks and return sums.

A kernel is a function of one block of rows (see `twohot.rows.rows`). A worker reads its chunk block
by block, like an array in memory. Workers add the sums of several chunks, so that this process
receives a single sum. Columns that are derived from rows stay on the worker of the chunk. Labels
and weights are sent once.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from operator import getitem
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twohot.base import ArgumentError, IntArray, Matrix
from twohot.rows.dask_chunks import Chunk, ChunkedColumn, ChunkedFeatures, as_rows, precision_of
from twohot.rows.dask_tasks import ChunkError, Handle
from twohot.rows.preparation import Preparation
from twohot.rows.rows import Block, Kernel, Rows, Terms, run_kernel, stack
from twohot.rows.threads import one_blas_thread

# Tasks that Dask runs: kernels on the blocks of one chunk -----------------------------------------

WEIGHTS = "weight"  # column of the weights, which have mean one over all chunks

Place: TypeAlias = tuple[int, int]  # number of a chunk, and position of its first row
# The preparation of the rows of a chunk, and the options of their `Rows`.
Reading: TypeAlias = tuple[Preparation | None, dict[str, Any]]


@dataclass(frozen=True, eq=False)
class ChunkSum:
    """The sums of a kernel's terms, which are arrays, over one or several chunks."""

    terms: Terms  # in float64
    row_products: int  # number of products with dense matrices, times rows
    dtypes: Sequence[np.dtype[Any]] = ()  # dtypes of the terms of a block


def sum_chunk(kernel: Kernel, place: Place, *where: Any) -> ChunkSum:
    """Return the sums of a kernel's terms over the blocks of a chunk."""
    dtypes: list[np.dtype[Any]] = []

    def noting(block: Block, *shared: Any) -> Terms:
        terms: Terms = kernel(block, *shared)
        dtypes[:] = [np.asarray(term).dtype for term in terms]
        return terms

    with _opened(place, *where) as (rows, shared):
        before = rows.n_row_products
        terms = rows.sum(noting, *shared)
        return ChunkSum(terms, rows.n_row_products - before, tuple(dtypes))


def sum_groups_of_chunk(kernel: Kernel, place: Place, *where: Any) -> ChunkSum:
    """Return the sums of a kernel's terms over the blocks of a chunk, for each group of rows."""
    with _opened(place, *where) as (rows, (n_groups, *shared)):
        before = rows.n_row_products
        terms = rows.sum_groups(kernel, n_groups, *shared)
        return ChunkSum(terms, rows.n_row_products - before, tuple(t.dtype for t in terms))


def add_sums(sums: list[ChunkSum]) -> ChunkSum:
    """Add the sums of several chunks."""
    terms = tuple(np.sum(term, axis=0) for term in zip(*(each.terms for each in sums), strict=True))
    return ChunkSum(terms, sum(each.row_products for each in sums), sums[0].dtypes)


def add_up(sums: list[ChunkSum]) -> ChunkSum:
    """Add the sums of all chunks in the kernel's precision, so that fewer bytes are sent."""
    total = add_sums(sums)
    pairs = zip(total.terms, total.dtypes, strict=True)
    return ChunkSum(tuple(np.asarray(t, dtype=dtype) for t, dtype in pairs), total.row_products)


def map_chunk(kernel: Kernel, place: Place, *where: Any) -> list[tuple[Any, int]]:
    """Return the kernel's result, and its number of row products, for each block of a chunk."""
    with _opened(place, *where) as (rows, shared), one_blas_thread():
        blocks = map(rows.block, range(rows.n_blocks))
        return [run_kernel(kernel, block, shared) for block in blocks]


def derive_chunk(kernel: Kernel, place: Place, *where: Any) -> tuple[Any, int]:
    """Return the kernel's results for the rows of a chunk, and its number of row products."""
    results, row_products = zip(*map_chunk(kernel, place, *where), strict=True)
    return stack(list(results)), sum(row_products)


@contextmanager
def _opened(
    place: Place,
    reading: Reading,
    chunk: Chunk,
    names: list[str],
    values: list[Matrix],
    *shared: Any,
) -> Iterator[tuple[Rows, tuple[Any, ...]]]:
    """Yield the rows of a chunk with their columns, and the shared arguments of a kernel.

    An error inside the context states the number of the chunk.
    """
    number, first = place
    try:
        if chunk.opened is None or chunk.opened[0] is not reading:
            preparation, options = reading
            chunk.opened = reading, Rows(chunk.x, preparation, **options)
        rows: Rows = chunk.opened[1]
        rows.first_row, rows.columns = first, dict(zip(names, values, strict=True))
        rows.weights = rows.columns.pop(WEIGHTS, None)
        yield rows, shared
    except ArgumentError:
        raise
    except Exception as error:
        rows_of = f"rows {first} to {first + len(chunk) - 1}"
        raise ChunkError(f"chunk {number} ({rows_of}) failed: {error!r}") from error


# Number of sums that one task adds. With more sums, a task waits for more chunks. With fewer sums,
# there are more levels of tasks.
FAN_IN = 8
# Maximum number of chunks whose results are in this process at once.
CHUNKS_AHEAD = 4
# Number of shared arguments that workers keep, so that the targets of a fit are sent once.
MOST_SHARED = 4


class DaskRows(Rows):
    """The rows of a Dask array and their columns, which stay on the workers."""

    is_here = False

    def __init__(
        self, X: ChunkedFeatures, preparation: Preparation | None = None, **options: Any
    ) -> None:
        super().__init__(X, preparation, **options)
        self.tasks = X.tasks
        of_chunks = self.options | {"n_jobs": 1, "keep_small": False}
        self._reading = self.tasks.share((preparation, of_chunks))
        self._shared: list[tuple[Any, Handle]] = []  # arguments that were sent for recent passes
        self._chunked: dict[str, ChunkedColumn] = {}  # columns and weights, in the chunks of X
        if self.weights is not None:
            self._chunked[WEIGHTS] = self._in_chunks(self.weights)

    def sum(self, kernel: Kernel, *shared: Any) -> Terms:
        """Return the sum over all blocks, in float64, of each term that a kernel returns."""
        return self._add_up(self._run(sum_chunk, kernel, shared))

    def sum_groups(self, kernel: Kernel, n_groups: int, *shared: Any) -> Terms:
        """Return the sums of a kernel's terms over each group of rows, in float64."""
        return self._add_up(self._run(sum_groups_of_chunk, kernel, (n_groups, *shared)))

    def _add_up(self, sums: list[Handle]) -> Terms:
        """Return the sums over all chunks; workers add the sums of chunks in a tree of tasks."""
        level = sums
        while len(level) > FAN_IN:
            groups = [(level[first : first + FAN_IN],) for first in range(0, len(level), FAN_IN)]
            level = self.tasks.run(add_sums, groups)
        with self.tasks.naming_chunks("X", sums):
            (total,) = self.tasks.results(self.tasks.run(add_up, [(level,)]))
        self.n_row_products += total.row_products
        return tuple(np.asarray(term, dtype=np.float64) for term in total.terms)

    def map(self, kernel: Kernel, *shared: Any) -> Iterator[Any]:
        """Yield the result of a kernel for each block, in order; compute a few chunks at once."""
        n_chunks = len(self.X.column.chunks)
        for first in range(0, n_chunks, CHUNKS_AHEAD):
            numbers = range(first, min(first + CHUNKS_AHEAD, n_chunks))
            for results in self.tasks.results(self._run(map_chunk, kernel, shared, numbers)):
                yield from self._counted(results)

    def attach(self, name: str, values: Matrix | ChunkedColumn) -> None:
        """Store a column: one value, or one row of values, for each row of features."""
        self.columns[name] = values
        self._chunked[name] = self._in_chunks(values)

    def derive(self, name: str, kernel: Kernel, *shared: Any) -> None:
        """Store the result of a kernel for each row, on the worker that has the row."""
        made = self.tasks.keep(self._run(derive_chunk, kernel, shared))
        counts = self.tasks.run(getitem, [(handle, 1) for handle in made])
        self.n_row_products += sum(self.tasks.results(counts))
        chunks = self.tasks.keep(self.tasks.run(getitem, [(handle, 0) for handle in made]))
        self.attach(name, ChunkedColumn(self.tasks, chunks, self.X.column.sizes))

    def take(self, index: IntArray, preparation: Preparation | None = None) -> Rows:
        """Return the rows at ascending positions; the rows stay on their workers."""
        prepared = self.preparation if preparation is None else preparation
        return self._like(DaskRows, self.X.take(index), prepared, index)

    def _like(self, kind: type[Rows], *args: Any) -> Rows:
        rows = super()._like(kind, *args)
        if kind is Rows:  # the rows are in this process, so their columns must be too
            for name, values in rows.columns.items():
                if isinstance(values, ChunkedColumn):
                    rows.columns[name] = values.values()
        return rows

    def _in_chunks(self, values: Matrix | ChunkedColumn) -> ChunkedColumn:
        """Split values of rows into the chunks of these rows."""
        if isinstance(values, ChunkedColumn):
            return values
        bounds = pairwise(self.X.column.bounds.tolist())
        chunks = [self.tasks.share(values[first:end]) for first, end in bounds]
        return ChunkedColumn(self.tasks, chunks, self.X.column.sizes)

    def _run(
        self, task: Kernel, kernel: Kernel, shared: tuple[Any, ...], numbers: range | None = None
    ) -> list[Handle]:
        """Run a task on the chunks at `numbers`, by default all chunks, and on their columns."""
        sent, names = [self._send(value) for value in shared], list(self._chunked)
        x = self.X.column
        calls = []
        for number in numbers or range(len(x.chunks)):
            place, chunk = (number, int(x.bounds[number])), x.chunks[number]
            columns = [self._chunked[name].chunks[number] for name in names]
            calls.append((kernel, place, self._reading, chunk, names, columns, *sent))
        return self.tasks.run(task, calls)

    def _send(self, value: Any) -> Any:
        """Return a handle to a shared argument, or the argument itself if it is small."""
        if isinstance(value, int | float | str | tuple | np.dtype | None):
            return value
        for known, handle in self._shared:
            if known is value:
                return handle
        handle = self.tasks.share(value)
        self._shared = [*self._shared[-MOST_SHARED + 1 :], (value, handle)]
        return handle


# Lazy results per row of a Dask array or frame ----------------------------------------------------


def map_lazily(
    X: Any, kernel: Kernel, shared: tuple[Any, ...], like: NDArray[Any], options: dict[str, Any]
) -> Any:
    """Return a lazy Dask array of the results of a kernel for the rows of X.

    `like` is the result for zero rows: an array with the type and the columns of the results.
    """
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    whole = array.rechunk({1: -1})
    chunks = (whole.chunks[0], *((size,) for size in like.shape[1:]))
    about: dict[str, Any] = {"dtype": like.dtype, "chunks": chunks, "meta": like}
    if like.ndim == 1:
        about["drop_axis"] = 1
    # Check chunks in a separate step, because Dask joins chunks before a step that drops an axis.
    stored = precision_of(whole)
    how = {"stored": stored, "n_features": whole.shape[1]}
    checked = whole.map_blocks(checked_chunk, **how, dtype=stored, meta=np.empty((0, 0), stored))
    made = {"kernel": kernel, "shared": shared, "like": like, "options": options}
    return checked.map_blocks(map_rows_of_chunk, **made, **about)


def checked_chunk(
    chunk: Any, *, stored: np.dtype[Any], n_features: int, block_id: tuple[int, ...]
) -> Matrix:
    """Return the rows of a chunk; raise if they are invalid. Dask passes `block_id`."""
    return as_rows(chunk, stored, n_features, block_id[0]).x


def map_rows_of_chunk(
    chunk: Matrix,
    *,
    kernel: Kernel,
    shared: tuple[Any, ...],
    like: NDArray[Any],
    options: dict[str, Any],
) -> NDArray[Any]:
    """Return the results of a kernel for the rows of a chunk."""
    return np.concatenate([like, *Rows(chunk, **options).map(kernel, *shared)])
