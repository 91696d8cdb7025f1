"""The exact softmax on any data set: a Newton solver for a round's fixed point.

Round t minimises, over coefficients β in the eigenbasis of the Gram matrix Φ = F Fᵀ,

    f(β) = mean_i [logsumexp(v_i) - u_i · v_i] + ½ l2 ‖β‖²,      v = F β,
    ∇f   = l2 β + Fᵀ(σ(v) - u) / N,
    H d  = l2 d + Fᵀ J (F d) / N,      J_i = diag(σ_i) - σ_i σ_iᵀ,

whose optimum is the fixed point y = σ(Φ (u - y) / (N l2)) that the paper's Algorithm 1 seeks.
The Newton system is solved by conjugate gradients. H at uniform outputs is diagonal in this
basis, l2 + λ_i/(N K), and preconditions it.
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

# Damped Newton for the exact softmax, shared by the dense and the population solver ---------------
# Both minimise a round's objective, mean cross-entropy + ½ l2 ‖coef‖², over what it depends on:
# logits and a dual variable that carries the penalty, both linear in the coefficients. A step from
# zero coefficients has σ at uniform and is therefore exactly the linear theory of `averaging`;
# the steps after it correct the theory.
#
# Targets and outputs are carried as deviations from uniform, 1/K: late rounds differ from it by
# less than the last digit of 1/K, and which label is on top is still known.


# Newton doubles the digits: once a full step moves the logits by no more than this fraction, the
# next would move them by about 1e-16. Logits and not outputs, which stop moving early where they
# saturate.
STEP_TOLERANCE = 1e-8
# Provided that the fixed point holds to this fraction of the targets: at a vanishing penalty huge
# logits move by small fractions anywhere.
SETTLED_RESIDUAL = 1e-8
# At a tiny penalty, logits are targets minus outputs times a huge number, and rounding of the
# outputs moves them by more than that fraction for ever. Where steps no longer shrink and the fixed
# point holds to this fraction of the targets, none can improve it.
ROUNDING = 4 * float(np.finfo(np.float64).eps)
# Armijo's constant; any small number serves.
SUFFICIENT_DECREASE = 1e-4
# Below this decrease, rounding decides a comparison of objective values; Newton is then long in
# its region of quadratic convergence and full steps are safe.
TRUSTED_DECREASE = 1e-11
# Halvings before a step is given up: 2⁻³⁰ of a Newton step means the model is not convex.
MAX_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class Direction:
    """A Newton direction at the current iterate."""

    logits: FloatArray
    dual: FloatArray
    slope: float  # directional derivative of the objective, negative


class Problem(Protocol):
    """A round's objective as damped Newton needs it."""

    targets: FloatArray  # deviations from uniform

    def start(self) -> tuple[FloatArray, FloatArray]:
        """Logits and dual variable of zero coefficients."""

    def value(self, logits: FloatArray, dual: FloatArray) -> float:
        """Objective."""

    def direction(self, logits: FloatArray, dual: FloatArray) -> Direction:
        """Newton direction."""

    def residual(self, logits: FloatArray) -> float:
        """Largest error of the fixed point, on the scale of the targets."""


@dataclass(frozen=True, eq=False)
class NewtonResult:
    """Where damped Newton ended."""

    logits: FloatArray
    dual: FloatArray
    deviations: FloatArray  # softmax of the logits, minus uniform
    residual: float
    n_steps: int
    converged: bool


def damped_newton(problem: Problem, *, max_steps: int) -> NewtonResult:
    """Minimise by Newton steps, halved until the objective falls."""
    logits, dual = problem.start()
    size_of_targets = float(np.abs(problem.targets).max())
    converged, n_steps, moved = False, 0, np.inf
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
    return NewtonResult(logits, dual, deviations, problem.residual(logits), n_steps, converged)


def softmax_deviations(logits: FloatArray) -> FloatArray:
    """Return softmax(logits) - 1/K with all its digits, however near to uniform it is."""
    grown = np.expm1(logits - logits.max(axis=-1, keepdims=True))
    n_classes = logits.shape[-1]
    above = grown - grown.mean(axis=-1, keepdims=True)
    deviations = above / (n_classes + grown.sum(axis=-1, keepdims=True))
    return np.asarray(np.maximum(deviations, -1 / n_classes))  # no output is negative by rounding


def cross_entropy(logits: FloatArray, targets: FloatArray) -> FloatArray:
    """Cross-entropy of every row of logits with its target, given as deviations."""
    centred = logits - logits.mean(axis=-1, keepdims=True)
    return np.asarray(logsumexp(centred, axis=-1) - (targets * centred).sum(axis=-1))


def _step_size(problem: Problem, logits: FloatArray, dual: FloatArray, step: Direction) -> float:
    value = problem.value(logits, dual)
    if -step.slope <= TRUSTED_DECREASE * max(1.0, abs(value)):
        return 1.0
    size = 1.0
    for _ in range(MAX_HALVINGS):
        reached = problem.value(logits + size * step.logits, dual + size * step.dual)
        if reached <= value + SUFFICIENT_DECREASE * size * step.slope:
            break
        size /= 2
    return size


# Newton's own convergence is quadratic only if its systems are solved to the order of the
# gradient. The first needs no more than this, the last are solved to rounding.
LOOSEST_SYSTEM, TIGHTEST_SYSTEM = 1e-3, 1e-13


@dataclass(frozen=True, eq=False)
class SoftmaxRound:
    """One round of the exact softmax on a data set."""

    outputs: FloatArray  # (n_samples, n_classes)
    logits: FloatArray  # (n_samples, n_classes); take labels from these in late rounds
    coef_norm: float  # ‖coef‖, the same in every basis
    residual: float  # largest error of logits = Φ (targets - outputs)/(N l2), per unit slope of it
    n_steps: int  # Newton steps
    converged: bool


def softmax_rounds(
    averaging: LabelAveraging,
    targets: ArrayLike,
    *,
    l2: float,
    n_rounds: int,
    max_steps: int = 50,
) -> list[SoftmaxRound]:
    """Exact outputs of rounds 1 … `n_rounds`, each from zero coefficients.

    Parameters
    ----------
    averaging : LabelAveraging
        The data set, from a Gram matrix or from features.
    targets, l2
        As for `average_labels`.
    n_rounds : int
        How many rounds; each learns the outputs of the one before.
    max_steps : int
        Newton steps a round may take; five or six are usual.

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
    """A round on N samples; the dual variable is β, (rank, n_classes)."""

    def __init__(self, averaging: LabelAveraging, targets: FloatArray, l2: float) -> None:
        eigenvalues = averaging.eigenvalues
        self.basis = averaging.eigenvectors * np.sqrt(eigenvalues)
        self.targets = targets  # minus uniform
        self.l2 = l2
        self.n_samples, self.n_classes = targets.shape
        # H at uniform outputs, one number per direction.
        self.curvature = l2 + eigenvalues / (self.n_samples * self.n_classes)
        self.slope = float(eigenvalues.max()) / (self.n_samples * l2)
        self.first_gradient = float(np.linalg.norm(self._gradient(*self.start())))

    def start(self) -> tuple[FloatArray, FloatArray]:
        return np.zeros_like(self.targets), np.zeros((self.basis.shape[1], self.n_classes))

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
        # Its sum over labels is rounding, which a tiny penalty, all there is against it, blows up.
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
