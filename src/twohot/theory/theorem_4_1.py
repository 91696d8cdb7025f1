"""Decide by Theorem 4.1 whether and from which round every training sample is predicted correctly.

Let C be the corruption: C_kk' is the proportion of samples of class k that have the given label k'.
Let class sizes be equal and given labels balanced (equally frequent). Let q/p be the separation
(see `closed_forms`). After t rounds, samples of class k with the given label k' have a larger
output at k than at k' if and only if

    C_kk - C_kk'  >  1 / ((q/p)ᵗ - 1).                                       (Theorem 4.1)

Class k is *right* if all its samples are predicted correctly: if the inequality holds for every
k' ≠ k. A class without wrong labels is right from round 1 on. If given labels are not balanced,
`rounds_condition` and `rounds_needed` raise an error; `rounds_until_right` needs no balance.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from twohot.base import ROW_SUM_TOLERANCE, ArgumentError, BoolArray, FloatArray, check_positive
from twohot.theory import checks
from twohot.theory.averaging import ClassReduction
from twohot.theory.correlation_models import CorrelationModel
from twohot.theory.guarantees import ClassVerdicts, class_verdicts
from twohot.theory.label_leads import LabelLeads, PowerSums, class_power_sums

# The two sides of the condition count as equal if they differ by at most this tolerance. The
# rounding error of the sides is about 1e-15.
CONDITION_TOLERANCE = 1e-12
# Relative rounding error of q/p, which is a quotient of two quotients.
RATIO_ERROR = 10 * float(np.finfo(np.float64).eps)
USE_LOGARITHM = (
    "pass log_separation=log_separation_at(levels, l2=...) or the log_separation of a Shrinkage."
)


@dataclass(frozen=True, eq=False)
class RoundsCondition(ClassVerdicts):
    """Both sides of Theorem 4.1 for one round; see `rounds_condition`."""

    gaps: FloatArray  # (n_classes,) C_kk - max_{k' ≠ k} C_kk'
    threshold: float  # 1/((q/p)ᵗ - 1); infinite for t = 0
    corruption: FloatArray  # (n_classes, n_classes)

    @property
    def misclassified(self) -> BoolArray:
        """Whether samples of class k (row) with the given label k' (column) are misclassified.

        By the converse of the theorem, an entry is True if such samples exist and C_kk < C_kk' +
        threshold. The predicted label is k' or another wrong label.
        """
        slack = np.diag(self.corruption)[:, None] - self.corruption - self.threshold
        wrong = (slack < -CONDITION_TOLERANCE) & (self.corruption > 0)
        np.fill_diagonal(wrong, val=False)
        return np.asarray(wrong)


@dataclass(frozen=True, eq=False)
class RoundsNeeded:
    """The first and the last round of the range in which a class is right.

    If there is no such range, the first round is infinite and the last round is NaN. If a class is
    right in all rounds after the first round, the last round is infinite.
    """

    per_class: FloatArray  # (n_classes,) first round of each class, at least 1
    until: FloatArray  # (n_classes,) last round of each class
    overall: float  # first round of the range in which all classes are right
    overall_until: float  # last round of this range

    @property
    def slowest_class(self) -> int:
        """The class that needs the most rounds."""
        return int(self.per_class.argmax())


def label_gaps(corruption: ArrayLike) -> FloatArray:
    """Return C_kk - max C_kk' (k' ≠ k) for every class k, in the notation of Theorem 4.1.

    The gap is the proportion of right labels minus the proportion of the most frequent wrong label.

    Examples
    --------
    >>> label_gaps([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.0, 0.0, 1.0]]).round(3).tolist()
    [0.5, 0.1, 1.0]
    """
    shares = checks.corruption_matrix(corruption)
    wrong = shares.copy()
    np.fill_diagonal(wrong, -np.inf)
    return np.asarray(np.diag(shares) - wrong.max(axis=1))


def rounds_condition(
    corruption: ArrayLike,
    *,
    separation: float | None = None,
    log_separation: float | None = None,
    n_rounds: int,
) -> RoundsCondition:
    """Return which classes are predicted correctly after `n_rounds` rounds, by Theorem 4.1.

    The result is exact in the paper's setting: equal class sizes, balanced given labels, equal
    correlations inside superclasses, and label noise that is symmetric or stays inside
    superclasses. In other settings, use `judge(type_outputs(...))`.

    Parameters
    ----------
    corruption, n_rounds
        As for `type_outputs`. Every column of `corruption` must sum to one.
    separation : float, optional
        q/p, above 1; see `Shrinkage.separation`.
    log_separation : float, optional
        log(q/p). Pass it instead of `separation` if the penalty is so small that q/p rounds to 1;
        see `Shrinkage.log_separation` and `log_separation_at`.

    Examples
    --------
    >>> corruption = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]
    >>> second = rounds_condition(corruption, separation=2.0, n_rounds=2)
    >>> second.holds, second.misclassified[0].tolist()
    (False, [False, True, True])
    >>> rounds_condition(corruption, separation=2.0, n_rounds=3).holds
    True
    """
    log_ratio, shares = _log_ratio(separation, log_separation), _balanced(corruption)
    gaps = label_gaps(shares)
    power = checks.round_count(n_rounds)
    decay = power * log_ratio
    # 1/(eᶻ - 1) without overflow. In round 0, z = 0 and the threshold is infinite.
    threshold = np.exp(-decay) / -np.expm1(-decay) if power else np.inf
    slack = gaps - threshold
    right = (slack > CONDITION_TOLERANCE) | _clean(shares)
    verdicts = class_verdicts(right, slack < -CONDITION_TOLERANCE)
    return RoundsCondition(verdicts, gaps, float(threshold), shares)


def rounds_needed(
    corruption: ArrayLike, *, separation: float | None = None, log_separation: float | None = None
) -> RoundsNeeded:
    """Return the first round in which Theorem 4.1 holds: ⌊ln(1 + 1/gap) / ln(q/p)⌋ + 1.

    The gap of a class is that of `label_gaps`. Given labels must be balanced. If they are not, use
    `rounds_until_right`.

    With `log_separation`, a result up to 10¹¹ is exact, and a larger result has 11 exact digits.
    With `separation`, a result up to about ten million is exact to one round. For more rounds,
    q/p - 1 has too few digits, and the function raises an error.

    Parameters
    ----------
    corruption, separation, log_separation
        As for `rounds_condition`. Pass either `separation` or `log_separation`.

    Examples
    --------
    >>> corruption = [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.4, 0.1, 0.5]]
    >>> needed = rounds_needed(corruption, separation=1.8)
    >>> needed.per_class.tolist(), needed.overall, needed.slowest_class
    ([4.0, 3.0, 5.0], 5.0, 2)
    >>> f"{rounds_needed(corruption, log_separation=1e-25).overall:.6e}"
    '2.397895e+25'
    """
    log_ratio, shares = _log_ratio(separation, log_separation), _balanced(corruption)
    gaps = label_gaps(shares)
    # Both sides are equal at this real number of rounds; the result is the next whole number.
    ties_at = np.log1p(1 / np.where(gaps > CONDITION_TOLERANCE, gaps, np.nan)) / log_ratio
    error = RATIO_ERROR * float(np.nanmax(ties_at, initial=0.0)) / log_ratio
    if separation is not None and error > 1:
        problem = f"is too close to 1: its last digit can change the result by {error:.2g} rounds"
        raise ArgumentError({"separation": separation}, problem, USE_LOGARITHM)
    whole = np.rint(ties_at)  # a tie must not count as right because of rounding
    is_whole = np.abs(ties_at - whole) <= CONDITION_TOLERANCE * ties_at
    per_class = np.where(is_whole, whole, np.floor(ties_at)) + 1
    per_class = np.where(np.isnan(per_class), np.inf, per_class)
    per_class = np.where(_clean(shares), 1.0, per_class)
    until = np.where(np.isfinite(per_class), np.inf, np.nan)  # the threshold decreases
    return RoundsNeeded(per_class, until, float(per_class.max()), float(until.max()))


def _log_ratio(separation: float | None, log_separation: float | None) -> float:
    """Return log(q/p), computed from the argument that was passed."""
    if (separation is None) == (log_separation is None):
        given = {"separation": separation, "log_separation": log_separation}
        problem = "are both missing" if separation is None else "are both given"
        raise ArgumentError(given, problem, "pass exactly one of them.")
    if log_separation is not None:
        return check_positive("log_separation", log_separation)
    ratio = float(np.nan if separation is None else check_positive("separation", separation))
    if ratio > 1:
        return math.log(ratio)
    advice = (
        "pass a separation q/p above 1. If the penalty is so small that q/p is 1 up to rounding,"
        f" {USE_LOGARITHM}"
    )
    raise ArgumentError({"separation": separation}, "is not allowed", advice)


def _clean(shares: FloatArray) -> BoolArray:
    """Return for every class whether all its given labels are right."""
    return np.asarray((shares > 0).sum(axis=1) == (np.diag(shares) > 0))


def _balanced(corruption: ArrayLike) -> FloatArray:
    shares = checks.corruption_matrix(corruption)
    columns = shares.sum(axis=0)
    worst = int(np.abs(columns - 1).argmax())
    if abs(columns[worst] - 1) > ROW_SUM_TOLERANCE:
        problem = f"is not balanced, because column {worst} sums to {columns[worst]:.6g}, not to 1"
        advice = "use judge(type_outputs(...)) or rounds_until_right, which need no balance."
        raise ArgumentError("corruption", problem, advice)
    return shares


# The first round from which every training sample is right, for any model -------------------------
# Margins of the linear theory are sums of powers (`PowerSums`). The sign of a margin is decided for
# whole ranges of rounds. So the search need not evaluate every round, and can find that a class is
# never right.

# Latest round that the search evaluates.
FARTHEST = 10**300
# A larger number of rounds is exact only in its leading digits.
DIGITS = 10**12


def rounds_until_right(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, max_rounds: int = 50
) -> RoundsNeeded:
    """Return the first and last round in which each class, and all classes together, are right.

    Parameters
    ----------
    model, corruption, l2
        As for `type_outputs`.
    max_rounds : int
        The first round of a class is the smallest t such that the class is right in all rounds
        from t to `max_rounds`. If there is no such t, the first round is the first one after
        `max_rounds` in which the class is right.

    Returns
    -------
    RoundsNeeded
        The last round is that of the range that begins with the first round. It can be finite and
        much later than `max_rounds`: if labels or classes are unbalanced, very late rounds can
        predict the same label for all samples.

    Examples
    --------
    >>> model = CorrelationModel.from_correlation([[0.5, 0.1], [0.1, 0.3]], class_sizes=[100, 60])
    >>> needed = rounds_until_right(model, [[0.7, 0.3], [0.3, 0.7]], l2=1e-3)
    >>> needed.per_class.tolist(), needed.overall
    ([3.0, 4.0], 4.0)
    """
    reduction = ClassReduction(model, l2=l2)
    shares = checks.corruption_matrix(corruption, model.n_classes)
    horizon = checks.round_count(max_rounds, 1, name="max_rounds")
    leads = LabelLeads(reduction, shares)
    sums = [class_power_sums(leads, shares, a) for a in range(model.n_classes)]
    first, last = np.array([_right_range(each, horizon) for each in sums]).T
    together = _right_range([one for each in sums for one in each], horizon)
    return RoundsNeeded(first, last, *together)


def _right_range(sums: list[PowerSums], horizon: int) -> tuple[float, float]:
    """Return the first and last round of a range in which all leads are positive.

    The range is the one that contains `horizon`. If leads are not all positive at `horizon`, it is
    the first range after `horizon`. If there is none, the rounds are infinite and NaN.
    """
    right = partial(_all_right, sums)
    settled = min(int(np.ceil(max(each.settled for each in sums))), FARTHEST)
    if right(horizon, horizon):
        wrong = _find(right, 1, horizon - 1, wanted=False, backwards=True)
        first: int | None = 1 if wrong is None else wrong + 1
    else:
        first = _find(right, horizon + 1, settled, wanted=True)
    if first is None:
        return np.inf, np.nan
    wrong = _find(right, max(first, horizon) + 1, settled, wanted=False)
    if wrong is not None:
        return float(first), float(wrong - 1)
    for_ever = all((each.bases > 0).all() for each in sums)
    return float(first), np.inf if for_ever else float(max(first, horizon))


def _all_right(sums: list[PowerSums], first: int, last: int) -> bool | None:
    """Return whether all leads are positive in rounds `first` … `last`, as `PowerSums.right`."""
    result: bool | None = True
    for each in sums:
        right = each.right(first, last)
        if right is False:
            return False
        result = result and right  # None if one is undecided
    return result


def _find(
    right: Callable[[int, int], bool | None],
    first: int,
    last: int,
    *,
    wanted: bool,
    backwards: bool = False,
) -> int | None:
    """Return the first round where `right` is `wanted`; None if there is none.

    If `backwards`, return the last such round instead of the first.
    """
    ranges = [(first, last)] if first <= last else []
    while ranges:
        start, end = ranges.pop()  # the range that was appended last
        result = right(start, end)
        if result is wanted:
            return end if backwards else start
        if result is None and end - start > start // DIGITS:
            middle = min((start + end) // 2, 2 * start)  # finer steps for early rounds
            halves = [(middle + 1, end), (start, middle)]
            ranges.extend(reversed(halves) if backwards else halves)
    return None
