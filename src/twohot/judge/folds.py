"""Folds that depend on the content of rows, not on their order, and never split a group.

The rows of a class are sorted by their distance from the mean row, and assigned to the folds in
that order. So each fold has near and far rows of each class. Folds do not depend on the order of
rows and classes, the names of the classes, the unit of the features or the container. If a row and
its copy were in different folds, the row would be judged by its own label. So groups, copies and
near-duplicates stay together.

Conventions
-----------
codes (n,): classes of rows, NO_LABEL for none. groups (n,): numbers of groups, from 0. key (n,):
squared distance from the mean row. folds (n,): from 0, NO_FOLD for a row without a label.
"""

from collections.abc import Hashable
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
from twohot.judge.nearest import N_NEIGHBOURS, copy_distance, nearest_rows
from twohot.rows import Block, Preparation, count_threads, fit_preparation, open_rows

NO_FOLD = -1

# Two keys are equal if their difference, relative to the median key, is smaller than this. Another
# order of sums changes keys by about 1e-15. With 50,000 rows, two different keys are this close by
# chance in about one of a hundred datasets.
KEY_ROUNDING = 1e-11

ONE_PER_ROW = "pass one group per row, as a number or text, in one dimension."


# Groups that must stay together ---------------------------------------------------------------


def check_groups(groups: Any, n_rows: int) -> IntArray | None:
    """Return the group of each row, numbered by first occurrence; None if there are no groups.

    A group is any hashable value: a number, a text, a date. It may have one row.

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
        where = f"{counted(len(missing), 'row')} (row {first_few(missing)}, from 0)"
        advice = "give each of these rows a group, for instance its own."
        raise ArgumentError("groups", f"names no group in {where}", advice)
    unhashable = next((v for v in values if not isinstance(v, Hashable)), None)
    if unhashable is not None:
        problem = f"holds a {type(unhashable).__name__}, which is not hashable"
        raise ArgumentError("groups", problem, ONE_PER_ROW)
    place: dict[Any, int] = {}
    codes = np.array([place.setdefault(value, len(place)) for value in values], dtype=np.intp)
    if len(place) < 2:
        few = f" ({first_few(place)})" if place else ""
        problem = f"puts all {counted(n_rows, 'row')} into one group{few}"
        advice = "pass at least two groups for cross-validation, or leave out {groups}."
        raise ArgumentError("groups", problem, advice, groups=...)
    return codes


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


def connected(first: IntArray, second: IntArray, n: int) -> IntArray:
    """Return the connected component of each of n nodes, given pairs of linked nodes."""
    links = sp.coo_array((np.ones(len(first)), (first, second)), (n, n))
    _, component = connected_components(links, directed=False)
    return np.asarray(component, dtype=np.intp)


def numbered(groups: IntArray) -> IntArray:
    """Return the same groups numbered from 0 by first occurrence."""
    _, first, index = np.unique(groups, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    return place[index]


def duplicate_groups(points: FloatArray, *, n_jobs: int | None) -> tuple[IntArray, float]:
    """Return groups of duplicates and near-duplicates, and the distance that defines them.

    `points` (n, n_features) are prepared rows in float32, at most about 50,000: all pairs of
    different rows are compared. Rows with one column are not grouped: at unit norm they are 1 or
    -1.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    >>> points[[1, 3]] = points[0], points[2] * np.float32(1.0001)
    >>> groups, distance = duplicate_groups(points, n_jobs=1)
    >>> groups[:5], 1e-4 < distance < 1
    (array([0, 0, 1, 1, 2]), True)
    """
    known: dict[bytes, int] = {}
    # Adding zero turns -0.0 into 0.0.
    hashes = (blake2b(row + 0).digest() for row in points)
    copy_of = np.array([known.setdefault(key, len(known)) for key in hashes], dtype=np.intp)
    distinct = np.unique(copy_of, return_index=True)[1]
    n_kept = min(N_NEIGHBOURS, len(distinct) - 1)
    if n_kept < 1:
        return copy_of, 0.0
    nearest, distances = nearest_rows(points[distinct], n_kept, n_jobs=n_jobs)
    near = copy_distance(distances)
    row, place = np.nonzero(distances <= near)
    return numbered(connected(row, nearest[row, place], len(distinct))[copy_of]), near


def ungroup_most(groups: IntArray, n_folds: int) -> IntArray:
    """Return groups of copies; a group that is larger than a fold is split into single rows.

    Such a group usually means that the features have only a few different values.

    Examples
    --------
    >>> ungroup_most(np.array([0, 0, 0, 1, 2, 2]), 3)
    array([6, 7, 8, 1, 2, 2])
    """
    is_large = np.bincount(groups)[groups] > len(groups) / n_folds
    return np.where(is_large, len(groups) + np.arange(len(groups)), groups)


# Keys -------------------------------------------------------------------------------------------


def distance_from_mean(X: Matrix, *, n_jobs: int | None) -> FloatArray:
    """Return the squared distance of every row from the mean of all rows, in two passes.

    Up to rounding, it does not depend on the order of the rows or on a constant column. Scaling X
    by 2^k scales it by exactly 4^k.

    Examples
    --------
    >>> distance_from_mean(np.array([[0.0, 7.0], [2.0, 7.0], [4.0, 7.0]]), n_jobs=1)
    array([4., 0., 4.])
    """
    n_threads = count_threads(n_jobs)
    fitted = fit_preparation(X, center=True, normalize=False, weights=None, n_jobs=n_threads)
    centring = Preparation(fitted.mean, normalize=False)
    rows = open_rows(X, centring, dtype=np.dtype(np.float64), n_jobs=n_threads)
    return np.concatenate(list(rows.map(squared_lengths)))


def squared_lengths(block: Block) -> FloatArray:
    """Return the squared length of each prepared row. A kernel."""
    x = block.prepared()
    return np.asarray(np.einsum("ij,ij->i", x, x))


def _ranks(key: FloatArray) -> IntArray:
    """Return the rank of each row by its key; rows with equal keys share a rank."""
    sizes = np.abs(key[key != 0])
    if sizes.size:
        # Divide first, so that a power of two in the keys does not change the rounding.
        with np.errstate(over="ignore"):  # keys that overflow are equal
            key = np.rint(key / np.median(sizes) / KEY_ROUNDING)
    order = np.argsort(key, kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    is_next = np.zeros(len(order), dtype=bool)
    is_next[1:] = key[order[1:]] != key[order[:-1]]
    rank[order] = np.cumsum(is_next)
    return rank


def _by_content(codes: IntArray, rank: IntArray) -> IntArray:
    """Return the class codes renumbered by class size, then by the sum of the rows' ranks."""
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
    """Return the fold of each row, from the content of the rows and their groups.

    Groups with several labelled rows are assigned first, starting with the largest. Each goes to
    the fold with the fewest rows of the group's most frequent class. Then the single rows of a
    class are assigned in the order of their keys, `n_folds` at a time, to folds in random order.
    This order is the same for all classes. The remaining rows, fewer than `n_folds`, go to the
    folds with the fewest rows of the class; among those, to the smallest. Rows with equal keys
    keep their order; in most data they are copies and form one group.

    If a class has at least two units (groups or single rows), each fold has training rows of it.
    Without groups, fold sizes differ by at most one in each class and in total. If there are fewer
    groups than folds, each group is a fold.

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
    most = int(np.bincount(classes[is_single], minlength=1).max()) // n_folds + 1
    orders = np.tile(np.arange(n_folds), (most, 1))
    orders = check_generator(random_state).permuted(orders, axis=1)
    assignment = _Assignment(classes, rank, orders)
    assignment.groups(np.flatnonzero(~is_single), unit)
    assignment.single_rows(np.flatnonzero(is_single))
    folds = np.full(len(codes), NO_FOLD, dtype=np.intp)
    folds[labelled] = assignment.folds
    return folds


class _Assignment:
    """The assignment of labelled rows to folds, in progress."""

    def __init__(self, classes: IntArray, rank: IntArray, orders: IntArray) -> None:
        self.classes, self.rank = classes, rank
        self.orders = orders  # (n_passes, n_folds), order of the folds in each pass over a class
        self.place = np.argsort(orders[0])  # breaks ties between folds
        self.folds = np.full(len(classes), NO_FOLD, dtype=np.intp)
        n_classes = int(classes.max(initial=-1)) + 1
        self.counts = np.zeros((n_classes, orders.shape[1]), dtype=np.intp)  # rows assigned

    def emptiest(self, k: int) -> IntArray:
        """Return the folds sorted by their number of rows of class k, then by their size."""
        return np.lexsort((self.place, self.counts.sum(axis=0), self.counts[k]))

    def groups(self, rows: IntArray, unit: IntArray) -> None:
        """Assign whole groups, the largest first; among equal sizes, the smallest key first."""
        ordered = rows[np.lexsort((self.classes[rows], self.rank[rows], unit[rows]))]
        starts = np.flatnonzero(np.diff(unit[ordered], prepend=-1))
        members = np.split(ordered, starts[1:]) if len(ordered) else []
        units = [(-len(m), int(self.rank[m[0]]), self._usual_class(m), m) for m in members]
        for _, _, k, group in sorted(units, key=lambda each: each[:3]):
            fold = self.emptiest(k)[0]
            self.folds[group] = fold
            np.add.at(self.counts[:, fold], self.classes[group], 1)

    def _usual_class(self, group: IntArray) -> int:
        """Return the most frequent class of a group; ties go to the class of the earliest row."""
        found, first, sizes = np.unique(self.classes[group], return_index=True, return_counts=True)
        return int(found[np.lexsort((first, -sizes))[0]])

    def single_rows(self, rows: IntArray) -> None:
        """Assign rows class by class in the order of their keys."""
        n_classes, n_folds = self.counts.shape
        by_class = rows[np.lexsort((self.rank[rows], self.classes[rows]))]
        ends = np.searchsorted(self.classes[by_class], np.arange(n_classes), side="right")
        for k, members in enumerate(np.split(by_class, ends)[:-1]):
            n_full, n_left = divmod(len(members), n_folds)
            last = self.emptiest(k)[:n_left]
            self.folds[members] = np.concatenate([self.orders[:n_full].ravel(), last])
            self.counts[k] += n_full
            self.counts[k, last] += 1
