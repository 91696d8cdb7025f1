"""Check and select rows of features with their labels; labels may be missing."""

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
from twohot.probes import BLOCK_ROWS, LinearProbe, check_features
from twohot.rows import PartedRows, SelectedRows, calling_rows, open_store, take_rows
from twohot.tables import FeatureTable, RowIds, check_same_index, pandas_index


def check_rows_and_labels(X: Matrix, y: Any, missing: Collection[str]) -> tuple[Matrix, Labels]:
    """Return validated features, and labels without the classes that have no rows.

    Labels of rows may be missing.
    """
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
        raise ArgumentError("y", problem, "pass one label per row; pass None for a missing label.")


def check_sliceable(X: Matrix, labels: Labels) -> Matrix:
    """Return X in a form that supports row indexing; raise unless it has one row per label."""
    X = X.lazy().collect() if is_polars_frame(X) else open_store(X)
    check_lengths(labels, _num_samples(X))
    return X.tocsr() if sp.issparse(X) else X


def blocks_of(X: Any, n_rows: int) -> Iterator[tuple[int, Any]]:
    """Yield X in blocks of BLOCK_ROWS rows: the position of the first row, and the block."""
    for first in range(0, n_rows, BLOCK_ROWS):
        yield first, take_rows(X, slice(first, min(first + BLOCK_ROWS, n_rows)))


def labelled_rows(X: Matrix, labels: Labels) -> Matrix:
    """Return the rows of X that have a label; rows of a float array are copied only when read."""
    if labels.labelled.all():
        return X
    return rows_when_read(X, np.flatnonzero(labels.labelled))


def rows_when_read(X: Matrix, rows: IntArray) -> Matrix:
    """Return the given rows of X; rows of a float array are copied only when read."""
    is_stored = isinstance(X, np.ndarray | SelectedRows | PartedRows)
    if is_stored and len(X.shape) == 2 and X.dtype in STORED:
        return SelectedRows(X, rows)
    return take_rows(X, rows)


@contextmanager
def naming_rows(
    X: Matrix, ids: RowIds | None = None, columns: Sequence[str] = ()
) -> Iterator[None]:
    """In errors and warnings, name the rows of X by `ids`; if `ids` is None, by their positions.

    If `columns` are passed, an error about a NaN or infinite cell also names the column.
    """
    try:
        with nullcontext() if ids is None else calling_rows(X, ids):
            yield
    except NotFiniteError:
        for first, rows in blocks_of(X, _num_samples(X)):
            block = check_features(LinearProbe(), rows, reset=True)
            names = None if ids is None else list(ids.take(range(first, first + block.shape[0])))
            check_finite("X", block, first, names, columns)
        raise


def naming_cells(table: FeatureTable) -> AbstractContextManager[None]:
    """In messages, name the rows and columns of a table as in the file of the table."""
    return naming_rows(table.features, table.ids, table.feature_columns)
