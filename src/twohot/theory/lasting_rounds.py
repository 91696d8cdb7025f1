"""From which round on every training sample is right, for any model, however many rounds it takes.

Margins of the linear theory are sums of powers (`power_sums`), of which whole ranges of rounds are
decided at once. So rounds need not be tried one by one, and an answer of none is one.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from twohot._checks.numbers import check_count
from twohot.theory import _checks
from twohot.theory.class_reduction import ClassReduction
from twohot.theory.correlation_models import CorrelationModel
from twohot.theory.label_leads import LabelLeads
from twohot.theory.power_sums import PowerSums, class_power_sums
from twohot.theory.theorem_4_1 import RoundsNeeded

# Beyond the largest number there is, nothing can be asked.
MOST_ROUNDS = 10**300
# Of numbers of rounds with more digits than this, the first ones are told.
DIGITS = 10**12


def rounds_until_right(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, max_rounds: int = 50
) -> RoundsNeeded:
    """First round from which on each class is right, and all classes are together, for any model.

    Parameters
    ----------
    model, corruption, l2
        As for `type_outputs`.
    max_rounds : int
        How long right must last: up to this round. A class that is right for some rounds and not in
        this one does not count as right before it. One that becomes right later has its round all
        the same; infinity says that there is none.

    Returns
    -------
    RoundsNeeded
        With the last round in a row, which may be far beyond `max_rounds` and yet not infinite:
        with unbalanced labels or classes, very late rounds know only the largest class.

    Examples
    --------
    >>> model = CorrelationModel.from_correlation([[0.5, 0.1], [0.1, 0.3]], class_sizes=[100, 60])
    >>> needed = rounds_until_right(model, [[0.7, 0.3], [0.3, 0.7]], l2=1e-3)
    >>> needed.per_class.tolist(), needed.overall
    ([3.0, 4.0], 4.0)
    """
    reduction = ClassReduction(model, l2=l2)
    shares = _checks.corruption_matrix(corruption, model.n_classes)
    horizon = check_count("max_rounds", max_rounds, 1)
    leads = LabelLeads(reduction, shares)
    sums = [class_power_sums(leads, shares, a) for a in range(model.n_classes)]
    first, last = np.array([_stretch(each, horizon) for each in sums]).T
    together = _stretch([part for each in sums for part in each], horizon)
    return RoundsNeeded(first, last, *together)


def _stretch(sums: list[PowerSums], horizon: int) -> tuple[float, float]:
    """First and last of the rounds in a row, up to `horizon` or later, in which all are right."""
    right = partial(_all_right, sums)
    settled = min(int(np.ceil(max(each.settled for each in sums))), MOST_ROUNDS)
    if right(horizon, horizon):
        wrong = _find(right, 1, horizon - 1, wanted=False, backwards=True)
        first: int | None = 1 if wrong is None else wrong + 1
    else:
        first = _find(right, horizon + 1, settled, wanted=True)
    if first is None:
        return np.inf, np.nan
    broken = _find(right, max(first, horizon) + 1, settled, wanted=False)
    if broken is not None:
        return float(first), float(broken - 1)
    for_ever = all(each.ends_right for each in sums)
    return float(first), np.inf if for_ever else float(max(first, horizon))


def _all_right(sums: list[PowerSums], first: int, last: int) -> bool | None:
    """Whether all are right in all of the rounds; False if one is in none of them."""
    clear: bool | None = True
    for each in sums:
        found = each.right(first, last)
        if found is False:
            return False
        if found is None:
            clear = None
    return clear


def _find(
    right: Callable[[int, int], bool | None],
    first: int,
    last: int,
    *,
    wanted: bool,
    backwards: bool = False,
) -> int | None:
    """Return the first (or last) of the rounds that is right or not, as wanted; None if none is."""
    left = [(first, last)] if first <= last else []
    while left:
        start, end = left.pop()
        found = right(start, end)
        if found is wanted:
            return end if backwards else start
        if found is None and end - start > start // DIGITS:
            middle = min((start + end) // 2, 2 * start)  # early rounds in finer steps
            halves = [(middle + 1, end), (start, middle)]  # the last one is looked at first
            left.extend(reversed(halves) if backwards else halves)
    return None
