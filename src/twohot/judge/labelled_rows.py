"""Rows with some missing labels: validation, and selection without a copy."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _num_samples

from twohot.base import (
    STORED,
    ArgumentError,
    IntArray,
    Labels,
    Matrix,
    NotFiniteError,
    check_finite,
    check_two_classes,
    code_labels,
    counted,
    is_polars_frame,
)
from twohot.probes import LinearProbe, check_features
from twohot.rows import PartedRows, SelectedRows, calling_rows, open_store, take_rows
from twohot.tables import FeatureTable, RowIds, check_same_index, pandas_index

# Rows checked or predicted at once.
BLOCK_ROWS = 10_000


def check_rows_and_labels(X: Matrix, y: Any, missing: Collection[str]) -> tuple[Matrix, Labels]:
    """Return features and labels, which may be missing; classes without rows are dropped."""
    check_same_index("y", y, "X", pandas_index(X))
    rows = check_features(LinearProbe(), X, reset=True)
    labels = code_labels(y, missing=missing).present()
    check_lengths(labels, rows.shape[0])
    check_two_classes(labels)
    return rows, labels


def check_lengths(labels: Labels, n_rows: int) -> None:
    """Raise unless there is one label per row."""
    n_labels = len(labels.codes)
    if n_labels != n_rows:
        problem = f"has {counted(n_labels, 'label')} and X has {counted(n_rows, 'row')}"
        raise ArgumentError("y", problem, "pass one label per row, None if it has none.")


def check_sliceable(X: Matrix, labels: Labels) -> Matrix:
    """Return features that support row indexing, with one row per label."""
    X = X.lazy().collect() if is_polars_frame(X) else open_store(X)
    check_lengths(labels, _num_samples(X))
    return X.tocsr() if sp.issparse(X) else X


def labelled_rows(X: Matrix, labels: Labels) -> Matrix:
    """Return the rows that have a label; rows of a float array are copied only when read."""
    if labels.labelled.all():
        return X
    return rows_when_read(X, np.flatnonzero(labels.labelled))


def rows_when_read(X: Matrix, rows: IntArray) -> Matrix:
    """Return some rows; rows of a float array are copied only when read."""
    is_stored = isinstance(X, np.ndarray | SelectedRows | PartedRows)
    if is_stored and len(X.shape) == 2 and X.dtype in STORED:
        return SelectedRows(X, rows)
    return take_rows(X, rows)


@contextmanager
def naming_rows(
    X: Matrix, ids: RowIds | None = None, columns: Sequence[str] = ()
) -> Iterator[None]:
    """Make errors and warnings name rows of X by their ids, or else by their positions in X.

    If a cell is not finite, the error names its column by `columns`, if given.
    """
    try:
        with nullcontext() if ids is None else calling_rows(X, ids):
            yield
    except NotFiniteError:
        n_rows = _num_samples(X)
        for first in range(0, n_rows, BLOCK_ROWS):
            rows = slice(first, min(first + BLOCK_ROWS, n_rows))
            block = check_features(LinearProbe(), take_rows(X, rows), reset=True)
            names = None if ids is None else list(ids.take(range(*rows.indices(n_rows))))
            check_finite("X", block, first, names, columns)
        raise


def naming_cells(table: FeatureTable) -> AbstractContextManager[None]:
    """Make messages name rows and columns of a table's features as in its file."""
    return naming_rows(table.features, table.ids, table.feature_columns)
