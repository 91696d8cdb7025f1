"""The search: candidates fitted side by side on every split, scored on the held-out rows.

The rows that a search looks at are taken once, prepared, and held in memory along their leading
principal axes: a number for each row and for each of 512 axes at the most. Candidates read the last
256 of these; half-whitened rows are the same rows, each axis times a number. All splits share them,
so that a split costs no set-up and its coefficients are a start for any other fit. A candidate is
fitted on all splits before the next one is chosen. What is chosen is fitted on all rows, and along
all axes unless it is half-whitened.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from twohot._types import IntArray, Round
from twohot.distill.average_recipe import AnyRecipe
from twohot.distill.checkpoint import Checkpoint
from twohot.distill.recipe import ROBUST, TWO_HOT, Recipe
from twohot.distill.rounds import make_round
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
from twohot.select.grid import Candidate, coarse_tol, scaled_tol
from twohot.select.rule import Score, best, is_likelier, likelihood_counts
from twohot.select.scored import Scored, predict_held_out
from twohot.select.split_fits import SplitFits
from twohot.solve.objective import Evaluation
from twohot.solve.solver import Settings, Solver

Callback = Callable[[Scored], None]

# Leading principal axes along which candidates that take many passes are compared.
SEARCH_AXES = 256

# Standard errors of its agreement by which a teacher is far behind, so that other penalties and
# students are left out; and by which the first robust probe on one kind of rows is, so that no
# other follows there: more, since what is a little worse may still be averaged with the better
# kind.
FAR_ERRORS, FARTHER_ERRORS = 2.0, 4.0

# Rows times classes from which on a robust probe is finished at this multiple of the tolerance,
# by default about where it was compared. Its last steps are most of the passes, and move test
# accuracy by less than 0.1 points either way (BANKING77, 18 kinds of noise: 0.00); where rows are
# few they cost nothing, and digits lose 0.5 points without them.
EARLY_CELLS, EARLIER = 500_000, 10.0


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


class Search(SplitFits):
    """Candidates tried so far on given splits of rows, and how they did on those held out."""

    def __init__(
        self,
        coordinates: Coordinates,
        splits: Sequence[tuple[IntArray, IntArray]],
        settings: Settings,
        callback: Callback | None = None,
        *,
        n_axes: int | None = None,
        n_features: int | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        super().__init__(coordinates, splits, settings, n_axes=n_axes)
        self.coordinates = coordinates
        # Those of the user's rows; rows that are fewer are written along as many as they are.
        self.n_features = coordinates.rows.n_features if n_features is None else n_features
        # All rows along their leading axes, which are at hand if all are looked at.
        everything = self.along.rows.n_samples == coordinates.rows.n_samples
        self.leading = self.along if everything else coordinates
        # Those of its classes that are looked at.
        self.classes: IntArray = np.arange(coordinates.rows.n_classes)
        self.checkpoint = checkpoint
        self.callback = callback
        self.trials: dict[Recipe, Trial] = {}
        rows = coordinates.rows
        held_out = np.concatenate([pair[1] for pair in splits])
        self.held_out_labels: IntArray = rows.columns[LABELS][held_out]
        weights = rows.given_weights
        self.weights = np.ones(len(held_out)) if weights is None else weights[held_out]
        # A row of weight 2 counts as two. Weights with a mean below one are shares, not rows.
        self.weights = self.weights / min(1.0, float(self.weights.mean()))

    def run(self) -> Trial:
        """Try what is worth trying, and return the best."""
        for whiten in (False, True):
            self._begin(whiten=whiten)
        robust = grid.FIRST_ROBUST
        firsts = [self.trials[each.recipe] for each in (robust, robust.half_whitened)]
        for first in firsts:
            # A kind of rows that is clearly worse does not become the better one.
            if not any(self._is_behind(first, other, FARTHER_ERRORS) for other in firsts):
                self._refine(first)
        return self.best()

    def _begin(self, *, whiten: bool) -> None:
        """Try teachers and the first robust probe, on rows that are half-whitened, or are not."""

        def attempt(candidate: Candidate) -> Trial:
            return self.attempt(candidate.half_whitened if whiten else candidate)

        medium, robust = attempt(grid.TEACHER_30), attempt(grid.FIRST_ROBUST)
        # Where a teacher is clearly worse, neither other penalties nor students become better than
        # what it is behind.
        if self._is_behind(medium, robust, FAR_ERRORS):
            return
        weak = attempt(grid.TEACHER_10)
        # By likelihood: where one class has nearly all rows, many penalties agree alike.
        if self._is_likelier(medium, weak):
            attempt(grid.TEACHER_100)
        else:
            self._weaken(weak, self._is_likelier)
        if self._is_behind(weak, robust, FAR_ERRORS):
            return
        if self.is_better(attempt(grid.ROUND_2), weak):
            attempt(grid.ROUND_3)
        attempt(grid.PARTIAL)

    def _refine(self, first: Trial) -> None:
        """Try other penalties of a robust probe, and the second round of the best."""
        if not self._weaken(first, self.is_better):
            self.attempt(grid.stronger(first.candidate))
        best_robust = self.best(ROBUST, whiten=first.recipe.whiten)
        self.attempt(grid.robust_round(best_robust.candidate))

    def end_on(self, coordinates: Coordinates, classes: IntArray) -> None:
        """Let what is chosen be fitted on all rows, of whose classes these were looked at."""
        if coordinates is not self.coordinates:
            self.coordinates = self.leading = coordinates
        self.classes = classes

    def attempt(self, candidate: Candidate) -> Trial:
        """Fit a candidate on every split and score it on the held-out rows."""
        recipe = candidate.recipe
        ends, n_passes = self._tried_before(candidate)
        if ends:
            self.ends[recipe] = ends
        else:
            n_passes = self.fit(candidate)
            if self.checkpoint is not None:
                self.checkpoint.add_tried(candidate.key, self.ends[recipe], n_passes)
        pairs = zip(self.splits, self.on_rows(recipe), strict=True)
        parts = [predict_held_out(split.held_out, fit) for split, fit in pairs]
        scored = self.score(recipe, parts, n_passes)
        about = vars(scored) | {"recipe": recipe}
        trial = Trial(**about, candidate=candidate, evaluations=self.ends[recipe])
        self.trials[recipe] = trial
        return trial

    def _tried_before(self, candidate: Candidate) -> tuple[list[Evaluation], float]:
        """Return where a search that was stopped has left a candidate on each split; passes."""
        if self.checkpoint is None:
            return [], 0.0
        return self.checkpoint.tried(candidate.key, len(self.splits))

    def score(self, recipe: AnyRecipe, parts: list[HeldOut], n_passes: float) -> Scored:
        """Return how predictions for the held-out rows of each split do on all of them.

        The callback gets it.
        """
        held_out = pool(parts)
        agrees = (held_out.predicted == self.held_out_labels).astype(float)
        scored = Scored(
            recipe=recipe,
            predicted=held_out.predicted,
            margin=held_out.margin,
            agrees=agrees,
            calibration=calibrate(held_out, self.given.n_classes, self.weights),
            agreement=mean(agrees, self.weights),
            agreement_error=standard_error(agrees, self.weights),
            n_passes=n_passes,
        )
        if self.callback is not None:
            self.callback(scored)
        return scored

    def best(self, *methods: str, whiten: bool | None = None) -> Trial:
        """Return the best trial so far, of some methods and kind of rows if they are named."""
        chosen = [
            trial
            for recipe, trial in self.trials.items()
            if (not methods or recipe.method in methods) and whiten in (None, recipe.whiten)
        ]
        return self._best_of(chosen)

    def likeliest(self) -> Trial:
        """Return the trial by which held-out labels are likeliest."""
        return max(
            self.trials.values(), key=lambda each: mean(each.calibration.likelihood, self.weights)
        )

    def is_better(self, one: Trial, other: Trial) -> bool:
        """Return whether one trial is better than another."""
        return self._best_of([other, one]) is one

    def refit(self, chosen: Trial) -> list[Round]:
        """Fit a candidate on all rows.

        A robust one anew: the search has decided which labels to believe without the rows that it
        held out. All others from where the search left them: cross-entropy has one optimum, and so
        the two-hot student of it has one start. With an intercept every round by itself.
        """
        recipe = chosen.candidate.recipe
        # A fit that ended elsewhere is another one.
        name = f"{chosen.candidate.key} on all rows to {self._final_tol(recipe):g}, "
        file = self.checkpoint
        rounds = [] if file is None else file.rounds(name)
        last = None if file is None else file.last_end(name)
        given = LabelTargets(self.coordinates.rows.n_classes)
        for step, coordinates, settings in self._steps_to(recipe)[len(rounds) :]:
            start = None if last is None else last.start_along(coordinates.axes)
            made, last = make_round(Solver(coordinates, settings), given, step, start)
            rounds.append(made)
            if file is not None:
                file.add_round(made, last, name)
        # What a robust probe starts from is part of what its first round takes.
        *starts, first = rounds[: 1 + len(rounds) - recipe.n_rounds]
        n_passes = first.n_passes + sum(each.n_passes for each in starts)
        return [replace(first, n_passes=n_passes), *rounds[len(starts) + 1 :]]

    def _steps_to(self, recipe: Recipe) -> list[tuple[Recipe, Coordinates, Settings]]:
        """Return what is fitted on all rows to make a recipe, on which of their axes, and how.

        Only the last is predicted with. What it learns or starts from need not be finished, nor
        use more axes than the search, if the rows are in memory along these.
        """
        rows = recipe.coordinates(self._rows_for(recipe))
        # There is an intercept where classes may be rare, and what large penalties have flattened
        # of a rare one does not rise again: then every round starts as it would by itself.
        if recipe.rounds[0].loss.is_robust and not rows.rows.intercept:
            few = recipe.coordinates(self.searched) if self.leading is self.along else rows
            coarse = replace(
                self.settings,
                tol=coarse_tol(recipe, rows.rows.n_classes),
                min_iter=grid.LEAST_STEPS,
            )
            steps = [(each, few, coarse) for each in grid.gentle_path_to(recipe)]
        else:
            steps = [(each, rows, self._settings_of(each, rows)) for each in recipe.rounds]
        _, _, settings = steps[-1]
        return [*steps[:-1], (recipe, rows, replace(settings, tol=self._final_tol(recipe)))]

    def _settings_of(self, step: Recipe, coordinates: Coordinates) -> Settings:
        """Return how a step is solved, from where the search left it if there is no intercept."""
        rows = coordinates.rows
        settings = replace(self.settings, tol=coarse_tol(step, rows.n_classes))
        if rows.intercept or len(self.classes) < rows.n_classes:
            return settings
        start = coordinates.axes.extend(self.trials[step].evaluations[0].coef)
        return replace(settings, start=start)

    def _final_tol(self, recipe: Recipe) -> float:
        """Return the relative gradient at which a recipe is finished on all rows.

        A two-hot student is left where it was compared. The loss of two labels does not tell them
        apart, and finished it may have given one of them up: three Gaussians in the plane, clean
        labels, 96.7 % where it was compared and 91.9 % in the end.
        """
        rows, tol = self.coordinates.rows, self.settings.tol
        compared = coarse_tol(recipe, rows.n_classes)
        if recipe.method == TWO_HOT:
            return max(compared, tol)
        early = recipe.loss.is_robust and rows.n_samples * rows.n_classes > EARLY_CELLS
        # Never less finished than it was compared: it may have started as near as that.
        return min(compared, EARLIER * tol if early else scaled_tol(recipe, tol))

    def _rows_for(self, recipe: Recipe) -> Coordinates:
        """Return all rows for a fit: along all axes, or, half-whitened, their leading ones."""
        leading_are_all = len(self.leading.axes.variances) == len(self.coordinates.axes.variances)
        return self.leading if recipe.whiten or leading_are_all else self.coordinates

    def _best_of(self, trials: list[Trial]) -> Trial:
        everything = [trial.score for trial in self.trials.values()]
        counts = likelihood_counts(everything, self.weights)
        return trials[best([trial.score for trial in trials], self.weights, by_likelihood=counts)]

    def _weaken(self, trial: Trial, gains: Callable[[Trial, Trial], bool]) -> bool:
        """Try smaller penalties while each gains over the one before; return whether any did."""
        n_gained = 0
        while candidate := grid.weaker(trial.candidate, self.n_features):
            weaker = self.attempt(candidate)
            if not gains(weaker, trial):
                break
            trial, n_gained = weaker, n_gained + 1
        return n_gained > 0

    def _is_behind(self, one: Trial, other: Trial, errors: float) -> bool:
        """Return whether one trial agrees less than another, by so many standard errors."""
        return is_behind(one.agrees, other.agrees, self.weights, errors=errors)

    def _is_likelier(self, one: Trial, other: Trial) -> bool:
        return is_likelier(one.score, other.score, self.weights)
