"""A sample of rows of every label from rows that live in chunks: what a choice is made on."""

from typing import Any

import numpy as np

from twohot._checks.classes import check_generator
from twohot._checks.numbers import is_integer
from twohot._types import FloatArray, IntArray
from twohot.distill._chunked_inputs import ChunkedLabels, count_codes
from twohot.rows.chunked import ChunkedColumn
from twohot.select.sampling import SEARCH_ROWS, draw_ranks, rows_of_ranks


def check_chunked_cv(cv: Any) -> None:
    """Raise if rows to hold out are named: a sample is drawn, and has others."""
    if cv is not None and not is_integer(cv) and not hasattr(cv, "split"):
        raise ValueError(
            "cv has pairs of rows, and X is in chunks: pass a number of folds or None."
        )


def sample_rows(
    labels: ChunkedLabels,
    weights: ChunkedColumn | None,
    random_state: Any,
    classes: IntArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Return rows with some of every label, or of every one of some, in order, and their labels."""
    codes = labels.codes
    if weights is not None:
        codes = codes.derive_with(weights, codes_that_count)
    counts = np.array(codes.gather(count_codes, labels.n_classes + 1))[:, :-1]  # (n_chunks, K)
    sizes = counts.sum(axis=0)
    if classes is not None:
        sizes[np.setdiff1d(np.arange(labels.n_classes), classes)] = 0
    rng = check_generator(random_state)
    ranks = draw_ranks(sizes, SEARCH_ROWS, rng)
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


def codes_that_count(codes: IntArray, weights: FloatArray) -> IntArray:
    """Return codes, and that of no label for rows without weight."""
    return np.where(weights > 0, codes, -1)


def drawn_rows(codes: IntArray, ranks: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the rows of a chunk that have given ranks among those of their label; their labels."""
    rows = rows_of_ranks(codes, ranks)
    return rows, codes[rows]
