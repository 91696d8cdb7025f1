"""A model of the curvature that can be inverted: one metric for each class.

The second derivative of cross-entropy with respect to the coefficients of class k is
mean_i v_i p_ik (1 - p_ik) x_i x_iᵀ + l2. Along the principal axes, and with the rows weighted by
p_ik taken as spread like all rows around their own mean m_k, it is about

    D_k = diag(h_k · variances + l2) + h_k m_k m_kᵀ,     h_k = mean_i v_i p_ik (1 - p_ik).

Its inverse, with den_k the diagonal, is that of a rank-one update (Sherman–Morrison):

    D_k⁻¹ g = g/den_k - u_k c_k (u_k · g),    u_k = m_k/den_k,    c_k = h_k / (1 + h_k m_k · u_k).
"""

from dataclasses import dataclass

import numpy as np

from twohot._types import FloatArray
from twohot.solve.objective import Evaluation, FitProblem


@dataclass(frozen=True, eq=False)
class ClassMetrics:
    """D_k for every class."""

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
    """Return the inner product of each class, (K, 1)."""
    return np.asarray(np.vecdot(left, right)[:, np.newaxis])


def metrics_at_zero(problem: FitProblem) -> ClassMetrics:
    """Return the metric of cross-entropy at zero, where outputs are uniform; the same for all."""
    return _metrics(problem, np.full((1, 1), 1 / len(problem.target_moment)), None)


def metrics_at(problem: FitProblem, evaluation: Evaluation) -> ClassMetrics:
    """Return the metrics where a pass has been made."""
    return _metrics(problem, evaluation.curvature[:, np.newaxis], evaluation.means)


def _metrics(problem: FitProblem, curvature: FloatArray, means: FloatArray | None) -> ClassMetrics:
    dtype = problem.rows.dtype
    diagonal = curvature * problem.axes.variances + problem.penalty
    return ClassMetrics(
        diagonal.astype(dtype),
        None if means is None else means.astype(dtype),
        curvature.astype(dtype),
    )
