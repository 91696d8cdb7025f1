"""Correlations between the classes of labelled features.

The correlation of two rows is their inner product after *preparation*: each row is centred by the
mean of the labelled rows, then scaled to unit norm. Let x be a prepared row. Let s_k = Σ x and
q_k = Σ ‖x‖², where the sums are over the n_k rows of class k. (A row that equals the mean is zero
after centring; without such rows, q_k = n_k.) The mean correlations of classes k and l are

    means[k, l] = s_k · s_l / (n_k n_l)                  k ≠ l
    means[k, k] = (s_k · s_k - q_k) / (n_k (n_k - 1))    pairs of two different rows only

So two passes over the rows are enough: one for the mean row, and one for the sums s_k and q_k.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from twohot.base import (
    STORED,
    ArgumentError,
    BoolArray,
    FloatArray,
    IntArray,
    Labels,
    Matrix,
    as_numpy,
    check_codes,
    check_count,
    check_integers,
    check_real_rows,
    counted,
    is_polars_frame,
)
from twohot.rows import (
    Block,
    Preparation,
    column_here,
    count_threads,
    example_row,
    fit_preparation,
    open_features,
    open_rows,
)

# A matrix for this many classes takes 3.2 GB, and twice as much during the computation.
MOST_CLASSES = 20_000


@dataclass(frozen=True, eq=False)
class ClassCorrelation:
    """Mean correlation of the rows of each pair of classes."""

    means: NDArray[np.float64]  # (n_classes, n_classes); NaN at means[k, k] if class k has one row
    class_sizes: IntArray  # (n_classes,), number of rows of each class
    class_means: NDArray[np.float64]  # (n_classes, n_features), mean of the prepared rows

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_sizes)

    @property
    def same_class(self) -> float:
        """Mean correlation of all pairs of different rows of the same class; NaN without pairs."""
        return self.mean_over(np.eye(self.n_classes, dtype=bool))

    @property
    def other_class(self) -> float:
        """Mean correlation of all pairs of rows of different classes."""
        return self.mean_over(~np.eye(self.n_classes, dtype=bool))

    @property
    def pairs(self) -> NDArray[np.float64]:
        """(n_classes, n_classes) number of ordered pairs of different rows behind each mean."""
        sizes = self.class_sizes.astype(np.float64)
        pairs: NDArray[np.float64] = np.outer(sizes, sizes) - np.diag(sizes)
        return pairs

    def mean_over(self, chosen: BoolArray) -> float:
        """Return the mean correlation over all pairs of rows in the chosen pairs of classes.

        `chosen` is a mask (n_classes, n_classes). If there is no pair of rows, the mean is NaN.
        """
        pairs = np.where(chosen, self.pairs, 0.0)
        used = pairs > 0
        return float(np.average(self.means[used], weights=pairs[used])) if used.any() else np.nan


def class_correlation(
    X: Matrix, labels: ArrayLike, n_classes: int | None = None, *, n_jobs: int | None = None
) -> ClassCorrelation:
    """Return the correlations of the features of all pairs of classes, in two passes over X.

    The correlation of two rows is their inner product, after rows are centred by the mean of all
    labelled rows and scaled to unit norm. Within a class, only pairs of different rows count.

    Parameters
    ----------
    X : array, CSR matrix or Dask collection of shape (n_rows, n_features)
        Features, neither centred nor scaled. Memory maps and float16 are read block by block. The
        rows of a Dask collection stay with the workers, which return only sums per class.
    labels : array or Dask array or series of shape (n_rows,)
        Class of each row, 0 … n_classes - 1, for at most 20,000 classes. Labels are held in memory.
        A row with label -1 has no label; it is not used, not even for the mean of the rows.
    n_classes : int, optional
        Number of classes; by default one more than the largest label.
    n_jobs : int, optional
        Number of threads; by default all cores. The result is the same for any number.

    Returns
    -------
    ClassCorrelation
        If class k has one row, it has no pair of rows, and `means[k, k]` is NaN.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> found = class_correlation(*load_digits(return_X_y=True))
    >>> found.means[:3, :3].round(2)
    array([[ 0.64, -0.28, -0.14],
           [-0.28,  0.32,  0.04],
           [-0.14,  0.04,  0.41]])
    >>> round(found.same_class, 2), round(found.other_class, 2)
    (0.42, -0.05)

    Rows in chunks have the same correlations, up to rounding.

    >>> import dask.array as da
    >>> X, labels = (da.from_array(each) for each in load_digits(return_X_y=True))
    >>> in_chunks = class_correlation(X.rechunk({0: 500}), labels.rechunk(500))
    >>> bool(abs(in_chunks.means - found.means).max() < 1e-12)
    True
    """
    rows, coded = check_labelled(X, labels, n_classes)
    if coded.n_classes > MOST_CLASSES:
        problem = f"has {coded.n_classes} classes, too many for a matrix of all pairs of classes"
        raise ArgumentError("labels", problem, f"pass rows of at most {MOST_CLASSES} classes.")
    n_threads = count_threads(n_jobs)
    return correlate(rows, coded, center_labelled(rows, coded, n_threads), n_threads)


def correlate(
    X: Matrix, labels: Labels, preparation: Preparation, n_jobs: int = 1
) -> ClassCorrelation:
    """Return the class correlations of validated rows, in one pass over the rows."""
    rows = open_rows(X, preparation, n_jobs=n_jobs)
    rows.attach("labels", labels.codes)
    # Rows without a label have the code -1, so the last entry has their sums. It is removed.
    sums, squares = (each[:-1] for each in rows.sum_groups(sums_by_class, labels.n_classes + 1))
    sizes = labels.sizes.astype(np.float64)
    means = sums @ sums.T
    pairs = sizes * (sizes - 1)
    same = np.full(len(sizes), np.nan)
    np.divide(np.diag(means) - squares, pairs, out=same, where=pairs > 0)
    means /= np.outer(sizes, sizes)
    np.fill_diagonal(means, same)
    return ClassCorrelation(means, labels.sizes, sums / sizes[:, np.newaxis])


def check_rows(X: Matrix) -> Matrix:
    """Return features as a float array or CSR array, without a copy if they already are one."""
    if example_row(X) is not None:  # chunks, which are read later
        return open_features(X)
    X = open_features(X)
    X = as_numpy(X.lazy().collect() if is_polars_frame(X) else X)
    check_real_rows(X)
    try:
        rows = check_array(
            X, accept_sparse="csr", dtype=STORED, ensure_all_finite=False, input_name="X"
        )
    except (TypeError, ValueError) as error:
        problem = f"cannot be read as features ({error})"
        advice = "pass numbers in two dimensions, one row per sample and one column per feature."
        raise ArgumentError("X", problem, advice) from error
    return sp.csr_array(rows) if sp.issparse(rows) else rows


def check_labelled(
    X: Matrix, labels: ArrayLike, n_classes: int | None = None
) -> tuple[Matrix, Labels]:
    """Return features and labels; raise unless there are at least two classes, all with rows.

    A Dask collection of features stays in chunks. Labels are held in memory.
    """
    rows = check_rows(X)
    codes = check_integers("labels", column_here("labels", labels), rows.shape[0])
    if n_classes is None:
        n_classes = max(int(codes.max()) + 1, 0)
    n_classes = check_count("n_classes", n_classes, 0)
    check_codes("labels", codes, len(codes), n_classes)
    coded = Labels(codes.astype(np.intp), np.arange(n_classes))
    empty = np.flatnonzero(coded.sizes == 0)
    if n_classes - empty.size < 2:
        problem = f"has rows of {counted(n_classes - empty.size, 'class', 'classes')}"
        raise ArgumentError("labels", problem, "pass rows of at least two classes.")
    if empty.size:
        problem = f"has no row of class {empty[0]} ({empty.size} of {n_classes} classes are empty)"
        raise ArgumentError("labels", problem, "number only classes that have rows: 0, 1, …")
    return rows, coded


def center_labelled(X: Matrix, labels: Labels, n_jobs: int = 1) -> Preparation:
    """Return the preparation: subtract the mean of the labelled rows, then scale to unit norm."""
    weights = None if labels.labelled.all() else labels.labelled.astype(np.float64)
    return fit_preparation(X, center=True, normalize=True, weights=weights, n_jobs=n_jobs)


def sums_by_class(block: Block) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the classes in a block, and for each class the sums of rows and of squared norms."""
    codes = block.columns["labels"]
    order = np.argsort(codes, kind="stable")
    classes, first = np.unique(codes[order], return_index=True)
    x = block.prepared()[order]
    norms = np.einsum("ij,ij->i", x, x)
    return classes, np.add.reduceat(x, first), np.add.reduceat(norms, first)
