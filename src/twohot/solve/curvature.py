"""Approximate second derivatives of the objective: a model per class, corrected by past steps.

The model of class k is a matrix D_k, called the metric of the class. Let v_i be the weight of row i
and p_ik its output for class k. The second derivative of penalised cross-entropy with respect to
the coefficients of class k is mean_i v_i p_ik (1 - p_ik) x_i x_iᵀ + l2. The model assumes that the
rows, weighted by p_ik, have the same covariance as all rows, around their own mean m_k. Along the
principal axes, the second derivative is then about

    D_k = diag(h_k · variances + l2) + h_k m_k m_kᵀ,     h_k = mean_i v_i p_ik (1 - p_ik).

Let the vector den_k be the diagonal of the first term. The inverse follows from the formula of
Sherman and Morrison:

    D_k⁻¹ g = g/den_k - u_k c_k (u_k · g),    u_k = m_k/den_k,    c_k = h_k / (1 + h_k m_k · u_k).

A pair is a past step and the change of the gradient along it. Pairs correct the model, see History.
A pass reads all rows once.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from twohot.base import FloatArray
from twohot.solve.losses import Evaluation, FitProblem


@dataclass(frozen=True, eq=False)
class ClassMetrics:
    """The metric D_k of every class, in the notation of this module's docstring.

    If all classes have the same metric, the arrays have one row instead of K.
    """

    diagonal: FloatArray  # (K, d), den_k
    means: FloatArray  # (K, d), m_k
    curvature: FloatArray  # (K, 1), h_k

    def multiply(self, vectors: FloatArray) -> FloatArray:
        """Return D_k v_k for every class k; the v_k are the rows of `vectors`."""
        inner = class_inner(self.means, vectors)
        return np.asarray(self.diagonal * vectors + self.means * (self.curvature * inner))

    def solve(self, vectors: FloatArray) -> FloatArray:
        """Return D_k⁻¹ v_k for every class k; the v_k are the rows of `vectors`."""
        u = self.means / self.diagonal
        c = self.curvature / (1 + self.curvature * class_inner(self.means, u))
        return np.asarray(vectors / self.diagonal - u * (c * class_inner(u, vectors)))


def class_inner(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the inner products of corresponding rows of two matrices, as a column (K, 1)."""
    return np.asarray(np.vecdot(left, right)[:, np.newaxis])


def metrics_at(problem: FitProblem, evaluation: Evaluation | None = None) -> ClassMetrics:
    """Return the metrics at `evaluation`; if it is None, the metric at zero coefficients.

    At zero coefficients, all outputs are 1/K, so that all classes have the same metric.
    """
    curvature: FloatArray = np.full((1, 1), 1 / len(problem.target_moment))
    means: FloatArray = np.zeros((1, len(problem.penalty)))
    if evaluation is not None:
        curvature, means = evaluation.curvature[:, np.newaxis], evaluation.means
    diagonal = curvature * problem.axes.variances + problem.penalty
    dtype = problem.rows.dtype
    return ClassMetrics(diagonal.astype(dtype), means.astype(dtype), curvature.astype(dtype))


# Pairs: curvature measured by past steps ----------------------------------------------------------
# A pair is a step s and the change y of the gradient along it. It measures the second derivative H
# along the step, because y ≈ H s. Every pair is used in two recursions.
#
# The class-wise recursion learns what the metrics D_k miss. H is nearly block diagonal. In each
# block, which belongs to a class, D_k does not model about a dozen directions. A pair
# (s, y) contains one pair (s_k, y_k) per class. So the two-loop recursion of L-BFGS, with one inner
# product per class, learns these directions in all K blocks from the same few passes. A single
# recursion for all classes would need K dozens of pairs, more than a history can store.
#
# The overall recursion is the usual two-loop recursion on the last few pairs. It calls the
# class-wise recursion, and corrects for the coupling between classes.
#
# Adding the same vector to the coefficients of all classes changes no output. So vectors are
# centred before and after a recursion: their sum over the classes is made zero. The recursion stays
# symmetric.

CLASS_PAIRS = 30  # maximum number of pairs of the class-wise recursion; more pairs gain little
OVERALL_PAIRS = 10  # maximum number of pairs of the overall recursion

MOST_CLASSES = 0.9  # a pair used by this fraction of the classes counts as used by all


@dataclass(frozen=True, eq=False)
class Pair:
    """A step and the change of the gradient along it, both divided by the length of the step.

    The division does not change the measured curvature. It keeps squares in the range of float32.
    """

    step: FloatArray  # (K, d)
    change: FloatArray  # (K, d)
    overall: Any  # 1/(step · change), in the precision of the passes
    by_class: FloatArray  # (K, 1), 1/(step · change) per class; zero if a class skips the pair


@dataclass(eq=False)
class History:
    """The last pairs of a fit. They approximate the second derivative H, see the comment above.

    In the next fit with the same rows and penalty, the class-wise recursion starts with these
    pairs. Search directions need not be exact. So they are computed in the precision of the passes,
    which can be float32.
    """

    dtype: np.dtype[Any]
    pairs: deque[Pair] = field(default_factory=lambda: deque(maxlen=CLASS_PAIRS))
    n_overall: int = 0  # number of the newest pairs that belong to the current fit
    pause: int = 0  # number of steps until the class-wise recursion uses pairs again

    def add(
        self, step: FloatArray, change: FloatArray, metrics: ClassMetrics, least: float
    ) -> None:
        """Store a pair if the curvature along its step is positive.

        A class uses the pair if the curvature that the pair measures for the class exceeds `least`
        times the curvature in the metric of the class.
        """
        length = float(np.linalg.norm(step)) or 1.0
        step, change = (step / length).astype(self.dtype), (change / length).astype(self.dtype)
        overall = np.vdot(step, change)
        if overall <= 0:
            return
        measured = class_inner(step, change)
        used = measured > least * class_inner(step, metrics.multiply(step))
        by_class = np.divide(1, measured, out=np.zeros_like(measured), where=used)
        self.pairs.append(Pair(step, change, 1 / overall, by_class))
        self.n_overall = min(self.n_overall + 1, OVERALL_PAIRS)

    def forget(self) -> None:
        """Delete all pairs, because a direction from the pairs did not reduce the objective."""
        self.pairs.clear()
        self.n_overall = 0

    def solve(self, vector: FloatArray, metrics: ClassMetrics) -> FloatArray:
        """Return an approximation of H⁻¹ times `vector`."""
        length = float(np.linalg.norm(vector)) or 1.0
        recent = list(self.pairs)[len(self.pairs) - self.n_overall :]
        solution = _two_loops(
            _centred(vector / length).astype(self.dtype),
            [(pair, pair.overall) for pair in recent],
            np.vdot,
            lambda rest: self._scale(metrics) * self._solve_by_class(rest, metrics),
        )
        # Centre again: dividing a tiny step by its length also scales its rounding errors.
        return _centred(solution.astype(np.float64)) * length

    def _scale(self, metrics: ClassMetrics) -> FloatArray:
        """Return the factor that corrects the class-wise solution along the newest step.

        If nearly all classes use the newest pair, the class-wise solution is exact along its step,
        and the factor is one.
        """
        newest = self.pairs[-1] if self.n_overall else None
        if newest is None or (not self.pause and np.mean(newest.by_class > 0) > MOST_CLASSES):
            return np.ones((), self.dtype)
        solved = self._solve_by_class(newest.change, metrics)
        return np.asarray(1 / (newest.overall * np.vdot(newest.change, solved)))

    def _solve_by_class(self, vector: FloatArray, metrics: ClassMetrics) -> FloatArray:
        """Return an approximation of H⁻¹ times `vector`, without the coupling between classes."""
        pairs = [] if self.pause else [(pair, pair.by_class) for pair in self.pairs]
        return _centred(_two_loops(_centred(vector), pairs, class_inner, metrics.solve))


def _centred(vector: FloatArray) -> FloatArray:
    """Return the vector minus its mean over the classes."""
    return np.asarray(vector - vector.mean(axis=0))


def _two_loops(
    vector: FloatArray,
    pairs: list[tuple[Pair, Any]],
    inner: Callable[[FloatArray, FloatArray], Any],
    solve: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return an approximation of H⁻¹ times `vector`, by the two-loop recursion of L-BFGS.

    `pairs` contains each pair with its 1/(step · change). `inner` is the inner product, and `solve`
    approximates the product with H⁻¹ without pairs.
    """
    factors = []
    rest = vector.copy()
    for pair, weight in reversed(pairs):
        factors.append(weight * inner(pair.step, rest))
        rest -= factors[-1] * pair.change
    solution = solve(rest)
    for (pair, weight), factor in zip(pairs, reversed(factors), strict=True):
        solution += (factor - weight * inner(pair.change, solution)) * pair.step
    return solution
