"""The loop: targets → fit → outputs → targets.

One loop serves every method. A method is a list of plans, one per round; the first round fits the
given targets (it is the teacher), each later one what its plan makes of the last round's outputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from twohot._types import FloatArray, Round
from twohot.distill.targets import candidates, keep
from twohot.features.preparation import FeatureSet
from twohot.features.reduction import Reduction, reduce_rows
from twohot.features.spectrum import Spectrum, measure_spectrum
from twohot.solve.lbfgs import Solution, minimize
from twohot.solve.objective import (
    CrossEntropy,
    Evaluation,
    GeneralizedCrossEntropy,
    Problem,
    Targets,
    target_moment,
)
from twohot.solve.secants import History

LossName: TypeAlias = Literal["ce", "gce"]

# The cross-entropy fit that only serves generalised cross-entropy as a start: at this relative
# gradient no training prediction changes any more.
START_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Plan:
    """What one round does."""

    loss: str  # "ce" or "gce"
    l2: float
    n_candidates: int | None = None  # of the last round's outputs; None: keep them all


@dataclass(frozen=True, eq=False)
class Settings:
    """What all rounds of a fit share."""

    tol: float
    max_iter: int
    gce_power: float
    start: str | FloatArray  # of generalised cross-entropy: "teacher", "zero", coefficients
    n_jobs: int
    report: Callable[[str], None] | None = None


class Rows:
    """The rows of a fit in the coordinates it is solved in."""

    def __init__(self, features: FeatureSet, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self.reduction: Reduction | None = None
        if features.n_samples < features.n_features - features.intercept:
            self.reduction = reduce_rows(features)
            self.features: FeatureSet = self.reduction.features
            self.spectrum: Spectrum = self.reduction.spectrum
        else:
            self.features, self.spectrum = features, measure_spectrum(features, n_jobs)

    def to_features(self, coef: FloatArray) -> FloatArray:
        """Return coefficients on the features a user sees."""
        if self.reduction is not None:
            return self.reduction.to_features(coef, self.n_jobs)
        return self.spectrum.to_features(coef)

    def from_features(self, coef: FloatArray) -> FloatArray:
        """Return coefficients in the coordinates of the fit."""
        if self.reduction is not None:
            return self.reduction.from_features(coef)
        return self.spectrum.from_features(coef)


def run_rounds(
    rows: Rows, targets: Targets, n_classes: int, plans: Sequence[Plan], settings: Settings
) -> list[Round]:
    """Return one record per round."""
    rounds: list[Round] = []
    last: Solution | None = None
    history = History()
    for number, plan in enumerate(plans, start=1):
        extra = 0.0
        if last is not None:
            coef = rows.spectrum.to_features(last.evaluation.coef)
            if plan.n_candidates is None:
                targets = keep(rows.features, coef)
            else:
                targets = candidates(rows.features, coef, plan.n_candidates, settings.n_jobs)
                extra = 0.5
        if last is None or plan.l2 != plans[number - 2].l2:
            history = History()
        problem = _problem(rows, targets, n_classes, plan.l2, last, settings.n_jobs)
        fit = _Fit(problem, targets, plan, settings, number, history)
        last = fit.run(rows, last)
        rounds.append(_record(rows, last, plan, targets.name, extra + fit.start_passes))
    return rounds


def _problem(
    rows: Rows,
    targets: Targets,
    n_classes: int,
    l2: float,
    last: Solution | None,
    n_jobs: int,
) -> Problem:
    """Return what the next fit is given. The moment of outputs is known from their own fit."""
    penalty = np.full(rows.features.n_features, l2)
    if rows.features.intercept:
        penalty[-1] = 0
    empty = np.zeros((n_classes, rows.features.n_features))
    problem = Problem(rows.features, rows.spectrum, empty, penalty, n_jobs)
    if targets.name == "outputs" and last is not None and last.evaluation.moment is not None:
        moment = last.evaluation.moment
    else:
        moment = target_moment(problem, targets, n_classes)
    return Problem(rows.features, rows.spectrum, moment, penalty, n_jobs)


class _Fit:
    """One round: choose where to start, and solve."""

    def __init__(
        self,
        problem: Problem,
        targets: Targets,
        plan: Plan,
        settings: Settings,
        number: int,
        history: History,
    ) -> None:
        self.problem = problem
        self.targets = targets
        self.plan = plan
        self.settings = settings
        self.number = number
        self.history = history
        self.start_passes = 0.0

    def run(self, rows: Rows, last: Solution | None) -> Solution:
        """Return the solution of this round."""
        if self.plan.loss == "ce":
            return self._cross_entropy(last, self.settings.tol, self.history)
        objective = GeneralizedCrossEntropy(self.problem, self.targets, self.settings.gce_power)
        start = objective.evaluate(self._start(rows, last))
        self.start_passes += objective.passes
        return self._minimize(objective, start, self.settings.tol, History())

    def _cross_entropy(self, last: Solution | None, tol: float, history: History) -> Solution:
        """Start from the last round or from zero, whichever is closer by its gradient."""
        objective = CrossEntropy(self.problem)
        start: Evaluation | None = None
        if last is not None and last.evaluation.moment is not None:
            start = objective.evaluate_known(last.evaluation)
            at_zero = np.linalg.norm(objective.gradient_at_zero())
            if np.linalg.norm(start.gradient) > at_zero:
                start = None
        return self._minimize(objective, start, tol, history)

    def _start(self, rows: Rows, last: Solution | None) -> FloatArray:
        """Return where generalised cross-entropy starts; it is not convex, so this matters."""
        start = self.settings.start
        if not isinstance(start, str):
            coef = rows.from_features(start)
            return coef - coef.mean(axis=0)
        if start == "zero":
            return np.zeros_like(self.problem.target_moment)
        if last is None:
            last = self._cross_entropy(None, max(self.settings.tol, START_TOLERANCE), History())
            self.start_passes += last.n_passes
        return last.evaluation.coef

    def _minimize(
        self,
        objective: CrossEntropy | GeneralizedCrossEntropy,
        start: Evaluation | None,
        tol: float,
        history: History,
    ) -> Solution:
        say = self.settings.report
        report = None
        if say is not None:

            def report(n_iter: int, n_passes: float, norm: float) -> None:
                say(
                    f"round {self.number} ({self.plan.loss}, {self.targets.name}): step {n_iter}, "
                    f"{n_passes:g} passes, relative gradient {norm:.1e}"
                )

        return minimize(
            objective,
            start,
            tol=tol,
            max_iter=self.settings.max_iter,
            history=history,
            report=report,
        )


def _record(rows: Rows, solution: Solution, plan: Plan, targets: str, extra_passes: float) -> Round:
    coef = rows.to_features(solution.evaluation.coef)
    intercept = np.zeros(len(coef))
    if rows.features.intercept:
        coef, intercept = coef[:, :-1], coef[:, -1]
    return Round(
        coef=np.ascontiguousarray(coef),
        intercept=np.ascontiguousarray(intercept),
        targets=targets,
        loss=plan.loss,
        l2=plan.l2,
        value=solution.evaluation.value,
        n_iter=solution.n_iter,
        n_passes=solution.n_passes + extra_passes,
        gradient_norm=solution.gradient_norm,
        converged=solution.converged,
    )
