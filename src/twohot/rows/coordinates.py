"""Coordinates for a fit: along principal axes, or in the span of the rows if there are few rows.

A fit returns coefficients along the axes. A first step converts these coefficients to the columns
of the stored rows. If the stored rows are themselves coordinates, a second step converts the
coefficients to the user's features.

A moment (K, d) is a sum of e xᵀ over rows x, where e (K,) are multipliers of the row. A kernel is a
function of one block of rows (see `twohot.rows.rows`).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sl

from twohot.base import FloatArray, IntArray, Matrix
from twohot.rows.open import fit_preparation, open_rows
from twohot.rows.preparation import AS_THEY_ARE, Preparation
from twohot.rows.principal_axes import NEGLIGIBLE_VARIANCE, PrincipalAxes, measure_axes
from twohot.rows.rows import Block, Rows, Terms


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Rows for a fit, their principal axes, and the conversion to the user's features."""

    rows: Rows  # the rows that passes read
    axes: PrincipalAxes  # of `rows`
    # Converts coefficients on `rows` to the user's features. None: `rows` have the user's features.
    origin: "Coordinates | Span | None" = None
    n_unused: int = 0  # `rows` omit this number of first columns of the rows of `origin`

    @property
    def unit_penalty(self) -> float:
        """The value of `l2` that is the same penalty as `ridge=1` for these rows."""
        # If all rows are zero, any penalty gives the same fit.
        square = self.axes.mean_square or 1.0
        return square / (self.rows.n_classes * self.rows.total_weight)

    def on_rows(self, coef: FloatArray) -> FloatArray:
        """Convert coefficients along the axes to the columns of the rows, in their precision."""
        return self.axes.to_rows(coef, self.rows.n_jobs, self.rows.dtype)

    def along_axes(self, moment: FloatArray) -> FloatArray:
        """Convert a moment on the columns of the rows to a moment along the axes."""
        return self.axes.from_rows(moment, self.rows.n_jobs)

    def to_features(self, coef: FloatArray) -> FloatArray:
        """Convert coefficients along the axes to coefficients on the user's features."""
        on_rows = self.axes.to_rows(coef, self.rows.n_jobs)
        if self.origin is None:
            return on_rows
        return self.origin.to_features(np.pad(on_rows, ((0, 0), (self.n_unused, 0))))

    def from_features(self, coef: FloatArray) -> FloatArray:
        """Project coefficients on the user's features to coefficients along the axes."""
        on_rows = coef if self.origin is None else self.origin.from_features(coef)
        on_rows = on_rows[:, self.n_unused :]
        return self.axes.project(on_rows, self.rows.n_jobs)

    def take(self, index: IntArray) -> "Coordinates":
        """Return the rows at these positions, along the same axes."""
        return replace(self, rows=self.rows.take(index))

    def leading(self, most: int | None = None) -> "Coordinates":
        """Return the same rows along their `most` leading axes only.

        If the rows are stored along their axes, the result is a view of these rows.
        """
        axes = self.axes.leading(intercept=self.rows.intercept, most=most)
        if axes is self.axes or self.axes.basis is not None:
            return replace(self, axes=axes)
        rows = self.rows.last_columns(len(axes.variances) - self.rows.intercept)
        n_unused = len(self.axes.variances) - len(axes.variances)
        return Coordinates(rows, replace(axes, basis=None), self, n_unused)

    def half_whitened(self) -> "Coordinates":
        """Return the same rows along their leading, half-whitened axes (see `principal_axes`)."""
        return replace(self, axes=self.axes.half_whitened(intercept=self.rows.intercept))

    def in_axes(self, index: IntArray | None = None) -> "Coordinates":
        """Return all rows, or the rows at `index`, as coordinates along their axes in memory.

        The coordinates take memory for one number per row and axis. A pass over coordinates
        converts no coefficients. A conversion takes as long as a pass over 2 · n_features rows. So
        many fits on the same rows are faster, unless there are far more rows than features.
        """
        axes = self.axes
        if axes.basis is None:
            return self if index is None else replace(self, rows=self.rows.in_memory(index))
        rows = self.rows if index is None else self.rows.take(index)
        along = rows.in_axes(axes.reading(intercept=rows.intercept))
        return Coordinates(along, replace(axes, basis=None, scale=None), origin=self)


# Fewer samples than features: the same fit in N coordinates instead of d --------------------------
# Coefficients at the optimum are linear combinations of the rows. So a fit in coordinates of the
# rows' span has the same optimum. With G = X Xᵀ and V the diagonal matrix of row weights,
#
#     √V G √V = U S² Uᵀ,      A = Xᵀ √V U / S  (d, rank),  AᵀA = I,
#
# the rows become Z = X A = G √V U / S, whose weighted second moment is diagonal, Zᵀ V Z = S².
# Coefficients c on Z are c Aᵀ on X. A is as large as X and is never formed: c Aᵀ is a sum over
# blocks of rows. Only the N × N matrix G is in memory.


@dataclass(frozen=True, eq=False)
class Span:
    """Conversion between coefficients on the features and on coordinates in the rows' span."""

    original: Rows
    combination: FloatArray  # (N, rank), √V U / S: each axis as a combination of the rows

    def to_features(self, coef: FloatArray) -> FloatArray:
        """Read the rows once and return coefficients (K, d) on the original features."""
        rank = self.combination.shape[1]
        self.original.attach("multipliers", self.combination @ coef[:, :rank].T)
        (lifted,) = self.original.sum(combined_rows)
        return np.hstack([lifted, coef[:, rank:]])

    def from_features(self, coef: FloatArray) -> FloatArray:
        """Project coefficients on the features to coefficients on the coordinates."""
        slopes, intercept = np.split(coef, [self.original.n_columns], axis=1)
        logits = np.concatenate(list(self.original.map(products_with, slopes)))
        return np.hstack([logits.T @ self.combination, intercept])


def span_of(rows: Rows) -> Coordinates:
    """Return the rows in coordinates of their span (N, rank)."""
    gram = gram_matrix(rows)
    weights = np.ones(rows.n_samples) if rows.weights is None else rows.weights
    root = np.sqrt(weights)[:, np.newaxis]
    squares, vectors = sl.eigh(root * gram * root.T)
    positive = squares > NEGLIGIBLE_VARIANCE * max(squares[-1], 0)
    squares = squares[positive]
    combination = root * vectors[:, positive] / np.sqrt(squares)
    coordinates = gram @ combination
    # A fit reads these rows many times, and the original rows only a few times.
    options = rows.options | {"keep_small": True, "block_rows": None}
    stored = coordinates.astype(rows.dtype)
    spanned = Rows(stored, AS_THEY_ARE, weights=rows.given_weights, **options)
    variances, mean_row = squares / rows.n_samples, (weights @ coordinates) / rows.n_samples
    axes = PrincipalAxes(
        basis=None,
        variances=np.append(variances, 1.0) if rows.intercept else variances,
        mean_row=np.append(mean_row, 1.0) if rows.intercept else mean_row,
        mean_square=float(weights @ np.diag(gram)) / rows.n_samples,
    )
    return Coordinates(spanned, axes, Span(rows, combination))


def gram_matrix(rows: Rows) -> FloatArray:
    """Return X Xᵀ in float64. It is symmetric, so only the lower half is computed, by blocks."""
    gram = np.zeros((rows.n_samples, rows.n_samples))
    for first in range(0, rows.n_samples, rows.block_rows):
        columns = np.arange(first, min(first + rows.block_rows, rows.n_samples))
        others = rows.in_memory(columns).X.astype(np.float64)
        below = np.concatenate(list(rows.map(products_with, others, first)))
        gram[first:, columns] = below
    return np.tril(gram) + np.tril(gram, -1).T


def products_with(block: Block, others: FloatArray, first: int = 0) -> FloatArray:
    """Return x · othersᵀ in float64, for the rows x at position `first` or later. A kernel."""
    x = block.prepared()[max(first - block.first, 0) :]
    return np.asarray(x.astype(np.float64) @ others.T)


def combined_rows(block: Block) -> Terms:
    """Return Σ mᵀ x (K, d) in float64, where m is the column `multipliers`. A kernel."""
    return (block.columns["multipliers"].T @ block.prepared().astype(np.float64),)


def choose_coordinates(rows: Rows, *, exact: bool = True) -> Coordinates:
    """Return coordinates for a fit on these rows: at most as many as rows, and as features.

    Pass `exact=False` if the axes only speed up a fit and are not part of the model.
    """
    if rows.n_samples < rows.n_columns:
        return span_of(rows)
    return Coordinates(rows, measure_axes(rows, exact=exact))


def prepare(
    X: Matrix,
    *,
    center: bool,
    normalize: bool,
    weights: FloatArray | None,
    n_jobs: int,
    exact_axes: bool = True,
    **options: Any,
) -> tuple[Preparation, Coordinates]:
    """Return the preparation of the rows of X, and coordinates for a fit on the prepared rows.

    `exact_axes` is explained at `choose_coordinates`. Other options are those of `Rows`.
    """
    how: dict[str, Any] = {"weights": weights, "n_jobs": n_jobs}
    preparation = fit_preparation(
        X, center=center, normalize=normalize, dtype=options.get("dtype"), **how
    )
    options["keep_small"] = True  # because a fit takes many passes
    rows = open_rows(X, preparation, **how, **options)
    return preparation, choose_coordinates(rows, exact=exact_axes)
