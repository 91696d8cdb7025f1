"""Which rows are fitted on and which are held out."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from twohot._checks.classes import check_generator
from twohot._checks.labels import Labels
from twohot._checks.numbers import check_count, is_integer
from twohot._types import FloatArray, IntArray
from twohot.select.sampling import CHOICE_ROWS, draw_rows

# Of the splits that a part of the rows each is held out in, so many are used that about this many
# rows are scored on. With these the choice loses a tenth of a point; more cost more than they gain.
SCORED_ROWS = 2_000
N_FOLDS = 5
# From so many rows on, a third of them is held out: that many are then scored on in one split, and
# two thirds tell candidates apart as well as four fifths do, if each class has so many rows. With
# 70 to 100 the choice was two to three points worse where labels are wrong alike (noise at the
# boundary of .4 on Caltech-101, pairs of classes confused on CIFAR-100).
MANY_ROWS, MANY_OF_CLASS, FEW_FOLDS = 3 * SCORED_ROWS, 120, 3

Splits = list[tuple[IntArray, IntArray]]


def choose_splits(
    cv: Any, labels: IntArray, weights: FloatArray | None, random_state: Any
) -> Splits:
    """Return pairs of rows to fit on and rows held out.

    `cv` is None (see above), a number of folds, a splitter of scikit-learn, or the pairs. Rows
    without weight are as good as absent.
    """
    n_rows = len(labels)
    if cv is None:
        counted = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
        return _default_splits(counted, labels, check_generator(random_state))
    splits = [_checked(pair, n_rows, weights) for pair in _pairs(cv, labels, random_state)]
    if not splits or not all(side.size for pair in splits for side in pair):
        raise ValueError(
            "cv has no splits, or one without rows, or without weight, on one side: pass at least "
            "one pair of row numbers, and give each side rows that count."
        )
    return splits


def labelled_splits(cv: Any, labels: Labels) -> Any:
    """Return pairs of row numbers of X as numbers of labelled rows; anything else stays."""
    labelled = labels.labelled
    if labelled.all() or cv is None or is_integer(cv) or hasattr(cv, "split"):
        return cv
    place = np.cumsum(labelled) - 1
    pairs = choose_splits(cv, labels.codes, labelled.astype(np.float64), None)
    return [(place[fitted], place[held_out]) for fitted, held_out in pairs]


def _pairs(cv: Any, labels: IntArray, random_state: Any) -> list[Any]:
    n_rows = len(labels)
    if is_integer(cv):
        n_folds = check_count("cv", cv, 2)
        if n_folds > n_rows:
            raise ValueError(f"cv={cv} is more than {n_rows} rows: pass at most {n_rows} folds.")
        return _folds(check_generator(random_state).permutation(n_rows), labels, n_folds)
    # A string has a method `split` too.
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ValueError(
            f"cv={cv!r} is not allowed: pass None, a number of folds, a splitter of scikit-learn "
            "or pairs of row numbers (to fit on, to hold out)."
        )
    return list(cv.split(np.zeros((n_rows, 1)), labels) if hasattr(cv, "split") else cv)


def _default_splits(counted: IntArray, labels: IntArray, rng: np.random.Generator) -> Splits:
    if len(counted) < 2:
        raise ValueError("sample_weight leaves one row only: pass weights for two classes or more.")
    order = draw_rows(counted, labels, CHOICE_ROWS, rng)
    of_class = len(order) / len(np.unique(labels[order]))
    many = len(order) >= MANY_ROWS and of_class >= MANY_OF_CLASS
    n_folds = FEW_FOLDS if many else min(N_FOLDS, len(order))
    folds = _folds(order, labels, n_folds)
    return folds[: -(-SCORED_ROWS * len(folds) // len(order))]


def _folds(order: IntArray, labels: IntArray, n_folds: int) -> Splits:
    """Hold out every n-th of the rows of each label, in this order.

    Each part has its share of every label: a label that is frequent among the rows held out is rare
    among those fitted on otherwise, which can hide all that was learnt from noisy labels.
    """
    by_label = order[np.argsort(labels[order], kind="stable")]
    parts = [by_label[first::n_folds] for first in range(n_folds)]
    return [
        (np.sort(np.concatenate(parts[:place] + parts[place + 1 :])), np.sort(part))
        for place, part in enumerate(parts)
    ]


def _checked(pair: Any, n_rows: int, weights: FloatArray | None) -> tuple[IntArray, IntArray]:
    """Return a pair of rows as row numbers, of the rows that count."""
    try:
        fitted, held_out = (np.arange(n_rows)[np.asarray(rows)] for rows in pair)
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"cv has a split that is no pair of rows ({error}): pass the rows to fit on and those "
            f"to hold out, as numbers from 0 to {n_rows - 1} or as masks."
        ) from error
    if weights is not None:
        fitted, held_out = (rows[weights[rows] > 0] for rows in (fitted, held_out))
    return fitted.ravel(), held_out.ravel()
