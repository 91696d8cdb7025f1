"""How the classes of labelled features correlate, and the superclasses they fall into.

With φ(x) a row after centring and scaling to unit norm, s_k = Σ φ(x) over the n_k rows of class k,
and q_k = Σ ‖φ(x)‖² over the same rows (n_k, but for rows that are the mean itself),

    means[k, l] = s_k · s_l / (n_k n_l)                  k ≠ l
    means[k, k] = (s_k · s_k - q_k) / (n_k (n_k - 1))    pairs of two different rows only

so that one pass for the mean row and one for the class sums say it all.

Superclasses are the clusters of complete linkage, in which class k is the point 1 - means[k, :] and
the distance of two clusters is the largest Euclidean distance of their points.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

from twohot._checks.numbers import check_count, is_real
from twohot._types import FloatArray, IntArray, Matrix
from twohot.classes._labelled import LabelledRows, check_labelled
from twohot.rows.block import Block
from twohot.rows.stores import open_rows
from twohot.rows.threads import count_threads

# Where the paper cuts its dendrograms, as a share of the largest merge distance.
PAPER_CUT = 0.8


@dataclass(frozen=True, eq=False)
class ClassCorrelation:
    """Mean correlation of the features of every two classes."""

    means: NDArray[np.float64]  # (n_classes, n_classes); NaN on the diagonal of a class of one row
    class_sizes: NDArray[np.int64]  # (n_classes,), rows of each class
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


@dataclass(frozen=True, eq=False)
class Superclasses:
    """Classes in groups of like correlation."""

    superclass: NDArray[np.intp]  # (n_classes,), 0, 1, … in the order of the dendrogram
    order: NDArray[np.intp]  # (n_classes,), the classes as the dendrogram has them, left to right
    linkage: NDArray[np.float64]  # (n_classes - 1, 4), the merges as scipy writes them

    @property
    def n_superclasses(self) -> int:
        """Number of superclasses."""
        return int(self.superclass.max()) + 1


def class_correlation(
    X: Matrix, labels: ArrayLike, n_classes: int | None = None, *, n_jobs: int | None = None
) -> ClassCorrelation:
    """Measure how the features of every two classes correlate, in two passes over X.

    A correlation is the inner product of two rows after centring by the mean of all rows and
    scaling to unit norm. Of one class, only pairs of two different rows count.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_rows, n_features)
        Features as they are; memory maps and float16 are read block by block.
    labels : array of shape (n_rows,)
        Class of each row, 0 … n_classes - 1. A row of -1 has no label and is left out, of the
        mean too.
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
    """
    rows = check_labelled(X, labels, n_classes)
    sums, squares = _class_sums(rows, count_threads(n_jobs))
    sizes = rows.class_sizes.astype(np.float64)
    products = sums @ sums.T
    means = products / np.outer(sizes, sizes)
    pairs = sizes * (sizes - 1)
    same = np.full(len(sizes), np.nan)
    np.divide(np.diag(products) - squares, pairs, out=same, where=pairs > 0)
    np.fill_diagonal(means, same)
    return ClassCorrelation(means, rows.class_sizes, sums / sizes[:, np.newaxis])


def _class_sums(rows: LabelledRows, n_jobs: int) -> tuple[FloatArray, FloatArray]:
    """Return the sum of the prepared rows of each class, and that of their squared norms."""
    prepared = open_rows(rows.X, rows.fit_preparation(), n_jobs=n_jobs)
    prepared.attach("labels", rows.labels)
    # The last row takes the rows without a label, which stand at -1, and is dropped.
    sums = np.zeros((rows.n_classes + 1, rows.X.shape[1]))
    squares = np.zeros(rows.n_classes + 1)
    for classes, block_sums, block_squares in prepared.map(sums_by_class):
        sums[classes] += block_sums
        squares[classes] += block_squares
    return sums[:-1], squares[:-1]


def sums_by_class(block: Block) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the classes of a block, and the sums of their rows and squared norms. A kernel."""
    labels = block.columns["labels"]
    order = np.argsort(labels, kind="stable")
    classes, first = np.unique(labels[order], return_index=True)
    x = block.prepared()[order]
    norms = np.einsum("ij,ij->i", x, x)
    return classes, np.add.reduceat(x, first), np.add.reduceat(norms, first)


def _weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """Return the mean over entries of positive weight; NaN if there is none."""
    kept = weights > 0
    return float(np.average(values[kept], weights=weights[kept])) if kept.any() else float("nan")


def cluster_classes(
    means: ArrayLike, *, n_superclasses: int | None = None, cut: float = PAPER_CUT
) -> Superclasses:
    """Group classes whose correlations with all classes are alike.

    Complete linkage on the rows of 1 - means, as in the paper: merges that are no further apart
    than `cut` times the furthest one hold, or as many as leave `n_superclasses`.

    Parameters
    ----------
    means : array of shape (n_classes, n_classes)
        Mean correlation of every two classes, as `class_correlation` returns it. NaN on the
        diagonal, a class of one row, counts as the mean of the diagonal elsewhere.
    n_superclasses : int, optional
        Number of superclasses, from 1 to n_classes; by default what `cut` leaves.
    cut : float
        Share of the largest merge distance, above 0 and at most 1; by default the paper's, 0.8.

    Returns
    -------
    Superclasses

    Examples
    --------
    >>> means = [[0.5, 0.1, -0.2], [0.1, 0.4, -0.1], [-0.2, -0.1, 0.6]]
    >>> cluster_classes(means).superclass
    array([1, 1, 0])
    >>> cluster_classes(means, n_superclasses=1).superclass
    array([0, 0, 0])
    """
    linkage = hierarchy.linkage(pdist(1 - _check_means(means)), method="complete")
    n_classes = len(linkage) + 1
    if n_superclasses is None:
        furthest = _check_cut(cut) * linkage[-1, 2]
        n_merges = int(np.count_nonzero(linkage[:, 2] <= furthest))
    elif check_count("n_superclasses", n_superclasses, 1) > n_classes:
        raise ValueError(
            f"n_superclasses={n_superclasses} is more than the {n_classes} classes: pass an "
            f"integer from 1 to {n_classes}."
        )
    else:
        n_merges = n_classes - int(n_superclasses)
    cluster = np.arange(n_classes)
    for merge, (left, right) in enumerate(linkage[:n_merges, :2]):
        cluster[(cluster == left) | (cluster == right)] = n_classes + merge
    order = hierarchy.leaves_list(linkage).astype(np.intp)
    place = {found: i for i, found in enumerate(dict.fromkeys(cluster[order].tolist()))}
    superclass = np.array([place[found] for found in cluster.tolist()], dtype=np.intp)
    return Superclasses(superclass, order, linkage)


def _check_means(means: ArrayLike) -> FloatArray:
    """Return mean class correlations without NaN."""
    array = np.array(means, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        raise ValueError(
            f"means has shape {array.shape}: pass a square matrix of at least two classes, such as "
            "class_correlation(X, labels).means."
        )
    same = np.diag(array)
    known = same[~np.isnan(same)]
    # Where no class has two rows, any number does: it moves all classes alike.
    np.fill_diagonal(array, np.where(np.isnan(same), known.mean() if known.size else 1.0, same))
    if not np.isfinite(array).all() or not np.allclose(array, array.T, rtol=0, atol=1e-6):
        raise ValueError(
            "means is not symmetric, or holds NaN or infinity off its diagonal: pass the mean "
            "correlation of every two classes."
        )
    return array


def _check_cut(cut: float) -> float:
    """Return a share of the largest merge distance."""
    if is_real(cut) and 0 < float(cut) <= 1:
        return float(cut)
    raise ValueError(
        f"cut={cut!r} is not a share of the largest merge distance: pass a number above 0, at most "
        "1 (0.8 is the paper's)."
    )
