"""Rows in the chunks of a Dask array: kernels go to where the chunks are, and sums come back.

Every chunk is read there as an array is read here, block by block. Sums of chunks are added up on
the workers, some at a time, so that one sum arrives here, however many chunks there are. What is
derived from rows stays beside their chunk.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from twohot.base import ArgumentError, FloatArray, IntArray, Matrix
from twohot.rows.chunked import Chunk, ChunkedColumn, ChunkedFeatures
from twohot.rows.dask_tasks import ChunkError, Handle
from twohot.rows.preparation import AS_THEY_ARE, Preparation
from twohot.rows.rows import (
    Block,
    Kernel,
    Rows,
    Terms,
    coordinates_along,
    copy_prepared,
    run_kernel,
    stack,
)
from twohot.rows.threads import one_blas_thread

# Kernels on the blocks of one chunk, where the chunk is: tasks that Dask runs ---------------------
# A chunk is read there as an array is read here.


WEIGHTS = "weight"  # of each row, with mean one over all of them

Place: TypeAlias = tuple[int, int]  # number of a chunk, and of its first row


@dataclass(frozen=True, eq=False)
class RowOptions:
    """How a chunk is read: all that `Rows` takes and all chunks share."""

    preparation: Preparation | None
    dtype: np.dtype[Any]
    n_classes: int
    intercept: bool

    def open(self, chunk: Chunk, first: int, columns: dict[str, Matrix]) -> Rows:
        """Return the rows of a chunk, with what stands beside them."""
        if chunk.opened is None or chunk.opened[0] is not self:
            rows = Rows(
                chunk.x,
                self.preparation,
                dtype=self.dtype,
                n_classes=self.n_classes,
                intercept=self.intercept,
            )
            chunk.opened = self, rows
        opened: Rows = chunk.opened[1]
        opened.first_row = first
        opened.columns = dict(columns)
        opened.weights = opened.columns.pop(WEIGHTS, None)
        return opened


@dataclass(frozen=True, eq=False)
class ChunkSum:
    """Sums over some chunks."""

    terms: Terms  # in float64
    row_products: int
    dtypes: Sequence[np.dtype[Any]] = field(default=())  # of the terms of a block


def sum_chunk(kernel: Kernel, place: Place, *where: Any) -> ChunkSum:
    """Return the sums of a kernel over the blocks of a chunk."""
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
    """Return the sums of a kernel over the blocks of a chunk, by groups of rows."""
    with _opened(place, *where) as (rows, (n_groups, *shared)):
        before = rows.n_row_products
        terms = rows.sum_groups(kernel, n_groups, *shared)
        return ChunkSum(terms, rows.n_row_products - before, tuple(t.dtype for t in terms))


def add_sums(sums: list[ChunkSum]) -> ChunkSum:
    """Return the sum of several."""
    by_term = zip(*(each.terms for each in sums), strict=True)
    terms = tuple(np.sum(parts, axis=0) for parts in by_term)
    return ChunkSum(terms, sum(each.row_products for each in sums), sums[0].dtypes)


def add_up(sums: list[ChunkSum]) -> ChunkSum:
    """Return all sums as one, in the precision of the kernel: what is beyond need not travel."""
    total = add_sums(sums)
    pairs = zip(total.terms, total.dtypes, strict=True)
    return ChunkSum(tuple(np.asarray(t, dtype=dtype) for t, dtype in pairs), total.row_products)


def map_chunk(kernel: Kernel, place: Place, *where: Any) -> list[tuple[Any, int]]:
    """Return what a kernel makes of each block of a chunk, and its rows times products."""
    with _opened(place, *where) as (rows, shared), one_blas_thread():
        blocks = map(rows.block, range(rows.n_blocks))
        return [run_kernel(kernel, block, shared) for block in blocks]


def derive_chunk(kernel: Kernel, place: Place, *where: Any) -> tuple[Any, int]:
    """Return what a kernel makes of the rows of a chunk, and its rows times products."""
    results = map_chunk(kernel, place, *where)
    return stack([made for made, _ in results]), sum(count for _, count in results)


def first_of(pair: tuple[Any, int]) -> Any:
    """Return what was made."""
    return pair[0]


def second_of(pair: tuple[Any, int]) -> int:
    """Return what it took."""
    return pair[1]


@contextmanager
def _opened(
    place: Place,
    options: RowOptions,
    chunk: Chunk,
    names: list[str],
    values: list[Matrix],
    *shared: Any,
) -> Iterator[tuple[Rows, tuple[Any, ...]]]:
    """Give the rows of a chunk to a task; what fails there names the chunk."""
    number, first = place
    try:
        yield options.open(chunk, first, dict(zip(names, values, strict=True))), shared
    except ArgumentError:
        raise
    except Exception as error:
        rows = f"rows {first} to {first + len(chunk) - 1}"
        raise ChunkError(f"chunk {number} ({rows}) failed: {error!r}") from error


# Sums that a task adds up. More would wait for the slowest of many; fewer make the tree deeper.
FAN_IN = 8
# Chunks whose results are here at once, where results of all rows are asked for.
CHUNKS_AHEAD = 4
# Coefficients of a pass, targets, and what else a kernel takes: enough that targets of a whole fit
# are sent once.
MOST_SHARED = 4


class DaskRows(Rows):
    """The rows of a Dask array, with what belongs to them, where Dask keeps them."""

    is_here = False

    def __init__(
        self,
        X: ChunkedFeatures,
        preparation: Preparation | None = None,
        *,
        weights: ChunkedColumn | None = None,
        **options: Any,
    ) -> None:
        super().__init__(X, preparation, **options)
        self.tasks = X.tasks
        self.options = RowOptions(preparation, self.dtype, self.n_classes, self.intercept)
        self._shared_options = self.tasks.share(self.options)
        self._shared: list[
            tuple[Any, Handle]
        ] = []  # what the last pass took, so that it is sent once
        self.given_weights = weights
        if weights is not None:
            self.total_weight = float(sum(weights.gather(np.sum)))
            unit = self.n_samples / (self.total_weight or 1.0)
            self.columns[WEIGHTS] = weights.derive(np.multiply, unit)

    def sum(self, kernel: Kernel, *shared: Any) -> Terms:
        """Return the sums over all blocks of the terms that a kernel returns, in float64."""
        return self._add_up(self._run(sum_chunk, kernel, shared))

    def sum_groups(self, kernel: Kernel, n_groups: int, *shared: Any) -> Terms:
        """Return sums over all blocks, in float64, one row of each term for every group."""
        return self._add_up(self._run(sum_groups_of_chunk, kernel, (n_groups, *shared)))

    def _add_up(self, sums: list[Handle]) -> Terms:
        """Return the sum of all chunks: a tree on the workers, of which the last sum comes here."""
        level = sums
        while len(level) > FAN_IN:
            groups = [(level[first : first + FAN_IN],) for first in range(0, len(level), FAN_IN)]
            level = self.tasks.run(add_sums, groups)
        with self.tasks.naming_chunks("X", sums):
            (total,) = self.tasks.results(self.tasks.run(add_up, [(level,)]))
        self.n_row_products += total.row_products
        return tuple(np.asarray(term, dtype=np.float64) for term in total.terms)

    def map(self, kernel: Kernel, *shared: Any) -> Iterator[Any]:
        """Yield what a kernel returns for each block, in order; those of a few chunks wait."""
        for first in range(0, len(self.X.column.chunks), CHUNKS_AHEAD):
            some = range(first, min(first + CHUNKS_AHEAD, len(self.X.column.chunks)))
            for results in self.tasks.results(self._run(map_chunk, kernel, shared, some)):
                yield from self._counted(results)

    def attach(self, name: str, values: Matrix) -> None:
        """Keep one value, or one row of values, beside each row."""
        if not isinstance(values, ChunkedColumn):
            bounds = pairwise(self.X.bounds.tolist())
            chunks = [self.tasks.share(values[first:end]) for first, end in bounds]
            values = ChunkedColumn(self.tasks, chunks, self.X.column.sizes)
        self.columns[name] = values

    def derive(self, name: str, kernel: Kernel, *shared: Any) -> None:
        """Keep beside each row what a kernel makes of it, where the row is."""
        made = self.tasks.keep(self._run(derive_chunk, kernel, shared))
        self.n_row_products += sum(self.tasks.results(self._each(second_of, made)))
        chunks = self.tasks.keep(self._each(first_of, made))
        self.columns[name] = ChunkedColumn(self.tasks, chunks, self.X.column.sizes)

    def take(self, index: IntArray, preparation: Preparation | None = None) -> "DaskRows":
        """Return some of the rows, in their order, where they are."""
        weights = self.given_weights
        rows = DaskRows(
            self.X.take(index),
            self.preparation if preparation is None else preparation,
            weights=None if weights is None else weights.take(index),
            dtype=self.dtype,
            n_classes=self.n_classes,
            intercept=self.intercept,
            n_jobs=self.n_jobs,
        )
        others = {name: each for name, each in self.columns.items() if name != WEIGHTS}
        rows.columns |= {name: each.take(index) for name, each in others.items()}
        return rows

    def in_memory(self, index: IntArray) -> Rows:
        """Return some of the rows here, prepared once and for all."""
        taken = self.take(index)
        return taken.with_prepared(stack(list(taken.map(copy_prepared, self.dtype))))

    def in_axes(self, basis: FloatArray) -> Rows:
        """Return the rows here, prepared and written along the columns of a basis."""
        return self.with_prepared(stack(list(self.map(coordinates_along, basis, self.dtype))))

    def with_prepared(self, prepared: FloatArray) -> Rows:
        """Return prepared rows here, with what stands beside them."""
        weights = self.given_weights
        rows = Rows(
            prepared,
            AS_THEY_ARE,
            dtype=self.dtype,
            n_classes=self.n_classes,
            weights=None if weights is None else weights.values(),
            intercept=self.intercept,
            n_jobs=self.n_jobs,
            keep_small=True,
        )
        others = {name: each for name, each in self.columns.items() if name != WEIGHTS}
        rows.columns = {name: each.values() for name, each in others.items()}
        return rows

    def _run(
        self, task: Kernel, kernel: Kernel, shared: tuple[Any, ...], some: range | None = None
    ) -> list[Handle]:
        """Run a task on all chunks, or some; each with its columns and what all of them share."""
        sent = [self._send(value) for value in shared]
        names = list(self.columns)
        calls = [
            (
                kernel,
                (number, int(self.X.bounds[number])),
                self._shared_options,
                self.X.column.chunks[number],
                names,
                [self.columns[name].chunks[number] for name in names],
                *sent,
            )
            for number in some or range(len(self.X.column.chunks))
        ]
        return self.tasks.run(task, calls)

    def _send(self, value: Any) -> Any:
        """Return a handle for what all chunks share; small values go with each task."""
        if isinstance(value, int | float | str | tuple | np.dtype | None):
            return value
        for known, handle in self._shared:
            if known is value:
                return handle
        handle = self.tasks.share(value)
        self._shared = [*self._shared[-MOST_SHARED + 1 :], (value, handle)]
        return handle

    def _each(self, task: Kernel, handles: Sequence[Handle]) -> list[Handle]:
        return self.tasks.run(task, [(handle,) for handle in handles])
