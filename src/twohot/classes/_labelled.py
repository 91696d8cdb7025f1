"""Rows with their labels, checked: what the measures of class correlation take."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from twohot._checks.numbers import check_count
from twohot._types import Matrix
from twohot.rows.preparation import Preparation
from twohot.rows.selected import SelectedRows
from twohot.rows.stores import fit_preparation

# Precisions that features may be stored in; anything else is converted to the first.
STORED = [np.float64, np.float32, np.float16]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Features with the class of each row."""

    X: Matrix  # (n_rows, n_features), as they came in
    labels: NDArray[np.intp]  # (n_rows,), 0 … n_classes - 1; -1: no label
    class_sizes: NDArray[np.int64]  # (n_classes,), rows of each class, at least one

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_sizes)

    def fit_preparation(self) -> Preparation:
        """Read X once: centre by the mean of the rows that have a label, and scale to unit norm."""
        labelled = self.labels >= 0
        weights = None if labelled.all() else labelled.astype(np.float64)
        return fit_preparation(self.X, center=True, normalize=True, weights=weights)


def check_labelled(X: Matrix, labels: ArrayLike, n_classes: int | None = None) -> LabelledRows:
    """Return features and the codes of their classes, of which there are at least two."""
    rows = check_rows(X)
    codes = np.asarray(labels)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise ValueError(
            f"labels has shape {codes.shape} and dtype {codes.dtype}: pass one integer per row, "
            "for instance np.unique(labels, return_inverse=True)[1]."
        )
    if len(codes) != rows.shape[0]:
        raise ValueError(
            f"labels has {len(codes)} entries and X has {rows.shape[0]} rows: pass one label per "
            "row, -1 for a row without."
        )
    if n_classes is None:
        n_classes = int(codes.max()) + 1
    n_classes = check_count("n_classes", n_classes, 0)
    outside = np.flatnonzero((codes < -1) | (codes >= n_classes))
    if outside.size:
        raise ValueError(
            f"labels[{outside[0]}]={codes[outside[0]]} names none of the {n_classes} classes: pass "
            f"integers from 0 to {n_classes - 1}, or -1 for a row without a label."
        )
    codes = codes.astype(np.intp)
    sizes = np.bincount(codes[codes >= 0], minlength=n_classes)
    if np.count_nonzero(sizes) < 2:
        raise ValueError(
            f"labels has rows of {np.count_nonzero(sizes)} class(es): correlations between "
            "classes need rows of at least two."
        )
    empty = np.flatnonzero(sizes == 0)
    if empty.size:
        raise ValueError(
            f"labels has no row of class {empty[0]} ({empty.size} of {n_classes} classes are "
            "empty): leave empty classes out and number the others 0, 1, …"
        )
    return LabelledRows(rows, codes, sizes)


def check_rows(X: Matrix) -> Matrix:
    """Return features as a float array or CSR array, without a copy where they are one."""
    if isinstance(X, SelectedRows):
        return X
    try:
        rows = check_array(
            X, accept_sparse="csr", dtype=STORED, ensure_all_finite=False, input_name="X"
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X cannot be read as features ({error}): pass numbers in two dimensions, one row per "
            "sample and one column per feature."
        ) from error
    return sp.csr_array(rows) if sp.issparse(rows) else rows
