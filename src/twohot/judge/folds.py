"""Folds that depend on the content of rows, not on their order, and never split a group.

A group is a set of rows that must be in the same fold: rows that the user groups (such as all rows
of a patient), copies and near-duplicates. If a row and its copy were in different folds, the
classifier that judges the row would be fitted on the copy. It would confirm the label of the row,
even a wrong label.

The rows of a class are sorted by their distance from the mean row, and are assigned to the folds in
that order. So each fold has near and far rows of each class. Folds do not depend on the order of
rows or classes, the names of the classes, the unit of the features or the type of container.

Conventions
-----------
codes (n,): the label of each row as a number; NO_LABEL for no label. groups (n,): the number
of each row's group, from 0. key (n,): the squared distance of each row from the mean row. folds
(n,): the number of each row's fold, from 0; ABSENT for a row without a label.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
    IntArray,
    Matrix,
    RandomState,
    as_cells,
    check_generator,
    counted,
    first_few,
    is_missing,
    plain,
)
from twohot.judge.nearest import ABSENT, N_NEIGHBOURS, copy_distance, nearest_rows
from twohot.rows import Block, Preparation, SelectedRows, count_threads, fit_preparation, open_rows

# Chosen: five folds, the usual number in cross-validation.
N_FOLDS = 5

# Rounding: two keys are equal if their difference, relative to the median key, is smaller than
# this. Another order of sums changes keys by a relative 1e-15. With 50,000 rows, two different keys
# are this close by chance in about one of a hundred datasets.
KEY_ROUNDING = 1e-11

ONE_PER_ROW = "pass one group per row: a one-dimensional array or list of numbers or text."


# Groups that must stay together ---------------------------------------------------------------


def check_groups(groups: Any, n_rows: int) -> IntArray | None:
    """Return the number of each row's group, from 0 in order of occurrence; None for no groups.

    A group is any hashable value: a number, a text, a date. A group of one row is allowed.

    Examples
    --------
    >>> check_groups(["ann", "bob", "ann"], 3)
    array([0, 1, 0])
    """
    if groups is None:
        return None
    cells = as_cells(groups, "groups", ONE_PER_ROW)
    if len(cells) != n_rows:
        problem = f"has {counted(len(cells), 'entry', 'entries')} for {counted(n_rows, 'row')}"
        raise ArgumentError("groups", problem, ONE_PER_ROW)
    values = [plain(cell) for cell in cells.tolist()]
    missing = [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        where = f"{counted(len(missing), 'row')} ({first_few(missing)}; the first row is 0)"
        advice = "give each of these rows a group; a group of one row is allowed."
        raise ArgumentError("groups", f"has no value in {where}", advice)
    try:
        numbers = numbered(values)
    except TypeError as error:
        problem = f"has a value that is not hashable ({error})"
        raise ArgumentError("groups", problem, ONE_PER_ROW) from error
    if numbers.max(initial=0) == 0:
        problem = f"puts all {counted(n_rows, 'row')} into one group ({first_few(values[:1])})"
        advice = "pass at least two groups for cross-validation, or leave out {groups}."
        raise ArgumentError("groups", problem, advice, groups=...)
    return numbers


def numbered(values: Iterable[Hashable]) -> IntArray:
    """Return a number for each value, from 0 in order of occurrence; equal values share one."""
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(value, len(number)) for value in values], dtype=np.intp)


def connected(first: IntArray, second: IntArray, n: int) -> IntArray:
    """Return the connected component of each of n nodes; `first[i]` is linked to `second[i]`."""
    links = sp.coo_array((np.ones(len(first)), (first, second)), (n, n))
    _, component = connected_components(links, directed=False)
    return np.asarray(component, dtype=np.intp)


def merge_groups(a: IntArray, b: IntArray) -> IntArray:
    """Return groups in which two rows are together if `a` or `b` puts them together.

    Examples
    --------
    >>> merge_groups(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]))
    array([0, 0, 0, 1])
    """
    n_first = int(a.max(initial=-1)) + 1
    together = connected(a, n_first + b, n_first + int(b.max(initial=-1)) + 1)
    return numbered(together[a])


def split_large(groups: IntArray, into: IntArray | None = None) -> IntArray:
    """Return the groups, but split a group that is larger than a fold.

    Such a group is split into the groups that `into` (n,) gives; if `into` is None, into single
    rows. If a group of most rows stayed together, the fit for its fold would have few rows. Large
    groups of copies usually mean that the features have only a few different values.

    Examples
    --------
    >>> split_large(np.array([0, 0, 0, 1, 2]))
    array([5, 6, 7, 1, 2])
    """
    is_large = np.bincount(groups)[groups] > len(groups) / N_FOLDS
    into = np.arange(len(groups)) if into is None else into
    return np.where(is_large, len(groups) + into, groups)


def with_copies(groups: IntArray | None, copies: IntArray) -> IntArray:
    """Return the groups of the user, merged if a row of one is a copy of a row of the other.

    Copies can link many groups into a chain that is larger than a fold. The groups of such a chain
    are not merged.
    """
    if groups is None:
        return copies
    return numbered(split_large(merge_groups(groups, copies), groups))


def duplicate_groups(points: FloatArray, *, n_jobs: int | None) -> tuple[IntArray, float]:
    """Return groups of duplicates and near-duplicates, and the maximum distance of the latter.

    `points` (n, n_features) are prepared rows in float32. There should be at most about 50,000
    rows, because all pairs of different rows are compared.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    >>> points[[1, 3]] = points[0], points[2] * np.float32(1.0001)
    >>> groups, distance = duplicate_groups(points, n_jobs=1)
    >>> groups[:5], 1e-4 < distance < 1
    (array([0, 0, 1, 1, 2]), True)
    """
    # Adding zero turns -0.0 into 0.0.
    copy_of = numbered(blake2b(row + 0).digest() for row in points)
    distinct = np.unique(copy_of, return_index=True)[1]
    n_nearest = min(N_NEIGHBOURS, len(distinct) - 1)
    if n_nearest < 1:
        return copy_of, 0.0
    nearest, distances = nearest_rows(points[distinct], n_nearest, n_jobs=n_jobs)
    near = copy_distance(distances)
    row, place = np.nonzero(distances <= near)
    return numbered(connected(row, nearest[row, place], len(distinct))[copy_of]), near


# Keys -------------------------------------------------------------------------------------------


def distance_from_mean(
    X: Matrix, codes: IntArray | None = None, *, n_jobs: int | None
) -> FloatArray:
    """Return the squared distance of every row from the mean of all rows; read the rows twice.

    If `codes` are passed, the mean is that of the rows with a label, and the distance of all other
    rows is zero. Up to rounding, the distances do not depend on the order of the rows or on a
    constant column. If X is multiplied by 2^k, the distances are multiplied by exactly 4^k.

    Examples
    --------
    >>> distance_from_mean(np.array([[0.0, 7.0], [2.0, 7.0], [4.0, 7.0]]), n_jobs=1)
    array([4., 0., 4.])
    """
    key = np.zeros(X.shape[0])
    labelled = np.arange(len(key)) if codes is None else np.flatnonzero(codes != NO_LABEL)
    X = X if len(labelled) == len(key) else SelectedRows(X, labelled)
    n_threads = count_threads(n_jobs)
    fitted = fit_preparation(X, center=True, normalize=False, weights=None, n_jobs=n_threads)
    centring = Preparation(fitted.mean, normalize=False)
    rows = open_rows(X, centring, dtype=np.dtype(np.float64), n_jobs=n_threads)
    key[labelled] = np.concatenate(list(rows.map(squared_lengths)))
    return key


def squared_lengths(block: Block) -> FloatArray:
    """Return the squared length of each prepared row. A kernel, see `twohot.rows.rows`."""
    x = block.prepared()
    return np.asarray(np.einsum("ij,ij->i", x, x))


def _ranks(key: FloatArray) -> IntArray:
    """Return the rank of each row by its key; rows with equal keys share a rank."""
    sizes = np.abs(key[key != 0])
    if sizes.size:
        # Divide first, so that keys multiplied by a power of two are rounded equally.
        with np.errstate(over="ignore"):  # keys that overflow are equal
            key = np.rint(key / np.median(sizes) / KEY_ROUNDING)
    return np.unique(key, return_inverse=True)[1]


def _by_content(codes: IntArray, rank: IntArray) -> IntArray:
    """Return new codes, of classes sorted by size, then by the sum of their rows' ranks."""
    _, index, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    place = np.empty(len(sizes), dtype=np.intp)
    place[np.lexsort((np.bincount(index, rank, len(sizes)), sizes))] = np.arange(len(sizes))
    return place[index]


# Folds ------------------------------------------------------------------------------------------


def assign_folds(
    key: FloatArray,
    codes: IntArray,
    n_folds: int,
    *,
    groups: IntArray | None = None,
    random_state: RandomState,
) -> IntArray:
    """Return the fold of each row, which depends on the content of the rows and on their groups.

    Groups with several labelled rows are assigned first, the largest group first. A group goes to
    the fold with the fewest rows of the group's most frequent class. All other rows are single
    rows. They are assigned class by class, in the order of their keys. Each turn assigns `n_folds`
    rows, one to each fold, in random order. The first turn has the same order in all classes, and
    so has every later turn. At the end, fewer than `n_folds` rows of the class remain. They go to
    the folds with the fewest rows of the class; among such folds, to the smallest ones. Rows
    with equal keys keep their order. In most data, such rows are copies, which form a group.

    If a class has at least two single rows, no fold has all rows of the class. Without groups, the
    sizes of the folds differ by at most one, in each class and in total. If there are fewer groups
    than folds (a single row counts as a group), each group is a fold.

    Examples
    --------
    >>> key, codes = np.array([3.0, 1.0, 2.0, 5.0]), np.array([0, 0, 1, 1])
    >>> folds = assign_folds(key, codes, 2, random_state=0)
    >>> backwards = assign_folds(key[::-1], 1 - codes[::-1], 2, random_state=0)
    >>> folds[0] != folds[1], folds[2] != folds[3], (folds == backwards[::-1]).all()
    (np.True_, np.True_, np.True_)
    """
    labelled = np.flatnonzero(codes != NO_LABEL)
    rank = _ranks(key[labelled])
    classes = _by_content(codes[labelled], rank)
    unit = np.arange(len(labelled)) if groups is None else numbered(groups[labelled])
    n_folds = min(n_folds, int(unit.max(initial=0)) + 1)
    is_single = np.bincount(unit)[unit] == 1
    n_passes = int(np.bincount(classes[is_single], minlength=1).max()) // n_folds + 1
    orders = np.tile(np.arange(n_folds), (n_passes, 1))
    orders = check_generator(random_state).permuted(orders, axis=1)
    place = np.argsort(orders[0])  # breaks ties between folds
    assigned = np.empty(len(labelled), dtype=np.intp)
    sizes = np.zeros((int(classes.max(initial=-1)) + 1, n_folds), dtype=np.intp)

    def smallest(k: int) -> IntArray:
        """Return the folds, sorted by their number of rows of class k, then by their size."""
        return np.lexsort((place, sizes.sum(axis=0), sizes[k]))

    for k, group in _largest_first(np.flatnonzero(~is_single), classes, rank, unit):
        assigned[group] = fold = smallest(k)[0]
        np.add.at(sizes[:, fold], classes[group], 1)
    single = np.flatnonzero(is_single)
    single = single[np.lexsort((rank[single], classes[single]))]
    ends = np.searchsorted(classes[single], np.arange(len(sizes)), side="right")
    for k, rows in enumerate(np.split(single, ends)[:-1]):
        n_full, n_left = divmod(len(rows), n_folds)
        last = smallest(k)[:n_left]
        assigned[rows] = np.concatenate([orders[:n_full].ravel(), last])
        sizes[k] += n_full
        sizes[k, last] += 1
    folds = np.full(len(codes), ABSENT, dtype=np.intp)
    folds[labelled] = assigned
    return folds


def _largest_first(
    rows: IntArray, classes: IntArray, rank: IntArray, unit: IntArray
) -> list[tuple[int, IntArray]]:
    """Return the most frequent class of each group, and the rows of the group.

    The largest group is first; among equally large groups, the group with the smallest key is
    first. If several classes are equally frequent in a group, the class of the row with the
    smallest key is returned.
    """
    ordered = rows[np.lexsort((classes[rows], rank[rows], unit[rows]))]
    groups = np.split(ordered, np.flatnonzero(np.diff(unit[ordered], prepend=-1)))[1:]
    pairs = [(Counter(classes[group].tolist()).most_common(1)[0][0], group) for group in groups]
    return sorted(pairs, key=lambda pair: (-len(pair[1]), rank[pair[1][0]], pair[0]))
