"""What a probe that learnt nothing would agree with: its own predictions in any other order."""

import numpy as np

from twohot._types import FloatArray, IntArray

# Standard deviations by which a probe must beat its own predictions in any other order to have
# learnt something. Of thirty that learnt nothing, one was three up in one of 28 cases, none 3.1.
CHANCE_ERRORS = 3.5


def chance_agreement(
    given: IntArray, predicted: IntArray, weights: FloatArray | None = None
) -> tuple[float, float]:
    """Return mean and standard deviation of the agreement over all orders of the predictions.

    With shares q of the given labels and p of the predictions (Hoeffding 1951),

        mean = Σ_k q_k p_k,    variance = Σ_kl q_k p_l (δ_kl - p_k - q_l + mean)² / (n - 1).

    A row of weight 2 counts as two rows.

    Examples
    --------
    >>> chance_agreement(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))[0]
    0.5
    """
    n_classes = int(max(given.max(), predicted.max())) + 1
    n_rows = len(given) if weights is None else float(weights.sum())
    q = np.bincount(given, weights, n_classes)[:, np.newaxis] / n_rows
    p = np.bincount(predicted, weights, n_classes) / n_rows
    mean = float((p @ q)[0])
    deviations = np.eye(n_classes) - p[:, np.newaxis] - q.T + mean
    # A single row has one order.
    return mean, float(np.sqrt((q * p * deviations**2).sum() / max(n_rows - 1, 1)))
