"""Fit rounds with the exact softmax on any dataset, by Newton's method.

A round minimises the objective f over coefficients β in the eigenbasis of the Gram matrix Φ = F Fᵀ.
With the gradient ∇f and the Hessian H applied to a step d, the formulas are

    f(β) = mean_i [logsumexp(v_i) - u_i · v_i] + ½ l2 ‖β‖²,      v = F β,
    ∇f   = l2 β + Fᵀ(σ(v) - u) / N,
    H d  = l2 d + Fᵀ J (F d) / N,      J_i = diag(σ_i) - σ_i σ_iᵀ,

where u are the targets, v the logits, σ the softmax, N the number of samples and K the number of
classes. The outputs y at the optimum are the fixed point y = σ(Φ (u - y) / (N l2)) of the paper's
Algorithm 1. The Newton system H d = -∇f is solved by conjugate gradients. If all outputs are 1/K, H
is diagonal with the entries l2 + λ_i/(N K). This diagonal is the preconditioner.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import logsumexp, softmax

from twohot.base import FloatArray, check_count
from twohot.theory import checks
from twohot.theory.averaging import LabelAveraging

# Damped Newton method, for the exact softmax by sample (below) and by type of sample --------------
# Both problems minimise mean cross-entropy + ½ l2 ‖coef‖². The loss is computed from the logits;
# the penalty is computed from a dual variable (or from both). Logits and dual variable are linear
# functions of the coefficients. The first step starts at uniform outputs, so its result is the
# linear theory of `averaging`. Later steps correct this result.
#
# Targets and outputs are stored as deviations from 1/K. In late rounds, deviations are smaller than
# the last digit of 1/K, but their order still determines the top label.

# A Newton step doubles the number of exact digits. If a full step changes logits by at most this
# fraction of the largest logit, the next step would change them by about 1e-16. The test uses
# logits, because outputs near 0 or 1 stop changing earlier.
STEP_TOLERANCE = 1e-8
# The residual of the fixed-point equation must also be at most this fraction of the largest target
# (minus 1/K). At a tiny penalty, logits are huge, so a small relative change of the logits does not
# imply convergence.
SETTLED_RESIDUAL = 1e-8
# At a tiny penalty, logits are a huge multiple of targets minus outputs, so rounding changes logits
# by more than `STEP_TOLERANCE`. So a fit also ends if a step is more than half as large as the step
# before and the residual is at most this fraction of the largest target (minus 1/K).
ROUNDING = 4 * float(np.finfo(np.float64).eps)
# Constant of Armijo's rule: accept a step if the objective decreases by this fraction of what its
# slope predicts. Any small number works.
SUFFICIENT_DECREASE = 1e-4
# If the predicted relative decrease of the objective is below this number, rounding could hide the
# decrease. Then full steps are used without a test: near the optimum, Newton's method needs none.
TRUSTED_DECREASE = 1e-11
# Maximum number of halvings of a step. The objective is convex and smooth, so a small enough step
# decreases it.
MAX_HALVINGS = 30
# Relative tolerances of the Newton system: the first in the first step, the second in the last
# steps. Newton's method converges quadratically only if the tolerance decreases with the gradient.
LOOSEST_SYSTEM, TIGHTEST_SYSTEM = 1e-3, 1e-13


@dataclass(frozen=True, eq=False)
class Direction:
    """A Newton direction, as changes of the logits and of the dual variable."""

    logits: FloatArray
    dual: FloatArray
    slope: float  # directional derivative of the objective, negative


class Problem(Protocol):
    """The objective of a round, as input of `damped_newton`."""

    targets: FloatArray  # targets minus 1/K
    dual_shape: tuple[int, ...]

    def value(self, logits: FloatArray, dual: FloatArray) -> float:
        """Return the value of the objective."""

    def direction(self, logits: FloatArray, dual: FloatArray) -> Direction:
        """Return the Newton direction."""

    def residual(self, logits: FloatArray) -> float:
        """Return the largest error of logits = Φ (targets - outputs)/(N l2).

        The error is divided by 1 + λ/(N l2), where λ is the largest eigenvalue of Φ. So it has the
        scale of an error of outputs.
        """


@dataclass(frozen=True, eq=False)
class NewtonResult:
    """The result of `damped_newton`."""

    logits: FloatArray
    dual: FloatArray
    deviations: FloatArray  # softmax of the logits, minus 1/K
    residual: float  # see `Problem.residual`
    n_steps: int  # number of Newton steps
    converged: bool


def damped_newton(problem: Problem, *, max_steps: int) -> NewtonResult:
    """Minimise a round's objective; halve each Newton step until the objective decreases."""
    logits, dual = np.zeros_like(problem.targets), np.zeros(problem.dual_shape)
    size_of_targets = float(np.abs(problem.targets).max())
    converged, n_steps, moved, residual = False, 0, np.inf, np.inf
    while n_steps < max_steps and not converged:
        step = problem.direction(logits, dual)
        size = _step_size(problem, logits, dual, step)
        logits, dual = logits + size * step.logits, dual + size * step.dual
        before, moved = moved, size * float(np.abs(step.logits).max())
        residual = problem.residual(logits)
        settled = moved <= STEP_TOLERANCE * float(np.abs(logits).max())
        settled = settled and residual <= SETTLED_RESIDUAL * size_of_targets
        stalled = moved > before / 2 and residual <= ROUNDING * size_of_targets
        converged = size == 1.0 and (settled or stalled)
        n_steps += 1
    deviations = softmax_deviations(logits)
    return NewtonResult(logits, dual, deviations, residual, n_steps, converged)


def softmax_deviations(logits: FloatArray) -> FloatArray:
    """Return softmax(logits) - 1/K to full precision, even if the result is nearly zero."""
    grown = np.expm1(logits - logits.max(axis=-1, keepdims=True))
    n_classes = logits.shape[-1]
    above = grown - grown.mean(axis=-1, keepdims=True)
    deviations = above / (n_classes + grown.sum(axis=-1, keepdims=True))
    return np.asarray(np.maximum(deviations, -1 / n_classes))  # undo rounding


def cross_entropy(logits: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the cross-entropy of every row; `targets` are the targets minus 1/K."""
    centred = logits - logits.mean(axis=-1, keepdims=True)
    return np.asarray(logsumexp(centred, axis=-1) - (targets * centred).sum(axis=-1))


def _step_size(problem: Problem, logits: FloatArray, dual: FloatArray, step: Direction) -> float:
    value, size = problem.value(logits, dual), 1.0
    if -step.slope <= TRUSTED_DECREASE * max(1.0, abs(value)):
        return size
    for _ in range(MAX_HALVINGS):
        reached = problem.value(logits + size * step.logits, dual + size * step.dual)
        if reached <= value + SUFFICIENT_DECREASE * size * step.slope:
            break
        size /= 2
    return size


@dataclass(frozen=True, eq=False)
class SoftmaxRound:
    """One round of the exact softmax on a dataset."""

    outputs: FloatArray  # (n_samples, n_classes)
    logits: FloatArray  # (n_samples, n_classes); in late rounds, predict labels from the logits
    coef_norm: float  # ‖coef‖
    residual: float  # scaled error of the fixed-point equation; see `Problem.residual`
    n_steps: int  # number of Newton steps
    converged: bool


def softmax_rounds(
    averaging: LabelAveraging, targets: ArrayLike, *, l2: float, n_rounds: int, max_steps: int = 50
) -> list[SoftmaxRound]:
    """Return rounds 1 … `n_rounds` of the exact softmax; every fit starts at zero coefficients.

    Parameters
    ----------
    averaging : LabelAveraging
        The dataset: a result of `LabelAveraging.from_gram` or `LabelAveraging.from_features`.
    targets, l2
        As for `average_labels`.
    n_rounds : int
        Number of rounds. Round 1 is trained on `targets`, a later round on the outputs of the round
        before.
    max_steps : int
        Maximum number of Newton steps per round. Five or six steps are usually enough.

    Examples
    --------
    >>> features = np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
    >>> averaging = LabelAveraging.from_features(features)
    >>> rounds = softmax_rounds(averaging, np.eye(2)[[0, 0, 1, 1]], l2=0.05, n_rounds=2)
    >>> rounds[-1].outputs[:, 0].round(3).tolist(), rounds[-1].converged
    ([0.768, 0.56, 0.44, 0.232], True)
    """
    hint = "build one with LabelAveraging.from_gram or LabelAveraging.from_features"
    checks.instance(averaging, LabelAveraging, "averaging", hint)
    rows = checks.target_rows(targets, averaging.eigenvectors.shape[0])
    penalty = checks.scale_number("l2", l2)
    most = check_count("max_steps", max_steps, 1)
    uniform = 1 / rows.shape[1]
    deviations = rows - uniform
    fitted = []
    for _ in range(checks.round_count(n_rounds)):
        result = damped_newton(_DenseProblem(averaging, deviations, penalty), max_steps=most)
        deviations, norm = result.deviations, float(np.linalg.norm(result.dual))
        ended = (result.residual, result.n_steps, result.converged)
        fitted.append(SoftmaxRound(deviations + uniform, result.logits, norm, *ended))
    return fitted


class _DenseProblem:
    """A round on N samples; the dual variable is β (rank, n_classes)."""

    def __init__(self, averaging: LabelAveraging, targets: FloatArray, l2: float) -> None:
        eigenvalues = averaging.eigenvalues
        self.basis = averaging.eigenvectors * np.sqrt(eigenvalues)
        self.targets = targets  # targets minus 1/K
        self.l2 = l2
        self.n_samples, n_classes = targets.shape
        self.dual_shape: tuple[int, ...] = (self.basis.shape[1], n_classes)
        self.curvature = l2 + eigenvalues / targets.size  # diagonal of H at uniform outputs
        self.slope = float(eigenvalues.max()) / (self.n_samples * l2)
        start = self._gradient(np.zeros_like(targets), np.zeros(self.dual_shape))
        self.first_gradient = float(np.linalg.norm(start))

    def value(self, logits: FloatArray, dual: FloatArray) -> float:
        loss = cross_entropy(logits, self.targets).mean()
        return float(loss + self.l2 / 2 * np.vdot(dual, dual))

    def direction(self, logits: FloatArray, dual: FloatArray) -> Direction:
        gradient = self._gradient(logits, dual)
        step = self._solve(softmax(logits, axis=1), -gradient)
        return Direction(self.basis @ step, step, float(np.vdot(gradient, step)))

    def residual(self, logits: FloatArray) -> float:
        gap = (self.targets - softmax_deviations(logits)) / (self.n_samples * self.l2)
        return float(np.abs(logits - self.basis @ (self.basis.T @ gap)).max() / (1 + self.slope))

    def _gradient(self, logits: FloatArray, dual: FloatArray) -> FloatArray:
        wrong = softmax_deviations(logits) - self.targets
        gradient = self.l2 * dual + self.basis.T @ wrong / self.n_samples
        # The exact gradient sums to zero over labels. Subtract the rounding error of this sum,
        # because a tiny penalty would amplify the error.
        return np.asarray(gradient - gradient.mean(axis=1, keepdims=True))

    def _solve(self, outputs: FloatArray, right: FloatArray) -> FloatArray:
        shape = right.shape

        def hessian(flat: FloatArray) -> FloatArray:
            step = flat.reshape(shape)
            moved = outputs * (self.basis @ step)
            moved -= outputs * moved.sum(axis=1, keepdims=True)
            return np.asarray((self.l2 * step + self.basis.T @ moved / self.n_samples).ravel())

        def precondition(flat: FloatArray) -> FloatArray:
            return np.asarray((flat.reshape(shape) / self.curvature[:, None]).ravel())

        progress = float(np.linalg.norm(right)) / max(self.first_gradient, np.finfo(float).tiny)
        size = (right.size, right.size)
        solution, _ = cg(
            LinearOperator(size, matvec=hessian, dtype=np.float64),
            right.ravel(),
            M=LinearOperator(size, matvec=precondition, dtype=np.float64),
            rtol=float(np.clip(0.1 * progress, TIGHTEST_SYSTEM, LOOSEST_SYSTEM)),
            atol=0.0,
            maxiter=1000,
        )
        return np.asarray(solution).reshape(shape)
