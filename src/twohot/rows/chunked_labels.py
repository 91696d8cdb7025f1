"""Labels in the chunks of features: how many there are, and rows drawn from every one of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._types import IntArray
from twohot.rows.chunked import ChunkedColumn
from twohot.rows.stratified import draw_ranks, rows_of_ranks


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
