"""The objective of a fit: the mean loss of the rows, plus a penalty; and the result of a pass.

With logits z_i = W x_i, outputs p_i = softmax(z_i), targets t_i (rows that sum to one) and row
weights v_i of mean one,

    cross-entropy               ℓ_i = -Σ_k t_ik log p_ik
    generalised cross-entropy   ℓ_i =  Σ_k t_ik (1 - p_ik^q) / q,    0 < q ≤ 1
    f(W) = mean_i v_i ℓ_i + ½·l2·‖W‖²,    no penalty on an intercept.

The derivatives with respect to the logits, with a_i = Σ_k t_ik p_ik^q, are

    cross-entropy               ∂ℓ_i/∂z_ij = p_ij - t_ij
    generalised cross-entropy   ∂ℓ_i/∂z_ij = a_i p_ij - t_ij p_ij^q.

Cross-entropy is linear in the targets, so the targets enter only through their moment B:

    f(W) = mean_i v_i logsumexp(z_i) + ½·l2·‖W‖² - ⟨W, B⟩,    B = Tᵀ V X / N
    grad = M(W) + l2·W - B,                                   M(W) = Pᵀ V X / N.

T, P, X are the matrices with rows t_i, p_i, x_i; V is the diagonal matrix of the v_i.

To add a loss, write a subclass of `Loss`, and add the subclass to `LOSSES`. The fields of the
subclass become parameters of the probes: add every new field to `LossParameters`. Nothing else
needs a change.

Conventions
-----------
A pass is two matrix products with all rows, the cost of one gradient. Coefficients, moments and
gradients (K, d) are along the d leading principal axes of the rows (see rows.principal_axes).
In the code, 1/K is subtracted from outputs and targets before their moments are computed:
(P - 1/K)ᵀ V X / N and (T - 1/K)ᵀ V X / N. The subtraction keeps precision: in late rounds, P - 1/K
is smaller than the rounding error of P.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from twohot.base import ArgumentError, FloatArray, check_choice, check_within, first_few
from twohot.rows import Coordinates, Kernel, PrincipalAxes, Rows
from twohot.solve.loss_kernels import (
    Targets,
    cross_entropy_along,
    cross_entropy_terms,
    generalized_along,
    generalized_terms,
    target_terms,
)

# Rounding error of a sum over all rows, as a multiple of the rounding error of its largest term.
MOMENT_ROUNDING = 10

# Minimum curvature of a class, because the preconditioner divides by it.
LEAST_CURVATURE = 1e-10

# The mean row of a class is not defined if the mean of its outputs is less than this.
LEAST_MASS = 1e-12

# For a power q below this, (1 - p^q)/q equals cross-entropy to the precision of float32.
LEAST_POWER = 1e-3
USUAL_POWER = 0.7


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The value and derivatives of an objective at `coef`, from one pass."""

    coef: FloatArray  # (K, d)
    value: float  # of the objective
    gradient: FloatArray  # (K, d)
    curvature: FloatArray  # (K,), mean second derivative with respect to the logit of a class
    means: FloatArray  # (K, d), mean row of each class, weighted by curvature; zeros if unknown
    moment: FloatArray | None = None  # (K, d), moment of the outputs; only for cross-entropy
    log_partition: float = 0.0  # mean logsumexp of the logits; only for cross-entropy


@dataclass(frozen=True, eq=False)
class FitProblem:
    """The objective that a fit minimises: the mean loss of the rows, plus the penalty."""

    coordinates: Coordinates
    loss: "Loss"
    targets: Targets
    target_moment: FloatArray  # (K, d), moment of the targets
    penalty: FloatArray  # (d,), l2, or zero for an intercept
    means: FloatArray  # (K, d), mean row of each class at the start; zeros if unknown

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

    def evaluate(self, coef: FloatArray, *, stored: bool = False) -> Evaluation:
        """Evaluate the objective, in one pass over the rows.

        If the logits are already stored with the rows, pass `stored=True` to save half a pass.
        """
        return self.loss.evaluate(self, coef, stored=stored)

    def gradient_at_zero(self) -> FloatArray:
        """Return the gradient at zero coefficients, where all outputs are 1/K, without a pass."""
        return np.asarray(-self.loss.scale_at_zero(len(self.target_moment)) * self.target_moment)


@dataclass(frozen=True)
class Loss(ABC):
    """The loss that a fit minimises, without the penalty."""

    name: ClassVar[str]
    is_robust: ClassVar[bool]  # whether the loss of a row is bounded, even if its label is wrong
    is_usual: ClassVar[bool] = False  # whether names of recipes omit this loss
    default_ridge: ClassVar[float]  # this ridge was best for single fits on many noisy datasets
    starts_from: ClassVar["Loss | None"] = None  # loss of the fit for the start; None if convex

    @property
    def is_convex(self) -> bool:
        """Whether the loss is convex, so that the optimum does not depend on the start."""
        return self.starts_from is None

    @abstractmethod
    def evaluate(
        self, problem: FitProblem, coef: FloatArray, *, stored: bool = False
    ) -> Evaluation:
        """Return value, gradient and curvature, in one pass over the rows.

        If the logits are already stored with the rows, pass `stored=True` to save half a pass.
        """

    def scale_at_zero(self, n_classes: int) -> float:  # noqa: ARG002
        """Return the gradient's norm at zero coefficients, divided by that of cross-entropy."""
        return 1.0

    @abstractmethod
    def along(self, problem: FitProblem) -> Kernel | None:
        """Return a kernel of solve.loss_kernels that computes the loss along a direction.

        Return None if the loss of a row depends on more than its logits and stored columns.
        """

    def evaluate_known(self, problem: FitProblem, known: Evaluation) -> Evaluation | None:  # noqa: ARG002
        """Convert an evaluation for other targets to this problem; None if this needs a pass."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the loss as JSON; `loss_from_json` reads it."""
        return {"name": self.name, **asdict(self)}


@dataclass(frozen=True)
class CrossEntropy(Loss):
    """Cross-entropy, which depends on the targets only through their moment."""

    name = "ce"
    is_robust = False
    is_usual = True
    default_ridge = 50.0

    def evaluate(
        self, problem: FitProblem, coef: FloatArray, *, stored: bool = False
    ) -> Evaluation:
        """Return value, gradient and curvature, in one pass over the rows, or half of one."""
        rows, coordinates = problem.rows, problem.coordinates
        sums = rows.sum(cross_entropy_terms, None if stored else coordinates.on_rows(coef))
        log_partition, moment, excess, squares = (term / rows.n_samples for term in sums)
        moment = coordinates.along_axes(moment)
        uniform = 1 / len(coef)
        mass = uniform + excess  # mean of p, from the mean of e = p - 1/K
        mean_square = squares + 2 * uniform * excess + uniform**2
        known = Evaluation(
            coef=coef,
            value=0.0,
            gradient=moment,
            curvature=np.maximum(mass - mean_square, LEAST_CURVATURE),
            means=_class_means(moment + uniform * problem.axes.mean_row, mass),
            moment=moment,
            log_partition=float(log_partition),
        )
        return self._with_targets(problem, known)

    def evaluate_known(self, problem: FitProblem, known: Evaluation) -> Evaluation | None:
        """Convert an evaluation for other targets to this problem, without a pass."""
        return None if known.moment is None else self._with_targets(problem, known)

    def along(self, problem: FitProblem) -> Kernel | None:  # noqa: ARG002
        """Return the kernel that computes cross-entropy along a direction."""
        return cross_entropy_along

    def _with_targets(self, problem: FitProblem, known: Evaluation) -> Evaluation:
        coef, moment = known.coef, np.asarray(known.moment)
        fit = np.sum(coef * (problem.target_moment + problem.axes.mean_row / len(coef)))
        return replace(
            known,
            value=known.log_partition - float(fit) + problem.penalty_value(coef),
            gradient=moment + problem.penalty * coef - problem.target_moment,
        )


@dataclass(frozen=True)
class GeneralizedCrossEntropy(Loss):
    """Generalised cross-entropy: the loss of a row is bounded. The objective is not convex."""

    gce_power: float = USUAL_POWER

    name = "gce"
    is_robust = True
    is_usual = True
    default_ridge = 10.0
    starts_from = CrossEntropy()

    def evaluate(
        self, problem: FitProblem, coef: FloatArray, *, stored: bool = False
    ) -> Evaluation:
        """Return value, gradient and curvature, in one pass over the rows, or half of one."""
        rows, coordinates = problem.rows, problem.coordinates
        on_rows = None if stored else coordinates.on_rows(coef)
        sums = rows.sum(generalized_terms, on_rows, problem.targets, self.gce_power)
        agreement, moment, curvature, mass, *credited = (term / rows.n_samples for term in sums)
        moment = coordinates.along_axes(moment)
        means = problem.means  # not computed for dense targets
        if credited:
            means = _class_means(moment + coordinates.along_axes(credited[0]), mass)
        return Evaluation(
            coef=coef,
            value=(1 - float(agreement)) / self.gce_power + problem.penalty_value(coef),
            gradient=moment + problem.penalty * coef,
            curvature=np.maximum(curvature, LEAST_CURVATURE),
            means=means,
        )

    def scale_at_zero(self, n_classes: int) -> float:
        """Return p^q at p = 1/K: the gradient's norm there, divided by that of cross-entropy."""
        return float(n_classes**-self.gce_power)

    def along(self, problem: FitProblem) -> Kernel | None:
        """Return the kernel along a direction; None if targets are computed from the features."""
        if problem.targets.name == "outputs":
            return None
        return partial(generalized_along, targets=problem.targets, power=self.gce_power)


LOSSES: dict[str, type[Loss]] = {
    kind.name: kind for kind in (CrossEntropy, GeneralizedCrossEntropy)
}


@dataclass(kw_only=True, eq=False, repr=False)
class LossParameters:
    """The parameters of the losses; a base class of the probes."""

    gce_power: float = USUAL_POWER


def make_loss(argument: str, name: str, parameters: LossParameters) -> Loss:
    """Return the loss called `name`; its fields get the values of the probe's parameters.

    `argument` is the name of the parameter that the user set to `name`, for error messages.
    """
    kind = LOSSES[check_choice(argument, name, tuple(LOSSES))]
    power = check_within("gce_power", parameters.gce_power, LEAST_POWER, 1)
    given = vars(parameters) | {"gce_power": power}
    names = [field.name for field in fields(kind)]
    if missing := [name for name in names if name not in given]:
        problem = f"needs {first_few(missing)}, which {type(parameters).__name__} does not have"
        raise ArgumentError({argument: name}, problem, "add it to LossParameters, with a default.")
    return kind(**{name: given[name] for name in names})


def loss_from_json(record: dict[str, Any]) -> Loss:
    """Return the loss that `to_json` wrote; other input can raise any exception."""
    parameters = dict(record)
    return LOSSES[parameters.pop("name")](**parameters)


def _class_means(moment: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the mean row of each class, from the weighted sum and total weight of its rows."""
    return np.asarray(moment / np.maximum(mass, LEAST_MASS)[:, np.newaxis])


def pose(
    coordinates: Coordinates, loss: Loss, targets: Targets, l2: float, last: Evaluation | None
) -> FitProblem:
    """Return the problem of a round; `last` is the evaluation that ended the previous round."""
    rows = coordinates.rows
    penalty = np.full(len(coordinates.axes.variances), l2)
    if rows.intercept:
        penalty[-1] = 0
    if targets.name == "outputs" and last is not None and last.moment is not None:
        moment = last.moment  # the fit that made these outputs has computed it
    else:
        moment = target_moment(coordinates, targets)
    means = np.zeros_like(moment) if last is None else last.means
    return FitProblem(coordinates, loss, targets, moment, penalty, means)


def target_moment(coordinates: Coordinates, targets: Targets) -> FloatArray:
    """Read the rows once and return (T - 1/K)ᵀ V X / N along the axes, for the targets T.

    Targets sum to one only up to rounding. The rounding error adds the same vector to the moments
    of all classes. No coefficients can fit this vector, so it is subtracted. Moments as small as
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
