"""Principal axes of the prepared rows, which are the coordinates of a fit.

Let XᵀX/N = Q diag(variances) Qᵀ be the second moment. The axes are the columns of Q. Along them,
the curvature of the objective is nearly diagonal. Coefficients c along the axes are W = c Qᵀ on the
features. A moment M (K, d), a sum of e xᵀ over rows x, is M Q along the axes. An intercept has its
own axis. The leading axes have the largest variances. If there are many features, only the leading
axes are computed, and the variances along all other axes are assumed to be equal.

Each axis may have a scale s. Rows along the axes are then X Q diag(s), and W = c diag(s) Qᵀ, so
that a penalty on c weighs some directions more than others. m half-whitened axes have

    s_j = (variances_j + FLOOR · Σ variances / m)^(-1/4),      m at most LEADING_AXES.

On a logarithmic scale, this is halfway between the original rows and rows with equal variance along
all axes. Half-whitening helps because directions that separate classes often have small variances.

A kernel is a function of one block of rows (see `twohot.rows.rows`).
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy.linalg as sl
from numpy.typing import DTypeLike

from twohot.base import FloatArray
from twohot.rows.rows import Block, Rows, Terms
from twohot.rows.selected import RANGE, is_sampled
from twohot.rows.threads import map_on_cores

# Orthonormal bases of the features: stored in full, or as a block reflection ----------------------
# A conversion with d axes takes a product with a d × d matrix. A block reflection is cheaper if
# only the leading m axes A are given, and the other axes may be any axes orthogonal to A. Let
# U S Yᵀ be the singular value decomposition of the last m rows of A. Then
#
#     F = (A Y + E U) (1 + S)^(-1/2),     FᵀF = 2 I,     E the last m columns of I,
#     Q = (I - F Fᵀ) diag(I, -U Yᵀ)       is orthogonal, and its last m columns are A:
#
# (I - F Fᵀ) E = E - (A Y + E U) Uᵀ = -A Y Uᵀ. Only F (d, m) and one m × m matrix are stored.

# Number of classes that one thread converts at once. Half this number takes a quarter more time.
CHUNK_CLASSES = 64

# Number of subspace iterations of `leading_axes`, and the fraction of extra axes that they use.
# On image features, the first nine tenths of the axes are then exact to four digits. The last tenth
# is arbitrary, because its variances are nearly equal. If the variance along one direction is
# 100,000 times the other variances, the other axes are less exact, and a fit takes more passes.
ITERATIONS = 3
OVERSAMPLED = 1 / 8


@dataclass(frozen=True, eq=False)
class WholeBasis:
    """Axes that are stored in full."""

    matrix: FloatArray  # Q (d, m), axes as columns, the leading ones last

    def to_rows(self, coef: FloatArray, n_jobs: int, dtype: DTypeLike = np.float64) -> FloatArray:
        """Return coef Qᵀ: convert coefficients along the axes to coefficients on the features.

        Only the result is rounded to `dtype`. Otherwise, fits with a small penalty would take more
        passes.
        """
        return multiply(coef, self.matrix.T, n_jobs).astype(dtype, copy=False)

    def from_rows(self, moment: FloatArray, n_jobs: int) -> FloatArray:
        """Return moment Q: convert a moment on the features to a moment along the axes."""
        return multiply(moment, self.matrix, n_jobs)

    def columns(self, first: int) -> FloatArray:
        """Return the axes from `first` on, as columns."""
        return self.matrix[:, first:]


@dataclass(frozen=True, eq=False)
class ReflectedBasis:
    """d orthonormal axes of which m are given; an intercept has one more axis."""

    factor: FloatArray  # F (d, m); its row for an intercept is zero
    turn: FloatArray  # -U Yᵀ (m, m)
    turned: slice  # positions of the given axes

    def to_rows(self, coef: FloatArray, n_jobs: int, dtype: DTypeLike = np.float64) -> FloatArray:
        """Return coef Qᵀ: coefficients on the features, computed in the precision `dtype`."""
        turned = coef.astype(dtype)
        turned[:, self.turned] = turned[:, self.turned] @ self.turn.T.astype(dtype)
        return self._reflect(turned, n_jobs)

    def from_rows(self, moment: FloatArray, n_jobs: int) -> FloatArray:
        """Return moment Q: a moment along the axes."""
        along = self._reflect(moment, n_jobs)
        along[:, self.turned] = along[:, self.turned] @ self.turn
        return along

    def columns(self, first: int) -> FloatArray:
        """Return the axes from `first` on, as columns."""
        return self.to_rows(np.eye(len(self.factor))[first:], 1).T

    def _reflect(self, vectors: FloatArray, n_jobs: int) -> FloatArray:
        factor = self.factor.astype(vectors.dtype, copy=False)
        return vectors - multiply(multiply(vectors, factor, n_jobs), factor.T, n_jobs)


Basis: TypeAlias = WholeBasis | ReflectedBasis


def reflected_basis(axes: FloatArray, *, intercept: bool) -> ReflectedBasis:
    """Return an orthonormal basis that ends with `axes`, then the axis of an intercept."""
    d, m = axes.shape
    left, cosines, right = sl.svd(axes[d - m :])  # U, S, Yᵀ
    factor = np.zeros((d + intercept, m))
    factor[:d] = axes @ right.T
    factor[d - m : d] += left
    return ReflectedBasis(factor / np.sqrt(1 + cosines), -left @ right, slice(d - m, d))


def leading_axes(moment: FloatArray, n_axes: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a second moment, ascending, and their eigenvectors.

    The method is subspace iteration from a fixed start. It computes a few products in float32, and
    the last product in the precision of the moment.
    """
    n_tried = min(n_axes + int(n_axes * OVERSAMPLED), len(moment))
    start = np.random.default_rng(0).standard_normal((len(moment), n_tried))
    # Until the last product, the scale is arbitrary, because only directions matter.
    coarse = (moment / (np.trace(moment) or 1.0)).astype(np.float32, copy=False)
    vectors = start.astype(np.float32)
    for _ in range(ITERATIONS):
        vectors, _ = sl.lu(coarse @ vectors, permute_l=True)
    vectors, _ = sl.qr((coarse @ vectors).astype(np.float64), mode="economic")
    along = vectors.astype(moment.dtype, copy=False)
    variances, turn = sl.eigh((along.T @ (moment @ along)).astype(np.float64, copy=False))
    return variances[-n_axes:], (vectors @ turn)[:, -n_axes:]


def multiply(left: FloatArray, right: FloatArray, n_jobs: int) -> FloatArray:
    """Return left @ right by blocks of rows; the result is the same for any number of threads."""

    def chunk(number: int) -> FloatArray:
        return np.asarray(left[number * CHUNK_CLASSES : (number + 1) * CHUNK_CLASSES] @ right)

    n_chunks = max(1, -(-len(left) // CHUNK_CLASSES))
    return np.concatenate(list(map_on_cores(chunk, n_chunks, n_jobs)))


# Approximate number of sampled rows in the second moment. On CIFAR-100, the sample takes a tenth of
# the time of all rows. Fits take as many passes, and the leading axes change only slightly.
MOMENT_ROWS = 10_000

# Number of axes for the comparison of probes. With 512 of 2048 axes, the same probe was chosen as
# with all axes. With 256 axes, its accuracy was up to 0.7 percentage points lower. The final fit
# uses all axes.
LEADING_AXES = 512

# If there are more features, only the leading axes are computed. To compute all axes would take as
# long as 20 passes.
WIDE = 1024

# Number of axes and of sampled rows if there are many features and axes only speed up a fit. On
# 2048 features, fits take one or two passes more than with exact axes, and two thirds of the
# processor time. With 3,000 sampled rows, one of the fits took eight more passes.
HELPFUL_AXES, HELPFUL_ROWS = 256, 4_000

# An axis is rounding error if its variance is below this fraction of the largest variance.
NEGLIGIBLE_VARIANCE = 1e-13

# Fraction of the mean variance that half-whitening adds to each variance, because axes of small
# variance are mostly noise.
FLOOR = 0.1


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """m principal axes of prepared rows with d features, by ascending variance."""

    basis: Basis | None  # None: the axes are the columns of the rows
    variances: FloatArray  # (m,), mean square of the rows along each axis, ascending
    mean_row: FloatArray  # (m,), mean of the rows along each axis
    mean_square: float  # mean squared norm of the rows, without the intercept
    scale: FloatArray | None = None  # (m,), factor of each axis; None: all are one
    floor: float | None = None  # number that half-whitening adds to variances; None: not fixed yet

    def to_rows(self, coef: FloatArray, n_jobs: int, dtype: DTypeLike = np.float64) -> FloatArray:
        """Convert coefficients along the axes to coefficients on the features of the rows."""
        scaled = coef if self.scale is None else coef * self.scale
        if self.basis is None:
            return scaled.astype(dtype, copy=False)
        return self.basis.to_rows(scaled, n_jobs, dtype)

    def from_rows(self, moment: FloatArray, n_jobs: int) -> FloatArray:
        """Convert moments on the features to moments along the axes."""
        along = moment if self.basis is None else self.basis.from_rows(moment, n_jobs)
        return along if self.scale is None else along * self.scale

    def project(self, coef: FloatArray, n_jobs: int) -> FloatArray:
        """Project coefficients on the features of the rows to coefficients along the axes."""
        along = coef if self.basis is None else self.basis.from_rows(coef, n_jobs)
        return along if self.scale is None else along / self.scale

    def extend(self, coef: FloatArray) -> FloatArray:
        """Return coefficients (K, m): `coef` for the last axes, and zero for the others."""
        return np.pad(coef, ((0, 0), (len(self.variances) - coef.shape[1], 0)))

    def reading(self, *, intercept: bool) -> FloatArray:
        """Return the matrix (d, m) that converts prepared rows to coordinates along the axes.

        Here, d and m do not count an intercept.
        """
        basis = self._columns(0)
        scaled = basis if self.scale is None else basis * self.scale
        return scaled[: len(basis) - intercept, : len(self.variances) - intercept]

    def leading(self, *, intercept: bool, most: int | None = None) -> "PrincipalAxes":
        """Return the `most` leading axes, without axes whose variance is only rounding error.

        The axis of an intercept is included. `mean_square` and `floor` do not change, so that a
        ridge means the same penalty, and half-whitening adds the same number to variances.
        """
        first = self._first(most, intercept=intercept)
        if first == 0:
            return self
        return replace(
            self,
            basis=WholeBasis(self._columns(first)),
            variances=self.variances[first:],
            mean_row=self.mean_row[first:],
            scale=None if self.scale is None else self.scale[first:],
            floor=self._floor(intercept=intercept),
        )

    def half_whitened(self, *, intercept: bool, most: int | None = None) -> "PrincipalAxes":
        """Return the `most` leading axes, half-whitened; the axis of an intercept is unchanged."""
        axes = self.leading(intercept=intercept, most=most)
        n_axes = len(axes.variances) - intercept
        variances = axes.variances[:n_axes]
        floor = self._floor(intercept=intercept) if most is None else _floor_of(variances)
        scale = np.ones(len(axes.variances))
        scale[:n_axes] = (variances + floor) ** -0.25
        return axes.scaled_by(scale, float(variances @ scale[:n_axes] ** 2))

    def of_unit_size(self, *, intercept: bool) -> "PrincipalAxes":
        """Return the axes times a power of two, so that coordinates have a norm near one.

        Fits are then identical to the last bit if all rows are multiplied by a power of two.
        """
        _, exponent = np.frexp(self.mean_square)
        factor = 2.0 ** -(int(exponent) // 2)
        scale = np.full(len(self.variances), factor)
        if intercept:
            scale[-1] = 1.0
        floor = None if self.floor is None else self.floor * factor**2
        return replace(self.scaled_by(scale, self.mean_square * factor**2), floor=floor)

    def scaled_by(self, scale: FloatArray, mean_square: float) -> "PrincipalAxes":
        """Return each axis times its scale; `mean_square` is for coordinates along these axes."""
        return replace(
            self,
            variances=self.variances * scale**2,
            mean_row=self.mean_row * scale,
            mean_square=mean_square,
            scale=scale if self.scale is None else scale * self.scale,
        )

    def _columns(self, first: int) -> FloatArray:
        """Return the axes from `first` on, as columns."""
        n_axes = len(self.variances)
        return np.eye(n_axes)[:, first:] if self.basis is None else self.basis.columns(first)

    def _first(self, most: int | None, *, intercept: bool) -> int:
        """Return the position of the first of the `most` last axes that is not rounding error."""
        n_axes = len(self.variances) - intercept
        rounding = NEGLIGIBLE_VARIANCE * self.variances[:n_axes].max(initial=0)
        n_negligible = int(np.count_nonzero(self.variances[:n_axes] <= rounding))
        return max(n_negligible, n_axes - (LEADING_AXES if most is None else most))

    def _floor(self, *, intercept: bool) -> float:
        """Return the number that half-whitening adds to each variance."""
        if self.floor is not None:
            return self.floor
        n_axes = len(self.variances) - intercept
        return _floor_of(self.variances[self._first(None, intercept=intercept) : n_axes])


def _floor_of(variances: FloatArray) -> float:
    return FLOOR * float(variances.sum()) / max(len(variances), 1)


def measure_axes(rows: Rows, *, exact: bool = True) -> PrincipalAxes:
    """Read the rows once and return their principal axes.

    Pass `exact=False` if the axes only speed up a fit and are not part of the model. If there are
    many features, fewer axes are then computed, from fewer rows.
    """
    is_wide = rows.n_columns > max(WIDE, LEADING_AXES)
    measure = _whole_moment if exact or not is_wide else _sampled_moment
    total, square, moment = measure(rows)
    n_leading = LEADING_AXES if exact else min(HELPFUL_AXES, LEADING_AXES)
    basis, variances = _principal(moment, n_leading, intercept=rows.intercept)
    mean_row = total / rows.n_samples
    if rows.intercept:
        mean_row = np.append(mean_row, 1.0)
    return PrincipalAxes(
        basis=basis,
        variances=variances,
        mean_row=basis.from_rows(mean_row[np.newaxis], 1)[0],
        mean_square=float(square) / rows.n_samples,
    )


def _whole_moment(rows: Rows) -> Terms:
    """Return Σ v x and Σ v ‖x‖² with weights v, and the second moment, as sums over blocks."""
    one_in = max(1, rows.n_samples // MOMENT_ROWS)
    total, square, moment, sampled_weight = rows.sum(moment_terms, RANGE // one_in)
    return total, square, moment / max(float(sampled_weight), 1.0)


def _sampled_moment(rows: Rows) -> Terms:
    """Return the same as `_whole_moment`; the second moment is one product of sampled rows.

    Adding one moment per block would take longer. The moment has the precision of the rows.
    """
    below = RANGE * min(HELPFUL_ROWS, rows.n_samples) // rows.n_samples
    totals, squares, samples, weights = zip(*rows.map(sample_terms, below), strict=True)
    sample = np.concatenate(samples)
    moment = sample.T @ sample
    moment /= max(float(np.sum(weights)), 1.0)
    return np.sum(totals, axis=0, dtype=np.float64), np.sum(squares), moment


def _principal(moment: FloatArray, n_leading: int, *, intercept: bool) -> tuple[Basis, FloatArray]:
    """Return the axes of a second moment with their variances; an intercept's axis is last."""
    basis: Basis
    d = len(moment)
    if d > max(WIDE, LEADING_AXES):
        leading, axes = leading_axes(moment, n_leading)
        rest = (np.trace(moment, dtype=np.float64) - leading.sum()) / (d - len(leading))
        variances = np.append(np.full(d - len(leading), rest), leading)
        basis = reflected_basis(axes, intercept=intercept)
    else:
        variances, axes = sl.eigh(moment, overwrite_a=True)
        basis = WholeBasis(sl.block_diag(axes, np.eye(1)) if intercept else axes)
    variances = np.maximum(variances, 0)
    return basis, np.append(variances, 1.0) if intercept else variances


def moment_terms(block: Block, below: int) -> Terms:
    """Return Σ v x and Σ v ‖x‖² of a block, and Σ v x xᵀ and Σ v of its sampled rows. A kernel."""
    total, square, sample, weight = sample_terms(block, below)
    # The product of an array with itself takes half as long as with a copy.
    return total, square, sample.T @ sample, weight


def sample_terms(block: Block, below: int) -> Terms:
    """Return Σ v x and Σ v ‖x‖² of a block, its sampled rows times √v, and their Σ v. A kernel.

    A row is sampled if `is_sampled(row, below)`.
    """
    x, weights = block.prepared(), block.weights
    weighted = x if weights is None else x * weights
    sampled = is_sampled(np.arange(block.first, block.first + len(x)), below)
    sample = x[sampled]
    if weights is not None:
        sample *= np.sqrt(weights[sampled])
    return (
        weighted.sum(axis=0),
        np.einsum("ij,ij->i", weighted, x).sum(dtype=np.float64),
        sample,
        np.asarray(len(sample) if weights is None else weights[sampled].sum()),
    )
