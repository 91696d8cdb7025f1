"""The first step of a cross-entropy fit from zero, with a length estimated on a sample of the rows.

At zero coefficients, all outputs are 1/K, so that Newton's step W is computed without a pass over
the rows. The step ignores that the outputs of a row sum to one, which couples the classes.
Therefore it is mostly two to four times too long. At coefficients t · W, the slope of the objective
with respect to t is

    mean_i v_i Σ_k (p_ik(t z_i) - 1/K) z_ik - ⟨W, B⟩ + t · Σ l2 W²,    z_i = W x_i,

where v_i is the weight of row i, p_i the softmax, and B = (T - 1/K)ᵀ V X / N the moment of the
targets T (see solve.losses). The slope increases with t, so the best length is where it is zero.
Only the first term depends on the single rows. It is estimated from a sample, which is cheap
compared with a pass. A first step that is too long would cost a pass, and the curvature measured
along this step would be of little use.
"""

import numpy as np
from scipy.optimize import brentq

from twohot.base import FloatArray
from twohot.rows import RANGE, Block, Terms, is_sampled
from twohot.solve.curvature import metrics_at
from twohot.solve.loss_kernels import deviation
from twohot.solve.losses import FitProblem

# If there are many rows, the sample is a fraction of the rows, up to a maximum: the length need not
# be exact. If there are few rows, the sample has all of them: a row of weight two must count
# exactly as two rows. If there are very many classes, the sample is smaller, to save memory.
SAMPLED_ROWS, SAMPLED_SHARE = 1_000, 0.1
SAMPLED_CELLS, LEAST_ROWS = 200_000, 100
FEW_ROWS, FEW_CELLS = 2_000, 1_000_000

# If the root mean square of the logits is smaller than this, all outputs are nearly 1/K: Newton's
# step is accurate, and a sample cannot improve it. Logits are so small in late rounds with large
# penalties.
TINY_LOGITS = 0.1

LONGEST = 2.0  # maximum multiple of Newton's step
PRECISION = 0.02  # absolute error of the multiple


def first_coef(problem: FitProblem) -> FloatArray:
    """Return the coefficients after the first step from zero coefficients."""
    # The gradient at zero is -B.
    step = metrics_at(problem).solve(problem.target_moment)
    mean_square = float(np.sum(problem.axes.variances * step**2)) / len(step)
    return step if mean_square <= TINY_LOGITS**2 else _best_length(problem, step) * step


def _best_length(problem: FitProblem, step: FloatArray) -> float:
    """Return the multiple of a step that minimises the objective on a sample of the rows."""
    logits, weights = _sample(problem, step)
    if not weights.any():
        return 1.0
    rise = float(np.vdot(step, problem.target_moment))
    bend = float(np.sum(problem.penalty * step**2))

    def slope(length: float) -> float:
        less_uniform, _ = deviation(length * logits)
        mean = np.average(np.vecdot(less_uniform, logits), weights=weights)
        return float(mean) - rise + length * bend

    if not slope(LONGEST) > 0:
        return LONGEST
    return float(brentq(slope, 0.0, LONGEST, xtol=PRECISION))


def _sample(problem: FitProblem, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return logits and weights of sampled rows, in float64; rows of weight zero are left out."""
    rows, n_classes = problem.rows, len(coef)
    weighted = np.arange(rows.n_samples)
    if rows.given_weights is not None:
        weighted = np.flatnonzero(rows.given_weights)
    size = n_rows = len(weighted)
    if n_rows > FEW_ROWS or n_rows * n_classes > FEW_CELLS:
        wanted = min(SAMPLED_ROWS, int(SAMPLED_SHARE * n_rows), SAMPLED_CELLS // n_classes)
        size = min(n_rows, max(LEAST_ROWS, wanted))
    below = RANGE * size // max(n_rows, 1)
    sampled = rows.take(weighted[is_sampled(np.arange(n_rows), below)])
    parts = list(sampled.map(logits_and_weights, problem.coordinates.on_rows(coef)))
    rows.n_row_products += sampled.n_row_products
    logits, weights = (np.concatenate(blocks) for blocks in zip(*parts, strict=True))
    return logits.astype(np.float64), weights


def logits_and_weights(block: Block, coef: FloatArray) -> Terms:
    """Return the logits of a block, and the weights of its rows. A kernel, see `rows.rows`."""
    weights = np.ones(len(block)) if block.weights is None else block.weights[:, 0]
    return block.project(coef).copy(), weights.astype(np.float64)
