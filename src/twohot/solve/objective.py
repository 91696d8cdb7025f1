"""The problem of a fit, and the result of one pass over the rows.

Conventions
-----------
Coefficients, moments and gradients (K, d) are along the d principal axes of the rows that are kept
(see rows.principal_axes). Moments are sums over the rows X with weights V, of outputs P or targets
P less 1/K: (P - 1/K)ᵀ V X / N. Subtracting 1/K first keeps precision: in late rounds P - 1/K is
smaller than the rounding error of P.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from twohot.base import FloatArray
from twohot.rows import Coordinates, PrincipalAxes, Rows
from twohot.solve.loss_kernels import Targets, target_terms

if TYPE_CHECKING:
    from twohot.solve.losses import Loss


# Rounding error of a sum over all rows, as a multiple of the rounding error of its largest term.
MOMENT_ROUNDING = 10


@dataclass(frozen=True, eq=False)
class FitProblem:
    """What a fit minimises: the rows, their targets, and the penalty."""

    coordinates: Coordinates
    targets: Targets
    target_moment: FloatArray  # (K, d), of the targets' deviation from uniform
    penalty: FloatArray  # (d,), l2, or zero for an intercept
    means: FloatArray | None = None  # (K, d), mean row of each class at the start; None if unknown

    @property
    def rows(self) -> Rows:
        """The rows."""
        return self.coordinates.rows

    @property
    def axes(self) -> PrincipalAxes:
        """The principal axes of the rows."""
        return self.coordinates.axes

    def penalty_value(self, coef: FloatArray) -> float:
        """Return ½·l2·‖coef‖²."""
        return 0.5 * float(np.sum(self.penalty * coef**2))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of one pass at `coef`."""

    coef: FloatArray  # (K, d)
    value: float  # the objective
    gradient: FloatArray  # (K, d)
    curvature: FloatArray  # (K,), mean second derivative with respect to the logit of a class
    means: FloatArray | None  # (K, d), mean row of each class, weighted by curvature
    moment: FloatArray | None = None  # (K, d), of the outputs' deviation (cross-entropy)
    log_partition: float = 0.0  # mean logsumexp of the logits (cross-entropy)


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss on the rows of a problem, to be minimised."""

    problem: FitProblem
    loss: "Loss"

    def evaluate(self, coef: FloatArray, *, kept: bool = False) -> Evaluation:
        """Return value, gradient and curvature, in one pass over the rows.

        With `kept`, the logits are already stored with the rows, and this takes half a pass.
        """
        return self.loss.evaluate(self.problem, coef, kept=kept)

    def gradient_at_zero(self) -> FloatArray:
        """Return the gradient at zero coefficients, without a pass."""
        return self.loss.gradient_at_zero(self.problem)


def pose(
    coordinates: Coordinates, targets: Targets, l2: float, last: Evaluation | None
) -> FitProblem:
    """Return the problem of a round; `last` is the end of the previous round, if any."""
    rows = coordinates.rows
    penalty = np.full(len(coordinates.axes.variances), l2)
    if rows.intercept:
        penalty[-1] = 0
    if targets.name == "outputs" and last is not None and last.moment is not None:
        moment = last.moment  # the fit that made these outputs has computed it
    else:
        moment = target_moment(coordinates, targets)
    return FitProblem(coordinates, targets, moment, penalty, None if last is None else last.means)


def target_moment(coordinates: Coordinates, targets: Targets) -> FloatArray:
    """Read the rows once and return (T - 1/K)ᵀ V X / N along the axes.

    Targets sum to one only up to rounding. The rounding error adds an equal part to the moments of
    all classes. No coefficients can fit this part, so it is subtracted. Moments as small as
    rounding errors become zero.
    """
    rows = coordinates.rows
    (total,) = rows.sum(target_terms, targets, rows.dtype)
    moment: FloatArray = coordinates.along_axes(total / rows.n_samples)
    moment -= moment.mean(axis=0)
    largest = (coordinates.axes.mean_square + rows.intercept) / len(moment)  # of uniform targets
    if np.sum(moment**2) <= (MOMENT_ROUNDING * np.finfo(rows.dtype).eps) ** 2 * largest:
        moment[...] = 0
    return moment
