"""How likely each class is at every row: by a probe, or as a user says; one block at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from twohot._checks.arrays import check_soft_targets
from twohot._checks.labels import Labels, check_classes
from twohot._checks.messages import ArgumentError, counted
from twohot._types import FloatArray, Matrix
from twohot.audit.partly_labelled import take_rows

# Rows whose probabilities are held at once.
BLOCK_ROWS = 10_000


def known_classes(labels: Labels, probe: Any, classes: ArrayLike | None) -> NDArray[Any]:
    """Return the classes of the columns: those of the probe, or named, or those that rows have."""
    if probe is not None:
        if not (hasattr(probe, "classes_") and hasattr(probe, "predict_proba")):
            problem = "is not a fitted classifier with classes_ and predict_proba"
            advice = "fit it first, or pass None to have an AutoProbe fitted."
            raise ArgumentError({"probe": probe}, problem, advice)
        return np.asarray(probe.classes_)
    return labels.present().classes if classes is None else check_classes(classes)


def probe_blocks(probe: Any, X: Matrix, n_rows: int) -> Iterator[FloatArray]:
    """Yield what a probe says, calibrated if it can do that."""
    predict = getattr(probe, "predict_calibrated_proba", probe.predict_proba)
    for first in range(0, n_rows, BLOCK_ROWS):
        size = min(BLOCK_ROWS, n_rows - first)
        block = np.asarray(predict(take_rows(X, slice(first, first + size))), dtype=np.float64)
        _check_block(block, (size, len(probe.classes_)), first)
        yield block


def _check_block(block: FloatArray, shape: tuple[int, int], first: int) -> None:
    """Raise unless a probe has given probabilities, one for each row and class."""
    advice = "pass a classifier whose predict_proba gives a probability of each of its classes_."
    if block.shape != shape:
        problem = f"gives probabilities of shape {block.shape} where {shape} are due"
        raise ArgumentError("probe", problem, advice)
    wrong = np.flatnonzero(~((block >= 0) & np.isfinite(block)).all(axis=1))
    if wrong.size:
        problem = f"gives row {first + wrong[0]} a probability that is no number or below zero"
        raise ArgumentError("probe", problem, advice)


def check_probabilities(
    probabilities: ArrayLike,
    labels: Labels,
    advice: str = "pass one column per class that rows have, in order.",
    **mentions: object,
) -> Matrix:
    """Return a user's own probabilities, dense or CSR, one column per class."""
    rows = check_soft_targets(probabilities, len(labels.codes), name="probabilities", beside="y")
    if rows.shape[1] != labels.n_classes:
        problem = f"has {counted(rows.shape[1], 'column')} for {labels.n_classes} classes"
        raise ArgumentError("probabilities", problem, advice, **mentions)
    return rows


def given_blocks(probabilities: ArrayLike, labels: Labels) -> Iterator[FloatArray]:
    """Return a user's own probabilities in blocks, checked before the first."""
    advice = "pass one column per class, and name them by {classes} if y does not have them all."
    rows = check_probabilities(probabilities, labels, advice, classes=...)
    blocks = (rows[first : first + BLOCK_ROWS] for first in range(0, rows.shape[0], BLOCK_ROWS))
    dense = (block.toarray() if sp.issparse(block) else block for block in blocks)
    return (np.asarray(block, dtype=np.float64) for block in dense)
