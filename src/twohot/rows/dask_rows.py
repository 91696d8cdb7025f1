"""Rows in the chunks of a Dask array: kernels go to where the chunks are, and sums come back.

Every chunk is read there as an array is read here, block by block. Sums of chunks are added up on
the workers, some at a time, so that one sum arrives here, however many chunks there are. What is
derived from rows stays beside their chunk.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.chunk_passes import (
    WEIGHTS,
    RowOptions,
    add_sums,
    add_up,
    derive_chunk,
    first_of,
    map_chunk,
    second_of,
    sum_chunk,
    sum_groups_of_chunk,
)
from twohot.rows.chunked import ChunkedColumn, ChunkedFeatures
from twohot.rows.dask_tasks import Handle
from twohot.rows.preparation import AS_THEY_ARE, Preparation
from twohot.rows.rows import Kernel, Rows, Terms, coordinates_along, copy_prepared, stack

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
