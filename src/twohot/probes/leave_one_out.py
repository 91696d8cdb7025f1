"""Exact leave-one-out logits of linear discriminant analysis, without fitting again.

A row z of weight w is removed from its class g, of weight n:

    u_g' = u_g - w/(n - w) r,        r = z - u_g,
    S' = (N S - c r rᵀ) / (N - w),   c = w n/(n - w),

and Σ' = D - f r rᵀ, f = (1 - γ) c/(N - w), where S is diagonal along the axes and so is

    D = (1 - γ) N/(N - w) S + γ tr(S')/m · I.

By Sherman and Morrison, with e = f / (1 - f rᵀD⁻¹r), for any vectors a and b

    aᵀ Σ'⁻¹ b = aᵀD⁻¹b + e (aᵀD⁻¹r) (rᵀD⁻¹b).

The preparation of rows and the axes are those of all rows: they do not depend on labels.
"""

from dataclasses import dataclass

import numpy as np

from twohot.base import FloatArray, IntArray
from twohot.probes.discriminant import (
    LEAST_ROWS,
    MANY_AXES,
    NO_ROWS,
    ClassMoments,
    along,
    weight_of_rows,
)
from twohot.probes.rounds import LABELS
from twohot.rows import Block, Rows, Terms

# Shrinkages that "auto" compares, from almost none to mostly the mean variance.
SHRINKAGES = (0.003, 0.03, 0.1, 0.3, 0.6)

# Further shrinkages for fewer than MANY_AXES axes with this many rows for each: such a covariance
# can be estimated without shrinking. A few features may have different units, and the mean variance
# then hides all features but the one of largest variance.
ROWS_PER_AXIS, LITTLE_SHRINKAGES = 4, (1e-6, 1e-4)

# Maximum number of rows for the comparison, to limit its cost of three products per shrinkage. The
# best shrinkage on so many rows is nearly always the best on all rows, or next to it and as good.
COMPARED_ROWS = 4_000

# Products of all rows with the class means that the logits for one shrinkage need.
MEAN_PRODUCTS = 3


def leave_one_out_logits(rows: Rows, moments: ClassMoments, shrinkage: float) -> FloatArray:
    """Return the leave-one-out logits (N, K) of labelled rows and their moments, in one read."""
    basis = moments.read.astype(rows.dtype)
    return np.concatenate(list(rows.map(left_out_logits, basis, moments, shrinkage)))


def shrinkages_for(moments: ClassMoments) -> tuple[float, ...]:
    """Return the shrinkages to compare."""
    n_axes = len(moments.variances)
    many_rows = n_axes < MANY_AXES and moments.total >= ROWS_PER_AXIS * n_axes
    full = (1.0,) if moments.equal_spread else ()  # classes may be equally wide in all directions
    return (*(LITTLE_SHRINKAGES if many_rows else ()), *SHRINKAGES, *full)


def choose_shrinkage(
    rows: Rows,
    moments: ClassMoments,
    shrinkages: tuple[float, ...] | None = None,
    *,
    most_rows: int = COMPARED_ROWS,
) -> float:
    """Return the shrinkage whose leave-one-out predictions agree best with the labels.

    Ties go to the largest shrinkage. If there are many rows, a sample is compared, drawn by content
    so that it does not depend on the order of the rows.
    """
    shrinkages = shrinkages_for(moments) if shrinkages is None else shrinkages
    if rows.n_samples > most_rows:
        keys = np.concatenate(list(rows.map(content_keys)))
        ranked = np.lexsort(keys.T)
        if rows.given_weights is not None:  # skip rows of weight zero
            ranked = ranked[np.asarray(rows.given_weights)[ranked] != 0]
        n_rows = min(most_rows, len(ranked))
        rows = rows.take(np.sort(ranked[np.arange(n_rows) * len(ranked) // n_rows]))
    (agreement,) = rows.sum(left_out_hits, moments.read.astype(rows.dtype), moments, shrinkages)
    return max(zip(agreement.tolist(), shrinkages, strict=True))[1]


def content_keys(block: Block) -> FloatArray:
    """Return (rows, 2): the label, and the sum of the absolute entries. A kernel."""
    sizes = np.abs(block.prepared()).sum(axis=1, dtype=np.float64)
    return np.column_stack([block.columns[LABELS], sizes])


def left_out_logits(
    block: Block, basis: FloatArray, moments: ClassMoments, shrinkage: float
) -> FloatArray:
    """Return the leave-one-out logits of rows. A kernel."""
    block.row_products += MEAN_PRODUCTS * len(block)
    return LeftOut.of(block, basis, moments).logits(moments, shrinkage)


def left_out_hits(
    block: Block, basis: FloatArray, moments: ClassMoments, shrinkages: tuple[float, ...]
) -> Terms:
    """Return the weight of rows predicted correctly when left out, by shrinkage. A kernel."""
    block.row_products += MEAN_PRODUCTS * len(shrinkages) * len(block)
    left_out = LeftOut.of(block, basis, moments)
    weights = weight_of_rows(block)[:, 0]
    hits = [left_out.logits(moments, each).argmax(axis=1) == left_out.labels for each in shrinkages]
    return (np.array(hits) @ weights,)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows of a block, each with the changes to its class when it is left out."""

    z: FloatArray  # (rows, m)
    labels: IntArray  # (rows,)
    rest: FloatArray  # (rows, 1), N - w: weight of the other rows
    class_rest: FloatArray  # (rows, 1), n - w: weight of the other rows of the class
    residual: FloatArray  # (rows, m), r; zero if the class has no other row
    own_mean: FloatArray  # (rows, m), u_g'
    downdate: FloatArray  # (rows, 1), c

    @classmethod
    def of(cls, block: Block, basis: FloatArray, moments: ClassMoments) -> "LeftOut":
        """Return the rows of a block along the axes, and the changes."""
        # Projected exactly as for the moments: if one row is the whole spread of its class, the
        # difference after removing it must not be rounding noise.
        z = along(block, basis) @ moments.vectors
        weights, labels = weight_of_rows(block), block.columns[LABELS]
        class_weights = moments.weights[labels, np.newaxis]
        class_rest = class_weights - weights
        alone = class_rest <= NO_ROWS
        # A row with nearly all of the weight leaves too little to estimate from.
        rest = np.maximum(moments.total - weights, LEAST_ROWS)
        mean, class_mean = moments.mean, moments.means[labels]
        residual = np.where(alone, 0, z - class_mean)
        share = weights / np.maximum(class_rest, NO_ROWS)
        return cls(
            z=z,
            labels=labels,
            rest=rest,
            class_rest=class_rest,
            residual=residual,
            own_mean=np.where(
                alone, mean - weights / rest * (z - mean), class_mean - share * residual
            ),
            downdate=np.where(alone, 0, share * class_weights),
        )

    def logits(self, moments: ClassMoments, shrinkage: float) -> FloatArray:
        """Return the leave-one-out logits of the rows, (rows, K)."""
        z, r, means = self.z, self.residual, moments.means
        traces = moments.total * moments.variances.sum() - self.downdate * _dot(r, r)
        spread = traces / self.rest / max(z.shape[1], 1)
        inverse = 1 / (
            (1 - shrinkage) * moments.total / self.rest * moments.variances
            + shrinkage * np.maximum(spread, moments.least_spread)
        )  # of D, (rows, m)
        scaled = inverse * r
        factor = (1 - shrinkage) * self.downdate / self.rest
        correction = factor / (1 - factor * _dot(scaled, r))  # e
        z_r = _dot(z, scaled)

        r_means = scaled @ means.T
        logits: FloatArray = (inverse * z) @ means.T - inverse @ (means**2).T / 2
        logits += correction * (z_r - r_means / 2) * r_means
        logits += np.log(np.maximum(moments.weights, LEAST_ROWS) / self.rest)

        own, r_own = self.own_mean, _dot(scaled, self.own_mean)
        logit = _dot(inverse * own, z - own / 2) + correction * (z_r - r_own / 2) * r_own
        logit += np.log(np.maximum(self.class_rest, LEAST_ROWS) / self.rest)
        logits[np.arange(len(z)), self.labels] = logit[:, 0]
        return logits


def _dot(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the scalar products of corresponding rows, as a column."""
    return np.asarray(np.einsum("ij,ij->i", left, right)[:, np.newaxis])
