"""The loop: targets → fit → outputs → targets.

One loop serves every method. A method is a list of plans, one per round: the first round fits the
given targets (it is the teacher), each later one what its plan makes of the last round's outputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from twohot._types import FloatArray, Round
from twohot.distill.targets import StoredTargets, blend, candidates, keep, tied_classes
from twohot.rows.coordinates import Coordinates
from twohot.solve.fit import Settings, fit_cross_entropy, fit_generalized
from twohot.solve.lbfgs import Solution
from twohot.solve.objective import Evaluation, Problem
from twohot.solve.secants import History
from twohot.solve.terms import Targets, target_moment

# What tied classes keep of the last round: more than rounding, less than a tolerance would show.
TRACE = 1e-6

# Relative difference up to which coefficients of tied classes are the same. An objective that is
# not convex may have told them apart.
SAME = 1e-3


@dataclass(frozen=True)
class Plan:
    """What one round does."""

    loss: str  # "ce" or "gce"
    l2: float
    n_candidates: int | None = None  # kept of the last round's outputs; None: all, as they are
    given_share: float = 0.0  # of the weight of candidates that goes to the given label


def run_rounds(
    coordinates: Coordinates,
    targets: StoredTargets,
    plans: Sequence[Plan],
    settings: Settings,
    say: Callable[[str], None] | None = None,
) -> list[Round]:
    """Return one record per round. `say` gets a line after every step."""
    rounds: list[Round] = []
    last: Evaluation | None = None
    history = History(coordinates.features.dtype)
    history_l2: float | None = None
    for number, plan in enumerate(plans, start=1):
        wanted = targets if last is None else next_targets(coordinates, targets, last, plan)
        heard = _with_report(settings, say, f"round {number} ({plan.loss}, {wanted.name})")
        if plan.loss == "ce" and plan.l2 != history_l2:
            history, history_l2 = History(coordinates.features.dtype), plan.l2
        solution = fit_round(coordinates, wanted, plan, last, heard, history=history)
        rounds.append(record_round(coordinates, solution, plan, wanted))
        last = solution.evaluation
    return rounds


def fit_round(
    coordinates: Coordinates,
    targets: Targets,
    plan: Plan,
    last: Evaluation | None,
    settings: Settings,
    *,
    history: History,
) -> Solution:
    """Fit one round, started from the last one; `history` serves cross-entropy only."""
    problem = _problem(coordinates, targets, plan.l2, last)
    if plan.loss == "ce":
        solution = fit_cross_entropy(problem, last, settings, history)
    else:
        solution = fit_generalized(problem, targets, last, settings)
    if last is not None and isinstance(targets, StoredTargets) and targets.name == "candidates":
        solution = _break_ties(solution, targets, last)
    return solution


def _break_ties(solution: Solution, targets: StoredTargets, last: Evaluation) -> Solution:
    """Let the last round decide between classes that the targets do not tell apart.

    Classes that are candidates of the same rows get the same coefficients, up to what the
    tolerance leaves, and that would decide between them.
    """
    coef = solution.evaluation.coef.copy()
    for tied in tied_classes(targets.matrix):
        mean = coef[tied].mean(axis=0)
        if np.linalg.norm(coef[tied] - mean) <= SAME * np.linalg.norm(coef[tied]):
            coef[tied] = mean + TRACE * (last.coef[tied] - last.coef[tied].mean(axis=0))
    return replace(solution, evaluation=replace(solution.evaluation, coef=coef))


def next_targets(
    coordinates: Coordinates, given: StoredTargets, last: Evaluation, plan: Plan
) -> Targets:
    """Return what a plan makes of the last round's outputs."""
    features = coordinates.features
    coef = coordinates.spectrum.to_features(last.coef)
    if plan.n_candidates is None:
        # The moment of outputs is known from their own fit, unless that was of the other loss.
        return replace(keep(features, coef), making_passes=0.0 if last.moment is not None else 1.0)
    made = candidates(features, coef, plan.n_candidates, coordinates.n_jobs)
    return blend(made, given, plan.given_share) if plan.given_share else made


def _problem(
    coordinates: Coordinates, targets: Targets, l2: float, last: Evaluation | None
) -> Problem:
    """Return what the next fit is given. The moment of outputs is known from their own fit."""
    features = coordinates.features
    penalty = np.full(features.n_features, l2)
    penalty[features.n_columns :] = 0
    if targets.name == "outputs" and last is not None and last.moment is not None:
        moment = last.moment
    else:
        moment = target_moment(coordinates, targets)
    return Problem(features, coordinates.spectrum, moment, penalty, coordinates.n_jobs)


def _with_report(settings: Settings, say: Callable[[str], None] | None, name: str) -> Settings:
    if say is None:
        return settings

    def report(n_iter: int, n_passes: float, norm: float) -> None:
        say(f"{name}: step {n_iter}, {n_passes:g} passes, relative gradient {norm:.1e}")

    return replace(settings, report=report)


def record_round(
    coordinates: Coordinates, solution: Solution, plan: Plan, targets: Targets
) -> Round:
    """Return a solution as the record that a fitted probe keeps, on the user's features."""
    coef = coordinates.to_features(solution.evaluation.coef)
    n_columns = coef.shape[1] - coordinates.features.intercept
    intercept: FloatArray = np.zeros(len(coef))
    if coordinates.features.intercept:
        intercept = coef[:, -1].copy()
    return Round(
        coef=np.ascontiguousarray(coef[:, :n_columns]),
        intercept=intercept,
        targets=targets.name,
        loss=plan.loss,
        l2=plan.l2,
        value=solution.evaluation.value,
        n_iter=solution.n_iter,
        n_passes=solution.n_passes + targets.making_passes,
        gradient_norm=solution.gradient_norm,
        converged=solution.converged,
    )
