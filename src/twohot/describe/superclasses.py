"""Superclasses: groups of classes with similar correlations, by complete linkage.

Class k is the point 1 - means[k, :], where means[k, l] is the mean correlation of classes k and l.
The distance of two clusters is the largest Euclidean distance of their points.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

from twohot.base import ArgumentError, FloatArray, check_class_count, is_real

# The paper's cuts of dendrograms, as fractions of the largest merge distance. The published code of
# the paper uses the first cut for superclass noise and correlation maps, and the second cut for the
# statistics of pairs of rows (Table 2).
PAPER_CUT = 0.8
PAPER_STATISTICS_CUT = 0.9


@dataclass(frozen=True, eq=False)
class Superclasses:
    """Groups of classes with similar correlations, and the dendrogram that was cut."""

    superclass: NDArray[np.intp]  # (n_classes,), 0, 1, … in the order of the dendrogram
    order: NDArray[np.intp]  # (n_classes,), the classes in the order of the dendrogram
    linkage: NDArray[np.float64]  # (n_classes - 1, 4), the merges in scipy's format

    @property
    def n_superclasses(self) -> int:
        """Number of superclasses."""
        return int(self.superclass.max()) + 1


def cluster_classes(
    means: ArrayLike, *, n_superclasses: int | None = None, cut: float = PAPER_CUT
) -> Superclasses:
    """Return superclasses: groups of classes that have similar correlations with all classes.

    Classes are merged by complete linkage on the rows of 1 - means, as in the paper. If
    `n_superclasses` is None, merges at more than `cut` times the largest merge distance are left
    out. Otherwise, merging stops at `n_superclasses` groups.

    Parameters
    ----------
    means : array of shape (n_classes, n_classes)
        Mean correlation of each pair of classes, as `class_correlation` returns it. If a class has
        one row, its entry on the diagonal is NaN. It is replaced by the mean of the diagonal.
    n_superclasses : int, optional
        Number of superclasses, from 1 to n_classes; by default determined by `cut`.
    cut : float
        Fraction of the largest merge distance, above 0 and at most 1. The default is the paper's
        value, 0.8.

    Returns
    -------
    Superclasses
        The superclass of each class, and the dendrogram.

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
        if not is_real(cut) or not 0 < cut <= 1:
            problem = "is not a fraction of the largest merge distance"
            raise ArgumentError({"cut": cut}, problem, "pass a number above 0 and at most 1.")
        n_merges = int(np.count_nonzero(linkage[:, 2] <= cut * linkage[-1, 2]))
    else:
        n_merges = n_classes - check_class_count("n_superclasses", n_superclasses, n_classes)
    cluster = np.arange(n_classes)
    for merge, (left, right) in enumerate(linkage[:n_merges, :2]):
        cluster[(cluster == left) | (cluster == right)] = n_classes + merge
    order = hierarchy.leaves_list(linkage).astype(np.intp)
    number = {name: i for i, name in enumerate(dict.fromkeys(cluster[order].tolist()))}
    superclass = np.array([number[name] for name in cluster.tolist()], dtype=np.intp)
    return Superclasses(superclass, order, linkage)


def _check_means(means: ArrayLike) -> FloatArray:
    """Return a copy without NaN; raise unless `means` is a symmetric matrix of several classes."""
    array = np.array(means, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        advice = "pass a square matrix of at least two classes, as class_correlation returns it."
        raise ArgumentError("means", f"has shape {array.shape}", advice)
    same = np.diag(array)
    known = same[~np.isnan(same)]
    # If no class has two rows, any value works, because it changes all distances equally.
    np.fill_diagonal(array, np.where(np.isnan(same), known.mean() if known.size else 1.0, same))
    is_finite = np.isfinite(array).all()
    if not is_finite or not np.allclose(array, array.T, rtol=0, atol=1e-6):
        problem = "is not symmetric" if is_finite else "has infinity, or NaN off its diagonal"
        raise ArgumentError("means", problem, "pass the mean correlations of all pairs of classes.")
    return array
