"""Rows whose pairs are looked at: all that can be read class by class, or some of every class.

Pairs of rows need rows of one class together. An array or a memory map gives them class by class.
Files that are read in parts would be read once for every class, and rows of Dask would all have to
travel: of those a sample is gathered here, in which every class has two rows, if it has so many.
"""

from dataclasses import dataclass

import numpy as np

from twohot._checks.labels import Labels
from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.chunked_labels import ChunkedLabels, draw_from_chunks
from twohot.rows.parted import PartedRows
from twohot.rows.selected import SelectedRows
from twohot.rows.stratified import draw_ranks, rows_of_ranks

# As many rows as a probe is chosen on; the spread of so many rows' pairs is known to three digits.
PAIR_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class PairSample:
    """Rows that can be read class by class, and how many rows each of them stands for."""

    X: Matrix  # (n_rows, d)
    codes: IntArray  # (n_rows,), classes; -1: takes no part
    class_sizes: IntArray  # (n_classes,), rows of each class, those that are not here among them

    @property
    def sizes_here(self) -> IntArray:
        """(n_classes,) rows of each class that are here."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.class_sizes))

    @property
    def rows_per_row(self) -> FloatArray:
        """(n_classes,) how many rows of a class one of its rows stands for."""
        return np.asarray(self.class_sizes / self.sizes_here)

    @property
    def pairs_per_pair(self) -> FloatArray:
        """(n_classes,) how many pairs of a class one of its pairs stands for; none of one row."""
        others, others_here = self.class_sizes - 1, np.maximum(self.sizes_here - 1, 1)
        return np.asarray(self.rows_per_row * (others / others_here))

    @property
    def is_whole(self) -> bool:
        """Whether all rows that have a label are here."""
        return bool(self.sizes_here.sum() == self.class_sizes.sum())


def rows_for_pairs(X: Matrix, labels: Labels | ChunkedLabels) -> PairSample:
    """Return all rows, or those of a sample, always the same, where these are slow to gather."""
    rng = np.random.default_rng(0)
    if isinstance(labels, ChunkedLabels):
        index, codes = draw_from_chunks(labels.codes, labels.n_classes, PAIR_ROWS, rng)
        return PairSample(X[index], codes, labels.sizes)
    stored = X.X if isinstance(X, SelectedRows) else X
    if not isinstance(stored, PartedRows):
        return PairSample(X, labels.codes, labels.sizes)
    rows = rows_of_ranks(labels.codes, draw_ranks(labels.sizes, PAIR_ROWS, rng))
    return PairSample(X[rows], labels.codes[rows], labels.sizes)
