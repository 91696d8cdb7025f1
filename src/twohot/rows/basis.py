"""How coordinates are changed: an orthonormal basis of the features, whole or by reflection.

A basis of d axes takes a product with d × d numbers. Where only the leading m axes A of wide rows
are known, and any axes orthogonal to them will do for the rest, a block reflection is cheaper. With
the last m rows of A written U S Yᵀ (their singular values),

    F = (A Y + E U) (1 + S)^(-1/2),     FᵀF = 2 I,     E the last m columns of I,
    Q = (I - F Fᵀ) diag(I, -U Yᵀ)       is orthogonal, and its last m columns are A:

(I - F Fᵀ) E = E - (A Y + E U) Uᵀ = -A Y Uᵀ. Only F (d, m) and one m × m matrix are held.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg as sl
from numpy.typing import DTypeLike

from twohot._types import FloatArray
from twohot.rows.threads import map_on_cores

# Classes whose coefficients change coordinates at once, on one thread; half as many take a quarter
# longer.
CHUNK_CLASSES = 64

# Subspace iterations of `leading_axes`, and axes beyond those that are asked for. On features of
# images the first nine tenths of the axes are then exact to four digits, and the last ones, which
# hardly differ in variance, are any of their kind. Where one direction varies a hundred thousand
# times as much as the rest, the others are found less well, and a fit takes more passes.
ITERATIONS = 3
OVERSAMPLED = 1 / 8


class Basis(Protocol):
    """Axes as the columns of a matrix Q, the leading ones last."""

    @property
    def n_features(self) -> int:
        """How many features, with an intercept if the rows have one."""
        ...

    def to_rows(self, coef: FloatArray, n_jobs: int, dtype: DTypeLike = np.float64) -> FloatArray:
        """Return coef Qᵀ: coefficients on the features, from those along the axes."""
        ...

    def from_rows(self, moment: FloatArray, n_jobs: int) -> FloatArray:
        """Return moment Q: a moment along the axes, from one on the features."""
        ...

    def columns(self, first: int) -> FloatArray:
        """Return the axes from one on, as columns."""
        ...


@dataclass(frozen=True, eq=False)
class WholeBasis:
    """All numbers of Q, (d, m)."""

    matrix: FloatArray

    @property
    def n_features(self) -> int:
        """How many features."""
        return len(self.matrix)

    def to_rows(self, coef: FloatArray, n_jobs: int, dtype: DTypeLike = np.float64) -> FloatArray:
        """Return coef Qᵀ, rounded at the end alone: a fit at a small penalty takes fewer passes."""
        return multiply(coef, self.matrix.T, n_jobs).astype(dtype, copy=False)

    def from_rows(self, moment: FloatArray, n_jobs: int) -> FloatArray:
        """Return moment Q."""
        return multiply(moment, self.matrix, n_jobs)

    def columns(self, first: int) -> FloatArray:
        """Return the axes from one on."""
        return self.matrix[:, first:]


@dataclass(frozen=True, eq=False)
class ReflectedBasis:
    """d orthonormal axes, of which some are given; an intercept, if there is one, stays apart."""

    factor: FloatArray  # (d, m), F; of an intercept zero
    turn: FloatArray  # (m, m), -U Yᵀ
    turned: slice  # the axes that were given

    @property
    def n_features(self) -> int:
        """How many features, with an intercept."""
        return len(self.factor)

    def to_rows(self, coef: FloatArray, n_jobs: int, dtype: DTypeLike = np.float64) -> FloatArray:
        """Return coef Qᵀ, computed in the precision that it is asked for in."""
        turned = coef.astype(dtype)
        turned[:, self.turned] = turned[:, self.turned] @ self.turn.T.astype(dtype)
        return self._reflect(turned, n_jobs)

    def from_rows(self, moment: FloatArray, n_jobs: int) -> FloatArray:
        """Return moment Q."""
        along = self._reflect(moment, n_jobs)
        along[:, self.turned] = along[:, self.turned] @ self.turn
        return along

    def columns(self, first: int) -> FloatArray:
        """Return the axes from one on, as columns."""
        return self.to_rows(np.eye(self.n_features)[first:], 1).T

    def _reflect(self, vectors: FloatArray, n_jobs: int) -> FloatArray:
        factor = self.factor.astype(vectors.dtype, copy=False)
        return vectors - multiply(multiply(vectors, factor, n_jobs), factor.T, n_jobs)


def reflected_basis(axes: FloatArray, *, intercept: bool) -> ReflectedBasis:
    """Return an orthonormal basis whose last columns, but for an intercept's, are some axes."""
    d, m = axes.shape
    left, cosines, right = sl.svd(axes[d - m :])  # U, S, Yᵀ
    factor = np.zeros((d + intercept, m))
    factor[:d] = axes @ right.T
    factor[d - m : d] += left
    return ReflectedBasis(factor / np.sqrt(1 + cosines), -left @ right, slice(d - m, d))


def leading_axes(moment: FloatArray, n_axes: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a second moment, ascending, and their vectors as columns.

    By subspace iteration with a fixed start, in a few products of float32, the last in the
    precision of the moment.
    """
    n_tried = min(n_axes + int(n_axes * OVERSAMPLED), len(moment))
    start = np.random.default_rng(0).standard_normal((len(moment), n_tried))
    # Of any scale: only directions matter until the last product.
    coarse = (moment / (np.trace(moment) or 1.0)).astype(np.float32, copy=False)
    vectors = start.astype(np.float32)
    for _ in range(ITERATIONS):
        vectors, _ = sl.lu(coarse @ vectors, permute_l=True)
    vectors, _ = sl.qr((coarse @ vectors).astype(np.float64), mode="economic")
    along = vectors.astype(moment.dtype, copy=False)
    variances, turn = sl.eigh((along.T @ (moment @ along)).astype(np.float64, copy=False))
    return variances[-n_axes:], (vectors @ turn)[:, -n_axes:]


def multiply(left: FloatArray, right: FloatArray, n_jobs: int) -> FloatArray:
    """Return left @ right, a few rows at a time, the same for any number of threads."""

    def chunk(number: int) -> FloatArray:
        return np.asarray(left[number * CHUNK_CLASSES : (number + 1) * CHUNK_CLASSES] @ right)

    n_chunks = max(1, -(-len(left) // CHUNK_CLASSES))
    return np.concatenate(list(map_on_cores(chunk, n_chunks, n_jobs)))
