"""The minimiser: directions from preconditioned L-BFGS, and steps along them (solve.steps).

The curvature comes from solve.curvature: a model, corrected by past steps. The tolerance is
relative to the gradient at zero coefficients of the same fit: the targets of late rounds are nearly
uniform, and a fit with an absolute tolerance would stop at zero.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twohot.solve.curvature import History, metrics_at
from twohot.solve.first_step import first_coef
from twohot.solve.objective import Evaluation, Objective
from twohot.solve.steps import KEPT_LOGITS, choose_steps

# After a shortened step, class-wise pairs are not used for this many steps, because the curvature
# changes too fast for them. Without this, fits at a small penalty stall.
PAUSE = 3

# A relative gradient below this may be only rounding error. Then a fit stops after PATIENCE steps
# without a clearly smaller gradient.
FLOOR = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}
PATIENCE = 12

MOST_TRIALS = 25  # lengths tried per step, each shorter; 0.1²⁵ of a step is negligible
FEW_TRIALS = 4  # lengths tried if the gradient may be only rounding error


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a fit, and whether it reached the tolerance."""

    evaluation: Evaluation  # at the end
    n_iter: int  # number of directions
    gradient_norm: float  # relative to the norm of the gradient at zero
    converged: bool


def minimize(
    objective: Objective,
    start: Evaluation | None,
    *,
    tol: float,
    max_iter: int,
    history: History,
    min_iter: int = 0,
    kept_logits: int = KEPT_LOGITS,
    callback: Callable[[int, float, float], None] | None = None,
) -> Solution:
    """Minimise an objective from an evaluated start, with at least `min_iter` steps.

    Without a start it begins after one step from zero (solve.first_step).

    `callback` is called after every step with the iterations, passes and relative gradient so far.
    """
    problem, passes_before = objective.problem, objective.problem.rows.n_passes
    at_zero = objective.gradient_at_zero()
    scale = float(np.linalg.norm(at_zero))
    if scale == 0:
        end = objective.evaluate(np.zeros_like(at_zero))
        return Solution(end, 0, gradient_norm=0.0, converged=True)
    history.n_overall = 0
    n_iter, stalled = 0, 0
    with choose_steps(objective, kept_logits, tol) as steps:
        here = steps.begin(first_coef(problem)) if start is None else start
        metrics = metrics_at(problem, here)
        norm = smallest = float(np.linalg.norm(here.gradient)) / scale
        while (norm > tol or n_iter < min_iter) and n_iter < max_iter and stalled < PATIENCE:
            # 1. A direction from the curvature measured so far.
            direction = -history.solve(here.gradient, metrics)
            # 2. A step along it.
            at_floor = smallest <= FLOOR[problem.rows.dtype]
            there, shortened = steps.take(here, direction, FEW_TRIALS if at_floor else MOST_TRIALS)
            n_iter += 1
            if there is None:
                if not history.pairs or at_floor:
                    break
                history.forget()
                continue
            # 3. The curvature measured by the step.
            metrics = metrics_at(problem, there)
            history.pause = max(0, history.pause - 1)
            if shortened and history.pairs:
                history.pause = PAUSE
            step, change = there.coef - here.coef, there.gradient - here.gradient
            history.add(step, change, metrics, steps.least_class_curvature)
            here = there
            norm = float(np.linalg.norm(here.gradient)) / scale
            moving = norm < 0.9 * smallest or not at_floor
            stalled = 0 if moving else stalled + 1
            smallest = min(smallest, norm)
            if callback is not None:
                callback(n_iter, problem.rows.n_passes - passes_before, norm)
    return Solution(here, n_iter, norm, norm <= tol)
