"""How the classes of labelled features correlate.

With φ(x) a row after centring and scaling to unit norm, s_k = Σ φ(x) over the n_k rows of class k,
and q_k = Σ ‖φ(x)‖² over the same rows (n_k, but for rows that are the mean itself),

    means[k, l] = s_k · s_l / (n_k n_l)                  k ≠ l
    means[k, k] = (s_k · s_k - q_k) / (n_k (n_k - 1))    pairs of two different rows only

so that one pass for the mean row and one for the class sums say it all.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from twohot.base import (
    STORED,
    ArgumentError,
    FloatArray,
    IntArray,
    Labels,
    Matrix,
    check_codes,
    check_count,
    check_integers,
    check_real_rows,
    counted,
)
from twohot.rows import (
    Block,
    ChunkedColumn,
    ChunkedFeatures,
    ChunkedLabels,
    PartedRows,
    Preparation,
    SelectedRows,
    check_collection,
    count_codes,
    count_threads,
    fit_preparation,
    is_dask,
    open_chunks,
    open_column,
    open_rows,
    open_store,
)

# Features with the class of each row, checked: what the measures of class correlation take --------


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


# A number for every two of so many classes takes 3.2 GB, and twice that while it is made.
MOST_CLASSES = 20_000


@dataclass(frozen=True, eq=False)
class ClassCorrelation:
    """Mean correlation of the features of every two classes."""

    means: NDArray[np.float64]  # (n_classes, n_classes); NaN on the diagonal of a class of one row
    class_sizes: IntArray  # (n_classes,), rows of each class
    class_means: NDArray[np.float64]  # (n_classes, n_features), mean of the prepared rows

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_sizes)

    @property
    def same_class(self) -> float:
        """Mean over all pairs of different rows of one class; NaN if there is no such pair."""
        return _weighted_mean(np.diag(self.means), np.diag(self._pairs()))

    @property
    def other_class(self) -> float:
        """Mean over all pairs of rows of two classes."""
        between = ~np.eye(self.n_classes, dtype=bool)
        return _weighted_mean(self.means[between], self._pairs()[between])

    def _pairs(self) -> NDArray[np.float64]:
        """Return the number of ordered pairs of different rows behind each mean."""
        sizes = self.class_sizes.astype(np.float64)
        pairs: NDArray[np.float64] = np.outer(sizes, sizes) - np.diag(sizes)
        return pairs


def class_correlation(
    X: Matrix, labels: ArrayLike, n_classes: int | None = None, *, n_jobs: int | None = None
) -> ClassCorrelation:
    """Measure how the features of every two classes correlate, in two passes over X.

    A correlation is the inner product of two rows after centring by the mean of all rows and
    scaling to unit norm. Of one class, only pairs of two different rows count.

    Parameters
    ----------
    X : array, CSR matrix or Dask collection of shape (n_rows, n_features)
        Features as they are; memory maps and float16 are read block by block. Rows of Dask stay
        where they are: sums of classes come back.
    labels : array or Dask array or series of shape (n_rows,)
        Class of each row, 0 … n_classes - 1, at most 20,000 of them. A row of -1 has no label and
        takes no part, not in the mean either.
    n_classes : int, optional
        Number of classes; by default one more than the largest label.
    n_jobs : int, optional
        Threads; by default all cores. The result is the same for any number.

    Returns
    -------
    ClassCorrelation
        A class of a single row has no pair, and NaN on the diagonal of `means`.

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
        problem = f"names {coded.n_classes} classes, and a matrix of every two of them is returned"
        raise ArgumentError("labels", problem, f"pass rows of at most {MOST_CLASSES}.")
    n_threads = count_threads(n_jobs)
    preparation = center_labelled(rows, coded, n_threads)
    sums, squares = class_sums(rows, coded, preparation, n_threads)
    sizes = coded.sizes.astype(np.float64)
    means = sums @ sums.T
    pairs = sizes * (sizes - 1)
    same = np.full(len(sizes), np.nan)
    np.divide(np.diag(means) - squares, pairs, out=same, where=pairs > 0)
    means /= np.outer(sizes, sizes)
    np.fill_diagonal(means, same)
    return ClassCorrelation(means, coded.sizes, sums / sizes[:, np.newaxis])


def class_sums(
    X: Matrix, labels: Labels | ChunkedLabels, preparation: Preparation, n_jobs: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Return the sum of the prepared rows of each class, and that of their squared norms."""
    rows = open_rows(X, preparation, n_jobs=n_jobs)
    rows.attach("labels", labels.codes)
    # The last row takes the rows without a label, which stand at -1, and is dropped.
    sums, squares = rows.sum_groups(sums_by_class, labels.n_classes + 1)
    return sums[:-1], squares[:-1]


def sums_by_class(block: Block) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the classes of a block, and the sums of their rows and squared norms. A kernel."""
    codes = block.columns["labels"]
    order = np.argsort(codes, kind="stable")
    classes, first = np.unique(codes[order], return_index=True)
    x = block.prepared()[order]
    norms = np.einsum("ij,ij->i", x, x)
    return classes, np.add.reduceat(x, first), np.add.reduceat(norms, first)


def _weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """Return the mean over entries of positive weight; NaN if there is none."""
    kept = weights > 0
    return float(np.average(values[kept], weights=weights[kept])) if kept.any() else float("nan")
