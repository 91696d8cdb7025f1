"""Logits of every row by a fit that has not seen its label.

What was chosen is fitted again without each fold, together with what it starts and learns from:
coefficients of the search have seen the labels of all rows but those held out there. A discriminant
needs no folds: what it says without a row is a closed form.
"""

from typing import Any

import numpy as np

from twohot._checks.classes import check_generator
from twohot._types import FloatArray, IntArray
from twohot.distill.discriminant import half_whitened_moments
from twohot.distill.leave_one_out import choose_shrinkage, leave_one_out_logits
from twohot.distill.targets import LABELS
from twohot.rows.coordinates import Coordinates
from twohot.rows.rows import stack
from twohot.select import grid
from twohot.select.grid import Candidate, coarse_tol
from twohot.select.sampling import DEAR_CELLS, SEARCH_ROWS, draw_rows
from twohot.select.search import Search, Trial
from twohot.select.split_fits import SplitFits
from twohot.select.splits import N_FOLDS, Splits, choose_splits
from twohot.solve.class_steps import logits_at

# Rows times classes up to which what was chosen is fitted without each of five folds, and of three;
# beyond, without each half, or, where fits are dear, not at all. Where rows are many, two thirds of
# them say as much as four fifths, at half the passes.
FIVE_FOLD_CELLS, THREE_FOLD_CELLS = 2_500_000, 10_000_000


def folds_within(n_rows: int, n_classes: int) -> int:
    """Return in how many folds so many rows are fitted on; none where they are too many.

    Examples
    --------
    >>> folds_within(10_000, 100), folds_within(50_000, 100), folds_within(10_000, 2_000)
    (5, 3, 2)
    >>> folds_within(30_000, 10_000)
    0
    """
    n_cells = n_rows * n_classes
    if n_cells > DEAR_CELLS:
        return 0
    few = 3 if n_cells <= THREE_FOLD_CELLS else 2
    return min(N_FOLDS if n_cells <= FIVE_FOLD_CELLS else few, n_rows)


def unseen_logits(search: Search, chosen: Trial, random_state: Any = 0) -> FloatArray:
    """Return the logits (n_rows, n_classes) of every row, by a fit without its fold.

    Of more than 50,000 rows so many are drawn to be fitted on, in folds; all others are judged by
    the fit without the first fold, which has not seen them either.
    """
    folds, others = _folds(search, random_state)
    again = fit_again(search, chosen.candidate, search.leading, folds)
    fits = again.on_wide_rows(chosen.recipe)
    rows = search.coordinates.rows
    logits = np.empty((rows.n_samples, rows.n_classes), np.float32)
    for (_, unseen), split, fit in zip(folds, again.wide_splits, fits, strict=True):
        logits[unseen] = _logits(split.held_out, fit.coef)
    if others.size:
        part = chosen.recipe.coordinates(search.coordinates.leading().take(others))
        logits[others] = _logits(part, part.on_rows(again.ends[chosen.recipe][0].coef))
    return logits


def unseen_density(search: Search) -> FloatArray:
    """Return the logits (n_rows, n_classes) of every row by a discriminant without it.

    On the rows as they were prepared for the search, along their leading axes.
    """
    rows, moments = search.leading.rows, half_whitened_moments(search.leading)
    shrinkage = choose_shrinkage(rows, moments)
    return leave_one_out_logits(rows, moments, shrinkage).astype(np.float32)


def _folds(search: Search, random_state: Any) -> tuple[Splits, IntArray]:
    """Return the folds, and the rows that are in none of them."""
    rows = search.coordinates.rows
    labels, weights = rows.columns[LABELS], rows.given_weights
    n_rows = len(labels)
    counted = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    drawn = np.sort(draw_rows(counted, labels, SEARCH_ROWS, check_generator(random_state)))
    n_folds = folds_within(len(drawn), rows.n_classes) or 2
    folds = [
        (drawn[fitted], drawn[held_out])
        for fitted, held_out in choose_splits(n_folds, labels[drawn], None, random_state)
    ]
    return folds, np.setdiff1d(np.arange(n_rows), drawn)


def fit_again(
    search: Search, candidate: Candidate, coordinates: Coordinates, splits: Splits
) -> SplitFits:
    """Return fits of a candidate on other splits, with those of what it starts and learns from."""
    again = SplitFits(coordinates, splits, search.settings)
    if not candidate.recipe.rounds[0].loss.is_robust:
        for each in _ancestry(search, candidate):
            again.fit(each)
        return again
    start = None
    # A teacher that only serves as a start need not be finished.
    tol = coarse_tol(candidate.recipe, again.given.n_classes)
    for recipe in grid.path_to(candidate.recipe):
        again.fit(Candidate(recipe, start), tol=tol)
        start = recipe
    return again


def _ancestry(search: Search, candidate: Candidate) -> list[Candidate]:
    """Return what a candidate starts and learns from, the first of all first, and itself."""
    parent = candidate.recipe.teacher or candidate.start
    before = [] if parent is None else _ancestry(search, search.trials[parent].candidate)
    return [*before, candidate]


def _logits(held_out: Coordinates, coef: FloatArray) -> FloatArray:
    return stack(list(held_out.rows.map(logits_at, coef)))
