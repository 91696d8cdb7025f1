"""Linear discriminant analysis: one mean per class and a shared, shrunk covariance.

Let z_i be row i along m axes, w_i its weight and k(i) its class. The rows of class k have the total
weight n_k and the mean u_k; all rows have the total weight N. Then

    S = Σ_i w_i (z_i - u_k(i)) (z_i - u_k(i))ᵀ / N,        Σ = (1 - γ) S + γ tr(S)/m · I,
    logit_k(z) = zᵀ Σ⁻¹ u_k - ½ u_kᵀ Σ⁻¹ u_k + log(n_k / N).

The axes are the eigenvectors of S, so Σ is diagonal for any shrinkage γ, and its inverse is a
division. The axes span the same space as the leading principal axes of the rows.

The rows are half-whitened first: each principal axis is scaled, so that variances differ less (see
rows.principal_axes). Otherwise the few axes of largest variance would dominate tr(S)/m. If there
are only a few axes, of nearly equal variance, the rows are not scaled: it is then plausible that
classes have equal variance in every direction, which shrinkage to I assumes.

A class without rows gets the mean of all rows. The prior of a class is at least that of half a row.

Leave-one-out logits of a row are those of a fit without this row. They are computed exactly,
without fitting again. If a row z of weight w is removed from its class g of weight n,

    u_g' = u_g - w/(n - w) r,        r = z - u_g,
    S' = (N S - c r rᵀ) / (N - w),   c = w n/(n - w),

and Σ' = D - f r rᵀ with f = (1 - γ) c/(N - w). S is diagonal along the axes, and so is

    D = (1 - γ) N/(N - w) S + γ tr(S')/m · I.

By Sherman and Morrison, with e = f / (1 - f rᵀD⁻¹r), for any vectors a and b

    aᵀ Σ'⁻¹ b = aᵀD⁻¹b + e (aᵀD⁻¹r) (rᵀD⁻¹b).

The preparation of rows and the principal axes are computed from all rows, including the removed
row, but without any label.

Rows are prepared rows (see rows.preparation). A kernel is a function of a block of rows, see
`twohot.rows.rows`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sl

from twohot.base import FloatArray
from twohot.probes.recipe import Round
from twohot.probes.rounds import LABELS, LabelTargets, on_features
from twohot.rows import Block, Coordinates, Rows, Terms

# If the rows of each class are identical, S is zero. Then this fraction of the mean variance of all
# rows replaces tr(S)/m.
LEAST_SPREAD = 1e-6

# A class of at most this total weight counts as a class without rows. Weights have mean one.
NO_ROWS = 1e-6

# Rows are not half-whitened if there are fewer than MANY_AXES axes, and no variance is more than
# ALIKE times another. Chosen on four classes of equal variance in 20 dimensions with 40 % wrong
# labels: accuracy is 65.4 % instead of 65.1 %.
MANY_AXES, ALIKE = 64, 10.0

# Minimum prior of a class, as a number of rows, because a class can be missing by chance.
LEAST_ROWS = 0.5


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Class means and the pooled covariance, along axes on which it is diagonal."""

    read: FloatArray  # (d, m), the columns on which prepared rows are first projected
    vectors: FloatArray  # (m, m), axes of the projected rows as columns, in float64
    variances: FloatArray  # (m,), eigenvalues of S: variances of rows around their class mean
    means: FloatArray  # (K, m), mean row of each class
    weights: FloatArray  # (K,), total weight of each class
    mean: FloatArray  # (m,), mean of all rows
    least_spread: float  # lower bound for tr(S)/m
    equal_spread: bool = False  # whether there are few axes, of nearly equal variance

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weights.sum())


def moments_along_axes(coordinates: Coordinates, n_axes: int | None = None) -> ClassMoments:
    """Return class means and covariance along the `n_axes` leading axes of the rows.

    The rows are half-whitened, unless there are few axes, of nearly equal variance.
    """
    intercept = coordinates.rows.intercept
    axes = coordinates.axes.leading(intercept=intercept, most=n_axes)
    variances = axes.variances[: len(axes.variances) - intercept]
    alike = variances.max(initial=0) <= ALIKE * variances.min(initial=np.inf)
    if len(variances) >= MANY_AXES or not alike:
        return half_whitened_moments(coordinates, n_axes)
    moments = class_moments(coordinates.rows, axes.reading(intercept=intercept))
    return replace(moments, equal_spread=True)


def half_whitened_moments(coordinates: Coordinates, n_axes: int | None = None) -> ClassMoments:
    """Return class means and covariance along the `n_axes` leading axes of half-whitened rows.

    `AutoProbe` uses this function for all features, even for features with few axes of equal
    variance. Wrong labels increase the variance of a class in the direction of other classes. So
    the variances within classes are not equal, even if the true classes have equal variances.
    """
    intercept = coordinates.rows.intercept
    axes = coordinates.axes.half_whitened(intercept=intercept, most=n_axes)
    return class_moments(coordinates.rows, axes.reading(intercept=intercept))


def class_moments(rows: Rows, basis: FloatArray) -> ClassMoments:
    """Read labelled rows once; return class means and covariance of the rows times `basis`."""
    weights, sums, squares = rows.sum(class_terms, basis.astype(rows.dtype), rows.n_classes)
    total, n_axes = weights.sum(), basis.shape[1]
    mean = sums.sum(axis=0) / total
    column = weights[:, np.newaxis]
    means = np.where(column > NO_ROWS, sums / np.maximum(column, NO_ROWS), mean)
    within = squares / total - means.T @ (column * means) / total
    variances, vectors = sl.eigh(within) if n_axes else (np.empty(0), np.empty((0, 0)))
    return ClassMoments(
        read=basis,
        vectors=vectors,
        variances=np.maximum(variances, 0),
        means=means @ vectors,
        weights=weights,
        mean=mean @ vectors,
        least_spread=LEAST_SPREAD * float(np.trace(squares) / total) / max(n_axes, 1),
    )


def class_terms(block: Block, basis: FloatArray, n_classes: int) -> Terms:
    """Return Σ w and Σ w z of each class, and Σ w z zᵀ. A kernel."""
    z, weights = along(block, basis), weight_of_rows(block)
    block.row_products += len(block)
    labels = LabelTargets(n_classes).of(block).T.astype(np.float64)  # (K, rows)
    weighted = weights * z
    return (labels @ weights)[:, 0], labels @ weighted, weighted.T @ z


def along(block: Block, basis: FloatArray) -> FloatArray:
    """Return the rows of a block, multiplied by a basis, in float64."""
    block.row_products += len(block)
    return np.asarray(block.prepared() @ basis, dtype=np.float64)


def weight_of_rows(block: Block) -> FloatArray:
    """Return the weights of the rows as a column, in float64."""
    if block.weights is None:
        return np.ones((len(block), 1))
    return block.weights.astype(np.float64)


def discriminant_coef(moments: ClassMoments, shrinkage: float) -> tuple[FloatArray, FloatArray]:
    """Return the discriminant: coefficients (K, d) on the prepared rows, and an intercept (K,)."""
    spread = moments.variances.sum() / max(len(moments.variances), 1)
    covariance = (1 - shrinkage) * moments.variances
    covariance += shrinkage * max(spread, moments.least_spread)
    coef = moments.means / covariance
    priors = np.log(np.maximum(moments.weights, LEAST_ROWS) / moments.total)
    basis = np.asarray(moments.read @ moments.vectors)
    return coef @ basis.T, priors - (coef * moments.means).sum(axis=1) / 2


def discriminant_round(
    coordinates: Coordinates, moments: ClassMoments, shrinkage: float, n_passes: float
) -> Round:
    """Return the discriminant as the record of a round."""
    rows = coordinates.rows
    coef, offset = discriminant_coef(moments, shrinkage)
    if rows.intercept:
        coef = np.column_stack([coef, offset])
    # The projection is exact: coefficients are zero orthogonal to all axes.
    coef, intercept = on_features(coordinates, coordinates.axes.project(coef, rows.n_jobs))
    return Round(coef, intercept if rows.intercept else offset, LABELS, "lda", n_passes=n_passes)


# Leave one out ------------------------------------------------------------------------------------

# Shrinkages that "auto" compares, from almost no shrinkage to mostly the mean variance.
SHRINKAGES = (0.003, 0.03, 0.1, 0.3, 0.6)

# "auto" also compares LITTLE_SHRINKAGES, if there are fewer than MANY_AXES axes and at least
# ROWS_PER_AXIS rows per axis. With so many rows, the covariance can be estimated without shrinkage.
# If features have different units, shrinkage to the mean variance would hide all features except
# the one of largest variance.
ROWS_PER_AXIS, LITTLE_SHRINKAGES = 4, (1e-6, 1e-4)

# Maximum number of rows on which shrinkages are compared, because each shrinkage takes three matrix
# products. The best shrinkage on so many rows is nearly always the best on all rows, or the next
# one, which is as good.
COMPARED_ROWS = 4_000

# Number of products of the rows with the class means, for the logits at one shrinkage.
MEAN_PRODUCTS = 3


def leave_one_out_logits(rows: Rows, moments: ClassMoments, shrinkage: float) -> FloatArray:
    """Read labelled rows once; return their leave-one-out logits (n_samples, K)."""
    basis = moments.read.astype(rows.dtype)
    return np.concatenate(list(rows.map(left_out_logits, basis, moments, shrinkage)))


def shrinkages_for(moments: ClassMoments) -> tuple[float, ...]:
    """Return the shrinkages that "auto" compares."""
    n_axes = len(moments.variances)
    many_rows = n_axes < MANY_AXES and moments.total >= ROWS_PER_AXIS * n_axes
    full = (1.0,) if moments.equal_spread else ()  # variances within classes can be equal
    return (*(LITTLE_SHRINKAGES if many_rows else ()), *SHRINKAGES, *full)


def choose_shrinkage(rows: Rows, moments: ClassMoments) -> float:
    """Return the shrinkage whose leave-one-out predictions agree best with the labels.

    If several shrinkages are equally good, return the largest. If there are more than COMPARED_ROWS
    rows, compare shrinkages on a sample, which does not depend on the order of the rows.
    """
    shrinkages = shrinkages_for(moments)
    if rows.n_samples > COMPARED_ROWS:
        keys = np.concatenate(list(rows.map(content_keys)))
        ranked = np.lexsort(keys.T)
        if rows.given_weights is not None:  # skip rows of weight zero
            ranked = ranked[np.asarray(rows.given_weights)[ranked] != 0]
        n_rows = min(COMPARED_ROWS, len(ranked))
        rows = rows.take(np.sort(ranked[np.arange(n_rows) * len(ranked) // n_rows]))
    (agreement,) = rows.sum(left_out_hits, moments.read.astype(rows.dtype), moments, shrinkages)
    return max(zip(agreement.tolist(), shrinkages, strict=True))[1]


def content_keys(block: Block) -> FloatArray:
    """Return the sort keys of rows, (rows, 2): label, and sum of absolute entries. A kernel."""
    sizes = np.abs(block.prepared()).sum(axis=1, dtype=np.float64)
    return np.column_stack([block.columns[LABELS], sizes])


def left_out_hits(
    block: Block, basis: FloatArray, moments: ClassMoments, shrinkages: tuple[float, ...]
) -> Terms:
    """Return the total weight of correct leave-one-out predictions per shrinkage. A kernel."""
    labels, logits = block.columns[LABELS], _left_out(block, basis, moments)
    hits = [logits(each).argmax(axis=1) == labels for each in shrinkages]
    return (np.array(hits) @ weight_of_rows(block)[:, 0],)


def left_out_logits(
    block: Block, basis: FloatArray, moments: ClassMoments, shrinkage: float
) -> FloatArray:
    """Return the leave-one-out logits of rows. A kernel."""
    return _left_out(block, basis, moments)(shrinkage)


def _left_out(
    block: Block, basis: FloatArray, moments: ClassMoments
) -> Callable[[float], FloatArray]:
    """Return the leave-one-out logits (rows, K) of a block, as a function of the shrinkage."""
    # Project exactly as for the moments. If a single row causes all variance of its class, the
    # variance without this row must be zero up to rounding.
    z = along(block, basis) @ moments.vectors  # (rows, m)
    w, labels = weight_of_rows(block), block.columns[LABELS]
    n = moments.weights[labels, np.newaxis]
    class_rest = n - w
    alone = class_rest <= NO_ROWS  # rows that are the only row of their class
    # If one row has nearly all of the weight, all other rows together count as half a row.
    rest = np.maximum(moments.total - w, LEAST_ROWS)  # N - w
    class_mean = moments.means[labels]
    r = np.where(alone, 0, z - class_mean)
    ratio = w / np.maximum(class_rest, NO_ROWS)
    without = moments.mean - w / rest * (z - moments.mean)  # mean of all other rows
    mean = np.where(alone, without, class_mean - ratio * r)  # u_g'
    c = np.where(alone, 0, ratio * n)

    def logits(shrinkage: float) -> FloatArray:
        block.row_products += MEAN_PRODUCTS * len(block)
        traces = moments.total * moments.variances.sum() - c * _dot(r, r)
        spread = traces / rest / max(z.shape[1], 1)
        inverse = 1 / (
            (1 - shrinkage) * moments.total / rest * moments.variances
            + shrinkage * np.maximum(spread, moments.least_spread)
        )  # of D, (rows, m)
        scaled = inverse * r
        factor = (1 - shrinkage) * c / rest
        e = factor / (1 - factor * _dot(scaled, r))
        z_r, r_means = _dot(z, scaled), scaled @ moments.means.T
        found: FloatArray = (inverse * z) @ moments.means.T - inverse @ (moments.means**2).T / 2
        found += e * (z_r - r_means / 2) * r_means
        found += np.log(np.maximum(moments.weights, LEAST_ROWS) / rest)
        # The logit of the row's given class, whose mean differs.
        r_mean = _dot(scaled, mean)
        logit = _dot(inverse * mean, z - mean / 2) + e * (z_r - r_mean / 2) * r_mean
        logit += np.log(np.maximum(class_rest, LEAST_ROWS) / rest)
        found[np.arange(len(z)), labels] = logit[:, 0]
        return found

    return logits


def _dot(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the scalar products of corresponding rows, as a column."""
    return np.asarray(np.einsum("ij,ij->i", left, right)[:, np.newaxis])
