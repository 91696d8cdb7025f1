"""Principal axes of the prepared rows, the coordinates in which a fit is solved.

In the coordinates of its own second moment X'X/N = Q diag(variances) Qᵀ, the curvature of the
objective is nearly diagonal. Coefficients c in these coordinates are W = c Qᵀ on the features,
and a moment M on the features is M Q in these coordinates. An intercept is its own axis.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from twohot._types import FloatArray
from twohot.rows.preparation import FeatureSet
from twohot.rows.threads import Terms, map_blocks, sum_over_blocks

# Rows that enter the second moment, evenly spread: it only preconditions, and a tenth of the
# cost of all rows at the size of CIFAR-100 changes no count of passes.
MOMENT_ROWS = 10_000

# Classes whose coefficients change coordinates at once, on one thread.
CHUNK_ROWS = 32


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Principal axes of the prepared rows, with their mean."""

    basis: FloatArray | None  # (d, d), axes as columns; None: the features are their own axes
    variances: FloatArray  # (d,), mean square along each axis
    mean_row: FloatArray  # (d,), mean of the rows along each axis
    mean_square: float  # mean squared norm of the rows, without the intercept
    n_jobs: int  # threads for the change of coordinates

    def to_features(self, coef: FloatArray) -> FloatArray:
        """Return coefficients on the features, from those along the axes."""
        return coef if self.basis is None else self._multiply(coef, self.basis.T)

    def from_features(self, moment: FloatArray) -> FloatArray:
        """Return moments or coefficients along the axes, from those on the features."""
        return moment if self.basis is None else self._multiply(moment, self.basis)

    def _multiply(self, rows: FloatArray, matrix: FloatArray) -> FloatArray:
        """Return rows @ matrix, a few rows at a time, the same for any number of threads."""
        n_chunks = -(-len(rows) // CHUNK_ROWS)

        def terms_of(chunk: int) -> Terms:
            return (rows[chunk * CHUNK_ROWS : (chunk + 1) * CHUNK_ROWS] @ matrix,)

        return np.concatenate([terms[0] for terms in map_blocks(terms_of, n_chunks, self.n_jobs)])


def measure_spectrum(features: FeatureSet, n_jobs: int) -> Spectrum:
    """Read the features once and return their principal axes."""
    stride = max(1, features.n_samples // MOMENT_ROWS)

    def terms_of(block: int) -> Terms:
        found = features.block(block)
        x, weights = found.prepared(), found.weights
        weighted = x if weights is None else x * weights
        sampled = slice(-found.rows.start % stride, None, stride)
        return (
            weighted.sum(axis=0),
            np.einsum("ij,ij->i", weighted, x).sum(dtype=np.float64),
            weighted[sampled].T @ x[sampled],
            np.asarray(len(x[sampled]) if weights is None else weights[sampled].sum()),
        )

    total, square, moment, sampled_weight = sum_over_blocks(terms_of, features.n_blocks, n_jobs)
    variances, axes = sl.eigh(moment / max(float(sampled_weight), 1.0), overwrite_a=True)
    mean_row = total / features.n_samples @ axes
    if features.intercept:
        variances, mean_row = np.append(variances, 1.0), np.append(mean_row, 1.0)
        axes = sl.block_diag(axes, np.eye(1))
    return Spectrum(
        basis=axes,
        variances=np.maximum(variances, 0),
        mean_row=mean_row,
        mean_square=float(square) / features.n_samples,
        n_jobs=n_jobs,
    )
