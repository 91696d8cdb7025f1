"""One fit: where it starts, and how it is solved."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from twohot._types import FloatArray
from twohot.solve.lbfgs import Solution, minimize
from twohot.solve.objective import (
    CrossEntropy,
    Evaluation,
    GeneralizedCrossEntropy,
    Objective,
    Problem,
)
from twohot.solve.secants import History
from twohot.solve.terms import Targets

# The cross-entropy fit that only serves generalised cross-entropy as a start: at this relative
# gradient no training prediction changes any more.
START_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Settings:
    """How every fit of an estimator is solved."""

    tol: float  # of the gradient, relative to its norm at zero
    max_iter: int
    gce_power: float
    start: str | FloatArray  # of generalised cross-entropy: "teacher", "zero", or coefficients
    min_iter: int = 0  # steps to take even where the start is within the tolerance
    report: Callable[[int, float, float], None] | None = None  # iterations, passes, gradient


def fit_cross_entropy(
    problem: Problem, last: Evaluation | None, settings: Settings, history: History
) -> Solution:
    """Start from the last round or from zero, whichever has the smaller gradient."""
    objective = CrossEntropy(problem)
    start = None
    if last is not None and last.moment is not None:
        start = objective.evaluate_known(last)
        if np.linalg.norm(start.gradient) > np.linalg.norm(objective.gradient_at_zero()):
            start = None
    return _solve(objective, start, settings, history)


def fit_generalized(
    problem: Problem, targets: Targets, last: Evaluation | None, settings: Settings
) -> Solution:
    """Start where the settings say: the objective is not convex, so it matters.

    "teacher" is the last round, or in the first round a cross-entropy fit of the same targets,
    whose passes are counted.
    """
    passes = 0.0
    from_teacher = isinstance(settings.start, str) and settings.start == "teacher"
    if last is None and from_teacher:
        coarse = replace(settings, tol=max(settings.tol, START_TOLERANCE), report=None)
        teacher = fit_cross_entropy(problem, None, coarse, History(problem.features.dtype))
        passes, last = teacher.n_passes, teacher.evaluation
    means = None if last is None else last.means
    objective = GeneralizedCrossEntropy(problem, targets, settings.gce_power, means)
    coef = np.zeros_like(problem.target_moment)
    if not isinstance(settings.start, str):
        coef = settings.start - settings.start.mean(axis=0)
    elif last is not None and from_teacher:
        coef = last.coef
    solution = _solve(
        objective, objective.evaluate(coef), settings, History(problem.features.dtype)
    )
    return replace(solution, n_passes=solution.n_passes + objective.passes + passes)


def _solve(
    objective: Objective, start: Evaluation | None, settings: Settings, history: History
) -> Solution:
    return minimize(
        objective,
        start,
        tol=settings.tol,
        max_iter=settings.max_iter,
        min_iter=settings.min_iter,
        history=history,
        report=settings.report,
    )
