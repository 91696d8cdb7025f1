"""A few numbers by which rows are known: of other rows, or in another order, they are others.

Row i has M numbers u_i that are drawn by its place. With S = Σ_i u_i φ(x_i)ᵀ (M, d) and weights w,

    S Sᵀ / Σ_i ‖φ(x_i)‖²        and        Σ_i u_i w_i / √(Σ_i w_i²)

are the same in all coordinates that rows are rotated to, and in all blocks but for rounding.
"""

import numpy as np

from twohot._types import FloatArray
from twohot.rows.block import Block
from twohot.rows.rows import Rows, Terms

# Numbers of a row: that two of S Sᵀ agree by chance, as one may, is then out of the question.
N_DRAWN = 4


def fingerprint(rows: Rows) -> FloatArray:
    """Return what prepared rows and their weights are known by, (N_DRAWN + 1, N_DRAWN); a pass."""
    sums, weights, square, weight_square = rows.sum(drawn_sums)
    gram = sums @ sums.T / (square or 1.0)
    return np.vstack([gram, weights / np.sqrt(weight_square or 1.0)])


def drawn_sums(block: Block) -> Terms:
    """Return Σ u xᵀ, Σ u w, Σ ‖x‖² and Σ w² in float64. A kernel."""
    x = block.prepared().astype(np.float64)
    weights = np.ones(len(block)) if block.weights is None else block.weights[:, 0]
    weights = weights.astype(np.float64)
    draws = np.random.PCG64(0).advance(N_DRAWN * block.first)
    drawn = np.random.Generator(draws).random((len(block), N_DRAWN)) - 0.5
    squares = (np.asarray(np.vdot(each, each)) for each in (x, weights))
    return drawn.T @ x, drawn.T @ weights, *squares
