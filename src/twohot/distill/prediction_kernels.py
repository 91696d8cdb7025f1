"""What is predicted for a block of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from twohot._checks.arrays import check_finite
from twohot._types import FloatArray
from twohot.rows.block import Block
from twohot.rows.preparation import Preparation
from twohot.solve.loss_kernels import softmax


def predicted_rows(
    block: Block,
    preparation: Preparation,
    coef: FloatArray,
    intercept: FloatArray,
    function: Callable[[FloatArray], NDArray[Any]],
) -> NDArray[Any]:
    """Return a function of the logits of rows as they are stored. A kernel."""
    check_finite("X", block.x, block.first)
    prepared = preparation.apply(block.x, np.empty(block.x.shape, coef.dtype))
    return function(prepared @ coef.T + intercept)


def outputs(logits: FloatArray) -> FloatArray:
    """Return probabilities."""
    return softmax(logits)[0]


def log_outputs(logits: FloatArray) -> FloatArray:
    """Return logarithms of probabilities."""
    return np.asarray(log_softmax(logits, axis=1))


def most_likely(logits: FloatArray) -> NDArray[Any]:
    """Return the most likely class, by position."""
    return np.asarray(logits.argmax(axis=1))
