"""Rows of the label-averaging matrix: what every training row weighs at a row asked for.

With S = Σ_j x_j x_jᵀ over the rows that have a label, S = V diag(λ) Vᵀ and x = ridge,

    weight(i, j) = x_iᵀ V diag(h) Vᵀ x_j,      h = λᵗ⁻¹ / (x + λ)ᵗ.

This is row i of [Φ (x I + Φ)⁻¹]ᵗ, Φ the Gram matrix, which is never formed: the set-up is one pass
and a d × d eigenproblem (N × N where there are fewer rows than features), and a row asked for then
costs one product with all rows.
"""

from collections.abc import Iterator

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.block import Block
from twohot.rows.row_span import products_with, span_of
from twohot.rows.rows import Rows, Terms
from twohot.rows.stores import fit_preparation, open_rows

# Weights held at once: some rows asked for times all training rows, 32 MB.
CHUNK_WEIGHTS = 2**22


def prepared_rows(
    X: Matrix, labelled: NDArray[np.bool_], *, center: bool, normalize: bool, n_jobs: int
) -> Rows:
    """Return the rows as a probe sees them, centred by the mean of the labelled ones."""
    weights = None if labelled.all() else labelled.astype(np.float64)
    preparation = fit_preparation(
        X, center=center, normalize=normalize, weights=weights, n_jobs=n_jobs
    )
    return open_rows(X, preparation, weights=weights, n_jobs=n_jobs)


def products_at(
    rows: Rows, asked: IntArray, metric: FloatArray | None = None
) -> Iterator[FloatArray]:
    """Yield x_iᵀ M x_j of each row i asked for with all rows j, (n_rows,); M is I by default."""
    size = max(1, CHUNK_WEIGHTS // rows.n_samples)
    for first in range(0, len(asked), size):
        chosen = rows.in_memory(asked[first : first + size]).X
        weighted = chosen if metric is None else chosen @ metric
        yield from np.concatenate(list(rows.map(products_with, weighted))).T


class AveragingWeights:
    """What every training row weighs at the rows asked for."""

    def __init__(
        self, rows: Rows, labelled: NDArray[np.bool_], *, ridge: float, n_rounds: int
    ) -> None:
        # In at most as many coordinates as there are rows.
        rows = span_of(rows).rows if rows.n_samples < rows.n_columns else rows
        self.rows, self.labelled = rows, labelled
        rows.attach("labelled", labelled)
        (moment,) = rows.sum(labelled_moment)
        # The probes scale a ridge by the mean squared norm, 1 for rows of unit norm.
        penalty = ridge * float(np.trace(moment)) / int(labelled.sum()) or 1.0
        eigenvalues, axes = sl.eigh(moment, overwrite_a=True)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        factors = (eigenvalues / (penalty + eigenvalues)) ** (n_rounds - 1)
        self.filter = (axes * (factors / (penalty + eigenvalues))) @ axes.T  # V diag(h) Vᵀ

    def of(self, asked: IntArray) -> Iterator[FloatArray]:
        """Yield the weights (n_rows,) at each row asked for; zero for rows without a label."""
        for weights in products_at(self.rows, asked, self.filter):
            yield np.where(self.labelled, weights, 0.0)


def labelled_moment(block: Block) -> Terms:
    """Return Σ x xᵀ over the rows of a block that have a label. A kernel."""
    x = block.prepared()[block.columns["labelled"]]
    return (x.T @ x,)
