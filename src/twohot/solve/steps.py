"""How far a step goes along a direction, if every length that is tried takes a pass."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twohot._types import FloatArray
from twohot.solve.objective import Evaluation, Objective

# A step whose slope at its end is steeper than this share of the slope at its start has gone
# too far. Looser than a line search would be: a second pass costs more than a longer step loses.
STEEPEST_END = 0.9

# Directions are made class by class, as if classes did not compete for rows, so that steps of a
# convex fit overshoot, by a factor that changes slowly: this is the first guess of the length that
# suits them (after the step from zero, whose length is found: see solve.first_step), and the share
# of the newest step in later ones. (A fit that is not convex overshoots and falls short by turns.)
# Below this size of the logits, their root mean square, outputs are
# nearly uniform, and nothing competes.
FIRST_LENGTH, NEWEST = 0.5, 0.3
SMALL_LOGITS = 0.5
SHORTEST = 0.3  # what a single bad step may leave

# Values of the objective closer than this, relative, may differ by rounding alone.
VALUE_ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-13}


class Steps(Protocol):
    """A way to choose the length of steps."""

    @property
    def least_class_curvature(self) -> float:
        """Share of the curvature of its metric from which on a class uses its own pair."""
        ...

    def begin(self, coef: FloatArray) -> Evaluation:
        """Return the evaluation where the steps begin."""
        ...

    def take(
        self, here: Evaluation, direction: FloatArray, most_trials: int
    ) -> tuple[Evaluation | None, bool]:
        """Return the evaluation one step on, and whether the step had to be shortened.

        None if the direction does not lead down, or no part of it does.
        """
        ...


@dataclass(eq=False)
class WholeSteps:
    """One length for all classes: the one that suited the last steps, if it leads down."""

    objective: Objective
    # Less tells of the coupling to other classes, not of the class's own block, and would let
    # the class leap.
    least_class_curvature: float = 0.3
    usual_length: float | None = None  # tried first; None before the first step

    def begin(self, coef: FloatArray) -> Evaluation:
        """Return the evaluation where the steps begin."""
        return self.objective.evaluate(coef)

    def take(
        self, here: Evaluation, direction: FloatArray, most_trials: int
    ) -> tuple[Evaluation | None, bool]:
        """Return the evaluation one step on, and whether the step had to be shortened.

        Accepted where the slope along the direction is not steeply upwards, and the value has not
        risen (which only an objective that is not convex can do without the former).
        """
        slope = float(np.vdot(here.gradient, direction))
        if slope >= 0:
            return None, True
        rounding = VALUE_ROUNDING[self.objective.problem.rows.dtype] * abs(here.value)
        length = usual = self.usual_length or self._first_length(here.coef + direction)
        for trial in range(1, most_trials + 1):
            there = self.objective.evaluate(here.coef + length * direction)
            end_slope = float(np.vdot(there.gradient, direction))
            secant = slope / (slope - end_slope) if end_slope > slope else 0.5
            if end_slope <= STEEPEST_END * abs(slope) and there.value <= here.value + rounding:
                self._learn(usual, length * secant)
                return there, trial > 1
            length *= min(max(secant, 0.1), 0.5)
        return None, True

    def _first_length(self, end: FloatArray) -> float:
        """Return the length to try first, of a step that would end at some coefficients."""
        logits = np.sqrt(np.sum(self.objective.problem.axes.variances * end**2) / len(end))
        competing = self.objective.loss.is_convex and logits > SMALL_LOGITS
        return FIRST_LENGTH if competing else 1.0

    def _learn(self, usual: float, suited: float) -> None:
        """Let the length that would have suited a step count for the next."""
        if self.objective.loss.is_convex:
            self.usual_length = min(max(usual + NEWEST * (suited - usual), SHORTEST), 1.0)
