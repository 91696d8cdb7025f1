"""Features with the class of each row, checked: what the measures of class correlation take."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from twohot._checks.arrays import STORED
from twohot._checks.classes import check_codes, check_integers
from twohot._checks.labels import Labels
from twohot._checks.messages import ArgumentError, counted
from twohot._checks.numbers import check_count
from twohot._types import Matrix
from twohot.rows.parted import PartedRows
from twohot.rows.preparation import Preparation
from twohot.rows.selected import SelectedRows
from twohot.rows.stores import fit_preparation


def check_labelled(
    X: Matrix, labels: ArrayLike, n_classes: int | None = None
) -> tuple[Matrix, Labels]:
    """Return features, and the classes of their rows by number, of which there are at least two."""
    rows = check_rows(X)
    codes = check_integers("labels", labels, rows.shape[0])
    if n_classes is None:
        n_classes = max(int(codes.max()) + 1, 0)
    check_codes("labels", codes, len(codes), check_count("n_classes", n_classes, 0))
    coded = Labels(codes.astype(np.intp), np.arange(n_classes))
    empty = np.flatnonzero(coded.sizes == 0)
    if n_classes - empty.size < 2:
        problem = f"has rows of {counted(n_classes - empty.size, 'class', 'classes')}"
        advice = "correlations between classes need rows of at least two."
        raise ArgumentError("labels", problem, advice)
    if empty.size:
        share = f"{empty.size} of {n_classes} classes are empty"
        problem = f"has no row of class {empty[0]} ({share})"
        raise ArgumentError("labels", problem, "leave them out and number the others 0, 1, …")
    return rows, coded


def check_rows(X: Matrix) -> Matrix:
    """Return features as a float array or CSR array, without a copy where they are one."""
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


def center_labelled(X: Matrix, labels: Labels, n_jobs: int = 1) -> Preparation:
    """Read X once: centre by the mean of the rows that have a label, and scale to unit norm."""
    labelled = labels.labelled
    weights = None if labelled.all() else labelled.astype(np.float64)
    return fit_preparation(X, center=True, normalize=True, weights=weights, n_jobs=n_jobs)
