"""Damped Newton for the exact softmax, shared by the dense and the population solver.

Both minimise a round's objective, mean cross-entropy + ½ l2 ‖coef‖², over what it depends on:
logits and a dual variable that carries the penalty, both linear in the coefficients. A step from
zero coefficients has σ at uniform and is therefore exactly the linear theory of `averaging`;
the steps after it correct the theory.

Targets and outputs are carried as deviations from uniform, 1/K: late rounds differ from it by
less than the last digit of 1/K, and which label is on top is still known.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from twohot.theory._checks import FloatArray

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
