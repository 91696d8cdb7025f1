"""The sample: rows in memory, along their principal axes, assigned to folds.

If there are few enough rows, the sample has all labelled rows. Otherwise it has rows of every
class, spread evenly over their distance from the mean. The remaining rows are judged by the same
model, block by block.
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
from twohot.judge.folds import (
    assign_folds,
    duplicate_groups,
    merge_groups,
    numbered,
    ungroup_most,
)
from twohot.judge.nearest import nearest_rows
from twohot.probes import LABELS
from twohot.rows import Block, Coordinates, shares_of_labels

# Chosen: five folds, the usual number in cross-validation.
N_FOLDS = 5

NO_GROUP = -1

# Names of columns stored with the rows: codes of the labels, NO_LABEL for none; `all_groups` and
# `shared` of a `Sample`; and the groups of `joined_groups`.
GIVEN, GROUP, SHARED, JOINED = "given", "group", "shared", "joined"

# Cost: maximum number of rows, and of rows times classes, for fitting the weights. With so many
# rows, the weights of ten members are exact to a few hundredths.
MODEL_ROWS, MODEL_CELLS = 4_000, 1_000_000

# Memory: maximum rows of a sample, and rows times classes. The logits of one member take 40 MB.
SAMPLE_ROWS, SAMPLE_CELLS = 50_000, 10_000_000

# Chosen, cost: number of leading principal axes for the library's fits. Twice as many take twice as
# long and change no choice.
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
    whole: Coordinates  # of all rows
    searched: Coordinates  # of these rows, along SEARCH_AXES of the leading axes
    all_groups: IntArray  # (n_rows,), groups of all rows; NO_GROUP if none is in the sample
    shared: BoolArray  # (n_rows,), whether a row's group has other rows, among all rows
    copy_distance: float = 0.0  # maximum distance of copies, after scaling to unit length
    n_copies: int = 0  # number of rows whose copies are all in the same fold
    n_split: int = 0  # number of rows with a copy in another fold

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max()) + 1

    @cached_property
    def model_rows(self) -> IntArray:
        """Rows for fitting the weights: whole folds, then some rows of the next fold.

        The rows of the next fold are spread evenly over the distance from the mean. So they do not
        depend on the order of the rows.
        """
        most = min(MODEL_ROWS, MODEL_CELLS // self.n_classes + 1)
        if len(self.codes) <= most:
            return np.arange(len(self.codes))
        ranked = np.lexsort((self.codes, self.order, self.folds))
        ends = np.cumsum(np.bincount(self.folds))
        next_fold = int(np.searchsorted(ends, most, side="right"))
        start = int(ends[next_fold - 1]) if next_fold else 0
        last, n_more = ranked[start : ends[next_fold]], most - start
        some = last[np.arange(n_more) * len(last) // max(n_more, 1)]
        return np.sort(np.concatenate([ranked[:start], some]))

    @property
    def points(self) -> FloatArray:
        """The rows along the searched axes, (n, m)."""
        return np.asarray(self.searched.rows.X)

    @property
    def reading(self) -> FloatArray:
        """The matrix (d, m) that maps a prepared row to a point."""
        rows, axes = self.whole.rows, self.whole.leading().axes
        # With fewer rows than features, the rows are already stored along their axes.
        own = (
            np.eye(rows.n_columns) if axes.basis is None else axes.reading(intercept=rows.intercept)
        )
        return own[:, own.shape[1] - self.points.shape[1] :]

    def attach_labels(self, codes: IntArray) -> None:
        """Store the labels (n_rows,) and the groups of all rows with the rows, as columns."""
        rows = self.whole.rows
        for name, values in {GIVEN: codes, GROUP: self.all_groups, SHARED: self.shared}.items():
            rows.attach(name, values)
        if JOINED not in rows.columns:
            basis = self.reading.astype(rows.dtype)
            rows.derive(JOINED, joined_groups, self.points, self.groups, self.copy_distance, basis)


def sample_size(n_rows: int, n_classes: int) -> int:
    """Return the size of the sample.

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
    """Return the sample of prepared rows with given labels; rows without one have code -1.

    `whole` are all prepared rows, in memory or remote. `codes`, `weights`, `groups` and `order`
    (the distance from the mean) have shape (n_rows,). `cv` is a number of folds, a splitter, pairs
    of training and held-out rows, or None for the default folds.
    """
    n_classes = whole.rows.n_classes
    counted = codes >= 0 if weights is None else (codes >= 0) & (weights > 0)
    index = spread_rows(np.flatnonzero(counted), codes, order, n_classes)
    wide = whole.leading().in_axes(index)
    wide.rows.attach(LABELS, codes[index])
    searched = wide.leading(SEARCH_AXES)
    near, copy_distance = duplicate_groups(
        directions(np.asarray(searched.rows.X)), n_jobs=searched.rows.n_jobs
    )
    copies = ungroup_most(near, N_FOLDS)
    own = copies if groups is None else with_copies(groups[index], copies, N_FOLDS)
    if cv is None or is_integer(cv):
        n_folds = N_FOLDS if cv is None else check_count("cv", cv, 2)
        if n_folds > len(index):
            problem = f"has {len(index)} rows with a label and a weight"
            raise ArgumentError("X", problem, f"pass at least {n_folds}, one for each fold.")
        folds = assign_folds(
            order[index], codes[index], n_folds, groups=own, random_state=random_state
        )
        if not folds.any():
            problem = "puts all rows with a label into one group"
            raise ArgumentError("groups", problem, "pass at least two groups of such rows.")
    else:
        folds = _folds_of(cv, codes, groups, index)
    n_copies, n_split = _count_copies(copies, folds)
    all_groups, shared = _of_all_rows(own, index, groups, codes)
    return Sample(
        index=index,
        codes=codes[index],
        all_codes=codes,
        weights=None if weights is None else weights[index],
        groups=own,
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

    Rows without a label keep their group, because all fits may predict them. A kernel.
    """
    group = np.array(block.columns[GROUP])
    alone = np.flatnonzero((group == NO_GROUP) & (block.columns[GIVEN] != NO_LABEL))
    if len(alone):
        own = (block.prepared() @ basis)[alone]
        nearest, _ = nearest_rows(points, 1, of=own, n_jobs=1)
        gaps = directions(own) - directions(points[nearest[:, 0]])
        is_copy = np.linalg.norm(gaps, axis=1) <= copy_distance
        group[alone[is_copy]] = groups[nearest[is_copy, 0]]
    return group


def directions(points: FloatArray) -> FloatArray:
    """Return points scaled to unit length; zero points stay zero."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(lengths > 0, lengths, 1))


def _of_all_rows(
    own: IntArray, index: IntArray, groups: IntArray | None, codes: IntArray
) -> tuple[IntArray, BoolArray]:
    """Return each row's group in the sample, and whether this group has other labelled rows.

    `own` (n,) are the groups of the rows of the sample; `groups` (n_rows,) are those of the user.
    """
    found = np.full(len(codes), NO_GROUP, dtype=np.intp)
    shared = np.zeros(len(codes), dtype=bool)
    if groups is not None:
        labelled = codes >= 0
        of_named = np.full(int(groups.max()) + 1, NO_GROUP, dtype=np.intp)
        of_named[groups[index]] = own
        found = of_named[groups]
        shared = np.bincount(groups[labelled], minlength=len(of_named))[groups] > labelled
    found[index] = own
    shared[index] |= np.bincount(own)[own] > 1
    return found, shared


def with_copies(groups: IntArray, copies: IntArray, n_folds: int) -> IntArray:
    """Return the user's groups, merged if they share copies.

    Copies may link many groups into a chain that is larger than a fold. Then most rows would be
    held out at once, and fits would have few rows. So the groups of such a chain are not merged.
    """
    chains = merge_groups(groups, copies)
    is_large = np.bincount(chains)[chains] > len(chains) / n_folds
    return numbered(np.where(is_large, len(chains) + groups, chains))


def _count_copies(copies: IntArray, folds: IntArray) -> tuple[int, int]:
    """Count rows whose copies are all in their fold, and rows with a copy in another fold."""
    _, copy_of, sizes = np.unique(copies, return_inverse=True, return_counts=True)
    placed = np.unique(np.column_stack([copy_of, folds]), axis=0)
    n_places = np.bincount(placed[:, 0], minlength=len(sizes))
    return int(sizes[(sizes > 1) & (n_places == 1)].sum()), int(sizes[n_places > 1].sum())


def spread_rows(rows: IntArray, codes: IntArray, order: FloatArray, n_classes: int) -> IntArray:
    """Return rows of every class, spread evenly over their distance from the mean."""
    most = sample_size(len(rows), n_classes)
    if most == len(rows):
        return rows
    sizes = np.bincount(codes[rows], minlength=n_classes)
    shares = shares_of_labels(sizes, most)
    ranked = rows[np.lexsort((order[rows], codes[rows]))]
    starts = np.cumsum(sizes) - sizes
    places = [
        start + (np.arange(share) * size) // max(share, 1)
        for start, size, share in zip(starts, sizes, shares, strict=True)
    ]
    return np.sort(ranked[np.concatenate(places)])


def _folds_of(cv: Any, codes: IntArray, groups: IntArray | None, index: IntArray) -> IntArray:
    """Return for each row of the sample the fold of `cv` that holds it out.

    Raise if a labelled row is held out more than once or never. Folds that hold out no row of the
    sample are ignored.
    """
    n_rows = len(codes)
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        advice = "pass None, a number of folds, a splitter of scikit-learn or pairs of row numbers."
        raise ArgumentError({"cv": cv}, "is not allowed", advice)
    with warnings.catch_warnings():  # even a splitter that ignores groups may keep them together
        warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
        pairs = list(cv.split(np.zeros((n_rows, 1)), codes, groups) if hasattr(cv, "split") else cv)
    folds = np.full(n_rows, -1)
    held_out = np.zeros(n_rows, dtype=np.intp)
    for number, pair in enumerate(pairs):
        try:
            _, rows = (np.arange(n_rows)[np.asarray(each)] for each in pair)
        except (IndexError, TypeError, ValueError) as error:
            problem = f"has a split that is not a pair of row arrays ({error})"
            advice = f"pass the training rows and the held-out rows, from 0 to {n_rows - 1}."
            raise ArgumentError("cv", problem, advice) from error
        folds[rows] = number
        held_out[rows] += 1
    if len(pairs) < 2 or (held_out[codes >= 0] != 1).any():
        problem = "does not hold out every row with a label exactly once"
        raise ArgumentError("cv", problem, "pass folds that do, such as KFold, or a number.")
    present, found = np.unique(folds[index], return_inverse=True)
    if len(present) < 2:
        problem = "holds out all rows with a label and a weight at once"
        raise ArgumentError("cv", problem, "pass at least two such folds, or a number of folds.")
    if groups is not None:
        _, group = np.unique(groups[index], return_inverse=True)
        first = np.zeros(len(index), dtype=np.intp)
        first[group] = found
        if (first[group] != found).any():
            advice = "pass folds that do not, such as GroupKFold, or a number of folds."
            raise ArgumentError("cv", "puts rows of one group in different folds", advice)
    return found
