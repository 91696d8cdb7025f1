"""The losses on one block of rows; see solve.losses for the formulas.

Most functions are kernels: functions of a block and small shared arrays (see `twohot.rows.rows`).
They return sums over the rows of the block. A row has features x, weight v, targets t, logits z,
outputs p and loss ℓ.
"""

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from twohot.base import FloatArray, IntArray, Matrix
from twohot.rows import Block, Terms, scale_rows

# If the absolute values of all logits z are at most this, outputs are computed from exp(z) - 1,
# which takes ten times as long as exp(z).
SMALL_LOGIT = 0.1

# If the absolute value of a logit z is larger than this, exp(z) can overflow or underflow in
# float32.
LARGE_LOGIT = 60.0

LOGITS = "logits"  # name of the column with stored logits


class Targets(Protocol):
    """The targets of a fit: a small object that a kernel gets as an argument."""

    @property
    def name(self) -> str:
        """What the targets are: "labels", "soft", "outputs" or "candidates"."""
        ...

    def of(self, block: Block) -> Matrix:
        """Return the targets of the rows in a block, dense or CSR."""
        ...


def softmax(logits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Convert logits to outputs, in place; return outputs and the logsumexp of each row (rows, 1).

    The largest logit of each row is subtracted first, but only if some logit is large.
    """
    largest: FloatArray | float = 0.0
    if not (logits.max(initial=0) <= LARGE_LOGIT and logits.min(initial=0) >= -LARGE_LOGIT):
        largest = logits.max(axis=1, keepdims=True)
        logits -= largest
    np.exp(logits, out=logits)
    # A product with ones takes a fifth of the time of a sum.
    total = logits @ np.ones((logits.shape[1], 1), logits.dtype)
    logits *= 1 / total
    return logits, np.log(total) + largest


def deviation(logits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Convert logits to outputs minus 1/K, in place; also return the logsumexp of each row.

    If all logits are small, the result is computed from exp(z) - 1, because the difference between
    a rounded output and 1/K would lose all digits.
    """
    n_classes = logits.shape[1]
    if logits.max() > SMALL_LOGIT or logits.min() < -SMALL_LOGIT:
        outputs, log_sum = softmax(logits)
        outputs -= 1 / n_classes
        return outputs, log_sum
    np.expm1(logits, out=logits)
    mean = logits.mean(axis=1, keepdims=True)
    logits -= mean
    logits /= n_classes * (1 + mean)
    return logits, np.log1p(mean) + np.log(n_classes)


def column_sums(matrix: FloatArray) -> FloatArray:
    """Return the sums of the columns, by a product with ones, which is faster than a sum."""
    return np.asarray(np.ones(len(matrix), matrix.dtype) @ matrix)


def logits_of(block: Block, coef: FloatArray | None) -> FloatArray:
    """Return the logits of a block; if `coef` is None, return a copy of the stored logits."""
    return block.columns[LOGITS].copy() if coef is None else block.project(coef)


def target_terms(block: Block, targets: Targets, dtype: np.dtype[Any]) -> Terms:
    """Return Σ v t xᵀ over a block. A kernel."""
    wanted = targets.of(block).astype(dtype)
    return (block.gather(wanted if block.weights is None else scale_rows(wanted, block.weights)),)


def cross_entropy_terms(block: Block, coef: FloatArray | None) -> Terms:
    """Return Σ v logsumexp, Σ v e xᵀ, Σ v e and Σ v e² over a block, with e = p - 1/K. A kernel."""
    e, log_sum = deviation(logits_of(block, coef))  # (rows, K)
    if block.weights is None:
        squares = np.einsum("ij,ij->j", e, e)
    else:
        log_sum *= block.weights
        squares = np.einsum("ij,ij,i->j", e, e, block.weights[:, 0])
        e *= block.weights
    excess = column_sums(e)
    return log_sum.sum(dtype=np.float64), block.gather(e), excess, squares


def generalized_terms(
    block: Block, coef: FloatArray | None, targets: Targets, power: float
) -> Terms:
    """Return Σ v a, Σ v ∂ℓ/∂z xᵀ, Σ v a p(1 - p) and Σ v a p; for CSR targets Σ v t p^q xᵀ too.

    Here a = Σ_k t_k p_k^q. For CSR targets, the second and the last term add up to Σ v a p xᵀ. So
    this sum needs no dense matrix product of its own. A kernel.
    """
    wanted = targets.of(block)
    if block.weights is not None:
        wanted = scale_rows(wanted.astype(block.x.dtype), block.weights)
    p, _ = softmax(logits_of(block, coef))  # (rows, K)
    place: Any = ...
    credited: sp.csr_array | None = None
    if isinstance(wanted, sp.csr_array):
        credited = _credit(wanted, p, power)
        place, credit = _places(credited), credited.data
        agreement = np.bincount(place[0], credit, len(p)).astype(p.dtype)[:, np.newaxis]
    else:
        credit = (wanted * p**power).astype(p.dtype)
        agreement = credit.sum(axis=1, keepdims=True)
    root = np.sqrt(agreement)
    p *= root
    squares = np.einsum("ij,ij->j", p, p)  # Σ v a p²
    p *= root
    mass = column_sums(p)
    p[place] -= credit
    terms = agreement.sum(dtype=np.float64), block.gather(p), mass - squares, mass
    return terms if credited is None else (*terms, block.gather(credited))


# The losses as functions of the lengths of a step, see solve.steps --------------------------------
# Blocks hold logits z and their change along a direction. If class k moves by length_k along the
# direction, the logits become z + length∘change (∘ multiplies entries). `order` is the highest
# order of derivatives, 1 or 2. The functions are kernels.

CHANGE = "logit change"


def cross_entropy_along(block: Block, lengths: FloatArray, order: int) -> Terms:
    """Return Σ v logsumexp and its derivatives with respect to the lengths, up to `order`.

    With outputs p and changes c, the slope is Σ v p∘c, and the curvature is
    diag(Σ v p∘c²) - Σ v (p∘c)(p∘c)ᵀ. For order 2, the vector Σ v p∘c² is also returned.
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
    alone = np.einsum("ij,ij->j", weighted, change)
    return value, slope, np.diag(alone) - weighted.T @ moved, alone


def generalized_along(
    block: Block, lengths: FloatArray, order: int, targets: Targets, power: float
) -> Terms:
    """Return -Σ v a/q and its derivatives with respect to the lengths, up to `order`.

    With r = t∘p^q and a = Σ_k r_k for a row, the second derivative with respect to its logits is
    a (diag p - ppᵀ) - q (diag r - rpᵀ - prᵀ + a ppᵀ). For order 2 and changes c, the vector
    Σ v a p∘c² is also returned.
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
    alone = np.einsum("ij,ij->j", lean, change)
    credit_alone = np.bincount(credit.indices, credit.data * change[_places(credit)], len(alone))
    mixed = credit.T @ p
    curvature = np.diag(alone - power * credit_alone) - (1 + power) * (lean.T @ p)
    return value, slope, curvature + power * (mixed + mixed.T), alone


def _credit(targets: sp.csr_array, outputs: FloatArray, power: float) -> sp.csr_array:
    """Return t∘p^q for sparse targets t, outputs p and power q, with the stored entries of t."""
    data = (targets.data * outputs[_places(targets)] ** power).astype(outputs.dtype)
    return sp.csr_array((data, targets.indices, targets.indptr), targets.shape)


def _places(entries: sp.csr_array) -> tuple[IntArray, IntArray]:
    """Return the row and the column of each stored entry."""
    return np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr)), entries.indices
