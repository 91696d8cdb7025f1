"""Step lengths along a direction: one length for all classes, or one per class.

With one length for all (`WholeSteps`), every trial length takes a pass over the rows. With one per
class (`ClassSteps`), lengths are found without a pass, from the logits of all rows.
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

# A step is too long if the slope at its end exceeds this share of the slope at its start. A line
# search would be stricter, but another trial costs a pass, which is more than it gains.
STEEPEST_END = 0.9

# Directions ignore that classes compete for rows, so steps of a convex fit overshoot by a factor
# that changes slowly. FIRST_LENGTH is the first guess of the right length (after the step from
# zero, see solve.first_step). NEWEST is the weight of the newest step in later guesses. (A fit that
# is not convex overshoots and falls short alternately.) If the root mean square of the logits is
# below SMALL_LOGITS, outputs are nearly uniform and classes do not compete.
FIRST_LENGTH, NEWEST = 0.5, 0.3
SMALL_LOGITS = 0.5
SHORTEST = 0.3  # smallest factor for the next length after one bad step

# Relative differences of objective values below this may be rounding.
VALUE_ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-13}


@dataclass(eq=False)
class WholeSteps:
    """One length for all classes: that of recent steps, shortened if the objective increases."""

    objective: Objective
    # A class uses its own pair if its measured curvature is at least this share of the curvature in
    # its metric. Smaller values result from coupling to other classes, and give too long steps.
    least_class_curvature: float = 0.3
    usual_length: float | None = None  # first trial length; None before the first step

    def begin(self, coef: FloatArray) -> Evaluation:
        """Return the evaluation at the start."""
        return self.objective.evaluate(coef)

    def take(
        self, here: Evaluation, direction: FloatArray, most_trials: int
    ) -> tuple[Evaluation | None, bool]:
        """Return the evaluation after a step, and whether the step had to be shortened.

        None if no step along the direction decreases the objective. A step is accepted if the value
        has not risen and the slope at its end is not steeply upwards. (If the slope is not, the
        value rises only if the objective is not convex.)
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
        """Return the first trial length of a step; at length one, it would end at `end`."""
        logits = np.sqrt(np.sum(self.objective.problem.axes.variances * end**2) / len(end))
        competing = self.objective.loss.is_convex and logits > SMALL_LOGITS
        return FIRST_LENGTH if competing else 1.0

    def _learn(self, usual: float, suited: float) -> None:
        """Update the first trial length, given the length that was best for the last step."""
        if self.objective.loss.is_convex:
            self.usual_length = min(max(usual + NEWEST * (suited - usual), SHORTEST), 1.0)


# One length per class along a direction: Newton's method on K lengths -----------------------------
# As a function of the lengths t, and up to a constant, the objective is
#
#     loss(t) + fixed · t + ½ Σ_k bend_k t_k²,
#
# the mean loss at the logits, the linear terms of the coefficients, and the penalty.

MOST_LOOKS = 6  # evaluations along a direction; one is usually enough
MOST_SHORTER = 25  # evaluations until the objective decreases; 0.4²⁵ of a step is negligible
GOOD_SLOPE = 0.2  # remaining share of the slopes at which the search ends
SHORTER = 0.4  # factor that shortens a step which increases the objective


@dataclass(frozen=True, eq=False)
class Line:
    """The objective along a direction."""

    # Function of the lengths and an order: mean loss, its slopes (K,), and for order 2 its
    # curvature (K, K) and the part of each class alone (K,).
    terms: Callable[[FloatArray, int], Terms]
    slope: FloatArray  # (K,), of the objective at length zero
    bend: FloatArray  # (K,), curvature of the penalty
    reach: FloatArray  # (K,), maximum length of each class
    rounding: float  # relative rounding error of values
    least_bend: float  # smallest curvature, relative to that of each class alone


def search_lengths(line: Line) -> FloatArray:
    """Return the length of each class; zeros if the objective does not decrease."""
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
    """Return Newton's change of the lengths: a descent direction even at negative curvature."""
    curvature, by_itself = terms[2] + np.diag(line.bend), terms[3] + line.bend
    unit = 1 / np.sqrt(np.maximum(by_itself, np.finfo(np.float64).tiny))
    bends, axes = sl.eigh(curvature * unit * unit[:, np.newaxis])
    bends = np.maximum(np.abs(bends), line.least_bend)
    return np.asarray(-unit * (axes @ (axes.T @ (unit * slope) / bends)))


# One length per class, found without a pass -------------------------------------------------------
# Logits are linear in the coefficients. If the logits of all rows are stored, one product over the
# rows gives their change along a direction D, and the objective along
#
#     W + diag(t) D,    t a length for each class,
#
# is known for any t, with logits Z + (X Dᵀ) diag(t). Newton's method on these K lengths accounts
# for the coupling between the classes, which a model per class cannot. One more product gives the
# gradient at the new outputs. So every step takes exactly one pass, and each class moves by its
# best length.
#
# Near the end of a fit that is not convex, only the coefficients of a few classes still move. There
# a length per class saves passes, even if the search costs as much.

# Logits of all rows are stored if they take no more bytes than this. Their change by a direction
# takes as much again.
KEPT_LOGITS = 2**24

# With at least this many features per class, the search for lengths is cheap. With 20 features per
# class it takes a fifth of a pass; with 5, four fifths, which is more than it saves.
LEAST_FEATURES = 10

# The same limit for the end of a non-convex fit, below the relative gradient of the next constant.
# With 4 features per class, the search saves a fifth of the passes there, for about the same
# processor time. Above that gradient, one length is used, so that coarse fits stay the same.
LEAST_LATE_FEATURES = 3
LATE_GRADIENT = 0.03

# Smallest curvature in the lengths, relative to that of each class alone: a bound on rounding if
# the objective is convex; otherwise it limits steps to where the curvature is valid.
LEAST_BEND = {"convex": 1e-4, "other": 0.03}

# Maximum change of a logit by a step. Without it, the intercept of a class without rows would
# decrease until rounding stops it. The second number is the maximum length of a class whose logits
# change little.
MOST_CHANGE, MOST_LENGTH = 1000.0, 1e6


@contextmanager
def choose_steps(objective: Objective, most_bytes: int, tol: float) -> "Iterator[Steps]":
    """Yield the steps for a fit: a length per class if logits can be stored, else one length.

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
    """One length per class, found by Newton's method on the stored logits."""

    # With a length per class, no step is too large, so that nearly every pair is usable.
    least_class_curvature = 0.05

    def __init__(self, objective: Objective, kernel: Kernel, shared: tuple[Any, ...]) -> None:
        self.objective = objective
        self._kernel, self._shared = kernel, shared
        self._kept: Rows | None = None  # logits, after the first step

    def begin(self, coef: FloatArray) -> Evaluation:
        """Return the evaluation at the start, and store the logits there."""
        self._kept = self._logits_at(coef)
        return self.objective.evaluate(coef, kept=True)

    def take(
        self,
        here: Evaluation,
        direction: FloatArray,
        most_trials: int,  # noqa: ARG002
    ) -> tuple[Evaluation | None, bool]:
        """Return the evaluation after a step; None if the objective does not decrease."""
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
        """Store the logits with the rows, and return them as `Rows`."""
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
    """One length for all classes until the gradient is small, then one per class."""

    def __init__(self, objective: Objective, late: ClassSteps) -> None:
        super().__init__(objective)
        self._late = late
        self._small = LATE_GRADIENT * float(np.linalg.norm(objective.gradient_at_zero()))

    def take(
        self, here: Evaluation, direction: FloatArray, most_trials: int
    ) -> tuple[Evaluation | None, bool]:
        """Return the evaluation after a step, and whether the step had to be shortened."""
        if np.linalg.norm(here.gradient) > self._small:
            return super().take(here, direction, most_trials)
        self._small = np.inf  # stay with one length per class
        self.least_class_curvature = self._late.least_class_curvature
        return self._late.take(here, direction, most_trials)


Steps: TypeAlias = WholeSteps | ClassSteps


def logits_at(block: Block, coef: FloatArray) -> FloatArray:
    """Return the logits of a block; a kernel."""
    return block.project(coef).copy()
