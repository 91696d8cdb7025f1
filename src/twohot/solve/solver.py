"""Run a sequence of fits on the same rows, with shared settings and warm starts."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from twohot.base import FloatArray
from twohot.rows import Coordinates
from twohot.solve.curvature import History
from twohot.solve.lbfgs import Solution, minimize
from twohot.solve.loss_kernels import Targets
from twohot.solve.losses import Loss
from twohot.solve.objective import Evaluation, FitProblem, Objective, pose
from twohot.solve.steps import KEPT_LOGITS

# Tolerance of a fit that is only the start for a fit with another loss. With this tolerance, the
# second fit ends at the same point as from the exact optimum, and the total number of passes is
# smaller.
START_TOLERANCE = 3e-2


@dataclass(frozen=True, eq=False)
class Settings:
    """Tolerance, limits and start of the fits of an estimator."""

    tol: float  # tolerance of the gradient, relative to its norm at zero
    max_iter: int
    start: str | FloatArray = "teacher"  # "teacher", "zero" or coefficients, see Solver.fit
    min_iter: int = 0  # minimum steps, even if the start is within the tolerance
    kept_logits: int = KEPT_LOGITS  # maximum bytes for storing the logits of all rows


@dataclass(eq=False)
class Solver:
    """Fits on the same rows; a fit reuses the curvature of the last fit with the same penalty."""

    coordinates: Coordinates
    settings: Settings
    callback: Callable[[int, float, float], None] | None = None  # iterations, passes, gradient
    _history: History | None = None  # of the last convex fit, and its penalty
    _history_l2: float | None = None

    def fit(
        self, loss: Loss, targets: Targets, l2: float, last: Evaluation | None = None
    ) -> Solution:
        """Return the solution for some targets, with a warm start from the last round if it helps.

        A convex objective starts from the last round or from the coefficients in the settings. If
        the gradient at zero is smaller than there, the fit starts one step from zero instead. The
        result of a non-convex objective depends on the start, which the settings choose. "teacher"
        starts from the last round. The first round has none, so it starts from a fit to the same
        targets with the loss `starts_from`.
        """
        problem = pose(self.coordinates, targets, l2, last)
        if loss.starts_from is None:
            return self._fit_convex(Objective(problem, loss), l2, last)
        if last is None and _is(self.settings.start, "teacher"):
            # This fit only gives the start of the next one.
            coarse = replace(self.settings, tol=max(self.settings.tol, START_TOLERANCE))
            solver = Solver(self.coordinates, coarse)
            convex = Objective(problem, loss.starts_from)
            last = solver._minimize(convex, None, History(problem.rows.dtype)).evaluation
            problem = replace(problem, means=last.means)
        objective = Objective(problem, loss)
        start = objective.evaluate(self._start(problem, last))
        return self._minimize(objective, start, History(problem.rows.dtype))

    def _fit_convex(self, objective: Objective, l2: float, last: Evaluation | None) -> Solution:
        start = None
        if last is not None:
            start = objective.loss.evaluate_known(objective.problem, last)
        elif not isinstance(self.settings.start, str):
            start = objective.evaluate(self._start(objective.problem, None))
        if start is not None:
            at_zero = np.linalg.norm(objective.gradient_at_zero())
            start = None if np.linalg.norm(start.gradient) > at_zero else start
        if self._history is None or l2 != self._history_l2:
            self._history, self._history_l2 = History(self.coordinates.rows.dtype), l2
        return self._minimize(objective, start, self._history)

    def _start(self, problem: FitProblem, last: Evaluation | None) -> FloatArray:
        start = self.settings.start
        if not isinstance(start, str):
            return np.asarray(start - start.mean(axis=0))
        if last is not None and _is(start, "teacher"):
            return last.coef
        return np.zeros_like(problem.target_moment)

    def _minimize(
        self, objective: Objective, start: Evaluation | None, history: History
    ) -> Solution:
        return minimize(
            objective,
            start,
            tol=self.settings.tol,
            max_iter=self.settings.max_iter,
            min_iter=self.settings.min_iter,
            kept_logits=self.settings.kept_logits,
            history=history,
            callback=self.callback,
        )


def _is(start: str | FloatArray, word: str) -> bool:
    return isinstance(start, str) and start == word
