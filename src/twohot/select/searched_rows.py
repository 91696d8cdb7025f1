"""Which rows a probe is chosen on, and the classes that they are of."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from twohot._checks.classes import check_generator
from twohot._checks.labels import Labels
from twohot._types import FloatArray, IntArray
from twohot.distill.targets import LABELS
from twohot.rows.chunked_labels import ChunkedLabels
from twohot.rows.coordinates import Coordinates
from twohot.select.chunked_sample import check_chunked_cv, sample_rows, weighted_sizes
from twohot.select.sampling import choose_labels
from twohot.select.splits import Splits, choose_splits


@dataclass(frozen=True, eq=False)
class SearchedRows:
    """All rows, or a sample that is taken into memory."""

    index: IntArray | None  # which rows; None: all
    classes: IntArray  # codes of the classes that are told apart there
    codes: IntArray  # (n_rows,), which of these each row has as its label
    weights: FloatArray | None

    def splits(self, cv: Any, random_state: Any) -> Splits:
        """Return which of these rows are fitted on and which are held out."""
        return choose_splits(cv, self.codes, self.weights, random_state)

    def of(self, coordinates: Coordinates) -> Coordinates:
        """Return these of all rows, each with its label beside it."""
        if self.index is None:
            return coordinates
        taken = coordinates.leading().in_axes(self.index)
        if len(self.classes) == taken.rows.n_classes:
            return taken
        rows = taken.rows.of_classes(len(self.classes))
        rows.attach(LABELS, self.codes)
        return replace(taken, rows=rows)


def searched_rows(
    labels: Labels | ChunkedLabels, weights: Any, cv: Any, random_state: Any
) -> SearchedRows:
    """Return the rows that a probe is chosen on.

    Where rows and classes are many, they are those of some classes alone, unless `cv` says which
    rows to look at.
    """
    classes: IntArray = np.arange(labels.n_classes)
    if cv is None:
        classes = choose_labels(_sizes(labels, weights), check_generator(random_state))
    if isinstance(labels, ChunkedLabels):
        check_chunked_cv(cv)
        index, codes = sample_rows(labels, weights, random_state, classes)
        return SearchedRows(index, classes, np.searchsorted(classes, codes), None)
    if len(classes) == labels.n_classes:
        return SearchedRows(None, classes, labels.codes, weights)
    counts = np.isin(labels.codes, classes)
    index = np.flatnonzero(counts if weights is None else counts & (weights > 0))
    own = None if weights is None else weights[index]
    return SearchedRows(index, classes, np.searchsorted(classes, labels.codes[index]), own)


def _sizes(labels: Labels | ChunkedLabels, weights: Any) -> IntArray:
    """Return how many rows of each class count."""
    if weights is None:
        return labels.sizes
    if isinstance(labels, ChunkedLabels):
        return weighted_sizes(labels, weights)
    return np.bincount(labels.codes[weights > 0], minlength=labels.n_classes)
