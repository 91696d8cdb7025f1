"""The losses where only logits move: all that the length of a step depends on.

Blocks are of logits z, with what a direction adds to them beside: where class k goes length_k along
the direction, they become z + length∘change. See solve.class_steps. All functions here are kernels,
of the lengths and the order up to which derivatives are wanted, 1 or 2.
"""

import numpy as np
import scipy.sparse as sp

from twohot._types import FloatArray, IntArray
from twohot.rows.block import Block, scale_rows
from twohot.rows.rows import Terms
from twohot.solve.loss_kernels import Targets, column_sums, softmax

CHANGE = "logit change"


def cross_entropy_along(block: Block, lengths: FloatArray, order: int) -> Terms:
    """Return Σ v logsumexp and its slope in the length of each class, at order 2 its curvature.

    With p the outputs and c the change, the slope is Σ v p∘c, and the curvature
    diag(Σ v p∘c²) - Σ v (p∘c)(p∘c)ᵀ, whose first term is returned on its own, too.
    """
    change = block.columns[CHANGE]
    moved, log_sum = softmax(block.x + lengths * change)
    moved *= change
    weighted = moved
    if block.weights is not None:
        log_sum *= block.weights
        weighted = moved * block.weights
    value, slope = log_sum.sum(dtype=np.float64), column_sums(weighted)
    if order == 1:
        return value, slope
    own = np.einsum("ij,ij->j", weighted, change)
    return value, slope, np.diag(own) - weighted.T @ moved, own


def generalized_along(
    block: Block, lengths: FloatArray, order: int, targets: Targets, power: float
) -> Terms:
    """Return -Σ v a/q and its slope in the length of each class, at order 2 its curvature.

    With the credits r = t∘p^q of a row and a = Σ r, the second derivative in its logits is
    a (diag p - ppᵀ) - q (diag r - rpᵀ - prᵀ + a ppᵀ). Σ v a p∘c² is returned on its own, too.
    """
    change = block.columns[CHANGE]
    p, _ = softmax(block.x + lengths * change)
    credit = _credit(sp.csr_array(targets.of(block)), p, power)
    if block.weights is not None:
        credit = scale_rows(credit, block.weights)
    agreement = np.asarray(credit.sum(axis=1), p.dtype)[:, np.newaxis]
    value = -agreement.sum(dtype=np.float64) / power
    p *= change
    lean = agreement * p
    credit.data *= change[_places(credit)]
    slope = column_sums(lean) - credit.sum(axis=0)
    if order == 1:
        return value, slope
    own = np.einsum("ij,ij->j", lean, change)
    credit_own = np.bincount(credit.indices, credit.data * change[_places(credit)], len(own))
    mixed = credit.T @ p
    curvature = np.diag(own - power * credit_own) - (1 + power) * (lean.T @ p)
    return value, slope, curvature + power * (mixed + mixed.T), own


def _credit(targets: sp.csr_array, outputs: FloatArray, power: float) -> sp.csr_array:
    """Return t∘p^q."""
    data = (targets.data * outputs[_places(targets)] ** power).astype(outputs.dtype)
    return sp.csr_array((data, targets.indices, targets.indptr), targets.shape)


def _places(entries: sp.csr_array) -> tuple[IntArray, IntArray]:
    """Return the row and the column of each entry."""
    return np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr)), entries.indices
