"""Mean and standard deviation of the correlations of pairs of rows.

The paper's table tab:cf_class_stat has three cases: both rows are of the same class; they are of
different classes in the same superclass; or they are of different superclasses ("elsewhere"). The
correlation of two rows is the inner product of the prepared rows, as in `class_correlation`.

For a set of n prepared rows x, the sums over all ordered pairs (i, j), including i = j, are

    Σ 1 = n²,    Σ x_i · x_j = ‖Σ x‖²,    Σ (x_i · x_j)² = ‖Σ x xᵀ‖²_F.

Compute these three sums for each class and add them over all classes: C. Let S be the same for
superclasses, D for sets of a single row, and W the three sums for the set of all rows. Then

    same class = C - D,    same superclass = S - C,    elsewhere = W - S,

The sums need d × d matrices for d features, but no N × N matrix for N rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dsyrk

from twohot.base import ArgumentError, FloatArray, IntArray, Matrix, check_superclass
from twohot.describe.correlation import center_labelled, check_labelled, correlate
from twohot.rows import Preparation, are_far_apart, one_blas_thread

# Number of rows that are sampled for the standard deviation, if the rows of a class cannot be read
# together. With so many rows, the standard deviation is exact to three digits.
PAIR_ROWS = 50_000

# Number of entries of the rows that are read and multiplied at once, 16 MB in float64. With fewer
# entries, memory access would limit the speed of the update of a d × d matrix.
CHUNK_ENTRIES = 2**21

# Three d × d matrices with this many features take 1.6 GB in float64.
MAX_FEATURES = 2**13


@dataclass(frozen=True)
class PairGroup:
    """Number, mean and standard deviation of the correlations in a group of pairs of rows."""

    n_pairs: int  # number of pairs of different rows; (i, j) and (j, i) are one pair
    mean: float  # mean correlation; NaN if there is no pair
    std: float  # standard deviation of the correlation over the pairs; NaN if there is no pair


@dataclass(frozen=True)
class PairStatistics:
    """The correlations of all pairs of different rows, in the three cases of the paper."""

    same_class: PairGroup  # both rows are of the same class
    same_superclass: PairGroup  # rows of different classes in the same superclass
    elsewhere: PairGroup  # rows of different superclasses
    n_sampled: int | None = None  # number of rows sampled for `std`; None: all rows are used


def pair_statistics(X: Matrix, labels: ArrayLike, superclass: ArrayLike) -> PairStatistics:
    """Return mean and standard deviation of the correlations of pairs of rows, in three cases.

    The two rows are of one class, of two classes in one superclass, or of two superclasses, as in
    the paper. The results are exact, over all pairs of different rows. X is read twice: once for
    its mean, and once class by class. `class_correlation` defines the correlation of two rows.

    Dask collections, and files that are read in blocks (Parquet, Zarr), cannot be read class by
    class. Then numbers of pairs and means are exact too, but the standard deviations are computed
    from a fixed random sample of 50,000 rows. `n_sampled` is the number of sampled rows.

    Parameters
    ----------
    X : array, CSR matrix or Dask collection of shape (n_rows, n_features)
        Unprepared features, at most 8192 of them; three matrices of shape
        (n_features, n_features) are held in memory.
    labels : array of shape (n_rows,)
        Class of each row, as for `class_correlation`.
    superclass : array of shape (n_classes,)
        Superclass of each class, 0, 1, … without gaps.

    Returns
    -------
    PairStatistics

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> found = pair_statistics(*load_digits(return_X_y=True), superclass=[0] * 5 + [1] * 5)
    >>> round(found.same_class.mean, 2), round(found.same_class.std, 2)
    (0.42, 0.28)
    >>> found.elsewhere.n_pairs
    807296
    """
    superclasses = check_superclass(superclass)
    rows, coded = check_labelled(X, labels, len(superclasses))
    n_features = rows.shape[1]
    if n_features > MAX_FEATURES:
        problem = f"has {n_features} features, too many for three square matrices in memory"
        how = "for instance the leading components of sklearn.decomposition.TruncatedSVD"
        advice = f"pass at most {MAX_FEATURES}, {how}, or use the means from class_correlation."
        raise ArgumentError("X", problem, advice)
    preparation = center_labelled(rows, coded)
    # On one thread, sums do not depend on the number of cores, and small products are faster.
    with one_blas_thread():
        if not are_far_apart(rows):
            return _sum_pairs(rows, coded.codes, superclasses, preparation)
        sample = np.flatnonzero(coded.labelled)
        has_all = len(sample) <= PAIR_ROWS
        if not has_all:
            sample = np.sort(np.random.default_rng(0).choice(sample, PAIR_ROWS, replace=False))
        found = _sum_pairs(rows[sample], coded.codes[sample], superclasses, preparation)
        if has_all:
            return found
        correlation = correlate(rows, coded, preparation)
    near, same = superclasses[:, np.newaxis] == superclasses, np.eye(len(superclasses), dtype=bool)
    masks = {"same_class": same, "same_superclass": near & ~same, "elsewhere": ~near}
    groups = {
        name: PairGroup(
            round(float(correlation.pairs[mask].sum())) // 2,
            correlation.mean_over(mask),
            getattr(found, name).std,
        )
        for name, mask in masks.items()
    }
    return PairStatistics(**groups, n_sampled=len(sample))


def _sum_pairs(
    X: Matrix, codes: IntArray, superclass: IntArray, preparation: Preparation
) -> PairStatistics:
    """Return the statistics from the moments of each class, each superclass and all rows."""
    n_features = X.shape[1]
    chunk = max(64, CHUNK_ENTRIES // n_features)
    of_all = _Moments(n_features)
    same_class, within_classes, within_superclasses = np.zeros((3, 3))
    for group in range(superclass.max() + 1):
        of_superclass = _Moments(n_features)
        for label in np.flatnonzero(superclass == group):
            of_class = _Moments(n_features)
            singles = np.zeros(3)  # sums of 1, c and c² over the pairs of a row with itself
            members = np.flatnonzero(codes == label)
            for first in range(0, len(members), chunk):
                raw = X[members[first : first + chunk]]
                x = preparation.apply(raw, np.empty(raw.shape))
                of_class.add_rows(x)
                squared_norms = np.einsum("ij,ij->i", x, x)
                singles += len(x), squared_norms.sum(), squared_norms @ squared_norms
            class_sums = of_class.pair_sums()
            same_class += class_sums - singles
            within_classes += class_sums
            of_superclass.add(of_class)
        within_superclasses += of_superclass.pair_sums()
        of_all.add(of_superclass)
    return PairStatistics(
        same_class=_describe(same_class),
        same_superclass=_describe(within_superclasses - within_classes),
        elsewhere=_describe(of_all.pair_sums() - within_superclasses),
    )


class _Moments:
    """Number, sum and second moment of the rows of a group."""

    def __init__(self, n_features: int) -> None:
        self.n_rows = 0
        self.total = np.zeros(n_features)
        # Only the upper triangle of Σ x xᵀ, in column-major order, which BLAS needs.
        self.second = np.zeros((n_features, n_features), order="F")

    def add_rows(self, x: FloatArray) -> None:
        """Add the rows of the array `x`."""
        self.n_rows += len(x)
        self.total += x.sum(axis=0)
        self.second = dsyrk(1.0, x.T, beta=1.0, c=self.second, overwrite_c=True)

    def add(self, other: "_Moments") -> None:
        """Add the rows of another group."""
        self.n_rows += other.n_rows
        self.total += other.total
        self.second += other.second

    def pair_sums(self) -> FloatArray:
        """Return the sums of 1, c and c² over all ordered pairs of rows with correlation c."""
        diagonal = np.diag(self.second)
        squares = 2 * np.linalg.norm(self.second) ** 2 - diagonal @ diagonal
        return np.array([float(self.n_rows**2), self.total @ self.total, squares])


def _describe(sums: FloatArray) -> PairGroup:
    """Return the statistics of the correlations c, given their sums of 1, c and c² over pairs."""
    count = round(float(sums[0]))
    if count == 0:
        return PairGroup(0, float("nan"), float("nan"))
    mean, mean_square = sums[1:] / count
    # By rounding, a variance of zero may become slightly negative.
    return PairGroup(count // 2, float(mean), float(max(mean_square - mean**2, 0.0) ** 0.5))
