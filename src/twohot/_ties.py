"""The rule for ties: scores that are equal at a boundary share what is left of its weight."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def boundary(scores: NDArray[Any], n_kept: int) -> NDArray[Any]:
    """Return the smallest of the largest scores of each row (..., 1)."""
    place = scores.shape[-1] - n_kept
    return np.asarray(np.partition(scores, place, axis=-1)[..., place, np.newaxis])


def top_shares(
    scores: NDArray[Any], n_kept: int, slack: NDArray[Any], *, lowest: bool = False
) -> NDArray[np.float64]:
    """Return weights of sum one for the largest scores of each row, all the same but for ties.

    Parameters
    ----------
    scores : array of shape (..., n_classes)
        Larger is better.
    n_kept : int
        How many are kept.
    slack : array of shape (..., 1)
        Scores no further than this from the boundary are tied.
    lowest : bool
        Let the first of those that are tied have the place, as an `argsort` would, instead of
        sharing it.

    Examples
    --------
    >>> top_shares(np.array([0.4, 0.2, 0.2, 0.2]), 2, np.array([1e-6])).round(3)
    array([0.5  , 0.167, 0.167, 0.167])
    """
    last = boundary(scores, n_kept)
    above = scores > last + slack
    tied = ~above & (scores >= last - slack)
    left = n_kept - above.sum(axis=-1, keepdims=True)
    if lowest:
        chosen = tied & (np.cumsum(tied, axis=-1) <= left)
    else:
        chosen = tied * (left / tied.sum(axis=-1, keepdims=True))
    return np.asarray((above + chosen) / n_kept)
