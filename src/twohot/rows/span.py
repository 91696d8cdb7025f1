"""Fewer samples than features: the same fit on N coordinates instead of d.

Coefficients of the optimum are combinations of the rows, so nothing is lost by writing the rows
in coordinates of the space they span. With G = X Xᵀ and V the row weights,

    √V G √V = U S² Uᵀ,      A = Xᵀ √V U / S  (d, rank),  AᵀA = I,

the rows become Z = X A = G √V U / S, whose weighted second moment is diagonal, Zᵀ V Z = S²;
coefficients c on Z are c Aᵀ on X. A is as large as X and is never formed: c Aᵀ is a sum over
blocks of rows. Only the N × N matrix G is held.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from twohot._types import FloatArray
from twohot.rows.preparation import FeatureSet, Preparation
from twohot.rows.principal_axes import Spectrum
from twohot.rows.threads import sum_over_blocks

# Directions whose variance is below this share of the largest are rounding errors of G.
NEGLIGIBLE_VARIANCE = 1e-13


@dataclass(frozen=True, eq=False)
class Reduction:
    """Rows in coordinates of the space they span, and the way back."""

    features: FeatureSet  # (N, rank), with the intercept of the original features
    spectrum: Spectrum
    original: FeatureSet
    combination: FloatArray  # (N, rank), √V U / S: the axes as combinations of the rows

    def to_features(self, coef: FloatArray, n_jobs: int) -> FloatArray:
        """Return coefficients on the original features (K, d), in one pass over them."""
        rank = self.combination.shape[1]
        shares = self.combination @ coef[:, :rank].T  # (N, K)

        def terms_of(block: int) -> tuple[FloatArray]:
            x = self.original.block(block).prepared().astype(np.float64)
            return (shares[self.original.rows(block)].T @ x,)

        (lifted,) = sum_over_blocks(terms_of, self.original.n_blocks, n_jobs)
        return np.hstack([lifted, coef[:, rank:]])

    def from_features(self, coef: FloatArray) -> FloatArray:
        """Return coefficients on the coordinates: the part that the rows can see."""
        slopes, intercept = np.split(coef, [self.original.n_columns], axis=1)
        logits = [
            self.original.block(i).prepared() @ slopes.T for i in range(self.original.n_blocks)
        ]
        return np.hstack([np.vstack(logits).T @ self.combination, intercept])


def reduce_rows(features: FeatureSet) -> Reduction:
    """Return the features in coordinates of the space that their rows span."""
    gram = np.empty((features.n_samples, features.n_samples))
    for left in range(features.n_blocks):
        rows = features.block(left).prepared().astype(np.float64)
        for right in range(left + 1):
            others = features.block(right).prepared().astype(np.float64)
            gram[features.rows(left), features.rows(right)] = rows @ others.T
    gram = np.tril(gram) + np.tril(gram, -1).T
    weights = np.ones(features.n_samples) if features.weights is None else features.weights
    root = np.sqrt(weights)[:, np.newaxis]
    squares, vectors = sl.eigh(root * gram * root.T)
    kept = squares > NEGLIGIBLE_VARIANCE * max(squares[-1], 0)
    combination = root * vectors[:, kept] / np.sqrt(squares[kept])
    rows = gram @ combination
    reduced = FeatureSet(
        rows.astype(features.dtype),
        Preparation(None, normalize=False),
        dtype=features.dtype,
        weights=features.given_weights,
        intercept=features.intercept,
        n_classes=features.n_classes,
        keep_small=True,  # a fit reads these, and the original rows a few times only
    )
    variances, mean_row = squares[kept] / features.n_samples, (weights @ rows) / len(rows)
    spectrum = Spectrum(
        basis=None,
        variances=np.append(variances, 1.0) if features.intercept else variances,
        mean_row=np.append(mean_row, 1.0) if features.intercept else mean_row,
        mean_square=float(weights @ np.diag(gram)) / features.n_samples,
        n_jobs=1,
    )
    return Reduction(reduced, spectrum, features, combination)
