"""Kernels on the blocks of one chunk, where the chunk is: tasks that Dask runs.

A chunk is read there as an array is read here.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from twohot._checks.messages import ArgumentError
from twohot._types import Matrix
from twohot.rows.block import Block
from twohot.rows.chunked import Chunk
from twohot.rows.dask_errors import ChunkError
from twohot.rows.preparation import Preparation
from twohot.rows.rows import Kernel, Rows, Terms, run_kernel, stack
from twohot.rows.threads import one_blas_thread

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
