"""Lists of wrong labels with a guarantee that relies only on a random draw.

A person checks a few rows, drawn at random from the most suspicious ones. The unchecked rows form a
list of wrong labels, most suspicious first. The verdicts of the person determine its length: on
average over draws, at most a fraction `fdr` of the listed labels is right.

Conventions
-----------
The pool has the N most suspicious rows whose suggestion differs from the given label, in a fixed
order. N1 of their labels are wrong, the other N0 are right. From the pool, n rows are drawn
uniformly without replacement, so that m = N - n are left. A threshold t is a prefix of the order.
Above it are

    C checked right labels,   R unchecked rows,   V right labels among these R rows.

V is unknown. The false discovery proportion of the list is FDP = V / max(R, 1), and its mean over
draws is the false discovery rate, FDR. Only the draw is random. The guarantee does not depend on
duplicates, overlapping classes, errors of the reviewer, or the quality of the model. The order must
be fixed before the draw, ties included. A verdict must depend on its row alone.

Theorem 1 (FDR)
---------------
Take the longest prefix with m (1 + C) ≤ q (n + 1) R. Then

    E[V / max(R, 1)] ≤ q (1 - binom(N1, n + 1) / binom(N, n + 1)) ≤ q.

Proof. Given n0, the number of checked right labels, these are a uniform subset of the right rows,
independent of the drawn wrong rows. Let m0 = N0 - n0. Start with the whole pool, shorten the prefix
row by row, and consider M = V / (1 + C). The next right row to leave is unchecked with probability
V / (V + C). So, if C > 0,

    E[M'] = V / (V + C) · (V - 1) / (1 + C) + C / (V + C) · V / C = V / (1 + C) = M,

and E[M'] < M if C = 0 < V: M is a supermartingale. The first time that the rule holds is a stopping
time, hence E[V / (1 + C)] ≤ E[m0 / (n0 + 1)] at that time. Since n0 is hypergeometric,

    E[m0 / (n0 + 1)] = Σ_k binom(N0, k + 1) binom(N1, n - k) / binom(N, n)
                     = (binom(N, n + 1) - binom(N1, n + 1)) / binom(N, n),

and binom(N, n + 1) / binom(N, n) = m / (n + 1). The rule gives V / R ≤ q (n + 1) / m · V / (1 + C).
Take the mean of both sides. ∎

Theorem 2 (every threshold at once)
-----------------------------------
Let B_c be such that, with probability at least 1 - δ, the (c + 1)-th smallest element of a uniform
n-subset of {1, …, N} is at most B_c + 1 for all c ≤ c_max at once. Then with probability at least
1 - δ, at every threshold with C ≤ c_max,

    V ≤ B_C - C,   and so V is at most the least of min(R, B_C - C) over all longer prefixes.

The threshold and the rate may be chosen after the check.

Proof. Number the right rows by their place in the order. If they were all rows, N0 = N, the numbers
of the checked ones would be such a subset. If N0 < N, put the right rows first in a list of all
rows; then the (c + 1)-th smallest number in the list is that of the (c + 1)-th checked right row,
or exceeds N0 if there is none. Above t there are fewer than c + 1 checked right rows, so at most
B_c right rows. A longer prefix has no fewer right labels. ∎

`right_bounds` uses B_c = max {k : P(H(k) ≤ c) > δ'}, where the hypergeometric H(k) is the number of
drawn rows among the first k. The local level δ' is the largest level at which some bound fails with
probability at most δ; `miss_probability` computes this probability exactly.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import gammaln
from scipy.stats import binom

from twohot.base import (
    ArgumentError,
    BoolArray,
    FloatArray,
    IntArray,
    check_count,
    check_within,
    counted,
)

# The pool has 1.5 times as many rows as are flagged, so that the check covers the end of the list.
# It has at least twice the drawn rows, so that at least half of the pool is left to list. The pool
# is smaller if too few rows have a suggestion that differs from the given label.
POOL_PER_FLAGGED = Fraction(3, 2)
POOL_PER_CHECKED = 2
# Planned value of q (n + 1) R / m for the expected list. In simulations, the list then has 87 % of
# the wrong labels that the best threshold would list; with twice this value, 92 %.
EXPECTED_RESOLUTION = 3
# Thresholds with more checked right labels than this have no bound. No useful list is so long, and
# more bounds would make all bounds wider.
MOST_RIGHT_CHECKED = 60
# Significance level of the test that more checked rows would not help.
REFUTED_AT = 0.05
# Halvings of the interval of δ', on a logarithmic scale: its width is then below a relative 1e-5.
HALVINGS = 20
LARGEST_SEED = 2**53 - 2


@dataclass(frozen=True, eq=False)
class CheckDraw:
    """Rows to check, drawn at random from the most suspicious ones."""

    pool: IntArray  # (n_pool,), rows, most suspicious first; fixed before the draw
    rows: IntArray  # (n_checked,), drawn rows of the pool, in the order of the draw
    seed: int  # seed of the draw

    @property
    def n_left(self) -> int:
        """Number of rows of the pool that are not checked."""
        return len(self.pool) - len(self.rows)

    def extended(self, n_checked: int) -> "CheckDraw":
        """Return a larger draw from the same pool, which starts with the rows of this draw."""
        return _draw(self.pool, n_checked, self.seed)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds for every threshold: entry i is for the first i + 1 rows of the pool."""

    right_checked: IntArray  # (n_pool,), C: checked right labels above the threshold
    unchecked: IntArray  # (n_pool,), R: unchecked rows above the threshold
    most_right: IntArray  # (n_pool,), upper bound on V: right labels among these R (theorem 2)
    confidence: float  # probability that all these bounds hold at once

    @property
    def most_share(self) -> FloatArray:
        """(n_pool,) upper bound on the fraction of right labels among the unchecked rows, V / R."""
        return np.asarray(self.most_right / np.maximum(self.unchecked, 1))

    def longest(self, share: float) -> int:
        """Return the length of the longest prefix with `most_share` at most `share`, or 0."""
        allowed = np.flatnonzero((self.unchecked > 0) & (self.most_share <= share))
        return int(allowed[-1]) + 1 if len(allowed) else 0


@dataclass(frozen=True, eq=False)
class GuaranteedList:
    """Unchecked rows, of which on average over draws at most a fraction `fdr` have right labels."""

    rows: IntArray  # (n_listed,), most suspicious first
    found_wrong: IntArray  # checked rows above the threshold whose labels are wrong
    fdr: float  # false discovery rate, guaranteed by theorem 1
    bounds: Bounds  # for every threshold, including the threshold of this list
    reason: str  # why the list is empty, and whether more checked rows would help; else ""
    attempt: int = 1  # number of the draw; earlier, smaller draws gave an empty list

    @property
    def most_right(self) -> int:
        """Upper bound on the number of right labels in the list, at `bounds.confidence`."""
        above = np.flatnonzero(self.bounds.unchecked == len(self.rows))
        return int(self.bounds.most_right[above[0]]) if len(self.rows) else 0

    # Certificates contain this text: if it changes, those of earlier versions fail to verify.
    def __str__(self) -> str:
        together = ""
        if self.attempt > 1:
            # The rates of this attempt and of those before it are fdr, 2 fdr, 4 fdr and so on.
            rate, most = (f"{100 * times * self.fdr:.4g}%" for times in (1, 2**self.attempt - 1))
            this = f"Attempt {self.attempt} has a rate of {rate}"
            together = f" {this}; the lists of all attempts together have at most {most}."
        if self.reason:
            return f"No list: {self.reason}{together}"
        n_listed, confidence = len(self.rows), f"{self.bounds.confidence:.0%} confidence"
        return (
            f"{counted(n_listed, 'label')}. On average at most {100 * self.fdr:g}% of the labels "
            f"in such lists are right (FDR). In this list, at most {self.most_right} of "
            f"{n_listed} are right, with {confidence}.{together}"
        )


# The draw -----------------------------------------------------------------------------------------


def listable_doubt(label_quality: FloatArray, given: IntArray, suggested: IntArray) -> FloatArray:
    """Return scores for `draw_check`: NaN without a label, or if the suggestion is the label."""
    return np.where(suggested == given, np.nan, -label_quality)


def doubt_order(doubt: FloatArray) -> IntArray:
    """Return the rows with a score, most suspicious first; ties in the order of the rows.

    Examples
    --------
    >>> doubt_order(np.array([0.1, np.nan, 0.7, 0.1]))
    array([2, 0, 3])
    """
    order = np.argsort(-doubt, kind="stable")
    return np.asarray(order[~np.isnan(doubt[order])])


def seeded_order(rows: IntArray, seed: int) -> IntArray:
    """Return rows in a pseudo-random order that other languages can reproduce.

    Rows are sorted by keys. The key of row r is the r-th output of SplitMix64 for the seed.
    """
    golden = np.uint64(0x9E37_79B9_7F4A_7C15)
    start = _mixed(np.array([seed + 1], dtype=np.uint64) * golden)
    keys = start + (rows.astype(np.uint64) + np.uint64(1)) * golden
    return np.asarray(rows[np.lexsort((rows, _mixed(keys)))])


def check_seed(seed: int) -> int:
    """Return the seed; raise if seed + 2 exceeds 2^53, the largest exact integer in a browser."""
    if check_count("seed", seed, 0) > LARGEST_SEED:
        problem = "is too large for a browser's integers"
        raise ArgumentError({"seed": seed}, problem, f"pass an integer of at most {LARGEST_SEED}.")
    return int(seed)


def _mixed(state: IntArray) -> IntArray:
    """Return the outputs of the generator SplitMix64 for given states; products are modulo 2^64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return np.asarray(state ^ (state >> np.uint64(31)))


def draw_check(doubt: FloatArray, n_flagged: int, n_checked: int, *, seed: int = 0) -> CheckDraw:
    """Draw rows to check, uniformly from the most suspicious ones.

    `doubt` (n_rows,) has a score per row: larger is more suspicious, NaN for rows that cannot be
    listed (see `listable_doubt`). The pool has 1.5 times the flagged rows, or twice the rows to
    check if that is more, but only rows with a score. A second draw with another seed voids the
    guarantee of both draws.
    """
    check_count("n_flagged", n_flagged, 0)
    check_count("n_checked", n_checked, 1)
    order = doubt_order(doubt)
    n_pool = max(math.ceil(POOL_PER_FLAGGED * n_flagged), POOL_PER_CHECKED * n_checked)
    return _draw(order[:n_pool], n_checked, seed)


def _draw(pool: IntArray, n_checked: int, seed: int) -> CheckDraw:
    check_seed(seed)
    if n_checked >= len(pool):
        problem = f"leaves nothing of the {counted(len(pool), 'most suspicious row')} to list"
        advice = f"pass at most {len(pool) - 1}, or review these rows without a certificate."
        raise ArgumentError({"n_checked": n_checked}, problem, advice)
    return CheckDraw(pool, seeded_order(pool, seed)[:n_checked], seed)


def rows_needed(n_pool: int, fdr: float, list_size: int) -> int:
    """Return how many rows of a pool a person should check to certify a list of a given length.

    The list then has most of the wrong labels that a list can have. With a third of these rows, a
    list of this length is just possible.
    """
    check_count("n_pool", n_pool, 1)
    least = n_pool / (_level(fdr) * check_count("list_size", list_size, 1))
    return math.ceil(EXPECTED_RESOLUTION * least)


def smallest_list(n_pool: int, n_checked: int, fdr: float) -> int:
    """Return the length of the shortest list that `n_checked` rows can certify."""
    return math.ceil((n_pool - n_checked) / (_level(fdr) * (n_checked + 1)))


def _level(fdr: float) -> Fraction:
    """Return the false discovery rate as an exact fraction, to avoid rounding."""
    # Products with a larger denominator would not fit in 64 bits.
    level = Fraction(str(float(check_within("fdr", fdr, 0, 1)))).limit_denominator(10**6)
    if level in (0, 1):
        advice = "pass a number between 0 and 1, at least 1e-6."
        raise ArgumentError({"fdr": fdr}, "is not allowed", advice)
    return level


# The list -----------------------------------------------------------------------------------------


def certify(
    draw: CheckDraw, wrong: BoolArray, fdr: float, *, attempt: int = 1, confidence: float = 0.95
) -> GuaranteedList:
    """Return the longest list of unchecked rows that a check can certify (theorem 1).

    `wrong` (n_checked,) says whether the label of each of `draw.rows` is wrong. Rows without a
    clear verdict count as right; leaving them out voids the guarantee. `fdr` is the rate of the
    first attempt and is fixed before the check. `attempt` is the number of the draw (see
    `attempt_level`). `confidence` is the probability that all bounds of this draw hold (theorem 2).

    Examples
    --------
    >>> draw = draw_check(np.linspace(1, 0, 600), n_flagged=200, n_checked=45)
    >>> print(certify(draw, draw.rows < 180, fdr=0.1))
    203 labels. On average at most 10% of the labels in such lists are right (FDR). In this list,
    at most 52 of 203 are right, with 95% confidence.
    >>> print(certify(draw, draw.rows % 2 == 0, fdr=0.1).reason)
    with 45 checked rows, a list needs at least 56 labels; of 40 checked rows among the 273 most
    suspicious, 19 have right labels. This is too many for 0.1: more checked rows would not help.
    """
    bounds = fdp_bounds(draw, wrong, confidence=confidence)
    fdr = attempt_level(fdr, attempt)
    level = _level(fdr)
    holds = (bounds.unchecked > 0) & (
        draw.n_left * level.denominator * (1 + bounds.right_checked)
        <= level.numerator * (len(draw.rows) + 1) * bounds.unchecked
    )
    length = int(np.flatnonzero(holds)[-1]) + 1 if holds.any() else 0
    above = draw.pool[:length]
    return GuaranteedList(
        rows=above[~np.isin(above, draw.rows)],
        found_wrong=above[np.isin(above, draw.rows[wrong])],
        fdr=float(fdr),
        bounds=bounds,
        reason="" if length else _why_empty(draw, bounds, fdr),
        attempt=attempt,
    )


def _why_empty(draw: CheckDraw, bounds: Bounds, fdr: float) -> str:
    """Return why the list is empty: too few checked rows, or too many right labels."""
    level, n = _level(fdr), len(draw.rows)
    smallest = smallest_list(len(draw.pool), n, fdr)
    if smallest > draw.n_left:
        least = math.ceil(1 / level) - 1
        return (
            f"{counted(n, 'checked row')} cannot certify {float(level):g} for any list. "
            f"Check at least {max(least, n + 1)} rows."
        )
    n_above = np.arange(1, len(draw.pool) + 1)
    n_checked = n_above - bounds.unchecked
    # Of the prefixes that are long enough, take the one with the smallest share of right labels.
    share = np.where(n_checked > 0, bounds.right_checked / np.maximum(n_checked, 1), 1.0)
    share[bounds.unchecked < smallest] = np.inf
    best = int(share.argmin())
    said = (
        f"with {counted(n, 'checked row')}, a list needs at least {counted(smallest, 'label')}; of "
        f"{n_checked[best]} checked rows among the {n_above[best]} most suspicious, "
        f"{int(bounds.right_checked[best])} have right labels. "
    )
    if binom.sf(bounds.right_checked[best] - 1, n_checked[best], float(level)) <= REFUTED_AT:
        return said + f"This is too many for {float(level):g}: more checked rows would not help."
    # Here C + 1 ≈ 1 + n · share · prefix / pool, which the rule compares with q n · prefix / pool.
    excess = max(float(level) - share[best], float(level) / EXPECTED_RESOLUTION)
    more = math.ceil(len(draw.pool) / n_above[best] / excess)
    return said + f"Check about {max(more, n + 1)} rows."


def attempt_level(fdr: float, attempt: int) -> float:
    """Return the rate for an attempt after smaller draws gave an empty list.

    A check that is extended until it gives a list has no fixed size. So the k-th attempt uses
    fdr / 2^(k-1). By a union bound, the first k lists together have an FDR of at most
    (2 - 2^(1-k)) fdr.

    Examples
    --------
    >>> attempt_level(0.1, 1), attempt_level(0.1, 2)
    (0.1, 0.05)
    """
    _level(fdr)  # raises for a rate that no list can have
    return fdr * 0.5 ** (check_count("attempt", attempt, 1) - 1)


# Bounds for every threshold -----------------------------------------------------------------------


def fdp_bounds(draw: CheckDraw, wrong: BoolArray, *, confidence: float = 0.95) -> Bounds:
    """Return upper bounds on right labels for all thresholds at once (theorem 2)."""
    wrong = np.asarray(wrong)
    if wrong.shape != draw.rows.shape or wrong.dtype != np.bool_:
        problem = f"is {wrong.dtype} of shape {wrong.shape}"
        advice = f"pass an array of True or False for each of the {len(draw.rows)} drawn rows."
        raise ArgumentError("wrong", problem, advice)
    right_checked = np.cumsum(np.isin(draw.pool, draw.rows[~wrong]), dtype=np.intp)
    unchecked = np.cumsum(~np.isin(draw.pool, draw.rows), dtype=np.intp)
    least = right_bounds(len(draw.pool), len(draw.rows), confidence=confidence)
    is_bounded = right_checked < len(least)
    above = least[np.minimum(right_checked, len(least) - 1)] - right_checked
    most_right = np.where(is_bounded, np.minimum(above, unchecked), unchecked)
    # A longer prefix has no fewer right labels.
    most_right = np.minimum.accumulate(most_right[::-1])[::-1]
    return Bounds(right_checked, unchecked, most_right, confidence)


@lru_cache
def right_bounds(n_pool: int, n_checked: int, *, confidence: float = 0.95) -> IntArray:
    """Return B of theorem 2: with c checked right labels above, at most B[c] labels are right.

    B has shape (min(n_checked, MOST_RIGHT_CHECKED + 1),).
    """
    delta = 1 - check_within("confidence", confidence, 0, 1)
    if not 0 < delta < 1:
        advice = "pass a number between 0 and 1, such as 0.95."
        raise ArgumentError({"confidence": confidence}, "is not allowed", advice)
    n_bounds = min(n_checked, MOST_RIGHT_CHECKED + 1)
    # At δ / n_bounds the probability of a miss is at most δ by a union bound.
    low, high = delta / n_bounds, delta
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        missed = miss_probability(n_pool, n_checked, _local_bounds(n_pool, n_checked, middle))
        low, high = (middle, high) if missed <= delta else (low, middle)
    bounds = _local_bounds(n_pool, n_checked, low)
    bounds.flags.writeable = False  # the cache returns the same array to every caller
    return bounds


def _local_bounds(n_pool: int, n_checked: int, level: float) -> IntArray:
    """Return max {k : P(H(k) ≤ c) > level} for c = 0, 1, …, by bisection: P falls with k."""
    c = np.arange(min(n_checked, MOST_RIGHT_CHECKED + 1))
    low, high = c, np.full_like(c, n_pool)  # H(c) ≤ c always; H(N) = n > c
    all_draws = _log_binomial(n_pool, n_checked)
    while np.any(high - low > 1):
        k = (low + high) // 2
        ways = _log_binomial(k[:, None], c) + _log_binomial(n_pool - k[:, None], n_checked - c)
        is_above = np.tril(np.exp(ways - all_draws)).sum(axis=1) > level
        low, high = np.where(is_above, k, low), np.where(is_above, high, k)
    return low


def miss_probability(n_pool: int, n_checked: int, bounds: IntArray) -> float:
    """Return the probability that a bound of theorem 2 fails: H(B_c + 1) ≤ c for some c."""
    counts = np.arange(len(bounds))  # numbers of drawn rows so far; with more, no bound can fail
    probability = (counts == 0).astype(float)  # of each number, if no bound has failed so far
    missed, at = 0.0, 0
    for c, to in enumerate(bounds + 1):
        # P(x of the rows from `at` to `to` are drawn, after j before them) =
        # C(to - at, x) C(N - to, n - j - x) / C(N - at, n - j): vectors by x, by j + x and by j.
        new = counts[None, :] - counts[:, None]
        is_possible = (new >= 0) & (probability > 0)[:, None]
        with np.errstate(invalid="ignore"):  # inf - inf where a count is impossible
            steps = (
                _log_binomial(to - at, counts)[np.maximum(new, 0)]
                + _log_binomial(n_pool - to, n_checked - counts)[None, :]
                - _log_binomial(n_pool - at, n_checked - counts)[:, None]
            )
        probability = probability @ np.exp(np.where(is_possible, steps, -np.inf))
        missed += float(probability[: c + 1].sum())
        probability[: c + 1] = 0.0
        at = to
    return missed


def _log_binomial(total: IntArray | int, chosen: IntArray | int) -> FloatArray:
    """Return the log of binomial coefficients, -inf where a coefficient is 0."""
    total, chosen = np.broadcast_arrays(total, chosen)
    is_possible = (chosen >= 0) & (chosen <= total)
    chosen = np.where(is_possible, chosen, 0)
    logarithm = gammaln(total + 1.0) - gammaln(chosen + 1.0) - gammaln(total - chosen + 1.0)
    return np.asarray(np.where(is_possible, logarithm, -np.inf))
