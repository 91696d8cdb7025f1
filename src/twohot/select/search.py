"""The search: candidates fitted side by side on every split, scored on the held-out rows.

The rows that a search looks at are taken once, prepared, and held in memory along their leading
principal axes: a number for each row and for each of 512 axes at the most. Half-whitened rows are
the same rows, each axis times a number. All splits share them, so that a split costs no set-up and
its coefficients are a start for any other fit. A candidate is fitted on all splits before the next
one is chosen. What is chosen is fitted on all rows, and along all axes unless it is half-whitened.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from twohot._types import IntArray, Round
from twohot.distill.average_recipe import AnyRecipe
from twohot.distill.recipe import ROBUST, Recipe
from twohot.distill.rounds import fit_round, make_round
from twohot.distill.targets import LABELS, LabelTargets
from twohot.rows.coordinates import Coordinates
from twohot.select import grid
from twohot.select.agreement import (
    HeldOut,
    calibrate,
    is_behind,
    mean,
    pool,
    standard_error,
)
from twohot.select.grid import Candidate, coarse_tol
from twohot.select.rule import Score, best, is_likelier, noise_looks_uniform
from twohot.select.sampling import SEARCH_ROWS
from twohot.select.scored import Linear, Scored, predict_held_out
from twohot.solve.objective import Evaluation
from twohot.solve.solver import Settings, Solver

Callback = Callable[[Scored], None]

# Standard errors of its agreement by which a candidate is far behind.
FAR_ERRORS = 2.0


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit on and held-out rows, each with its label beside it."""

    fitted: Coordinates
    held_out: Coordinates


@dataclass(frozen=True, eq=False, kw_only=True)
class Trial(Scored):
    """A candidate, fitted and scored."""

    recipe: Recipe
    candidate: Candidate
    evaluations: list[Evaluation]  # one per split

    @property
    def score(self) -> Score:
        """What the rule decides by."""
        return Score(self.agrees, self.calibration.likelihood, self.candidate)


class Search:
    """Candidates tried so far on given splits of rows, which have their labels beside them."""

    def __init__(
        self,
        coordinates: Coordinates,
        splits: Sequence[tuple[IntArray, IntArray]],
        settings: Settings,
        callback: Callback | None = None,
    ) -> None:
        self.coordinates = coordinates
        self.settings = settings
        self.callback = callback
        self.trials: dict[Recipe, Trial] = {}
        rows = coordinates.rows
        self.given = LabelTargets(rows.n_classes)
        held_out = np.concatenate([pair[1] for pair in splits])
        self.labels: IntArray = rows.columns[LABELS]
        self.held_out_labels: IntArray = self.labels[held_out]
        weights = rows.given_weights
        self.weights = np.ones(len(held_out)) if weights is None else weights[held_out]
        # A row of weight 2 counts as two. Weights with a mean below one are shares, not rows.
        self.weights = self.weights / min(1.0, float(self.weights.mean()))
        self.splits = _split(coordinates, splits)

    def run(self) -> Trial:
        """Try what is worth trying, and return the best."""
        for whiten in (False, True):
            self._run_on(whiten=whiten)
        return self.best()

    def _run_on(self, *, whiten: bool) -> None:
        """Try what is worth trying on rows that are half-whitened, or are not."""

        def attempt(candidate: Candidate) -> Trial:
            return self.attempt(candidate.half_whitened if whiten else candidate)

        medium, weak = attempt(grid.TEACHER_30), attempt(grid.TEACHER_10)
        # By likelihood: where one class has nearly all rows, many penalties agree alike.
        if self._is_likelier(medium, weak):
            attempt(grid.TEACHER_100)
        else:
            self._weaken(weak, self._is_likelier)
        # Students of the teacher that are far behind on plain rows are not tried on others.
        if not self._is_far_behind(grid.ROUND_2) and self.is_better(attempt(grid.ROUND_2), weak):
            attempt(grid.ROUND_3)
        if not self._is_far_behind(grid.PARTIAL):
            attempt(grid.PARTIAL)
        first = attempt(grid.FIRST_ROBUST)
        if not self._weaken(first, self.is_better):
            attempt(grid.stronger(first.candidate))
        for candidate in grid.robust_rounds(self.best(ROBUST, whiten=whiten).candidate):
            attempt(candidate)

    def attempt(self, candidate: Candidate) -> Trial:
        """Fit a candidate on every split and score it on the held-out rows."""
        recipe = candidate.recipe
        parent = recipe.teacher or candidate.start
        starts = [None] * len(self.splits) if parent is None else self.trials[parent].evaluations
        settings = replace(self.settings, tol=coarse_tol(recipe), min_iter=grid.LEAST_STEPS)
        evaluations, parts, n_passes = [], [], 0.0
        for split, start in zip(self.splits, starts, strict=True):
            solver = Solver(recipe.coordinates(split.fitted), settings)
            solution, _, passes = fit_round(solver, self.given, recipe, start)
            n_passes += passes
            evaluations.append(solution.evaluation)
            parts.append(
                predict_held_out(split.held_out, _linear(recipe, split, solution.evaluation))
            )
        scored = self.score(recipe, parts, n_passes)
        about = vars(scored) | {"recipe": recipe}
        trial = Trial(**about, candidate=candidate, evaluations=evaluations)
        self.trials[recipe] = trial
        return trial

    def score(self, recipe: AnyRecipe, parts: list[HeldOut], n_passes: float) -> Scored:
        """Return how predictions for the held-out rows of each split do on all of them.

        The callback gets it.
        """
        held_out = pool(parts)
        agrees = (held_out.predicted == self.held_out_labels).astype(float)
        scored = Scored(
            recipe=recipe,
            predicted=held_out.predicted,
            agrees=agrees,
            calibration=calibrate(held_out, self.given.n_classes, self.weights),
            agreement=mean(agrees, self.weights),
            agreement_error=standard_error(agrees, self.weights),
            n_passes=n_passes,
        )
        if self.callback is not None:
            self.callback(scored)
        return scored

    def fits(self, trial: Trial) -> list[Linear]:
        """Return what a trial found on each split, on the rows of the split."""
        ends = zip(self.splits, trial.evaluations, strict=True)
        return [_linear(trial.recipe, split, end) for split, end in ends]

    def best(self, *methods: str, whiten: bool | None = None) -> Trial:
        """Return the best trial so far, of some methods and kind of rows if they are named."""
        chosen = [
            trial
            for recipe, trial in self.trials.items()
            if (not methods or recipe.method in methods) and whiten in (None, recipe.whiten)
        ]
        return self._best_of(chosen)

    def is_better(self, one: Trial, other: Trial) -> bool:
        """Return whether one trial is better than another."""
        return self._best_of([other, one]) is one

    def refit(self, chosen: Trial) -> list[Round]:
        """Fit a candidate on all rows, from where the search left it."""
        rounds, last = [], None
        recipe = chosen.candidate.recipe
        coordinates = recipe.coordinates(self.coordinates)
        for step in recipe.rounds:
            # Only the last round is predicted with; what it learns from need not be finished.
            tol = self.settings.tol if step is recipe else coarse_tol(step)
            start = coordinates.axes.extend(self.trials[step].evaluations[0].coef)
            solver = Solver(coordinates, replace(self.settings, tol=tol, start=start))
            made, last = make_round(solver, self.given, step, last)
            rounds.append(made)
        return rounds

    def _best_of(self, trials: list[Trial]) -> Trial:
        everything = [trial.score for trial in self.trials.values()]
        uniform = noise_looks_uniform(everything, self.weights)
        return trials[best([trial.score for trial in trials], self.weights, uniform=uniform)]

    def _weaken(self, trial: Trial, gains: Callable[[Trial, Trial], bool]) -> bool:
        """Try smaller penalties while each gains over the one before; return whether any did."""
        n_gained = 0
        while candidate := grid.weaker(trial.candidate):
            weaker = self.attempt(candidate)
            if not gains(weaker, trial):
                break
            trial, n_gained = weaker, n_gained + 1
        return n_gained > 0

    def _is_far_behind(self, candidate: Candidate) -> bool:
        """Return whether a candidate was tried, and agrees clearly less than the best so far."""
        trial = self.trials.get(candidate.recipe)
        if trial is None:
            return False
        top = max(self.trials.values(), key=lambda each: each.agreement)
        return is_behind(trial.agrees, top.agrees, self.weights, errors=FAR_ERRORS)

    def _is_likelier(self, one: Trial, other: Trial) -> bool:
        return is_likelier(one.score, other.score, self.weights)


def _split(coordinates: Coordinates, splits: Sequence[tuple[IntArray, IntArray]]) -> list[Split]:
    """Return the splits of the rows that are looked at, in memory if they are not too many.

    All along their leading axes.
    """
    coordinates = coordinates.leading()
    looked_at = np.unique(np.concatenate([rows for pair in splits for rows in pair]))
    if len(looked_at) <= SEARCH_ROWS:
        coordinates = coordinates.in_axes(looked_at)
        splits = [
            (np.searchsorted(looked_at, fitted), np.searchsorted(looked_at, held_out))
            for fitted, held_out in splits
        ]
    return [
        Split(coordinates.take(fitted), coordinates.take(held_out)) for fitted, held_out in splits
    ]


def _linear(recipe: Recipe, split: Split, end: Evaluation) -> Linear:
    """Return where a fit ended, on the rows of its split."""
    return Linear(recipe.coordinates(split.held_out).on_rows(end.coef), np.zeros(len(end.coef)))
