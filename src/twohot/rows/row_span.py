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
from twohot.rows.block import Block
from twohot.rows.preparation import AS_THEY_ARE
from twohot.rows.principal_axes import NEGLIGIBLE_VARIANCE, PrincipalAxes
from twohot.rows.rows import Rows, Terms


@dataclass(frozen=True, eq=False)
class Span:
    """Rows in coordinates of the space they span, and the way back."""

    rows: Rows  # (N, rank), with the intercept of the original rows
    axes: PrincipalAxes
    original: Rows
    combination: FloatArray  # (N, rank), √V U / S: the axes as combinations of the rows

    def to_features(self, coef: FloatArray) -> FloatArray:
        """Return coefficients on the original features (K, d), in one read of them."""
        rank = self.combination.shape[1]
        self.original.attach("share", self.combination @ coef[:, :rank].T)
        (lifted,) = self.original.sum(shared_rows)
        return np.hstack([lifted, coef[:, rank:]])

    def from_features(self, coef: FloatArray) -> FloatArray:
        """Return coefficients on the coordinates: the part that the rows can see."""
        slopes, intercept = np.split(coef, [self.original.n_columns], axis=1)
        logits = np.concatenate(list(self.original.map(products_with, slopes)))
        return np.hstack([logits.T @ self.combination, intercept])


def span_of(rows: Rows) -> Span:
    """Return the rows in coordinates of the space that they span."""
    gram = gram_matrix(rows)
    weights = np.ones(rows.n_samples) if rows.weights is None else rows.weights
    root = np.sqrt(weights)[:, np.newaxis]
    squares, vectors = sl.eigh(root * gram * root.T)
    kept = squares > NEGLIGIBLE_VARIANCE * max(squares[-1], 0)
    combination = root * vectors[:, kept] / np.sqrt(squares[kept])
    coordinates = gram @ combination
    spanned = Rows(
        coordinates.astype(rows.dtype),
        AS_THEY_ARE,
        dtype=rows.dtype,
        n_classes=rows.n_classes,
        weights=rows.given_weights,
        intercept=rows.intercept,
        n_jobs=rows.n_jobs,
        keep_small=True,  # a fit reads these, and the original rows a few times only
    )
    variances, mean_row = squares[kept] / rows.n_samples, (weights @ coordinates) / rows.n_samples
    axes = PrincipalAxes(
        basis=None,
        variances=np.append(variances, 1.0) if rows.intercept else variances,
        mean_row=np.append(mean_row, 1.0) if rows.intercept else mean_row,
        mean_square=float(weights @ np.diag(gram)) / rows.n_samples,
    )
    return Span(spanned, axes, rows, combination)


def gram_matrix(rows: Rows) -> FloatArray:
    """Return X Xᵀ in float64, some columns at a time; each product is made once."""
    gram = np.zeros((rows.n_samples, rows.n_samples))
    for first in range(0, rows.n_samples, rows.block_rows):
        columns = np.arange(first, min(first + rows.block_rows, rows.n_samples))
        others = rows.in_memory(columns).X.astype(np.float64)
        below = np.concatenate(list(rows.map(products_with, others, first)))
        gram[first:, columns] = below
    return np.tril(gram) + np.tril(gram, -1).T


def products_with(block: Block, others: FloatArray, first: int = 0) -> FloatArray:
    """Return x · other in float64 for all others, of the rows from `first` on. A kernel."""
    x = block.prepared()[max(first - block.first, 0) :]
    return np.asarray(x.astype(np.float64) @ others.T)


def shared_rows(block: Block) -> Terms:
    """Return Σ shareᵀ x in float64, (K, d). A kernel."""
    return (block.columns["share"].T @ block.prepared().astype(np.float64),)
