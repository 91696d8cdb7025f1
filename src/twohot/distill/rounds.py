"""The loop: targets → fit → outputs → targets.

One loop serves every recipe: the first round fits the given targets (it is the teacher), each later
one what its recipe makes of the last round's outputs.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from twohot._types import Round
from twohot.distill.checkpoint import Checkpoint
from twohot.distill.recipe import Recipe
from twohot.distill.targets import CANDIDATES, next_targets, tied_classes
from twohot.rows.coordinates import Coordinates
from twohot.rows.dask_errors import ClusterLostError, lost_after
from twohot.solve.lbfgs import Solution
from twohot.solve.loss_kernels import Targets
from twohot.solve.objective import Evaluation
from twohot.solve.solver import Settings, Solver

# What tied classes keep of the last round: more than rounding, less than a tolerance would show.
TRACE = 1e-6

# Relative difference up to which coefficients of tied classes are the same. An objective that is
# not convex may have told them apart.
SAME = 1e-3


def run_rounds(
    coordinates: Coordinates,
    given: Targets,
    recipe: Recipe,
    settings: Settings,
    say: Callable[[str], None] | None = None,
    *,
    checkpoint: Checkpoint | None = None,
) -> list[Round]:
    """Return one record per round. `say` gets a line after every step.

    Rounds that a checkpoint has are not made again, and every round that is made is added to it.
    """
    rounds = [] if checkpoint is None else checkpoint.rounds()
    last = None if checkpoint is None else checkpoint.last_end()
    solver = Solver(coordinates, settings)
    for number, step in enumerate(recipe.rounds[len(rounds) :], start=len(rounds) + 1):
        if say is not None:
            solver.callback = _in_words(say, number, step, given)
        try:
            made, last = make_round(solver, given, step, last)
        except ClusterLostError as error:
            if checkpoint is None or not rounds:
                raise
            raise lost_after(error, len(rounds), checkpoint.path) from error
        rounds.append(made)
        if checkpoint is not None:
            checkpoint.add_round(made, last)
    return rounds


def make_round(
    solver: Solver, given: Targets, step: Recipe, last: Evaluation | None
) -> tuple[Round, Evaluation]:
    """Make the targets of one round and fit them; return its record, and where it ended."""
    rows = solver.coordinates.rows
    solution, targets, n_passes = fit_round(solver, given, step, last)
    # A fitted probe keeps coefficients on the user's features, and the intercept apart.
    coef = solver.coordinates.to_features(solution.evaluation.coef)
    n_columns = coef.shape[1] - rows.intercept
    record = Round(
        coef=np.ascontiguousarray(coef[:, :n_columns]),
        intercept=coef[:, -1].copy() if rows.intercept else np.zeros(len(coef)),
        targets=targets.name,
        loss=step.loss.name,
        l2=step.penalty(solver.coordinates),
        value=solution.evaluation.value,
        n_iter=solution.n_iter,
        n_passes=n_passes,
        gradient_norm=solution.gradient_norm,
        converged=solution.converged,
    )
    return record, solution.evaluation


def fit_round(
    solver: Solver, given: Targets, step: Recipe, last: Evaluation | None
) -> tuple[Solution, Targets, float]:
    """Fit the last round of a recipe, from the round before; return what was fitted, and passes."""
    coordinates, targets = solver.coordinates, given
    passes_before = coordinates.rows.n_passes
    if step.teacher is not None and last is not None:
        targets = next_targets(coordinates, given, last.coef, step)
    solution = solver.fit(step.loss, targets, step.penalty(coordinates), last)
    if targets.name == CANDIDATES and last is not None:
        solution = _break_ties(coordinates, solution, targets, last)
    return solution, targets, coordinates.rows.n_passes - passes_before


def _break_ties(
    coordinates: Coordinates, solution: Solution, targets: Targets, last: Evaluation
) -> Solution:
    """Let the last round decide between classes that the targets do not tell apart.

    Classes that are candidates of the same rows get the same coefficients, up to what the
    tolerance leaves, and that would decide between them.
    """
    coef = solution.evaluation.coef.copy()
    for tied in tied_classes(coordinates.rows, targets):
        mean = coef[tied].mean(axis=0)
        if np.linalg.norm(coef[tied] - mean) <= SAME * np.linalg.norm(coef[tied]):
            coef[tied] = mean + TRACE * (last.coef[tied] - last.coef[tied].mean(axis=0))
    return replace(solution, evaluation=replace(solution.evaluation, coef=coef))


def _in_words(
    say: Callable[[str], None], number: int, step: Recipe, given: Targets
) -> Callable[[int, float, float], None]:
    learns = "outputs" if step.n_candidates is None else CANDIDATES
    name = f"round {number} ({step.loss.name}, {given.name if step.teacher is None else learns})"

    def callback(n_iter: int, n_passes: float, norm: float) -> None:
        say(f"{name}: step {n_iter}, {n_passes:g} passes, relative gradient {norm:.1e}")

    return callback
