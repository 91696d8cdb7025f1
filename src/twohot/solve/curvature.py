"""An invertible model of the curvature: one matrix D_k per class, the metric of the class.

Let v_i be row weights and p_ik outputs. The second derivative of penalised cross-entropy by the
coefficients of class k is mean_i v_i p_ik (1 - p_ik) x_i x_iᵀ + l2. Assume that the rows weighted
by p_ik have the covariance of all rows around their own mean m_k. Along the principal axes the
second derivative is then about

    D_k = diag(h_k · variances + l2) + h_k m_k m_kᵀ,     h_k = mean_i v_i p_ik (1 - p_ik).

Its inverse, with den_k the diagonal, is that of a rank-one update (Sherman–Morrison):

    D_k⁻¹ g = g/den_k - u_k c_k (u_k · g),    u_k = m_k/den_k,    c_k = h_k / (1 + h_k m_k · u_k).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from twohot.base import FloatArray
from twohot.solve.objective import Evaluation, FitProblem


@dataclass(frozen=True, eq=False)
class ClassMetrics:
    """The metric D_k of every class, in the notation of this module's docstring."""

    diagonal: FloatArray  # (K, d) or (1, d), den_k
    means: FloatArray | None  # (K, d), m_k; None: no rank-one term
    curvature: FloatArray  # (K, 1), h_k

    def multiply(self, vectors: FloatArray) -> FloatArray:
        """Return D_k v_k, class by class."""
        product = self.diagonal * vectors
        if self.means is not None:
            product += self.means * (self.curvature * class_inner(self.means, vectors))
        return product

    def solve(self, vectors: FloatArray) -> FloatArray:
        """Return D_k⁻¹ v_k, class by class."""
        solution = vectors / self.diagonal
        if self.means is not None:
            lean = self.means / self.diagonal
            share = self.curvature / (1 + self.curvature * class_inner(self.means, lean))
            solution -= lean * (share * class_inner(lean, vectors))
        return solution


def class_inner(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the inner product of corresponding rows, one per class, (K, 1)."""
    return np.asarray(np.vecdot(left, right)[:, np.newaxis])


def metrics_at_zero(problem: FitProblem) -> ClassMetrics:
    """Return the metric at zero coefficients, where outputs are uniform: one for all classes."""
    return _metrics(problem, np.full((1, 1), 1 / len(problem.target_moment)), None)


def metrics_at(problem: FitProblem, evaluation: Evaluation) -> ClassMetrics:
    """Return the metrics at an evaluated point."""
    return _metrics(problem, evaluation.curvature[:, np.newaxis], evaluation.means)


def _metrics(problem: FitProblem, curvature: FloatArray, means: FloatArray | None) -> ClassMetrics:
    dtype = problem.rows.dtype
    diagonal = curvature * problem.axes.variances + problem.penalty
    return ClassMetrics(
        diagonal.astype(dtype),
        None if means is None else means.astype(dtype),
        curvature.astype(dtype),
    )


# Curvature measured by past steps, for all classes together and for each class --------------------
# Each step s measures the curvature along it, y ≈ H s. Every pair (s, y) is used twice.
#
# Class by class: with the metrics D_k above, H is nearly block diagonal. In each block, about a
# dozen directions remain that D_k does not model, in which the rows of the class differ. A pair
# (s, y) contains a pair (s_k, y_k) for every class. So the two-loop recursion of L-BFGS, with inner
# products per class, learns these directions in all K blocks from the same few passes. A recursion
# for all classes together would need K dozens of pairs, more than a history can store.
#
# Over all classes: the usual recursion on the last few pairs calls the class-wise recursion, and
# corrects for the coupling between classes.
#
# Adding the same vector to the coefficients of all classes changes no output. Projections before
# and after keep the recursion in the space where classes sum to zero, and keep it symmetric.

CLASS_PAIRS = 30  # maximum pairs of the class-wise recursion; more pairs gain little
OVERALL_PAIRS = 10  # pairs of the overall recursion

MOST_CLASSES = 0.9  # if this share of the classes uses a pair, it counts as used by all


@dataclass(frozen=True, eq=False)
class Pair:
    """A step and the change of the gradient along it, both divided by the length of the step.

    The division does not change the curvature, and keeps squares in the range of float32.
    """

    step: FloatArray  # (K, d)
    change: FloatArray  # (K, d)
    overall: Any  # 1/(step · change), in the precision of the passes
    by_class: FloatArray  # (K, 1), 1/(step · change) of each class; zero if its pair is not used


@dataclass(eq=False)
class History:
    """The last pairs. The next fit with the same rows and penalty may reuse the class-wise ones.

    Directions are computed in the precision of the passes, because they need not be exact.
    """

    dtype: np.dtype[Any]
    pairs: deque[Pair] = field(default_factory=lambda: deque(maxlen=CLASS_PAIRS))
    n_overall: int = 0  # number of the newest pairs that belong to this fit
    pause: int = 0  # number of steps before class-wise pairs are used again

    def add(
        self, step: FloatArray, change: FloatArray, metrics: ClassMetrics, least: float
    ) -> None:
        """Store a pair if the curvature along its step is positive.

        A class uses its own part of the pair if its measured curvature exceeds `least` times the
        curvature in the metric of the class.
        """
        length = float(np.linalg.norm(step))
        if length == 0:
            return
        step, change = (step / length).astype(self.dtype), (change / length).astype(self.dtype)
        overall = np.vdot(step, change)
        if overall <= 0:
            return
        own = class_inner(step, change)
        used = own > least * class_inner(step, metrics.multiply(step))
        by_class = np.divide(1, own, out=np.zeros_like(own), where=used)
        self.pairs.append(Pair(step, change, 1 / overall, by_class))
        self.n_overall = min(self.n_overall + 1, OVERALL_PAIRS)

    def forget(self) -> None:
        """Delete all pairs, because their directions did not decrease the objective."""
        self.pairs.clear()
        self.n_overall = 0

    def solve(self, vector: FloatArray, metrics: ClassMetrics) -> FloatArray:
        """Return an approximation of H⁻¹ vector."""
        length = float(np.linalg.norm(vector))
        if length == 0:
            return vector
        recent = list(self.pairs)[len(self.pairs) - self.n_overall :]
        solution = _two_loops(
            _centred(vector / length).astype(self.dtype),
            recent,
            [pair.overall for pair in recent],
            np.vdot,
            lambda rest: self._scale(metrics) * self._solve_by_class(rest, metrics),
        )
        # After division by their length, tiny steps may have sums over the classes that are not
        # zero.
        return _centred(solution.astype(np.float64)) * length

    def _scale(self, metrics: ClassMetrics) -> FloatArray:
        """Return the factor that corrects the class-wise solution along the newest step.

        The class-wise solution is exact for classes that use the newest pair. If nearly all
        classes do, the factor is set to one.
        """
        if self.n_overall == 0:
            return np.ones((), self.dtype)
        newest = self.pairs[-1]
        if not self.pause and np.mean(newest.by_class > 0) > MOST_CLASSES:
            return np.ones((), self.dtype)
        solved = self._solve_by_class(newest.change, metrics)
        scale: FloatArray = 1 / (newest.overall * np.vdot(newest.change, solved))
        return scale

    def _solve_by_class(self, vector: FloatArray, metrics: ClassMetrics) -> FloatArray:
        """Return an approximation of H⁻¹ vector that ignores the coupling between classes."""
        pairs = [] if self.pause else list(self.pairs)
        weights = [pair.by_class for pair in pairs]
        solution = _two_loops(_centred(vector), pairs, weights, class_inner, metrics.solve)
        return _centred(solution)


def _centred(vector: FloatArray) -> FloatArray:
    """Return the vector projected so that classes sum to zero."""
    return np.asarray(vector - vector.mean(axis=0))


def _two_loops(
    vector: FloatArray,
    pairs: list[Pair],
    weights: list[FloatArray],
    inner: Callable[[FloatArray, FloatArray], Any],
    solve: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the result of the two-loop recursion of L-BFGS for `vector`: about H⁻¹ vector.

    `weights` are 1/(step · change) of the pairs, `inner` is an inner product, and `solve`
    approximates H⁻¹ without the pairs.
    """
    shares = []
    rest = vector.copy()
    for pair, weight in zip(reversed(pairs), reversed(weights), strict=True):
        shares.append(weight * inner(pair.step, rest))
        rest -= shares[-1] * pair.change
    solution = solve(rest)
    for pair, weight, share in zip(pairs, weights, reversed(shares), strict=True):
        solution += (share - weight * inner(pair.change, solution)) * pair.step
    return solution
