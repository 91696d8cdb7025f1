"""How far a step goes along a direction: one length for all classes, or one for each.

With one length for all (`WholeSteps`), every length that is tried takes a pass over the rows. With
one for each class (`ClassSteps`), lengths are found without a pass, from the logits of all rows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as sl

from twohot.base import FloatArray
from twohot.rows import Block, Kernel, Rows, Terms
from twohot.solve.curvature import class_inner
from twohot.solve.loss_kernels import CHANGE, LOGITS
from twohot.solve.objective import Evaluation, Objective

# A step whose slope at its end is steeper than this share of the slope at its start has gone
# too far. Looser than a line search would be: a second pass costs more than a longer step loses.
STEEPEST_END = 0.9

# Directions are computed class by class, as if classes did not compete for rows, so steps of a
# convex fit overshoot by a factor that changes slowly. FIRST_LENGTH is the first guess of the
# length that suits them (after the step from zero, whose length is found: see solve.first_step),
# NEWEST the weight of the newest step in later guesses. (A fit that is not convex overshoots and
# falls short by turns.) If the root mean square of the logits is below SMALL_LOGITS, outputs are
# nearly uniform and no class competes with another.
FIRST_LENGTH, NEWEST = 0.5, 0.3
SMALL_LOGITS = 0.5
SHORTEST = 0.3  # what a single bad step may leave

# Values of the objective closer than this, relative, may differ by rounding alone.
VALUE_ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-13}


@dataclass(eq=False)
class WholeSteps:
    """One length for all classes: the one that suited the last steps, if it leads down."""

    objective: Objective
    # Share of the curvature of its metric from which on a class uses its own pair. Less tells of
    # the coupling to other classes, not of the class's own block, and would let the class leap.
    least_class_curvature: float = 0.3
    usual_length: float | None = None  # tried first; None before the first step

    def begin(self, coef: FloatArray) -> Evaluation:
        """Return the evaluation where the steps begin."""
        return self.objective.evaluate(coef)

    def take(
        self, here: Evaluation, direction: FloatArray, most_trials: int
    ) -> tuple[Evaluation | None, bool]:
        """Return the evaluation one step on, and whether the step had to be shortened.

        None if the direction does not lead down, or no part of it does. Accepted where the slope
        along the direction is not steeply upwards, and the value has not risen (which only an
        objective that is not convex can do without the former).
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


# How far each class goes along a direction: Newton's method on K lengths --------------------------
# As a function of the lengths t, and less a constant, the objective is
#
#     loss(t) + fixed · t + ½ Σ_k bend_k t_k²,
#
# the mean loss at the logits, what is linear in the coefficients, and the penalty.

MOST_LOOKS = 6  # at the objective along a direction; mostly one is enough
MOST_SHORTER = 25  # looks until any length leads down; 0.4²⁵ of a step is nothing
GOOD_SLOPE = 0.2  # share of the slopes that may be left
SHORTER = 0.4  # factor of a step that leads up


@dataclass(frozen=True, eq=False)
class Line:
    """The objective along a direction."""

    # Mean loss at some lengths, its slopes (K,), at order 2 its curvature (K, K), and that of each
    # class by itself (K,).
    terms: Callable[[FloatArray, int], Terms]
    slope: FloatArray  # (K,), of the objective at no length
    bend: FloatArray  # (K,), of the penalty
    reach: FloatArray  # (K,), the largest length of each class
    rounding: float  # of values, relative
    least_bend: float  # least curvature, relative to that of each class by itself


def search_lengths(line: Line) -> FloatArray:
    """Return the length of each class; zeros if none leads down."""
    lengths = np.zeros_like(line.slope)
    terms = line.terms(lengths, 2)
    fixed = line.slope - terms[1]
    value, slope, good = float(terms[0]), line.slope, GOOD_SLOPE * np.linalg.norm(line.slope)
    move, share = _newton(line, slope, terms), 1.0
    for look in range(MOST_SHORTER):
        if look >= MOST_LOOKS and lengths.any():
            break
        there = np.clip(lengths + share * move, -line.reach, line.reach)
        loss, loss_slope = line.terms(there, 1)
        value_there = float(loss) + float(there @ (fixed + 0.5 * line.bend * there))
        if not value_there <= value + line.rounding * abs(value):
            share *= SHORTER
            continue
        lengths, value, slope = there, value_there, loss_slope + fixed + line.bend * there
        if np.linalg.norm(slope) <= good:
            break
        move, share = _newton(line, slope, line.terms(lengths, 2)), 1.0
    return lengths


def _newton(line: Line, slope: FloatArray, terms: Terms) -> FloatArray:
    """Return how the lengths are to change: down, also where the objective bends down."""
    curvature, by_itself = terms[2] + np.diag(line.bend), terms[3] + line.bend
    unit = 1 / np.sqrt(np.maximum(by_itself, np.finfo(np.float64).tiny))
    bends, axes = sl.eigh(curvature * unit * unit[:, np.newaxis])
    bends = np.maximum(np.abs(bends), line.least_bend)
    return np.asarray(-unit * (axes @ (axes.T @ (unit * slope) / bends)))


# A length for each class: how far a step goes, found without a pass -------------------------------
# Logits are linear in the coefficients. If the logits of all rows are kept, one product over the
# rows gives their change along a direction D, and the objective along
#
#     W + diag(t) D,    t a length for each class,
#
# is known for any t: with logits Z + (X Dᵀ) diag(t). Newton's method on these K lengths takes the
# coupling between the classes into account, which no model of single classes can. One more
# product, of the outputs there, makes the gradient. So every step takes exactly one pass, and each
# class goes as far as it can.
#
# Near the end of a fit that is not convex, the coefficients of a few classes at a time still move
# while all others are done. There a length for each class saves passes, even if it costs as much.

# Logits of all rows are kept if they take no more than this. So much again is what a direction
# adds to them.
KEPT_LOGITS = 2**24

# Features for each class from which on the search for lengths is cheap beside a pass. It takes a
# fifth of one for 20 features a class, and four fifths for 5, which is more than it saves.
LEAST_FEATURES = 10

# The same for the end of a fit that is not convex, from this relative gradient on: with 4 features
# a class it saves a fifth of the passes there, for about the same processor time. Down to it steps
# are those of any other fit: where a fit to a coarse tolerance ends is part of what it is.
LEAST_LATE_FEATURES = 3
LATE_GRADIENT = 0.03

# Least curvature in the lengths, relative to that of each class by itself: where the objective is
# convex, what rounding may take away; elsewhere what keeps steps within reach of the curvature.
LEAST_BEND = {"convex": 1e-4, "other": 0.03}

# The most that a step may add to a logit: the intercept of a class without rows would fall until
# rounding stops it, and beyond this the class has no probability left. And the largest length of a
# class whose logits hardly change.
MOST_CHANGE, MOST_LENGTH = 1000.0, 1e6


@contextmanager
def choose_steps(objective: Objective, most_bytes: int, tol: float) -> "Iterator[Steps]":
    """Give a length to each class where logits can be kept, at least in the end, or one to all.

    `tol` is the relative gradient that the fit is to reach.
    """
    rows = objective.problem.rows
    n_bytes = rows.n_samples * rows.n_classes * rows.dtype.itemsize
    features = rows.n_features / rows.n_classes
    has_end = tol < LATE_GRADIENT and not objective.loss.is_convex
    least = LEAST_LATE_FEATURES if has_end else LEAST_FEATURES
    along = objective.loss.along(objective.problem)
    if along is None or n_bytes > most_bytes or features < least or not rows.is_here:
        yield WholeSteps(objective)
        return
    steps = ClassSteps(objective, *along)
    try:
        yield steps if features >= LEAST_FEATURES else LateClassSteps(objective, steps)
    finally:
        for name in (LOGITS, CHANGE):
            rows.columns.pop(name, None)


class ClassSteps:
    """A length for each class."""

    # Lengths of their own keep classes from leaping, so that nearly every pair serves.
    least_class_curvature = 0.05

    def __init__(self, objective: Objective, kernel: Kernel, shared: tuple[Any, ...]) -> None:
        self.objective = objective
        self._kernel, self._shared = kernel, shared
        self._kept: Rows | None = None  # logits, from the first step on

    def begin(self, coef: FloatArray) -> Evaluation:
        """Return the evaluation where the steps begin; the logits there are kept."""
        self._kept = self._logits_at(coef)
        return self.objective.evaluate(coef, kept=True)

    def take(
        self,
        here: Evaluation,
        direction: FloatArray,
        most_trials: int,  # noqa: ARG002
    ) -> tuple[Evaluation | None, bool]:
        """Return the evaluation one step on; None if no lengths lead down."""
        problem = self.objective.problem
        if self._kept is None:
            self._kept = self._logits_at(here.coef)
        problem.rows.derive(CHANGE, logits_at, problem.coordinates.on_rows(direction))
        change = problem.rows.columns[CHANGE]
        reach = MOST_CHANGE / np.maximum(np.abs(change).max(axis=0), MOST_CHANGE / MOST_LENGTH)
        lengths = search_lengths(self._line(self._kept, here, direction, reach))
        if not lengths.any():
            return None, True
        step = lengths[:, np.newaxis] * direction
        step -= step.mean(axis=0)
        change *= lengths.astype(change.dtype)
        change -= change.mean(axis=1, keepdims=True)
        self._kept.X += change
        return self.objective.evaluate(here.coef + step, kept=True), False

    def _line(
        self, logits: Rows, here: Evaluation, direction: FloatArray, reach: FloatArray
    ) -> Line:
        def mean_terms_at(lengths: FloatArray, order: int) -> Terms:
            sums = logits.sum(self._kernel, lengths.astype(logits.dtype), order, *self._shared)
            return tuple(term / logits.n_samples for term in sums)

        convex = self.objective.loss.is_convex
        return Line(
            terms=mean_terms_at,
            slope=class_inner(here.gradient, direction)[:, 0],
            bend=np.sum(self.objective.problem.penalty * direction**2, axis=1),
            reach=reach.astype(np.float64),
            rounding=VALUE_ROUNDING[logits.dtype],
            least_bend=LEAST_BEND["convex" if convex else "other"],
        )

    def _logits_at(self, coef: FloatArray) -> Rows:
        """Keep the logits beside the rows, and return them as rows of their own."""
        problem, rows = self.objective.problem, self.objective.problem.rows
        if coef.any():
            rows.derive(LOGITS, logits_at, problem.coordinates.on_rows(coef))
        else:
            rows.attach(LOGITS, np.zeros((rows.n_samples, len(coef)), rows.dtype))
        logits = Rows(
            rows.columns[LOGITS],
            dtype=rows.dtype,
            n_classes=rows.n_classes,
            weights=rows.given_weights,
            n_jobs=rows.n_jobs,
        )
        logits.columns = rows.columns
        return logits


class LateClassSteps(WholeSteps):
    """One length for all classes down to a small gradient, and from there on one for each."""

    def __init__(self, objective: Objective, late: ClassSteps) -> None:
        super().__init__(objective)
        self._late = late
        self._small = LATE_GRADIENT * float(np.linalg.norm(objective.gradient_at_zero()))

    def take(
        self, here: Evaluation, direction: FloatArray, most_trials: int
    ) -> tuple[Evaluation | None, bool]:
        """Return the evaluation one step on, and whether the step had to be shortened."""
        if np.linalg.norm(here.gradient) > self._small:
            return super().take(here, direction, most_trials)
        self._small = np.inf  # no later step goes back
        self.least_class_curvature = self._late.least_class_curvature
        return self._late.take(here, direction, most_trials)


Steps: TypeAlias = WholeSteps | ClassSteps


def logits_at(block: Block, coef: FloatArray) -> FloatArray:
    """Return the logits of a block; a kernel."""
    return block.project(coef).copy()
