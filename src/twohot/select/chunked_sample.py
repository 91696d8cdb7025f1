"""A sample of rows of every label from rows that live in chunks: what a choice is made on."""

from typing import Any

import numpy as np

from twohot._checks.classes import check_generator
from twohot._checks.numbers import is_integer
from twohot._types import FloatArray, IntArray
from twohot.rows.chunked import ChunkedColumn
from twohot.rows.chunked_labels import ChunkedLabels, count_codes, draw_from_chunks
from twohot.select.sampling import SEARCH_ROWS


def check_chunked_cv(cv: Any) -> None:
    """Raise if rows to hold out are named: a sample is drawn, and has others."""
    if cv is not None and not is_integer(cv) and not hasattr(cv, "split"):
        raise ValueError(
            "cv has pairs of rows, and X is in chunks: pass a number of folds or None."
        )


def weighted_sizes(labels: ChunkedLabels, weights: ChunkedColumn) -> IntArray:
    """Return how many rows with weight there are of each class."""
    counts = _that_count(labels, weights).gather(count_codes, labels.n_classes + 1)
    return np.asarray(np.sum(counts, axis=0)[:-1])


def sample_rows(
    labels: ChunkedLabels,
    weights: ChunkedColumn | None,
    random_state: Any,
    classes: IntArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Return rows with some of every label, or of every one of some, in order, and their labels."""
    codes, rng = _that_count(labels, weights), check_generator(random_state)
    return draw_from_chunks(codes, labels.n_classes, SEARCH_ROWS, rng, classes)


def _that_count(labels: ChunkedLabels, weights: ChunkedColumn | None) -> ChunkedColumn:
    """Return the codes of the labels, and no label for rows without weight."""
    if weights is None:
        return labels.codes
    return labels.codes.derive_with(weights, codes_that_count)


# Tasks -------------------------------------------------------------------------------------------


def codes_that_count(codes: IntArray, weights: FloatArray) -> IntArray:
    """Return codes, and that of no label for rows without weight."""
    return np.where(weights > 0, codes, -1)
