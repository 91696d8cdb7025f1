"""Fit rounds with the exact softmax for a `CorrelationModel`, by types of samples.

The cost does not depend on the number of samples. All samples of a *type* (true class a, given
label b) have the same logits at the optimum,

    v(a, b) = κ_a (u - σ(v)) + M_a,       κ_a = δ_a / (N l2),
    M_a     = Σ_c W_ac ζ_c,               ζ_c = Σ_b m(c, b) (u - σ(v)) / (N l2),

where m is the number of samples of a type, u its target, σ the softmax and N the number of all
samples. W and δ are the correlation and the `own_part` of the model. M_a are the logits of an
unseen sample of class a. The logits of a training sample also have the term with κ_a. In a Newton
step, with J = diag(σ) - σσᵀ, the logits of a type change by

    dv = H (M⁺_a - c),    c = v - κ_a (u - σ),    H = (I + κ_a J)⁻¹,

where M⁺, the value of M after the step, solves the K(K-1) equations

    M⁺_a + Σ_c W_ac G_c M⁺_c = Σ_c W_ac (ζ_c + Σ_b m J H c / (N l2)),   G_c = Σ_b m J H / (N l2).

The unknown is M⁺ and not the change M⁺ - M, because M - W ζ loses digits if classes are large: an
error of 10⁻¹⁶ in an output can be an error of 10⁻⁷ in ζ.

With g = 1/(1 + κσ) and w = σg, elementwise, the Sherman-Morrison formula gives for any z

    J H z = w (z - z̄),    H z = g z + κ w z̄,    z̄ = w·z / Σw.

Conventions: arrays over types have axes [true class, given label, label].
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.special import softmax

from twohot.base import FloatArray, check_count
from twohot.theory import checks
from twohot.theory.correlation_models import CorrelationModel, check_model
from twohot.theory.exact_softmax import (
    Direction,
    NewtonResult,
    cross_entropy,
    damped_newton,
    softmax_deviations,
)
from twohot.theory.label_leads import Leads
from twohot.theory.outputs import TypeOutputs, one_hot_types, outputs_by_round
from twohot.theory.partial_labels import TieRule, candidate_targets

# An error that is estimated by a single Newton step is multiplied by this factor, for safety.
SAFETY = 16


@dataclass(frozen=True, eq=False)
class PopulationRound:
    """One round of the exact softmax for all types."""

    predicted: TypeOutputs  # outputs of the training samples
    unseen: FloatArray  # (n_classes, n_classes) outputs of an unseen sample of each class
    residual: float  # scaled error of the equation for the logits, as in `SoftmaxRound`
    n_steps: int  # number of Newton steps
    converged: bool


def population_rounds(
    model: CorrelationModel,
    corruption: ArrayLike,
    *,
    l2: float,
    n_rounds: int,
    max_steps: int = 100,
) -> list[PopulationRound]:
    """Return rounds 1 … `n_rounds` of the exact softmax, for all true classes and given labels.

    The time depends only on the number of classes: milliseconds per round for 10 classes, tenths of
    a second for 30. A round takes at most `max_steps` Newton steps.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=4, same_class=0.4, n_per_class=1e8)
    >>> corruption = 0.5 * np.eye(4) + 0.5 / 3 * (1 - np.eye(4))
    >>> rounds = population_rounds(model, corruption, l2=0.5 / (16 * 1e8), n_rounds=3)
    >>> [round(each.predicted.accuracy(), 3) for each in rounds]
    [0.5, 0.5, 1.0]
    """
    check_model(model)
    shares = checks.corruption_matrix(corruption, model.n_classes)
    deviations = one_hot_types(model.n_classes) - 1 / model.n_classes
    fitted: list[PopulationRound] = []
    for _ in range(checks.round_count(n_rounds)):
        fitted.append(_solve(model, shares, deviations, l2=l2, max_steps=max_steps))
        deviations = fitted[-1].predicted.deviations
    return fitted


def population_partial_labels(
    model: CorrelationModel,
    corruption: ArrayLike,
    *,
    l2: float,
    n_candidates: int = 2,
    ties: TieRule = "spread",
    max_steps: int = 100,
) -> PopulationRound:
    """Return the round of the partial-label student, fitted with the exact softmax.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=4, same_class=0.4, n_per_class=100)
    >>> corruption = 0.4 * np.eye(4) + 0.2 * (1 - np.eye(4))
    >>> student = population_partial_labels(model, corruption, l2=3.125e-4)
    >>> student.predicted.accuracy(), student.converged
    (1.0, True)
    """
    check_model(model)
    shares = checks.corruption_matrix(corruption, model.n_classes)
    given = one_hot_types(model.n_classes) - 1 / model.n_classes
    # Labels are ranked by logits, because at a small penalty all outputs except one can underflow.
    logits = _newton(model, shares, given, l2=l2, max_steps=max_steps)[1].logits
    targets = candidate_targets(logits, n_candidates=n_candidates, ties=ties)
    return _solve(model, shares, targets - 1 / model.n_classes, l2=l2, max_steps=max_steps)


def softmax_error(
    model: CorrelationModel,
    corruption: ArrayLike,
    *,
    l2: float,
    n_rounds: int,
    max_steps: int = 100,
) -> FloatArray:
    """Return for every round the largest error of an output that the linear theory predicts.

    The error is the absolute difference from the output of the exact softmax.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=4, same_class=0.4, n_per_class=10_000)
    >>> corruption = 0.5 * np.eye(4) + 0.5 / 3 * (1 - np.eye(4))
    >>> softmax_error(model, corruption, l2=1e-4, n_rounds=2).round(5).tolist()
    [0.00618, 0.00084]
    """
    linear = outputs_by_round(model, corruption, l2=l2, n_rounds=n_rounds)
    exact = population_rounds(model, corruption, l2=l2, n_rounds=n_rounds, max_steps=max_steps)
    if not all(fitted.converged for fitted in exact):
        problem = f"the exact softmax did not converge in {max_steps} Newton steps at l2={l2}"
        advice = "pass a larger max_steps. The result of population_rounds shows which round failed"
        raise RuntimeError(f"{problem}; {advice}.")
    errors = [
        np.abs(theory.deviations - truth.predicted.deviations)[theory.occurs].max()
        for theory, truth in zip(linear, exact, strict=True)
    ]
    return np.array(errors)


def _newton(
    model: CorrelationModel, shares: FloatArray, targets: FloatArray, *, l2: float, max_steps: int
) -> tuple["_TypeProblem", NewtonResult]:
    problem = _TypeProblem(model, shares, targets, checks.scale_number("l2", l2))
    return problem, damped_newton(problem, max_steps=check_count("max_steps", max_steps, 1))


def _solve(
    model: CorrelationModel, shares: FloatArray, targets: FloatArray, *, l2: float, max_steps: int
) -> PopulationRound:
    problem, result = _newton(model, shares, targets, l2=l2, max_steps=max_steps)
    own, shared = np.ones(model.n_classes), np.zeros(shares.shape)
    leads = Leads.of_shared(own, shared, SAFETY * _output_error(problem, result))
    known = (result.deviations, shares, model.class_sizes)
    predicted = TypeOutputs(own, shared, *known, lambda: leads, row_sum=0.0)
    unseen = softmax(problem.from_others(result.logits), axis=1)
    return PopulationRound(predicted, unseen, result.residual, result.n_steps, result.converged)


def _output_error(problem: "_TypeProblem", result: NewtonResult) -> FloatArray:
    """Estimate the rounding error of the outputs of every type.

    The estimate is the change of outputs in one more Newton step, plus the effect of the rounding
    of logits.
    """
    further = problem.direction(result.logits, result.dual).logits
    moved = softmax_deviations(result.logits + further) - result.deviations
    rounding = np.finfo(np.float64).eps * (1 + np.abs(result.logits).max(axis=2))
    return np.asarray(np.abs(moved).max(axis=2) + rounding * np.ptp(result.deviations, axis=2))


class _TypeProblem:
    """A round on types; the dual variable is the coefficient α of one sample, (a, b, label)."""

    def __init__(
        self, model: CorrelationModel, shares: FloatArray, targets: FloatArray, l2: float
    ) -> None:
        self.correlation = model.correlation
        self.targets = targets  # targets minus 1/K
        self.dual_shape: tuple[int, ...] = targets.shape
        self.scale = model.n_samples * l2  # N l2
        self.weights = shares * model.class_sizes[:, None] / model.n_samples  # (a, b), sum one
        self.mass = shares * model.class_sizes[:, None] / self.scale  # (a, b), m / (N l2)
        self.kappa = (model.own_part / self.scale)[:, None, None]
        self.slope = float(model.spectrum().between.max()) / self.scale
        # Orthonormal basis of the vectors with sum zero. Logits are solved in this basis, because
        # a constant added to all logits has no effect.
        self.zero_sum = scipy.linalg.helmert(model.n_classes)  # (n_classes - 1, n_classes)

    def value(self, logits: FloatArray, dual: FloatArray) -> float:
        loss = cross_entropy(logits, self.targets)
        penalty = self.scale / 2 * (dual * logits).sum(axis=2)
        return float((self.weights * (loss + penalty)).sum())

    def direction(self, logits: FloatArray, dual: FloatArray) -> Direction:
        outputs = softmax(logits, axis=2)
        gap = self._gap(logits)
        damping = 1 / (1 + self.kappa * outputs)  # g
        weights = outputs * damping  # w
        total = weights.sum(axis=2, keepdims=True)
        lag = logits - self.kappa * gap  # c
        pulled = weights * (lag - (weights * lag).sum(axis=2, keepdims=True) / total)  # J H c
        zeta = np.einsum("ab,abk->ak", self.mass, gap + pulled)
        others = self._others(weights, total, zeta)
        ahead = others[:, None, :] - lag
        mean = (weights * ahead).sum(axis=2, keepdims=True) / total
        step = damping * ahead + self.kappa * weights * mean  # H (M⁺ - c)
        bent = weights * (ahead - mean)  # J dv
        dual_step = (gap - bent) / self.scale - dual
        slope = np.einsum("ab,abk,abk->", self.weights, self.scale * dual - gap, step)
        return Direction(step, dual_step, float(slope))

    def _others(self, weights: FloatArray, total: FloatArray, zeta: FloatArray) -> FloatArray:
        """Solve M⁺_a + Σ_c W_ac G_c M⁺_c = Σ_c W_ac ζ_c for M⁺; ζ is `zeta`."""
        n_classes, size = len(zeta), len(zeta) - 1
        diagonal = np.einsum("ab,abk->ak", self.mass, weights)
        scaled = weights * (self.mass[:, :, None] / total)
        curvature = diagonal[:, :, None] * np.eye(n_classes)  # G, (class, label, label)
        curvature -= np.einsum("abk,abl->akl", scaled, weights, optimize=True)
        reduced = self.zero_sum @ curvature @ self.zero_sum.T
        system = np.einsum("ac,cij->aicj", self.correlation, reduced)
        system = system.reshape(n_classes * size, n_classes * size)
        system[np.diag_indices_from(system)] += 1.0
        right = (self.correlation @ zeta @ self.zero_sum.T).ravel()
        solved = np.linalg.solve(system, right).reshape(n_classes, size)
        return np.asarray(solved @ self.zero_sum)

    def from_others(self, logits: FloatArray) -> FloatArray:
        """Return M = v - κ (u - σ) for every class; all types of a class have the same M."""
        return np.asarray((logits - self.kappa * self._gap(logits)).mean(axis=1))

    def residual(self, logits: FloatArray) -> float:
        gap = self._gap(logits)
        others = self.correlation @ np.einsum("ab,abk->ak", self.mass, gap)
        error = logits - self.kappa * gap - others[:, None, :]
        return float(np.abs(error).max() / (1 + self.slope))

    def _gap(self, logits: FloatArray) -> FloatArray:
        return np.asarray(self.targets - softmax_deviations(logits))
