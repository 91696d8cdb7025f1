"""Principal axes of the prepared rows, the coordinates in which a fit is solved.

In the coordinates of its own second moment X'X/N = Q diag(variances) Qᵀ, the curvature of the
objective is nearly diagonal. Coefficients c in these coordinates are W = c Qᵀ on the features,
and a moment M on the features is M Q in these coordinates. An intercept is its own axis.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from twohot._types import FloatArray
from twohot.rows.block import Block
from twohot.rows.rows import Rows, Terms
from twohot.rows.threads import map_on_cores

# Rows that enter the second moment, evenly spread: it only preconditions, and a tenth of the
# cost of all rows at the size of CIFAR-100 changes no count of passes.
MOMENT_ROWS = 10_000

# Classes whose coefficients change coordinates at once, on one thread.
CHUNK_CLASSES = 32


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """Principal axes of the prepared rows, with their mean."""

    basis: FloatArray | None  # (d, d), axes as columns; None: the features are their own axes
    variances: FloatArray  # (d,), mean square along each axis
    mean_row: FloatArray  # (d,), mean of the rows along each axis
    mean_square: float  # mean squared norm of the rows, without the intercept

    def to_rows(self, coef: FloatArray, n_jobs: int) -> FloatArray:
        """Return coefficients on the features of the rows, from those along the axes."""
        return coef if self.basis is None else _multiply(coef, self.basis.T, n_jobs)

    def from_rows(self, moment: FloatArray, n_jobs: int) -> FloatArray:
        """Return moments or coefficients along the axes, from those on the features."""
        return moment if self.basis is None else _multiply(moment, self.basis, n_jobs)


def _multiply(left: FloatArray, right: FloatArray, n_jobs: int) -> FloatArray:
    """Return left @ right, a few rows at a time, the same for any number of threads."""

    def chunk(number: int) -> FloatArray:
        return np.asarray(left[number * CHUNK_CLASSES : (number + 1) * CHUNK_CLASSES] @ right)

    n_chunks = -(-len(left) // CHUNK_CLASSES)
    return np.concatenate(list(map_on_cores(chunk, n_chunks, n_jobs)))


def measure_axes(rows: Rows) -> PrincipalAxes:
    """Read the rows once and return their principal axes."""
    stride = max(1, rows.n_samples // MOMENT_ROWS)
    total, square, moment, sampled_weight = rows.sum(moment_terms, stride)
    variances, axes = sl.eigh(moment / max(float(sampled_weight), 1.0), overwrite_a=True)
    mean_row = total / rows.n_samples @ axes
    if rows.intercept:
        variances, mean_row = np.append(variances, 1.0), np.append(mean_row, 1.0)
        axes = sl.block_diag(axes, np.eye(1))
    return PrincipalAxes(
        basis=axes,
        variances=np.maximum(variances, 0),
        mean_row=mean_row,
        mean_square=float(square) / rows.n_samples,
    )


def moment_terms(block: Block, stride: int) -> Terms:
    """Return Σ v x and Σ v ‖x‖²; of every so many rows Σ v x xᵀ and Σ v. A kernel."""
    x, weights = block.prepared(), block.weights
    weighted = x if weights is None else x * weights
    sampled = slice(-block.first % stride, None, stride)
    return (
        weighted.sum(axis=0),
        np.einsum("ij,ij->i", weighted, x).sum(dtype=np.float64),
        weighted[sampled].T @ x[sampled],
        np.asarray(len(x[sampled]) if weights is None else weights[sampled].sum()),
    )
