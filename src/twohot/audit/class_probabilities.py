"""How likely each class is at every row: by a probe, or as a user says; one block at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from twohot._checks.arrays import check_soft_targets
from twohot._checks.column_cells import as_text
from twohot._checks.column_names import check_column_order, named_columns
from twohot._checks.labels import Labels, check_classes
from twohot._checks.messages import ArgumentError, counted, first_few
from twohot._types import FloatArray, Matrix
from twohot.rows.parted import take_rows

# Rows whose probabilities are held at once.
BLOCK_ROWS = 10_000


def probe_classes(probe: Any) -> NDArray[Any]:
    """Return the classes of a fitted classifier."""
    if not (hasattr(probe, "classes_") and hasattr(probe, "predict_proba")):
        problem = "is not a fitted classifier with classes_ and predict_proba"
        advice = "fit it first, or pass None to have an AutoProbe fitted."
        raise ArgumentError({"probe": probe}, problem, advice)
    return np.asarray(probe.classes_)


def column_classes(
    probabilities: ArrayLike,
    y: Any,
    labels: Labels,
    *,
    classes: ArrayLike | None = None,
    advice: str = "name the columns by {classes}, model.classes_ for instance.",
) -> NDArray[Any]:
    """Return the class of each column of a user's probabilities: named, or those that rows have.

    Text that is a whole number is refused where nobody names the columns: scikit-learn has it in
    alphabetical order, and we by value. A `Labels` record as `y` is an order that somebody chose.
    """
    present = labels.present().classes
    named = named_columns(probabilities, present)
    if classes is not None:
        given = check_classes(classes)
        check_column_order("probabilities", named, given)
        return given
    values = present.tolist()
    if named is None:
        if not isinstance(y, Labels) and values != sorted(values):
            numbers = f"has text that is a number ({first_few(values)})"
            problem = f"{numbers}, and columns may be sorted by its value or as text"
            raise ArgumentError("y", problem, advice, classes=...)
        return present
    if not {*map(as_text, values)} <= {*map(as_text, named.tolist())}:
        problem = f"has the columns {first_few(named.tolist())}, which are not the labels of y"
        raise ArgumentError("probabilities", problem, advice, classes=...)
    return named


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
