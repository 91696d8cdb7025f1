"""Candidates fitted on every split, each from where another one ended."""

from dataclasses import replace
from typing import TypeAlias

import numpy as np

from twohot.distill.recipe import Recipe
from twohot.distill.rounds import fit_round
from twohot.distill.targets import LabelTargets
from twohot.rows.coordinates import Coordinates
from twohot.select import grid
from twohot.select.grid import Candidate, coarse_tol
from twohot.select.scored import Linear
from twohot.select.split_rows import Splits, rows_along_axes, split_rows
from twohot.solve.objective import Evaluation
from twohot.solve.solver import Settings, Solver

Ends: TypeAlias = dict[Recipe, list[Evaluation]]  # where the fits of each ended, one per split


class SplitFits:
    """Coarse fits on given splits of rows, which have their labels beside them."""

    def __init__(
        self,
        coordinates: Coordinates,
        splits: Splits,
        settings: Settings,
        *,
        n_axes: int | None = None,
    ) -> None:
        self.settings = settings
        self.given = LabelTargets(coordinates.rows.n_classes)
        # What is looked at: along all leading axes, and along at most so many of them.
        self.along, among = rows_along_axes(coordinates, splits)
        self.wide_splits = split_rows(self.along, among)
        self.searched = self.along.leading(n_axes)
        self.splits = split_rows(self.searched, among)
        self.ends: Ends = {}

    def fit(self, candidate: Candidate, tol: float | None = None) -> float:
        """Fit a candidate on every split, and return the passes that this took.

        What it starts or learns from has been fitted before. Without a tolerance it is fitted as
        candidates are compared.
        """
        recipe = candidate.recipe
        parent = recipe.teacher or candidate.start
        starts = [None] * len(self.splits) if parent is None else self.ends[parent]
        tol = coarse_tol(recipe, self.given.n_classes) if tol is None else tol
        settings = replace(self.settings, tol=tol, min_iter=grid.LEAST_STEPS)
        ends, n_passes = [], 0.0
        for split, start in zip(self.splits, starts, strict=True):
            solver = Solver(recipe.coordinates(split.fitted), settings)
            solution, _, passes = fit_round(solver, self.given, recipe, start)
            n_passes += passes
            ends.append(solution.evaluation)
        self.ends[recipe] = ends
        return n_passes

    def on_rows(self, recipe: Recipe) -> list[Linear]:
        """Return where the fits of a recipe ended, on the rows of their splits."""
        return [
            Linear(recipe.coordinates(split.held_out).on_rows(end.coef), np.zeros(len(end.coef)))
            for split, end in zip(self.splits, self.ends[recipe], strict=True)
        ]

    def on_wide_rows(self, recipe: Recipe) -> list[Linear]:
        """Return the same on the rows along all leading axes."""
        extend = self.wide_splits[0].fitted.axes.extend
        return [Linear(extend(fit.coef), fit.offset) for fit in self.on_rows(recipe)]
