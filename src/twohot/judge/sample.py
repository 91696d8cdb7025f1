"""The sample: labelled rows in memory, stored along their principal axes and assigned to folds.

If there are few enough rows, the sample has all labelled rows. Otherwise it has rows of every
class, spread evenly over their distance from the mean. The label model is fitted on the sample. The
label model then judges all other rows, block by block.

A group is a set of rows that must be in one fold, see `folds`. A kernel is a function of a block of
rows, see `twohot.rows.rows`.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    BoolArray,
    FloatArray,
    IntArray,
    check_count,
    is_integer,
)
from twohot.judge.folds import N_FOLDS, assign_folds, duplicate_groups, split_large, with_copies
from twohot.judge.nearest import ABSENT, nearest_rows
from twohot.probes import LABELS
from twohot.rows import Block, Coordinates, shares_of_labels

# Names of columns stored with the rows. GIVEN: codes of the labels, NO_LABEL for none. GROUP and
# SHARED: `all_groups` and `shared` of a `Sample`. JOINED: the result of `joined_groups`.
GIVEN, GROUP, SHARED, JOINED = "given", "group", "shared", "joined"

# Cost: maximum number of rows, and of rows times classes, for fitting the weights of the label
# model. With so many rows, the weights of ten members are exact to a few hundredths.
MODEL_ROWS, MODEL_CELLS = 4_000, 1_000_000

# Memory: maximum number of rows of a sample, and of rows times classes. The logits of one member
# then take 40 MB.
SAMPLE_ROWS, SAMPLE_CELLS = 50_000, 10_000_000

# Cost: number of leading principal axes for the library's fits. With twice as many axes, fits take
# twice as long, and the same candidates are chosen.
SEARCH_AXES = 256


@dataclass(frozen=True, eq=False)
class Sample:
    """Labelled rows in memory, and the fold of each row."""

    index: IntArray  # (n,), positions of these rows among all rows
    codes: IntArray  # (n,), given labels
    all_codes: IntArray  # (n_rows,), given labels of all rows; NO_LABEL for none
    weights: FloatArray | None  # (n,)
    groups: IntArray  # (n,), rows of one group are in one fold
    folds: IntArray  # (n,), the fold that holds out each row
    order: FloatArray  # (n,), distance of each row from the mean
    n_classes: int
    whole: Coordinates  # all rows
    searched: Coordinates  # the rows of the sample, along SEARCH_AXES of the leading axes
    all_groups: IntArray  # (n_rows,), groups of all rows; ABSENT for groups outside the sample
    shared: BoolArray  # (n_rows,), whether other labelled rows are in the row's group
    copy_distance: float = 0.0  # maximum distance of copies, after scaling to unit length
    n_copies: int = 0  # number of rows that have copies, all in the fold of the row
    n_split: int = 0  # number of rows that have a copy in another fold

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max()) + 1

    @cached_property
    def model_rows(self) -> IntArray:
        """Positions of the rows for fitting the weights: whole folds, and a part of the next fold.

        The rows of this part are spread evenly over the distance from the mean. So they do not
        depend on the order of the rows.
        """
        most = min(MODEL_ROWS, MODEL_CELLS // self.n_classes + 1)
        if len(self.codes) <= most:
            return np.arange(len(self.codes))
        ranked = np.lexsort((self.codes, self.order, self.folds))
        ends = np.cumsum(np.bincount(self.folds))
        next_fold = int(np.searchsorted(ends, most, side="right"))
        start = int(ends[next_fold - 1]) if next_fold else 0
        last = ranked[start : ends[next_fold]]
        part = last[spaced(most - start, len(last))]
        return np.sort(np.concatenate([ranked[:start], part]))

    @property
    def points(self) -> FloatArray:
        """The rows of the sample, (n, m), as coordinates along the axes of `searched`."""
        return np.asarray(self.searched.rows.X)

    @property
    def basis(self) -> FloatArray:
        """The matrix (d, m) that maps a prepared row to its coordinates in `points`."""
        rows, axes = self.whole.rows, self.whole.leading().axes
        # With fewer rows than features, the rows are already stored along their axes.
        is_along = axes.basis is None
        wide = np.eye(rows.n_columns) if is_along else axes.reading(intercept=rows.intercept)
        return wide[:, wide.shape[1] - self.points.shape[1] :].astype(rows.dtype)

    def attach_labels(self, codes: IntArray) -> None:
        """Store the labels and groups of all rows (n_rows,) as columns of the rows."""
        rows = self.whole.rows
        for name, values in {GIVEN: codes, GROUP: self.all_groups, SHARED: self.shared}.items():
            rows.attach(name, values)
        if JOINED not in rows.columns:
            shared = self.points, self.groups, self.copy_distance, self.basis
            rows.derive(JOINED, joined_groups, *shared)


def sample_size(n_rows: int, n_classes: int) -> int:
    """Return the number of rows of the sample; it has at least two rows per fold, if possible.

    Examples
    --------
    >>> sample_size(3_000, 10), sample_size(1_000_000, 100), sample_size(1_000_000, 1_000)
    (3000, 50000, 10000)
    """
    return min(n_rows, SAMPLE_ROWS, max(SAMPLE_CELLS // n_classes, 2 * N_FOLDS))


def draw_sample(
    whole: Coordinates,
    codes: IntArray,
    weights: FloatArray | None,
    order: FloatArray,
    *,
    cv: Any = None,
    groups: IntArray | None = None,
    random_state: Any = 0,
) -> Sample:
    """Return a sample of the labelled rows, assigned to folds.

    `whole` are all prepared rows, in memory or remote. `codes`, `weights`, `groups` and `order`
    (the distance from the mean) have shape (n_rows,). `cv` is a number of folds, a splitter, pairs
    of training and held-out rows, or None for the default folds.
    """
    n_classes = whole.rows.n_classes
    is_used = codes >= 0 if weights is None else (codes >= 0) & (weights > 0)
    index = spread_rows(np.flatnonzero(is_used), codes, order, n_classes)
    wide = whole.leading().in_axes(index)
    wide.rows.attach(LABELS, codes[index])
    searched = wide.leading(SEARCH_AXES)
    near, copy_distance = duplicate_groups(
        directions(np.asarray(searched.rows.X)), n_jobs=searched.rows.n_jobs
    )
    copies = split_large(near)
    together = with_copies(None if groups is None else groups[index], copies)
    if cv is None or is_integer(cv):
        n_folds = N_FOLDS if cv is None else check_count("cv", cv, 2)
        if n_folds > len(index):
            problem = f"has {len(index)} rows with a label and a positive weight"
            advice = f"pass at least {n_folds} such rows, one for each fold."
            raise ArgumentError("X", problem, advice)
        folds = assign_folds(
            order[index], codes[index], n_folds, groups=together, random_state=random_state
        )
        if not folds.any():
            problem = "puts all rows with a label into one group"
            raise ArgumentError("groups", problem, "pass at least two groups of such rows.")
    else:
        folds = _folds_of(cv, codes, groups, index)
    n_copies, n_split = _count_copies(copies, folds)
    all_groups, shared = _groups_of_all_rows(together, index, groups, codes)
    return Sample(
        index=index,
        codes=codes[index],
        all_codes=codes,
        weights=None if weights is None else weights[index],
        groups=together,
        folds=folds,
        order=order[index],
        n_classes=n_classes,
        whole=whole,
        searched=searched,
        all_groups=all_groups,
        shared=shared,
        copy_distance=copy_distance,
        n_copies=n_copies,
        n_split=n_split,
    )


def joined_groups(
    block: Block, points: FloatArray, groups: IntArray, copy_distance: float, basis: FloatArray
) -> IntArray:
    """Return the group of each row; a copy of a row of the sample gets the group of that row.

    A row without a label keeps its group, because it has no label that a fit could confirm. A
    kernel.
    """
    group = np.array(block.columns[GROUP])
    alone = np.flatnonzero((group == ABSENT) & (block.columns[GIVEN] != NO_LABEL))
    if len(alone):
        rows = (block.prepared() @ basis)[alone]
        nearest, _ = nearest_rows(points, 1, of=rows, n_jobs=1)
        gaps = directions(rows) - directions(points[nearest[:, 0]])
        is_copy = np.linalg.norm(gaps, axis=1) <= copy_distance
        group[alone[is_copy]] = groups[nearest[is_copy, 0]]
    return group


def directions(points: FloatArray) -> FloatArray:
    """Return points scaled to unit length; zero points stay zero."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(lengths > 0, lengths, 1))


def _groups_of_all_rows(
    together: IntArray, index: IntArray, groups: IntArray | None, codes: IntArray
) -> tuple[IntArray, BoolArray]:
    """Return the group of every row, and whether other labelled rows are in this group.

    `together` (n,) are the groups of the rows of the sample; `groups` (n_rows,) are those of the
    user. A group of the user that has no row in the sample becomes ABSENT.
    """
    groups = np.arange(len(codes)) if groups is None else groups
    number = np.full(int(groups.max()) + 1, ABSENT, dtype=np.intp)
    number[groups[index]] = together
    labelled = codes >= 0
    shared = np.bincount(groups[labelled], minlength=len(number))[groups] > labelled
    shared[index] |= np.bincount(together)[together] > 1
    return number[groups], shared


def _count_copies(copies: IntArray, folds: IntArray) -> tuple[int, int]:
    """Count rows that have all copies in their own fold, and rows with a copy in another fold."""
    _, first, group, sizes = np.unique(
        copies, return_index=True, return_inverse=True, return_counts=True
    )
    is_split = np.bincount(group, folds != folds[first[group]]) > 0
    return int(sizes[(sizes > 1) & ~is_split].sum()), int(sizes[is_split].sum())


def spaced(n: int, n_rows: int) -> IntArray:
    """Return n positions among `n_rows`, evenly spaced from the first.

    Examples
    --------
    >>> spaced(3, 9)
    array([0, 3, 6])
    """
    return np.arange(n) * n_rows // max(n, 1)


def spread_rows(rows: IntArray, codes: IntArray, order: FloatArray, n_classes: int) -> IntArray:
    """Return rows of every class, spread evenly over their distance from the mean."""
    most = sample_size(len(rows), n_classes)
    if most == len(rows):
        return rows
    sizes = np.bincount(codes[rows], minlength=n_classes)
    drawn = shares_of_labels(sizes, most)
    ranked = rows[np.lexsort((order[rows], codes[rows]))]
    starts = np.cumsum(sizes) - sizes
    triples = zip(starts, drawn, sizes, strict=True)
    places = [start + spaced(n_drawn, size) for start, n_drawn, size in triples]
    return np.sort(ranked[np.concatenate(places)])


def _folds_of(cv: Any, codes: IntArray, groups: IntArray | None, index: IntArray) -> IntArray:
    """Return the fold of `cv` that holds out each row of the sample.

    Raise if a labelled row is held out more than once or never. Folds that hold out no row of the
    sample are ignored.
    """
    n_rows = len(codes)
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        advice = "pass None, a number of folds, a splitter of scikit-learn, or pairs of arrays: "
        advice += "the row numbers of the training rows and of the held-out rows."
        raise ArgumentError({"cv": cv}, "is not allowed", advice)
    with warnings.catch_warnings():  # a splitter that ignores groups may still keep them together
        warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
        pairs = list(cv.split(np.zeros((n_rows, 1)), codes, groups) if hasattr(cv, "split") else cv)
    folds = np.full(n_rows, ABSENT)
    held_out = np.zeros(n_rows, dtype=np.intp)
    for number, pair in enumerate(pairs):
        try:
            _, rows = (np.arange(n_rows)[np.asarray(each)] for each in pair)
        except (IndexError, TypeError, ValueError) as error:
            problem = f"has a split that is not a pair of arrays of row numbers ({error})"
            advice = f"pass row numbers from 0 to {n_rows - 1}: training rows, then held-out rows."
            raise ArgumentError("cv", problem, advice) from error
        folds[rows] = number
        held_out[rows] += 1
    if (held_out[codes >= 0] != 1).any():
        problem = "does not hold out every row with a label exactly once"
        advice = "pass a number of folds, or a splitter that does, such as KFold."
        raise ArgumentError("cv", problem, advice)
    present, place = np.unique(folds[index], return_inverse=True)
    if len(present) < 2:
        problem = "holds out all rows with a label and a positive weight in one fold"
        advice = "pass a number of folds, or at least two folds that hold out such rows."
        raise ArgumentError("cv", problem, advice)
    if groups is not None:
        fold_of_group = np.zeros(int(groups.max()) + 1, dtype=np.intp)
        fold_of_group[groups[index]] = place
        if (fold_of_group[groups[index]] != place).any():
            advice = "pass a number of folds, or a splitter that does not, such as GroupKFold."
            raise ArgumentError("cv", "puts rows of one group in different folds", advice)
    return place
