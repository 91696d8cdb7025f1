"""The first step of a cross-entropy fit from zero, with a length estimated on a sample.

At zero all outputs are uniform, so that Newton's step W is computed without a pass. This step is
too long, mostly by a factor of two to four, because it ignores that classes compete for rows. At
coefficients t · W, the slope of the objective with respect to t is

    mean_i v_i Σ_k (p_ik(t z_i) - 1/K) z_ik - ⟨W, B⟩ + t · Σ l2 W²,    z_i = W x_i,

where v_i is the weight of row i, p_i the softmax, and B = (T - 1/K)ᵀ V X / N the moment of the
targets T. The slope increases with t, so its zero is the best length. Its first term is estimated
from a sample of the rows, which is cheap compared with a pass. A first step that is too long would
cost a pass, and its measured curvature would be of little use.
"""

import numpy as np
from scipy.optimize import brentq

from twohot.base import FloatArray, IntArray
from twohot.rows import RANGE, Block, Rows, Terms, is_sampled
from twohot.solve.curvature import metrics_at_zero
from twohot.solve.loss_kernels import deviation
from twohot.solve.objective import FitProblem

# If there are many rows, the sample is a share of them, up to a maximum: the length need not be
# exact. If there are few rows, the sample has all rows, so that a row of weight two counts exactly
# as two rows. If there are very many classes, the sample is smaller, to save memory.
SAMPLED_ROWS, SAMPLED_SHARE = 1_000, 0.1
SAMPLED_CELLS, LEAST_ROWS = 200_000, 100
FEW_ROWS, FEW_CELLS = 2_000, 1_000_000

# If the root mean square of the logits is smaller, outputs are nearly uniform: Newton's step is
# accurate, and a sample cannot improve it. This happens in late rounds with large penalties.
TINY_LOGITS = 0.1

LONGEST = 2.0  # maximum multiple of Newton's step
PRECISION = 0.02


def first_coef(problem: FitProblem) -> FloatArray:
    """Return the coefficients after the first step from zero."""
    # The gradient at zero is minus the moment of the targets less 1/K.
    step = metrics_at_zero(problem).solve(problem.target_moment)
    mean_square = float(np.sum(problem.axes.variances * step**2)) / len(step)
    return step if mean_square <= TINY_LOGITS**2 else _suited_length(problem, step) * step


def _suited_length(problem: FitProblem, step: FloatArray) -> float:
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
    """Return the logits and weights of a sample of the rows, in float64."""
    rows = problem.rows
    taken = rows.take(_sampled(rows, len(coef)))
    parts = list(taken.map(logits_and_weights, problem.coordinates.on_rows(coef)))
    rows.n_row_products += taken.n_row_products
    logits, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
    return logits.astype(np.float64), weights


def _sampled(rows: Rows, n_classes: int) -> IntArray:
    """Return the sampled rows; rows of weight zero are left out."""
    weights = rows.given_weights
    counted = np.arange(rows.n_samples) if weights is None else np.flatnonzero(weights)
    n_rows = len(counted)
    below = RANGE * _sample_size(n_rows, n_classes) // max(n_rows, 1)
    return np.asarray(counted[is_sampled(np.arange(n_rows), below)])


def _sample_size(n_rows: int, n_classes: int) -> int:
    if n_rows <= FEW_ROWS and n_rows * n_classes <= FEW_CELLS:
        return n_rows
    wanted = min(SAMPLED_ROWS, int(SAMPLED_SHARE * n_rows), SAMPLED_CELLS // n_classes)
    return min(n_rows, max(LEAST_ROWS, wanted))


def logits_and_weights(block: Block, coef: FloatArray) -> Terms:
    """Return the logits of a block, and the weights of its rows. A kernel."""
    weights = np.ones(len(block)) if block.weights is None else block.weights[:, 0]
    return block.project(coef).copy(), weights.astype(np.float64)
