"""Damped Newton for the exact softmax, shared by the dense and the population solver.

Both minimise a round's objective, mean cross-entropy + ½ l2 ‖coef‖², over what it depends on:
logits and a dual variable that carries the penalty, both linear in the coefficients. A step from
zero coefficients has σ at uniform and is therefore exactly the linear theory of `averaging`;
the steps after it correct the theory.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import softmax

from twohot.theory._checks import FloatArray

# Newton doubles the digits: once a full step moves the logits by no more than this fraction, the
# next would move them by about 1e-16. Logits and not outputs, which stop moving early where they
# saturate.
STEP_TOLERANCE = 1e-8
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

    def start(self) -> tuple[FloatArray, FloatArray]:
        """Logits and dual variable of zero coefficients."""

    def value(self, logits: FloatArray, dual: FloatArray) -> float:
        """Objective."""

    def direction(self, logits: FloatArray, dual: FloatArray) -> Direction:
        """Newton direction."""


@dataclass(frozen=True, eq=False)
class NewtonResult:
    """Where damped Newton ended."""

    logits: FloatArray
    dual: FloatArray
    outputs: FloatArray  # softmax of the logits
    n_steps: int
    converged: bool


def damped_newton(problem: Problem, *, max_steps: int) -> NewtonResult:
    """Minimise by Newton steps, halved until the objective falls."""
    logits, dual = problem.start()
    converged, n_steps = False, 0
    while n_steps < max_steps and not converged:
        step = problem.direction(logits, dual)
        size = _step_size(problem, logits, dual, step)
        logits, dual = logits + size * step.logits, dual + size * step.dual
        small = STEP_TOLERANCE * (1 + np.abs(logits).max())
        converged = size == 1.0 and bool(np.abs(step.logits).max() <= small)
        n_steps += 1
    return NewtonResult(logits, dual, softmax(logits, axis=-1), n_steps, converged)


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
