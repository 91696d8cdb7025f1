"""Features with the class of each row, checked: what the measures of class correlation take."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from twohot._checks.arrays import STORED, check_real_rows
from twohot._checks.classes import check_codes, check_integers
from twohot._checks.labels import Labels
from twohot._checks.messages import ArgumentError, counted
from twohot._checks.numbers import check_count
from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.chunked import ChunkedColumn, ChunkedFeatures, is_dask, open_chunks, open_column
from twohot.rows.chunked_labels import ChunkedLabels, count_codes
from twohot.rows.dask_collection import check_collection
from twohot.rows.parted import PartedRows, open_store
from twohot.rows.preparation import Preparation
from twohot.rows.selected import SelectedRows
from twohot.rows.stores import fit_preparation


def check_labelled(
    X: Matrix, labels: ArrayLike, n_classes: int | None = None
) -> tuple[Matrix, Labels | ChunkedLabels]:
    """Return features, and the classes of their rows by number, of which there are at least two.

    Features of Dask come in their chunks, and so do their labels then.
    """
    rows = check_rows(X)
    code = _chunked_codes if isinstance(rows, ChunkedFeatures) else _codes
    coded = code(rows, labels, n_classes)
    empty = np.flatnonzero(coded.sizes == 0)
    if coded.n_classes - empty.size < 2:
        problem = f"has rows of {counted(coded.n_classes - empty.size, 'class', 'classes')}"
        advice = "correlations between classes need rows of at least two."
        raise ArgumentError("labels", problem, advice)
    if empty.size:
        share = f"{empty.size} of {coded.n_classes} classes are empty"
        problem = f"has no row of class {empty[0]} ({share})"
        raise ArgumentError("labels", problem, "leave them out and number the others 0, 1, …")
    return rows, coded


def _codes(X: Matrix, labels: ArrayLike, n_classes: int | None) -> Labels:
    """Return the classes of rows that are read here."""
    codes = check_integers("labels", labels, X.shape[0])
    n_classes = _count_classes(n_classes, int(codes.max()))
    check_codes("labels", codes, len(codes), n_classes)
    return Labels(codes.astype(np.intp), np.arange(n_classes))


def _chunked_codes(X: ChunkedFeatures, labels: Any, n_classes: int | None) -> ChunkedLabels:
    """Return the classes of rows in chunks; what comes here of a chunk is how many of each."""
    codes = open_column("labels", labels, X).derive(as_codes)
    least, largest = np.transpose(codes.gather(extremes)).tolist()
    n_classes = _count_classes(n_classes, max(largest))
    for code in (min(least), max(largest)):
        if not -1 <= code < n_classes:
            known = f"there {'is' if n_classes == 1 else 'are'} {counted(n_classes, 'name')}"
            problem = f"holds {code}, which names nothing: {known}"
            raise ArgumentError("labels", problem, "pass positions among the names, -1 for none.")
    counts = np.sum(codes.gather(count_codes, n_classes + 1), axis=0)
    return ChunkedLabels(codes, np.arange(n_classes), counts[:-1])


def _count_classes(n_classes: int | None, largest: int) -> int:
    return max(largest + 1, 0) if n_classes is None else check_count("n_classes", n_classes, 0)


def check_rows(X: Matrix) -> Matrix:
    """Return features as a float array or CSR array, without a copy where they are one."""
    if isinstance(X, SelectedRows) and is_dask(X.X):
        X = X.X[X.index]
    if is_dask(X):
        check_collection(X)
        return open_chunks(X)
    X = open_store(X)
    check_real_rows(X)
    if isinstance(X, SelectedRows | PartedRows) and X.dtype in STORED:
        return X
    try:
        rows = check_array(
            X, accept_sparse="csr", dtype=STORED, ensure_all_finite=False, input_name="X"
        )
    except (TypeError, ValueError) as error:
        problem = f"cannot be read as features ({error})"
        advice = "pass numbers in two dimensions, one row per sample and one column per feature."
        raise ArgumentError("X", problem, advice) from error
    return sp.csr_array(rows) if sp.issparse(rows) else rows


def center_labelled(X: Matrix, labels: Labels | ChunkedLabels, n_jobs: int = 1) -> Preparation:
    """Read X once: centre by the mean of the rows that have a label, and scale to unit norm."""
    codes: Any = labels.codes
    weights: Any = None
    if len(codes) > labels.sizes.sum():
        weights = codes.derive(has_code) if isinstance(codes, ChunkedColumn) else has_code(codes)
    return fit_preparation(X, center=True, normalize=True, weights=weights, n_jobs=n_jobs)


# Tasks -------------------------------------------------------------------------------------------


def as_codes(cells: Any) -> IntArray:
    """Return the classes of a chunk, which must be integers."""
    array = np.asarray(cells)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        problem = f"has dtype {array.dtype} in {counted(array.ndim, 'dimension')}"
        raise ArgumentError("labels", problem, "pass one integer for each row, in one dimension.")
    return array.astype(np.intp)


def extremes(codes: IntArray) -> tuple[int, int]:
    """Return the least and the largest code of a chunk."""
    return int(codes.min()), int(codes.max())


def has_code(codes: IntArray) -> FloatArray:
    """Return a weight for each row: one with a label, none without."""
    return (codes >= 0).astype(np.float64)
