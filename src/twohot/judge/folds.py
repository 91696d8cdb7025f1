"""Folds that depend on what rows hold, not on where they are, and that never split a group.

The rows of a class are sorted by a key of their content, their distance from the mean row, and
dealt to the folds in that order. So folds are the same for any order of the rows and classes, any
names of the classes, any unit of the features and any container, and each fold has near and far
rows of each class.
"""

from collections.abc import Hashable
from dataclasses import dataclass
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

# Groups of rows that belong together: those of one person, one video, one item seen twice ---------
# A group is never split: a row whose copy is in another fold is judged by its own label.


ONE_PER_ROW = "pass one group per row, as a number or text, in one dimension."


def check_groups(groups: Any, n_rows: int) -> IntArray | None:
    """Return the group of each row as a code from 0 on, in the order in which groups occur.

    Parameters
    ----------
    groups : array, list, series or frame of one column, or None
        One value per row that can be hashed: numbers, text, dates. Equal values are one group,
        and a group may have one row.
    n_rows : int
        How many rows there are.

    Returns
    -------
    array of shape (n_rows,), or None
        None where no groups were given.

    Raises
    ------
    ArgumentError
        If there is not one value per row, if one is missing (None, NaN, NA, blank text), or if
        all rows are one group.

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
        advice = "give a row that belongs to no other a group of its own."
        raise ArgumentError("groups", f"names no group in {where}", advice)
    unhashable = next((v for v in values if not isinstance(v, Hashable)), None)
    if unhashable is not None:
        problem = f"holds a {type(unhashable).__name__}, which cannot be looked up"
        raise ArgumentError("groups", problem, ONE_PER_ROW)
    place: dict[Any, int] = {}
    codes = np.array([place.setdefault(value, len(place)) for value in values], dtype=np.intp)
    if len(place) < 2:
        few = f" ({first_few(place)})" if place else ""
        problem = f"puts all {counted(n_rows, 'row')} into one group{few}"
        advice = "pass at least two groups, as one is judged by the others, or leave {groups} out."
        raise ArgumentError("groups", problem, advice, groups=...)
    return codes


def merge_groups(a: IntArray, b: IntArray) -> IntArray:
    """Return groups that keep together what either grouping keeps together.

    Parameters
    ----------
    a, b : arrays of shape (n_rows,)
        Codes of groups, not negative.

    Examples
    --------
    >>> merge_groups(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]))
    array([0, 0, 0, 1])
    """
    n_first = int(a.max(initial=-1)) + 1
    together = connected(a, n_first + b, n_first + int(b.max(initial=-1)) + 1)
    return numbered(together[a])


def connected(first: IntArray, second: IntArray, n: int) -> IntArray:
    """Return the connected component of each of n things, of which pairs are linked."""
    links = sp.coo_array((np.ones(len(first)), (first, second)), (n, n))
    _, component = connected_components(links, directed=False)
    return np.asarray(component, dtype=np.intp)


def numbered(groups: IntArray) -> IntArray:
    """Return the same groups numbered from 0 on in the order in which they occur."""
    _, first, index = np.unique(groups, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    return place[index]


# The fold of a row that is in none: it has no label.
NO_FOLD = -1
# Keys that differ by less, relative to their median, are equal. Another order of the same sums
# changes them by 1e-15 or so; of 50,000 rows that are spread about the median, two are this near
# each other by chance once in a hundred times.
KEY_ROUNDING = 1e-11
# Of a hash of a row: enough that no two rows share one by chance.
HASH_BYTES = 16


def distance_from_mean(X: Matrix, *, n_jobs: int | None) -> FloatArray:
    """Return the squared distance of every row from the mean of all rows, in two passes.

    Parameters
    ----------
    X : matrix of shape (n_rows, n_features)
        In any container that `open_rows` reads. For folds that do not depend on rows without a
        label, those with one.
    n_jobs : int or None
        Threads; all cores for None.

    Returns
    -------
    array of shape (n_rows,)
        In float64. Up to rounding neither the order of the rows nor a constant column changes it.
        X times 2^k gives exactly 4^k times as much.

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


def duplicate_groups(points: FloatArray, *, n_jobs: int | None) -> IntArray:
    """Return the group of each row: rows that are the same or nearly so are in one.

    Equal rows are found first. Of the different ones those are near-duplicates that are no
    further apart than `copy_distance` of the distances to their nearest. Groups are the connected
    components of both.

    Parameters
    ----------
    points : array of shape (n_rows, n_features)
        Prepared rows in float32, at most some 50,000: all pairs of different rows are compared.
        Of one column, rows of unit norm are 1 or -1 and say nothing.
    n_jobs : int or None
        Threads; all cores for None.

    Returns
    -------
    array of shape (n_rows,)
        Numbers of groups from 0 on; a row without a duplicate has a group of its own.

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    >>> points[[1, 3]] = points[0], points[2] * np.float32(1.0001)
    >>> duplicate_groups(points, n_jobs=1)[:5]
    array([0, 0, 1, 1, 2])
    """
    copy_of, distinct = _equal_rows(points)
    n_kept = min(N_NEIGHBOURS, len(distinct) - 1)
    if n_kept < 1:
        return copy_of
    nearest, distances = nearest_rows(points[distinct], n_kept, n_jobs=n_jobs)
    row, place = np.nonzero(distances <= copy_distance(distances))
    return numbered(connected(row, nearest[row, place], len(distinct))[copy_of])


def _equal_rows(points: FloatArray) -> tuple[IntArray, IntArray]:
    """Return a number for each row, alike for equal rows, and the first row of each number."""
    known: dict[bytes, int] = {}
    # Adding zero makes one of the two zeros of floating point.
    hashes = (blake2b(row + 0, digest_size=HASH_BYTES).digest() for row in points)
    numbers = np.array([known.setdefault(key, len(known)) for key in hashes], dtype=np.intp)
    return numbers, np.unique(numbers, return_index=True)[1]


def assign_folds(
    order: FloatArray,
    codes: IntArray,
    n_folds: int,
    *,
    groups: IntArray | None = None,
    order2: FloatArray | None = None,
    random_state: RandomState,
) -> IntArray:
    """Return the fold of each row, from the content of the rows and their groups.

    Groups of several labelled rows are dealt first, the largest first: each goes, under its most
    frequent class, to the fold with the fewest rows of that class. Then the other rows of a class
    are dealt in the order of their keys, every `n_folds` of them in a random order, which is the
    same for all classes. What is left, fewer than `n_folds`, goes to the folds with the fewest
    rows of the class, and among these to the smallest.

    Parameters
    ----------
    order : array of shape (n_rows,)
        Key of each row, for instance `distance_from_mean`. Keys that differ by rounding, 1e-11 of
        their median, are equal.
    codes : array of shape (n_rows,)
        Class of each row, NO_LABEL for none. Names do not matter: classes count by their sizes
        and the keys of their rows.
    n_folds : int
        At least two. Where there are fewer groups than that, each is a fold.
    groups : array of shape (n_rows,), optional
        Rows of one group get one fold.
    order2 : array of shape (n_rows,), optional
        Second key, for rows whose first is equal. Without it those go in the order of the rows.
        That suits most data, where equal keys are those of copies, which are one group. Pass one
        where different rows have equal distances, as of features that take few values.
    random_state : int, Generator, RandomState or None
        Seed of the random orders.

    Returns
    -------
    array of shape (n_rows,)
        From 0 to n_folds - 1; NO_FOLD for a row without a label. A class of two units or more,
        groups or single rows, has rows outside of each fold. Without groups folds differ by at
        most one row in each class, and as a whole.

    Examples
    --------
    >>> order, codes = np.array([3.0, 1.0, 2.0, 5.0]), np.array([0, 0, 1, 1])
    >>> folds = assign_folds(order, codes, 2, random_state=0)
    >>> backwards = assign_folds(order[::-1], 1 - codes[::-1], 2, random_state=0)
    >>> folds[0] != folds[1], folds[2] != folds[3], (folds == backwards[::-1]).all()
    (np.True_, np.True_, np.True_)
    """
    folds = np.full(len(codes), NO_FOLD, dtype=np.intp)
    labelled = np.flatnonzero(codes != NO_LABEL)
    rank = _ranks(*(key[labelled] for key in (order, order2) if key is not None))
    classes = _by_content(codes[labelled], rank)
    unit = np.arange(len(labelled)) if groups is None else numbered(groups[labelled])
    n_folds = min(n_folds, int(unit.max(initial=0)) + 1)
    is_single = np.bincount(unit)[unit] == 1
    generator = check_generator(random_state)
    most = int(np.bincount(classes[is_single], minlength=1).max()) // n_folds + 1
    orders = generator.permuted(np.tile(np.arange(n_folds), (most, 1)), axis=1)
    dealt = _Dealt(
        np.full(len(labelled), NO_FOLD, dtype=np.intp),
        np.zeros((int(classes.max(initial=-1)) + 1, n_folds), dtype=np.intp),
        np.argsort(orders[0]),
    )
    _deal_groups(dealt, np.flatnonzero(~is_single), unit, classes, rank)
    _deal_single_rows(dealt, np.flatnonzero(is_single), classes, rank, orders)
    folds[labelled] = dealt.folds
    return folds


@dataclass(frozen=True, eq=False)
class _Dealt:
    """What was dealt so far."""

    folds: IntArray  # (n_rows,)
    counts: IntArray  # (n_classes, n_folds), rows
    place: IntArray  # (n_folds,), by which folds that are equal otherwise are ordered

    def emptiest(self, k: int) -> IntArray:
        """Return the folds, those with the fewest rows of a class first, then the smallest."""
        return np.lexsort((self.place, self.counts.sum(axis=0), self.counts[k]))


def _ranks(*keys: FloatArray) -> IntArray:
    """Return the place of each row in the order of its keys, one for rows that are equal."""
    rounded = [_rounded(key) for key in keys]
    by_key = np.lexsort(rounded[::-1])
    is_next = np.zeros(len(by_key), dtype=bool)
    for key in rounded:
        is_next[1:] |= key[by_key[1:]] != key[by_key[:-1]]
    rank = np.empty(len(by_key), dtype=np.intp)
    rank[by_key] = np.cumsum(is_next)
    return rank


def _rounded(key: FloatArray) -> FloatArray:
    """Return a key in units of what rounding may change it by."""
    sizes = np.abs(key[key != 0])
    if not sizes.size:
        return np.zeros(len(key))
    # Divided first: keys times a power of two then round to the same.
    with np.errstate(over="ignore"):  # keys that are so large are equal
        return np.asarray(np.rint(key / np.median(sizes) / KEY_ROUNDING))


def _by_content(codes: IntArray, rank: IntArray) -> IntArray:
    """Return codes of the same classes, which are numbered by their sizes and ranks."""
    _, index, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    place = np.empty(len(sizes), dtype=np.intp)
    place[np.lexsort((np.bincount(index, rank, len(sizes)), sizes))] = np.arange(len(sizes))
    return place[index]


def _deal_groups(
    dealt: _Dealt, rows: IntArray, unit: IntArray, classes: IntArray, rank: IntArray
) -> None:
    """Deal groups as a whole, the largest first, those of the smallest key first among equals."""
    by_unit = rows[np.lexsort((classes[rows], rank[rows], unit[rows]))]
    starts = np.flatnonzero(np.diff(unit[by_unit], prepend=-1))
    members = np.split(by_unit, starts[1:]) if len(by_unit) else []
    usual = [_most_frequent(classes[group]) for group in members]
    keys = [(-len(g), int(rank[g[0]]), k) for g, k in zip(members, usual, strict=True)]
    for number in sorted(range(len(members)), key=keys.__getitem__):
        group = members[number]
        fold = dealt.emptiest(usual[number])[0]
        dealt.folds[group] = fold
        np.add.at(dealt.counts[:, fold], classes[group], 1)


def _most_frequent(classes: IntArray) -> int:
    """Return the class of most rows of a group, of several that of the earliest row."""
    found, first, sizes = np.unique(classes, return_index=True, return_counts=True)
    return int(found[np.lexsort((first, -sizes))[0]])


def _deal_single_rows(
    dealt: _Dealt, rows: IntArray, classes: IntArray, rank: IntArray, orders: IntArray
) -> None:
    """Deal rows class by class in the order of their keys."""
    n_folds = orders.shape[1]
    by_class = rows[np.lexsort((rank[rows], classes[rows]))]
    ends = np.searchsorted(classes[by_class], np.arange(len(dealt.counts)), side="right")
    for k, members in enumerate(np.split(by_class, ends)[:-1]):
        n_full, n_left = divmod(len(members), n_folds)
        last = dealt.emptiest(k)[:n_left]
        dealt.folds[members] = np.concatenate([orders[:n_full].ravel(), last])
        dealt.counts[k] += n_full
        dealt.counts[k, last] += 1
