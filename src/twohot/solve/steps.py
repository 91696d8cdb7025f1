"""Step lengths along a direction: one length for all classes, or one per class.

With one length for all classes (`WholeSteps`), every length that is tried takes a pass over the
rows. With one length per class (`ClassSteps`), lengths are found without a pass, from the logits of
all rows. A length of one is a step by the whole direction.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from twohot.base import FloatArray
from twohot.rows import Block, Kernel, Rows, Terms
from twohot.solve.curvature import class_inner
from twohot.solve.loss_kernels import CHANGE, LOGITS
from twohot.solve.losses import Evaluation, FitProblem

# A step is too long if the slope at its end is positive, and larger than this fraction of the
# absolute slope at its start. Other line searches are stricter, but trying one more length costs a
# pass, which is more than it saves.
STEEPEST_END = 0.9

# Directions do not fully account for the coupling of classes (the outputs of a row sum to one). So
# steps of a convex fit are too long by a factor that changes slowly. FIRST_LENGTH is the first
# guess of the right length (after the step from zero, see solve.first_step). NEWEST is the weight
# of the newest step in later guesses. If a fit is not convex, steps are too long and too short
# alternately, and the guess is one. If the root mean square of the logits is below SMALL_LOGITS,
# outputs are nearly 1/K, the coupling is weak, and the first guess is one too.
FIRST_LENGTH, NEWEST = 0.5, 0.3
SMALL_LOGITS = 0.5
SHORTEST = 0.3  # minimum of the guessed length

# A relative difference of two objective values below this may be a rounding error.
VALUE_ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-13}


@dataclass(eq=False)
class WholeSteps:
    """One length for all classes: the usual length of recent steps, shortened if it is too long."""

    problem: FitProblem
    # A class uses a pair (see solve.curvature) if its measured curvature exceeds this fraction of
    # the curvature in its metric. Coupling between classes can make the measured curvature much
    # smaller. With such a pair, steps would be too long.
    least_class_curvature: float = 0.3
    usual_length: float | None = None  # first trial length; None before the first step

    def begin(self, coef: FloatArray) -> Evaluation:
        """Return the evaluation at the start."""
        return self.problem.evaluate(coef)

    def take(
        self, here: Evaluation, direction: FloatArray, most_trials: int
    ) -> tuple[Evaluation | None, bool]:
        """Return the evaluation after a step, and whether the step had to be shortened.

        The evaluation is None if no step along the direction decreases the objective. A step is
        accepted if the objective has not increased, and the slope at its end is not too large.
        """
        slope = float(np.vdot(here.gradient, direction))
        if slope >= 0:
            return None, True
        rounding = VALUE_ROUNDING[self.problem.rows.dtype] * abs(here.value)
        length = usual = self.usual_length or self._first_length(here.coef + direction)
        for trial in range(1, most_trials + 1):
            there = self.problem.evaluate(here.coef + length * direction)
            end_slope = float(np.vdot(there.gradient, direction))
            secant = slope / (slope - end_slope) if end_slope > slope else 0.5
            if end_slope <= STEEPEST_END * abs(slope) and there.value <= here.value + rounding:
                if self.problem.loss.is_convex:
                    mean = usual + NEWEST * (length * secant - usual)
                    self.usual_length = min(max(mean, SHORTEST), 1.0)
                return there, trial > 1
            length *= min(max(secant, 0.1), 0.5)
        return None, True

    def _first_length(self, end: FloatArray) -> float:
        """Return the first trial length of a step; at length one, it would end at `end`."""
        logits = np.sqrt(np.sum(self.problem.axes.variances * end**2) / len(end))
        return FIRST_LENGTH if self.problem.loss.is_convex and logits > SMALL_LOGITS else 1.0


# One length per class along a direction: Newton's method on K lengths -----------------------------
# As a function of the lengths t, and up to a constant, the objective is
#
#     loss(t) + fixed · t + ½ Σ_k bend_k t_k².
#
# The first term is the mean loss at the logits. The second term is linear, from the targets and
# the penalty. The third term is quadratic, from the penalty.

MOST_LOOKS = 6  # evaluations along a direction; one is usually enough
MOST_SHORTER = 25  # evaluations until the objective decreases; 0.4²⁵ of a step is negligible
GOOD_SLOPE = 0.2  # the search ends when the norm of the slopes has decreased to this fraction
SHORTER = 0.4  # factor that shortens a step which increases the objective


@dataclass(frozen=True, eq=False)
class Line:
    """The objective along a direction."""

    # Function of the lengths and an order. It returns the mean loss and its slopes (K,). For order
    # 2, it also returns the curvature of all classes (K, K), and of each class alone (K,).
    terms: Callable[[FloatArray, int], Terms]
    slope: FloatArray  # (K,), of the objective at length zero
    bend: FloatArray  # (K,), curvature of the penalty
    reach: FloatArray  # (K,), maximum length of each class
    rounding: float  # relative rounding error of values
    least_bend: float  # minimum curvature, relative to the curvature of each class alone


def search_lengths(line: Line) -> FloatArray:
    """Return the length of each class; zeros if the objective does not decrease."""
    lengths = np.zeros_like(line.slope)
    terms = line.terms(lengths, 2)
    fixed = line.slope - terms[1]
    value, slope, good = float(terms[0]), line.slope, GOOD_SLOPE * np.linalg.norm(line.slope)
    move, factor = _newton(line, slope, terms), 1.0
    for look in range(MOST_SHORTER):
        if look >= MOST_LOOKS and lengths.any():
            break
        there = np.clip(lengths + factor * move, -line.reach, line.reach)
        loss, loss_slope = line.terms(there, 1)
        value_there = float(loss) + float(there @ (fixed + 0.5 * line.bend * there))
        if not value_there <= value + line.rounding * abs(value):
            factor *= SHORTER
            continue
        lengths, value, slope = there, value_there, loss_slope + fixed + line.bend * there
        if np.linalg.norm(slope) <= good:
            break
        move, factor = _newton(line, slope, line.terms(lengths, 2)), 1.0
    return lengths


def _newton(line: Line, slope: FloatArray, terms: Terms) -> FloatArray:
    """Return Newton's change of the lengths: a descent direction even at negative curvature."""
    curvature, alone = terms[2] + np.diag(line.bend), terms[3] + line.bend
    unit = 1 / np.sqrt(np.maximum(alone, np.finfo(np.float64).tiny))
    bends, axes = sl.eigh(curvature * unit * unit[:, np.newaxis])
    bends = np.maximum(np.abs(bends), line.least_bend)
    return np.asarray(-unit * (axes @ (axes.T @ (unit * slope) / bends)))


# One length per class, found without a pass -------------------------------------------------------
# Logits are linear in the coefficients. If the logits of all rows are stored, one product with the
# rows gives their change along a direction D, and the objective along
#
#     W + diag(t) D,    with one length t_k per class,
#
# is known for any t, because the logits are Z + (X Dᵀ) diag(t). Newton's method on these K lengths
# accounts for the coupling between the classes, which a model per class cannot. One more product
# gives the gradient at the new outputs. So every step takes exactly one pass, and each class has
# its best length.
#
# At the end of a fit that is not convex, only the coefficients of a few classes still change. Then
# one length per class saves passes, even if the search for lengths takes as long as a pass.

# Logits of all rows are stored if they take at most this many bytes. Their change along a direction
# takes as many bytes again.
KEPT_LOGITS = 2**24

# With at least this many features per class, the search for lengths is cheap. With 20 features per
# class it takes a fifth of a pass; with 5, four fifths, which is more than it saves.
LEAST_FEATURES = 10

# The same limit for the end of a non-convex fit, where the relative gradient is below
# LATE_GRADIENT. With 4 features per class, the search saves a fifth of the passes there, for about
# the same processor time. Above LATE_GRADIENT such a fit uses one length for all classes, so that
# coarse fits stay the same.
LEAST_LATE_FEATURES = 3
LATE_GRADIENT = 0.03

# Minimum curvature in the lengths, relative to the curvature of each class alone. If the objective
# is convex, this is a bound on rounding errors. Otherwise it limits steps to where the curvature is
# valid.
LEAST_BEND = {"convex": 1e-4, "other": 0.03}

# Maximum change of a logit by a step. Without it, the intercept of a class without rows would
# decrease until rounding stops it. MOST_LENGTH is the maximum length of a class whose logits change
# little.
MOST_CHANGE, MOST_LENGTH = 1000.0, 1e6


@contextmanager
def choose_steps(problem: FitProblem, most_bytes: int, tol: float) -> Iterator[WholeSteps]:
    """Yield the steps of a fit: one length per class if this saves passes, else one for all.

    `most_bytes` is the memory for the logits of all rows. `tol` is the tolerance of the fit for the
    gradient, relative to its norm at zero coefficients.
    """
    rows = problem.rows
    n_bytes = rows.n_samples * rows.n_classes * rows.dtype.itemsize
    features = rows.n_features / rows.n_classes
    has_end = tol < LATE_GRADIENT and not problem.loss.is_convex
    along = problem.loss.along(problem)
    least = LEAST_LATE_FEATURES if has_end else LEAST_FEATURES
    if along is None or n_bytes > most_bytes or features < least or not rows.is_here:
        yield WholeSteps(problem)
        return
    below = np.inf
    if features < LEAST_FEATURES:
        below = LATE_GRADIENT * float(np.linalg.norm(problem.gradient_at_zero()))
    try:
        yield ClassSteps(problem, kernel=along, below=below)
    finally:
        for name in (LOGITS, CHANGE):
            rows.columns.pop(name, None)


@dataclass(eq=False, kw_only=True)
class ClassSteps(WholeSteps):
    """One length per class, by Newton's method on the stored logits."""

    kernel: Kernel  # computes the loss along a direction
    below: float  # norm of the gradient; above it, there is one length for all classes
    logits: Rows | None = None  # of all rows; None before the first step with one length per class

    def begin(self, coef: FloatArray) -> Evaluation:
        """Return the evaluation at the start; store the logits if the first step needs them."""
        if self.below < np.inf:
            return super().begin(coef)
        self.logits = self._store_logits(coef)
        return self.problem.evaluate(coef, stored=True)

    def take(
        self, here: Evaluation, direction: FloatArray, most_trials: int
    ) -> tuple[Evaluation | None, bool]:
        """Return the evaluation after a step, and whether the step had to be shortened.

        The evaluation is None if no step along the direction decreases the objective.
        """
        if np.linalg.norm(here.gradient) > self.below:
            return super().take(here, direction, most_trials)
        self.below = np.inf  # one length per class from now on
        # With one length per class, no step is too long, so that nearly every pair is usable.
        self.least_class_curvature = 0.05
        if self.logits is None:
            self.logits = self._store_logits(here.coef)
        problem, logits = self.problem, self.logits
        problem.rows.derive(CHANGE, logits_at, problem.coordinates.on_rows(direction))
        change = problem.rows.columns[CHANGE]
        reach = MOST_CHANGE / np.maximum(np.abs(change).max(axis=0), MOST_CHANGE / MOST_LENGTH)

        def mean_terms_at(lengths: FloatArray, order: int) -> Terms:
            sums = logits.sum(self.kernel, lengths.astype(logits.dtype), order)
            return tuple(term / logits.n_samples for term in sums)

        line = Line(
            terms=mean_terms_at,
            slope=class_inner(here.gradient, direction)[:, 0],
            bend=np.sum(problem.penalty * direction**2, axis=1),
            reach=reach.astype(np.float64),
            rounding=VALUE_ROUNDING[logits.dtype],
            least_bend=LEAST_BEND["convex" if problem.loss.is_convex else "other"],
        )
        lengths = search_lengths(line)
        if not lengths.any():
            return None, True
        step = lengths[:, np.newaxis] * direction
        step -= step.mean(axis=0)
        change *= lengths.astype(change.dtype)
        change -= change.mean(axis=1, keepdims=True)
        logits.X += change
        return problem.evaluate(here.coef + step, stored=True), False

    def _store_logits(self, coef: FloatArray) -> Rows:
        """Store the logits with the rows, and return them as `Rows`."""
        rows = self.problem.rows
        if coef.any():
            rows.derive(LOGITS, logits_at, self.problem.coordinates.on_rows(coef))
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


def logits_at(block: Block, coef: FloatArray) -> FloatArray:
    """Return the logits of a block. A kernel."""
    return block.project(coef).copy()
