"""The first step of a fit by cross-entropy from zero: how long it is, found on some of the rows.

At zero all outputs are uniform, and Newton's step by the metric there is known without a pass.
Further out classes compete for rows, so that it leads too far, mostly two to four times. Along it,
to coefficients t · W, the slope of the objective is

    mean_i v_i Σ_k p_ik(t z_i) z_ik - ⟨W, B⟩ + t · Σ l2 W²,    z_i = W x_i,

which rises with t. Its first term is taken from some of the rows, which is hardly any work beside a
pass; a first step that has to be shortened costs one, and what is learnt of the curvature there.
"""

import numpy as np
from scipy.optimize import brentq

from twohot._types import FloatArray
from twohot.rows.block import Block
from twohot.rows.row_sample import RANGE, sampled_rows
from twohot.rows.rows import Terms
from twohot.solve.loss_kernels import softmax
from twohot.solve.objective import FitProblem
from twohot.solve.preconditioner import metrics_at_zero

# Rows that are looked at, if there are many, and share of them: one number is to be found, which
# need not be exact. Of few all are, so that a row of weight two is two rows, and one of no weight
# none, to the last step. With very many classes fewer: a number for each of them is held.
SAMPLED_ROWS, SAMPLED_SHARE = 1_000, 0.1
SAMPLED_CELLS, LEAST_ROWS = 200_000, 100
FEW_ROWS, FEW_CELLS = 2_000, 1_000_000

LONGEST = 2.0  # multiple of Newton's step
PRECISION = 0.02


def first_coef(problem: FitProblem) -> FloatArray:
    """Return where a first step from zero leads."""
    # Targets less 1/K: the gradient at zero is their moment with its sign changed.
    step = metrics_at_zero(problem).solve(problem.target_moment)
    rise = float(np.vdot(step, problem.target_moment))
    bend = float(np.sum(problem.penalty * step**2))
    logits, weights = _sample(problem, step)

    def slope(length: float) -> float:
        outputs, _ = softmax(length * logits)
        mean = np.average(np.vecdot(outputs, logits), weights=weights)
        return float(mean) - rise + length * bend

    if slope(LONGEST) <= 0:
        return LONGEST * step
    return float(brentq(slope, 0.0, LONGEST, xtol=PRECISION)) * step


def _sample(problem: FitProblem, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the logits of some rows, and their weights, in float64."""
    n_sampled = _sample_size(problem.rows.n_samples, len(coef))
    below = RANGE * n_sampled // problem.rows.n_samples
    parts = problem.rows.map(sampled_logits, problem.coordinates.on_rows(coef), below)
    logits, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
    return logits.astype(np.float64), weights


def _sample_size(n_rows: int, n_classes: int) -> int:
    if n_rows <= FEW_ROWS and n_rows * n_classes <= FEW_CELLS:
        return n_rows
    wanted = min(SAMPLED_ROWS, int(SAMPLED_SHARE * n_rows), SAMPLED_CELLS // n_classes)
    return min(n_rows, max(LEAST_ROWS, wanted))


def sampled_logits(block: Block, coef: FloatArray, below: int) -> Terms:
    """Return the logits of some rows of a block, and their weights. A kernel."""
    sampled = sampled_rows(block, below)
    logits = block.project_some(sampled, coef)
    weights = np.ones(len(logits)) if block.weights is None else block.weights[sampled, 0]
    return logits, weights
