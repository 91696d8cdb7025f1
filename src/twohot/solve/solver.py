"""Minimise an objective by preconditioned L-BFGS; run a sequence of fits on the same rows.

The curvature comes from solve.curvature: a model, corrected by past steps. The relative gradient is
the norm of the gradient, divided by its norm at zero coefficients in the same fit. The tolerance is
for the relative gradient. An absolute tolerance would stop late rounds at zero, because their
targets are nearly uniform. A pass is two matrix products with all rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from twohot.base import FloatArray
from twohot.rows import Coordinates
from twohot.solve.curvature import History, metrics_at
from twohot.solve.first_step import first_coef
from twohot.solve.loss_kernels import Targets
from twohot.solve.losses import Evaluation, FitProblem, Loss, pose
from twohot.solve.steps import KEPT_LOGITS, choose_steps

# Called after every step, with the number of steps, the number of passes and the relative gradient.
Callback: TypeAlias = Callable[[int, float, float], None]

# After a shortened step, class-wise pairs are not used for this many steps, because the curvature
# changes too fast for them. Without this pause, fits with a small penalty stall.
PAUSE = 3

# A relative gradient below this can consist of rounding errors only. Once it is so small, a fit
# stops after PATIENCE steps without a clearly smaller gradient.
FLOOR = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}
PATIENCE = 12

MOST_TRIALS = 25  # lengths tried per step, each shorter; 0.1²⁵ of a step is negligible
FEW_TRIALS = 4  # lengths tried if the relative gradient has been below FLOOR


@dataclass(frozen=True, eq=False)
class Settings:
    """Tolerance, limits and start of a fit."""

    tol: float  # tolerance of the relative gradient
    max_iter: int  # maximum number of steps
    start: str | FloatArray = "teacher"  # "teacher", "zero" or coefficients, see Solver.fit
    min_iter: int = 0  # minimum number of steps, even if the start is within the tolerance
    kept_logits: int = KEPT_LOGITS  # maximum bytes for storing the logits of all rows


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a fit, and whether it reached the tolerance."""

    evaluation: Evaluation  # at the end
    n_iter: int  # number of search directions
    gradient_norm: float  # the relative gradient at the end
    converged: bool


def minimize(
    problem: FitProblem,
    start: Evaluation | None,
    settings: Settings,
    history: History,
    callback: Callback | None = None,
) -> Solution:
    """Minimise the objective of a problem from an evaluated start.

    If `start` is None, the fit starts after one step from zero coefficients (solve.first_step).
    """
    passes_before, at_zero = problem.rows.n_passes, problem.gradient_at_zero()
    scale = float(np.linalg.norm(at_zero))
    if scale == 0:
        end = problem.evaluate(np.zeros_like(at_zero))
        return Solution(end, 0, gradient_norm=0.0, converged=True)
    tol, history.n_overall = settings.tol, 0
    n_iter, stalled = 0, 0
    with choose_steps(problem, settings.kept_logits, tol) as steps:
        here = steps.begin(first_coef(problem)) if start is None else start
        metrics = metrics_at(problem, here)
        norm = smallest = float(np.linalg.norm(here.gradient)) / scale
        while norm > tol or n_iter < settings.min_iter:
            if n_iter == settings.max_iter or stalled == PATIENCE:
                break
            # 1. Compute a direction from the curvature measured so far.
            direction = -history.solve(here.gradient, metrics)
            # 2. Take a step along the direction.
            at_floor = smallest <= FLOOR[problem.rows.dtype]
            there, shortened = steps.take(here, direction, FEW_TRIALS if at_floor else MOST_TRIALS)
            n_iter += 1
            if there is None:
                if not history.pairs or at_floor:
                    break
                history.forget()
                continue
            # 3. Store the curvature that the step measures.
            metrics = metrics_at(problem, there)
            history.pause = PAUSE if shortened and history.pairs else max(0, history.pause - 1)
            step, change = there.coef - here.coef, there.gradient - here.gradient
            history.add(step, change, metrics, steps.least_class_curvature)
            here = there
            norm = float(np.linalg.norm(here.gradient)) / scale
            stalled = stalled + 1 if at_floor and norm >= 0.9 * smallest else 0
            smallest = min(smallest, norm)
            if callback is not None:
                callback(n_iter, problem.rows.n_passes - passes_before, norm)
    return Solution(here, n_iter, norm, norm <= tol)


# Several fits on the same rows --------------------------------------------------------------------

# Tolerance of a fit that is only the start for a fit with another loss. The second fit ends at the
# same point as if the first fit were exact, and the total number of passes is smaller.
START_TOLERANCE = 3e-2


@dataclass(eq=False)
class Solver:
    """Solver of several fits on the same rows.

    A convex fit reuses the curvature measured by the last convex fit, if the penalty is the same.
    """

    coordinates: Coordinates
    settings: Settings
    callback: Callback | None = None
    _history: History | None = None  # of the last convex fit
    _history_l2: float | None = None  # penalty of that fit

    def fit(
        self, loss: Loss, targets: Targets, l2: float, last: Evaluation | None = None
    ) -> Solution:
        """Fit targets; `last` is the evaluation at the end of the previous round, or None.

        If the loss is convex, the fit starts from the previous round, or in the first round from
        the coefficients in the settings. If there is no such start, or if the gradient there is
        larger than at zero, the fit starts one step from zero instead.

        If the loss is not convex, the result depends on the start, so the settings choose the
        start: coefficients, "zero" or "teacher". "teacher" starts from the previous round. In the
        first round, it starts from a fit to the same targets with the loss `starts_from`.
        """
        problem, start = pose(self.coordinates, loss, targets, l2, last), self.settings.start
        history = History(problem.rows.dtype)
        if loss.starts_from is None:
            if self._history is None or l2 != self._history_l2:
                self._history, self._history_l2 = history, l2
            warm = self._convex_start(problem, last)
            return minimize(problem, warm, self.settings, self._history, self.callback)
        if not isinstance(start, str):
            coef = _centred(start)
        elif start == "zero":
            coef = np.zeros_like(problem.target_moment)
        else:
            if last is None:
                coarse = replace(self.settings, tol=max(self.settings.tol, START_TOLERANCE))
                convex = replace(problem, loss=loss.starts_from)
                last = minimize(convex, None, coarse, History(problem.rows.dtype)).evaluation
                problem = replace(problem, means=last.means)
            coef = last.coef
        return minimize(problem, problem.evaluate(coef), self.settings, history, self.callback)

    def _convex_start(self, problem: FitProblem, last: Evaluation | None) -> Evaluation | None:
        """Return the evaluated start of a convex fit; None: start one step from zero."""
        start = None
        if last is not None:
            start = problem.loss.evaluate_known(problem, last)
        elif not isinstance(self.settings.start, str):
            start = problem.evaluate(_centred(self.settings.start))
        if start is None:
            return None
        at_zero = np.linalg.norm(problem.gradient_at_zero())
        return None if np.linalg.norm(start.gradient) > at_zero else start


def _centred(start: FloatArray) -> FloatArray:
    """Return coefficients minus their mean over the classes, which changes no output."""
    return np.asarray(start - start.mean(axis=0))
