"""Mean and spread of the correlations of all pairs of rows, by how their classes are related.

For a group of n prepared rows x, the sums over all ordered pairs (i, j), i = j included, are

    Σ 1 = n²,    Σ x_i · x_j = ‖Σ x‖²,    Σ (x_i · x_j)² = ‖Σ x xᵀ‖²_F.

Added up over all classes (C), over all superclasses (S), for the whole (W), and over the rows by
themselves (D), they give the three cases of the paper's table tab:cf_class_stat,

    same class = C - D,    same superclass = S - C,    elsewhere = W - S,

from d × d matrices of one class, one superclass and the whole, and never from an N × N one.

Where some rows of each class are looked at, each stands for w_k rows of class k: moments are then
multiplied by w_k, and pairs of one class by n_k (n_k - 1) over those that are looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import dsyrk

from twohot.base import ArgumentError, FloatArray, IntArray, Labels, Matrix, check_superclass
from twohot.describe.correlation import center_labelled, check_labelled, class_sums
from twohot.rows import (
    ChunkedLabels,
    PartedRows,
    Preparation,
    SelectedRows,
    draw_from_chunks,
    draw_ranks,
    one_blas_thread,
    rows_of_ranks,
)

# Rows whose pairs are looked at: all that can be read class by class, or some of every class ------
# Pairs of rows need rows of one class together. An array or a memory map gives them class by
# class. Files that are read in parts would be read once for every class, and rows of Dask would
# all have to travel: of those a sample is gathered here, in which every class has two rows, if it
# has so many.


# As many rows as a probe is chosen on; the spread of so many rows' pairs is known to three digits.
PAIR_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class PairSample:
    """Rows that can be read class by class, and how many rows each of them stands for."""

    X: Matrix  # (n_rows, d)
    codes: IntArray  # (n_rows,), classes; -1: takes no part
    class_sizes: IntArray  # (n_classes,), rows of each class, those that are not here among them

    @property
    def sizes_here(self) -> IntArray:
        """(n_classes,) rows of each class that are here."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.class_sizes))

    @property
    def rows_per_row(self) -> FloatArray:
        """(n_classes,) how many rows of a class one of its rows stands for."""
        return np.asarray(self.class_sizes / self.sizes_here)

    @property
    def pairs_per_pair(self) -> FloatArray:
        """(n_classes,) how many pairs of a class one of its pairs stands for; none of one row."""
        others, others_here = self.class_sizes - 1, np.maximum(self.sizes_here - 1, 1)
        return np.asarray(self.rows_per_row * (others / others_here))

    @property
    def is_whole(self) -> bool:
        """Whether all rows that have a label are here."""
        return bool(self.sizes_here.sum() == self.class_sizes.sum())


def rows_for_pairs(X: Matrix, labels: Labels | ChunkedLabels) -> PairSample:
    """Return all rows, or those of a sample, always the same, where these are slow to gather."""
    rng = np.random.default_rng(0)
    if isinstance(labels, ChunkedLabels):
        index, codes = draw_from_chunks(labels.codes, labels.n_classes, PAIR_ROWS, rng)
        return PairSample(X[index], codes, labels.sizes)
    stored = X.X if isinstance(X, SelectedRows) else X
    if not isinstance(stored, PartedRows):
        return PairSample(X, labels.codes, labels.sizes)
    rows = rows_of_ranks(labels.codes, draw_ranks(labels.sizes, PAIR_ROWS, rng))
    return PairSample(X[rows], labels.codes[rows], labels.sizes)


# Entries of the rows that are read and multiplied at once: 16 MB in float64, which is enough rows
# to make the update of a d × d matrix a matter of products rather than of memory.
CHUNK_ENTRIES = 2**21

# Three d × d matrices of so many features take 1.6 GB in float64.
MAX_FEATURES = 2**13


@dataclass(frozen=True)
class PairGroup:
    """The correlations of some pairs of rows."""

    n_pairs: int  # pairs of two different rows, each counted once
    mean: float  # NaN if there is no pair
    std: float  # over these pairs; NaN if there is none


@dataclass(frozen=True)
class PairStatistics:
    """The correlations of all pairs of different rows, in the three cases of the paper."""

    same_class: PairGroup
    same_superclass: PairGroup  # of two classes of one superclass
    elsewhere: PairGroup  # of two superclasses
    n_sampled: int | None = None  # rows whose pairs gave the spread; None: all of them


def pair_statistics(X: Matrix, labels: ArrayLike, superclass: ArrayLike) -> PairStatistics:
    """Measure the correlations of all pairs of rows, by how their classes are related.

    Exact, over all pairs of different rows, in two passes over X: one for its mean, one class by
    class. What a correlation is, `class_correlation` says.

    Rows of Dask and of files that are read in parts (Parquet, Zarr) cannot be read class by class.
    Counts and means of their pairs are exact too. The spread is that of a sample of 50,000 rows, or
    of two rows of each class if these are more, in which every class counts by its rows;
    `n_sampled` says so.

    Parameters
    ----------
    X : array, CSR matrix or Dask collection of shape (n_rows, n_features)
        Features as they are, at most 8192 of them; three matrices of shape
        (n_features, n_features) are held.
    labels : array of shape (n_rows,)
        Class of each row, as for `class_correlation`.
    superclass : array of shape (n_classes,)
        Superclass of each class, 0, 1, … without a hole.

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
        problem = f"has {n_features} features, and three matrices of as many columns are held"
        how = "for instance the leading components of sklearn.decomposition.TruncatedSVD"
        advice = f"pass at most {MAX_FEATURES}, {how}, or take the means from class_correlation."
        raise ArgumentError("X", problem, advice)
    preparation = center_labelled(rows, coded)
    sample = rows_for_pairs(rows, coded)
    # On one thread the sums are the same on every machine, and small products do not wait.
    with one_blas_thread():
        found = _sum_pairs(sample, superclasses, preparation)
        if sample.is_whole:
            return found
        sums = class_sums(rows, coded, preparation)
    return _with_means(found, _exact_means(*sums, coded.sizes, superclasses), len(sample.codes))


def _sum_pairs(
    sample: PairSample, superclass: NDArray[np.intp], preparation: Preparation
) -> PairStatistics:
    """Return the statistics from the moments of one class, one superclass and the whole."""
    of_class, of_superclass, of_all = (_Moments(sample.X.shape[1]) for _ in range(3))
    same_class, within_classes, within_superclasses = np.zeros((3, 3))
    rows_per_row, pairs_per_pair = sample.rows_per_row, sample.pairs_per_pair
    for group in range(superclass.max() + 1):
        of_superclass.clear()
        for label in np.flatnonzero(superclass == group):
            of_class.clear()
            singles = np.zeros(3)
            members = np.flatnonzero(sample.codes == label)
            for x in _prepared_chunks(sample.X, members, preparation):
                of_class.add_rows(x)
                singles += _single_sums(x)
            own = of_class.pair_sums()
            same_class += pairs_per_pair[label] * (own - singles)
            within_classes += rows_per_row[label] ** 2 * own
            of_superclass.add(of_class, rows_per_row[label])
        within_superclasses += of_superclass.pair_sums()
        of_all.add(of_superclass)
    return PairStatistics(
        same_class=_describe(same_class),
        same_superclass=_describe(within_superclasses - within_classes),
        elsewhere=_describe(of_all.pair_sums() - within_superclasses),
    )


def _exact_means(
    sums: FloatArray, squares: FloatArray, sizes: IntArray, superclass: NDArray[np.intp]
) -> FloatArray:
    """Return the three means over all pairs of rows, from the sums of their classes."""
    members = np.equal.outer(np.arange(superclass.max() + 1), superclass).astype(np.float64)
    singles = np.array([sizes.sum(), squares.sum()])
    classes, superclasses, whole = (
        np.array([np.sum(n.astype(np.float64) ** 2), np.sum(s**2)])
        for n, s in (
            (sizes, sums),
            (members @ sizes, members @ sums),
            (np.array([sizes.sum()]), sums.sum(axis=0)),
        )
    )
    cases = np.array([classes - singles, superclasses - classes, whole - superclasses])
    means = np.full(3, np.nan)
    np.divide(cases[:, 1], cases[:, 0], out=means, where=cases[:, 0] > 0)
    return means


def _with_means(found: PairStatistics, means: FloatArray, n_sampled: int) -> PairStatistics:
    """Return the statistics of a sample with the means over all pairs."""
    same_class, same_superclass, elsewhere = means.tolist()
    return PairStatistics(
        same_class=replace(found.same_class, mean=same_class),
        same_superclass=replace(found.same_superclass, mean=same_superclass),
        elsewhere=replace(found.elsewhere, mean=elsewhere),
        n_sampled=n_sampled,
    )


class _Moments:
    """Number, sum and second moment of the rows of a group, in buffers that are used again."""

    def __init__(self, n_features: int) -> None:
        self.n_rows = 0.0
        self.total = np.zeros(n_features)
        # Σ x xᵀ, its upper triangle alone, in the order of BLAS.
        self.second = np.zeros((n_features, n_features), order="F")

    def clear(self) -> None:
        """Forget all rows."""
        self.n_rows = 0.0
        self.total.fill(0)
        self.second.fill(0)

    def add_rows(self, x: FloatArray) -> None:
        """Add some rows."""
        self.n_rows += len(x)
        self.total += x.sum(axis=0)
        self.second = dsyrk(1.0, x.T, beta=1.0, c=self.second, overwrite_c=True)

    def add(self, other: "_Moments", times: float = 1.0) -> None:
        """Add the rows of another group, each so many times."""
        self.n_rows += times * other.n_rows
        self.total += times * other.total
        self.second += times * other.second

    def pair_sums(self) -> NDArray[np.float64]:
        """Return the sums of 1, c and c² over all ordered pairs, c being their correlation."""
        diagonal = np.diag(self.second)
        squares = 2 * np.linalg.norm(self.second) ** 2 - diagonal @ diagonal
        return np.array([self.n_rows**2, self.total @ self.total, squares])


def _prepared_chunks(
    X: Matrix, members: IntArray, preparation: Preparation
) -> Iterator[FloatArray]:
    """Yield the prepared rows of a class, some at a time, in float64."""
    chunk = max(64, CHUNK_ENTRIES // X.shape[1])
    for first in range(0, len(members), chunk):
        raw = X[members[first : first + chunk]]
        x = np.empty(raw.shape)
        preparation.center(raw, x)
        x *= preparation.inverse_norms(x)
        yield x


def _single_sums(x: FloatArray) -> NDArray[np.float64]:
    """Return the sums of 1, c and c² over the pairs of a row with itself."""
    squared_norms = np.einsum("ij,ij->i", x, x)
    return np.array([float(len(x)), squared_norms.sum(), squared_norms @ squared_norms])


def _describe(sums: NDArray[np.float64]) -> PairGroup:
    """Return mean and spread from the sums of 1, c and c² over ordered pairs."""
    count = round(float(sums[0]))
    if count == 0:
        return PairGroup(0, float("nan"), float("nan"))
    mean, mean_square = sums[1:] / count
    # Rounding may leave a variance of zero a little below it.
    return PairGroup(count // 2, float(mean), float(max(mean_square - mean**2, 0.0) ** 0.5))
