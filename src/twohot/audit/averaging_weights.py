"""Rows of the averaging matrix: how much every training row weighs at the rows asked for.

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

from twohot._checks.labels import Labels
from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.preparation import FeatureSet, fit_preparation
from twohot.rows.span import reduce_rows
from twohot.rows.threads import Terms, map_blocks, sum_over_blocks

# Weights held at once: some rows asked for times all training rows, 32 MB.
CHUNK_WEIGHTS = 2**22


def prepared(X: Matrix, labels: Labels, *, center: bool, normalize: bool) -> FeatureSet:
    """Return the rows as a probe sees them, in at most as many coordinates as there are rows."""
    weights = None if labels.labelled.all() else labels.labelled.astype(np.float64)
    features = FeatureSet(
        X,
        fit_preparation(X, center=center, normalize=normalize, weights=weights),
        dtype=np.dtype(np.float64),
        n_classes=labels.n_classes,
        weights=weights,
    )
    few = features.n_samples < features.n_columns
    return reduce_rows(features).features if few else features


class AveragingWeights:
    """Rows of the averaging matrix: the weight of every training row at the rows asked for."""

    def __init__(
        self,
        features: FeatureSet,
        labelled: NDArray[np.bool_],
        ridge: float,
        n_rounds: int,
        n_jobs: int,
    ) -> None:
        self.features, self.labelled, self.n_jobs = features, labelled, n_jobs

        def terms_of(block: int) -> Terms:
            x = features.block(block).prepared()[labelled[features.rows(block)]]
            return (x.T @ x,)

        (moment,) = sum_over_blocks(terms_of, features.n_blocks, n_jobs)
        # The probes scale a ridge by the mean squared norm, 1 for rows of unit norm.
        penalty = ridge * float(np.trace(moment)) / int(labelled.sum()) or 1.0
        eigenvalues, axes = sl.eigh(moment, overwrite_a=True)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        factors = (eigenvalues / (penalty + eigenvalues)) ** (n_rounds - 1)
        self.filter = (axes * (factors / (penalty + eigenvalues))) @ axes.T  # V diag(h) Vᵀ

    def of(self, asked: IntArray) -> Iterator[FloatArray]:
        """Yield the weights (n_rows,) at each row asked for; zero for rows without a label."""
        size = max(1, CHUNK_WEIGHTS // self.features.n_samples)
        for first in range(0, len(asked), size):
            yield from self._chunk(asked[first : first + size])

    def _chunk(self, asked: IntArray) -> FloatArray:
        features = self.features
        place = asked // features.block_rows
        x = np.empty((len(asked), features.n_columns))
        for block in np.unique(place):
            inside = place == block
            first = features.rows(int(block)).start
            x[inside] = features.block(int(block)).prepared()[asked[inside] - first]
        projected = x @ self.filter

        def terms_of(block: int) -> Terms:
            return (projected @ features.block(block).prepared().T,)

        blocks = map_blocks(terms_of, features.n_blocks, self.n_jobs)
        weights = np.concatenate([terms[0] for terms in blocks], axis=1)
        return np.where(self.labelled, weights, 0.0)
