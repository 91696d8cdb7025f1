"""Which labels to flag, given how probable it is that each is wrong."""

import numpy as np
from numpy.typing import NDArray

from twohot._types import FloatArray
from twohot.audit.doubt import SURELY

# Labels that are less probably wrong are not flagged, however few are more so.
LEAST_DOUBT = 0.1


def taken_unseen(
    flagged: NDArray[np.bool_], undecided: NDArray[np.bool_], label_quality: FloatArray
) -> NDArray[np.bool_]:
    """Return the rows whose suggestion is taken although nobody has looked.

    Those that are flagged, have one suggestion (`undecided` have two), and are more probably wrong
    than right.
    """
    # Without a label there is no quality, which compares as False.
    return np.asarray(flagged & ~undecided & (label_quality < 1 - SURELY))


def flag_for_f1(doubt: FloatArray, eligible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Flag the eligible rows that maximise the expected F1, of those that may well be wrong.

    With S flagged it is 2 · Σ_S doubt / (|S| + Σ doubt), and the best S are the most doubtful rows.

    Examples
    --------
    >>> import numpy as np
    >>> flag_for_f1(np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, True, True, False])).tolist()
    [True, True, False, False]
    """
    order = _most_doubtful_first(doubt, eligible & (doubt >= LEAST_DOUBT))
    expected = 2 * np.cumsum(doubt[order]) / (np.arange(1, len(order) + 1) + np.nansum(doubt))
    n_flagged = int(expected.argmax()) + 1 if len(order) and expected.max() > 0 else 0
    return _first_of(order, n_flagged, len(doubt))


def flag_for_precision(
    doubt: FloatArray, eligible: NDArray[np.bool_], precision: float, promised: FloatArray
) -> NDArray[np.bool_]:
    """Flag the most doubtful eligible rows, as many as keep the mean of `promised` at `precision`.

    `promised` is how probable it is that a label is wrong as far as it can be promised (see
    `promised_doubt`). The average of `doubt` would promise what the labels cannot tell.

    Taken in the order of `promised` more would be flagged where noise differs between classes, and
    promises be broken: pairs of classes confused at .4, of .95, .9 and .8 asked for, left .72, .69
    and .65 on StanfordCars, and .83, .87 and .83 in this order; on Caltech-101 .87, .83 and .78,
    and .90, .85 and .79.

    Examples
    --------
    >>> import numpy as np
    >>> doubt = np.array([0.9, 0.8, 0.3, 0.9])
    >>> flag_for_precision(doubt, np.array([True, True, True, False]), 0.85, doubt).tolist()
    [True, True, False, False]
    """
    order = _most_doubtful_first(doubt, eligible)
    expected = np.cumsum(promised[order])
    # Sums of equal probabilities are not exact: .8 + .8 + .8 is less than 3 · .8.
    kept = np.flatnonzero(expected >= (precision - 1e-9) * np.arange(1, len(order) + 1))
    return _first_of(order, int(kept[-1]) + 1 if kept.size else 0, len(doubt))


def flag_for_budget(
    doubt: FloatArray, eligible: NDArray[np.bool_], budget: int
) -> NDArray[np.bool_]:
    """Flag the most doubtful eligible rows, as many as the budget allows."""
    return _first_of(_most_doubtful_first(doubt, eligible), budget, len(doubt))


def _most_doubtful_first(doubt: FloatArray, eligible: NDArray[np.bool_]) -> NDArray[np.intp]:
    rows = np.flatnonzero(eligible)
    return rows[np.argsort(-doubt[rows], kind="stable")]


def _first_of(order: NDArray[np.intp], n_flagged: int, n_rows: int) -> NDArray[np.bool_]:
    flagged = np.zeros(n_rows, dtype=bool)
    flagged[order[:n_flagged]] = True
    return flagged
