"""Lists of wrong labels with a guarantee that relies only on a random draw.

A person checks a few rows, which are drawn at random from the most suspicious rows. The *verdict*
of the person on a row says whether its given label is right or wrong. The most suspicious unchecked
rows form a list of wrong labels. The verdicts determine the length of the list: on average over
random draws, at most a fraction `fdr` of the listed labels is right.

Conventions
-----------
The *pool* contains the N most suspicious rows whose suggested label differs from the given label,
in a fixed order, most suspicious first. A row is called right if its given label is right, else
wrong. The pool has N0 right and N1 wrong rows. From the pool, n rows are drawn uniformly without
replacement and checked; the other m = N - n rows stay unchecked. A threshold t selects a prefix of
the order, its first t rows, which are the rows above the threshold. They contain

    C checked right rows,   R unchecked rows,   V right rows among these R rows.

V is unknown. The false discovery proportion of the list is FDP = V / max(R, 1). Its mean over draws
is the false discovery rate, FDR. Only the draw is random. A row is right if the person says so, or
would say so. So the guarantee does not depend on duplicates, overlapping classes, errors of the
person, or the quality of the model. The order of the pool, including the order of rows with equal
scores, must be fixed before the draw. The verdict on a row must not depend on other rows.

Theorem 1 (FDR)
---------------
Let q be the chosen rate `fdr`. Take the longest prefix with m (1 + C) ≤ q (n + 1) R. Then

    E[V / max(R, 1)] ≤ q (1 - binom(N1, n + 1) / binom(N, n + 1)) ≤ q.

Proof. Let n0 of the n checked rows be right, and let m0 = N0 - n0 be the number of unchecked right
rows. Given n0, the checked right rows are a uniform subset of all right rows, independent of the
drawn wrong rows. Start with the whole pool, shorten the prefix row by row, and consider
M = V / (1 + C). The next right row that leaves the prefix is unchecked with probability
V / (V + C). Let M' be the value of M after this row has left. If C > 0,

    E[M'] = V / (V + C) · (V - 1) / (1 + C) + C / (V + C) · V / C = V / (1 + C) = M,

and E[M'] < M if C = 0 < V. So M is a supermartingale. The first time that the rule holds is a
stopping time. At this time, E[M] is at most its value at the start, where M = m0 / (n0 + 1). Since
n0 is hypergeometric,

    E[m0 / (n0 + 1)] = Σ_k binom(N0, k + 1) binom(N1, n - k) / binom(N, n)
                     = (binom(N, n + 1) - binom(N1, n + 1)) / binom(N, n),

and binom(N, n + 1) / binom(N, n) = m / (n + 1). The rule gives V / R ≤ q (n + 1) / m · V / (1 + C).
The theorem follows from the mean of both sides. ∎

Theorem 2 (every threshold at once)
-----------------------------------
Let B_c be such that, with probability at least 1 - δ, the (c + 1)-th smallest element of a uniform
n-subset of {1, …, N} is at most B_c + 1 for all c ≤ c_max at once. Then with probability at least
1 - δ, at every threshold with C ≤ c_max,

    V ≤ B_C - C,

and so V is at most the smallest value of min(R, B_C - C) among this prefix and the longer prefixes
with C ≤ c_max.
All bounds hold at once, so the threshold may be chosen after the check.

Proof. Number the right rows by their place in the order. If all rows of the pool are right, the
numbers of the checked right rows are a uniform n-subset of {1, …, N}. If N0 < N, number the right
rows first and the wrong rows after them. The numbers of the checked rows are then such a subset.
Its (c + 1)-th smallest element is the number of the (c + 1)-th checked right row, or exceeds N0 if
there is no such row. A prefix with C = c ends before the (c + 1)-th checked right row, whose number
is at most B_c + 1. So the prefix has at most B_c right rows. A longer prefix has at least as many
unchecked right rows. ∎

`right_bounds` uses B_c = max {k : P(H(k) ≤ c) > δ'}, where the hypergeometric H(k) is the number of
drawn rows among the first k rows. The level δ' of a single bound is as large as possible, such that
the probability that any of the bounds fails is at most δ. `miss_probability` computes this
probability exactly.
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

# The pool has 1.5 rows per flagged row, so that the check also covers the rows near the end of a
# list of all flagged rows. The pool has at least 2 rows per drawn row, so that at least half of the
# pool can be listed. If too few rows have a suggestion that differs from the given label, the pool
# is smaller.
POOL_PER_FLAGGED = Fraction(3, 2)
POOL_PER_CHECKED = 2
# Value of q (n + 1) R / m (see theorem 1) for which `rows_needed` plans a check. In simulations,
# the list then has 87 % of the wrong labels that the best threshold would list. With twice this
# value, it has 92 %.
EXPECTED_RESOLUTION = 3
# If there are more checked right rows above a threshold, V is only bounded by R. No useful list is
# so long, and every additional bound would make all bounds larger.
MOST_RIGHT_CHECKED = 60
# Significance level of the test for too many right rows. If it rejects, more checked rows would not
# help.
REFUTED_AT = 0.05
# Halvings of the interval of δ', on a logarithmic scale: its width is then below a relative 1e-5.
HALVINGS = 20
LARGEST_SEED = 2**53 - 2


@dataclass(frozen=True, eq=False)
class CheckDraw:
    """Rows to check, drawn at random from the most suspicious rows."""

    pool: IntArray  # (n_pool,), positions of the most suspicious rows, most suspicious first
    rows: IntArray  # (n_checked,), positions of the drawn rows, in the order of the draw
    seed: int  # seed of the draw

    @property
    def n_left(self) -> int:
        """Number of rows of the pool that are not checked."""
        return len(self.pool) - len(self.rows)

    def extended(self, n_checked: int) -> "CheckDraw":
        """Return a draw of `n_checked` rows from the same pool; the first ones are those drawn."""
        return _draw(self.pool, n_checked, self.seed)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds for every threshold: entry i is for the first i + 1 rows of the pool."""

    right_checked: IntArray  # (n_pool,), C, number of checked right rows above the threshold
    unchecked: IntArray  # (n_pool,), R, number of unchecked rows above the threshold
    most_right: IntArray  # (n_pool,), upper bound on V, the right rows among these R (theorem 2)
    confidence: float  # probability that all bounds in `most_right` hold at once

    @property
    def most_share(self) -> FloatArray:
        """(n_pool,) upper bounds on V / R, the fraction of right labels among unchecked rows."""
        return np.asarray(self.most_right / np.maximum(self.unchecked, 1))

    def longest(self, share: float) -> int:
        """Return how many rows the longest prefix with `most_share` at most `share` has, or 0."""
        allowed = np.flatnonzero((self.unchecked > 0) & (self.most_share <= share))
        return int(allowed[-1]) + 1 if len(allowed) else 0


@dataclass(frozen=True, eq=False)
class GuaranteedList:
    """A list of unchecked rows; on average over draws, at most a fraction `fdr` of it is right."""

    rows: IntArray  # (n_listed,), positions of the listed rows, most suspicious first
    found_wrong: IntArray  # positions of the checked wrong rows above the threshold of the list
    fdr: float  # false discovery rate that theorem 1 guarantees
    bounds: Bounds  # bounds for every threshold, including the threshold of this list
    reason: str  # why the list is empty, and whether more checked rows would help; else ""
    attempt: int = 1  # 1 for the first draw; 1 more for each larger draw after an empty list

    @property
    def most_right(self) -> int:
        """Upper bound on the right labels in the list, with confidence `bounds.confidence`."""
        above = np.flatnonzero(self.bounds.unchecked == len(self.rows))
        return int(self.bounds.most_right[above[0]]) if len(self.rows) else 0

    # Certificates contain this text. If it changes, certificates of earlier versions are rejected.
    def __str__(self) -> str:
        together = ""
        if self.attempt > 1:
            # The rates of this attempt and of earlier attempts are fdr, 2 fdr, 4 fdr and so on.
            rate, most = (f"{100 * times * self.fdr:.4g}%" for times in (1, 2**self.attempt - 1))
            this = f"Attempt {self.attempt} has a false discovery rate of at most {rate}"
            together = f" {this}; the lists of all attempts together have at most {most}."
        if self.reason:
            return f"No list: {self.reason}{together}"
        n_listed, confidence = len(self.rows), f"{self.bounds.confidence:.0%} confidence"
        return (
            f"{counted(n_listed, 'label')} listed as wrong. On average over random draws, at most "
            f"{100 * self.fdr:g}% of the listed labels are right (false discovery rate). With "
            f"{confidence}, at most {self.most_right} of these {n_listed} labels are "
            f"right.{together}"
        )


# The draw -----------------------------------------------------------------------------------------


def listable_doubt(label_quality: FloatArray, given: IntArray, suggested: IntArray) -> FloatArray:
    """Return scores for `draw_check`: NaN if a row has no label, or its label is the suggestion."""
    return np.where(suggested == given, np.nan, -label_quality)


def doubt_order(doubt: FloatArray) -> IntArray:
    """Return the positions of the scores that are not NaN, largest score first.

    Rows with equal scores stay in their order.

    Examples
    --------
    >>> doubt_order(np.array([0.1, np.nan, 0.7, 0.1]))
    array([2, 0, 3])
    """
    order = np.argsort(-doubt, kind="stable")
    return np.asarray(order[~np.isnan(doubt[order])])


def seeded_order(rows: IntArray, seed: int) -> IntArray:
    """Return `rows` in a pseudo-random order that other programming languages can reproduce.

    The rows are sorted by keys. The key of the row at position r is the r-th output of the
    generator SplitMix64, started with the seed.
    """
    golden = np.uint64(0x9E37_79B9_7F4A_7C15)
    start = _mixed(np.array([seed + 1], dtype=np.uint64) * golden)
    keys = start + (rows.astype(np.uint64) + np.uint64(1)) * golden
    return np.asarray(rows[np.lexsort((rows, _mixed(keys)))])


def check_seed(seed: int) -> int:
    """Return the seed; raise if seed + 2 exceeds 2^53. A browser has no larger exact integers."""
    if check_count("seed", seed, 0) > LARGEST_SEED:
        problem = "is larger than the integers that a browser computes exactly"
        raise ArgumentError({"seed": seed}, problem, f"pass an integer of at most {LARGEST_SEED}.")
    return int(seed)


def _mixed(state: IntArray) -> IntArray:
    """Return the outputs of the generator SplitMix64 for given states; products are modulo 2^64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return np.asarray(state ^ (state >> np.uint64(31)))


def draw_check(doubt: FloatArray, n_flagged: int, n_checked: int, *, seed: int = 0) -> CheckDraw:
    """Draw `n_checked` rows to check, uniformly from a pool of the most suspicious rows.

    `doubt` (n_rows,) has one score per row: larger is more suspicious, and NaN means that the row
    cannot be listed (see `listable_doubt`). The pool has 1.5 rows per flagged row, or 2 rows per
    row to check if that is more. If too few rows have a score, the pool has all rows with a score.
    A second draw with another seed voids the guarantee of both draws.
    """
    check_count("n_flagged", n_flagged, 0)
    check_count("n_checked", n_checked, 1)
    order = doubt_order(doubt)
    n_pool = max(math.ceil(POOL_PER_FLAGGED * n_flagged), POOL_PER_CHECKED * n_checked)
    return _draw(order[:n_pool], n_checked, seed)


def _draw(pool: IntArray, n_checked: int, seed: int) -> CheckDraw:
    check_seed(seed)
    if n_checked >= len(pool):
        pool_rows = counted(len(pool), "most suspicious row")
        problem = f"leaves nothing to list, because the rows are drawn from the {pool_rows}"
        advice = f"pass at most {len(pool) - 1}, or review these rows without a certificate."
        raise ArgumentError({"n_checked": n_checked}, problem, advice)
    return CheckDraw(pool, seeded_order(pool, seed)[:n_checked], seed)


def rows_needed(n_pool: int, fdr: float, list_size: int) -> int:
    """Return how many rows of a pool a person should check to certify a list of a given length.

    In simulations, the list then has most of the wrong labels that it can have (see
    EXPECTED_RESOLUTION). With a third of this number, a list of this length can only be certified
    if no checked row above its threshold is right.
    """
    check_count("n_pool", n_pool, 1)
    least = n_pool / (_level(fdr) * check_count("list_size", list_size, 1))
    return math.ceil(EXPECTED_RESOLUTION * least)


def smallest_list(n_pool: int, n_checked: int, fdr: float) -> int:
    """Return the length of the shortest list that `n_checked` rows can certify."""
    return math.ceil((n_pool - n_checked) / (_level(fdr) * (n_checked + 1)))


def _level(fdr: float) -> Fraction:
    """Return the false discovery rate as an exact fraction, to avoid rounding."""
    # With a larger denominator, products of integers would not fit in 64 bits.
    level = Fraction(str(float(check_within("fdr", fdr, 0, 1)))).limit_denominator(10**6)
    if level in (0, 1):
        advice = "pass a number of at least 1e-6 and less than 1, such as 0.1."
        raise ArgumentError({"fdr": fdr}, "is not allowed", advice)
    return level


# The list -----------------------------------------------------------------------------------------


def certify(
    draw: CheckDraw, wrong: BoolArray, fdr: float, *, attempt: int = 1, confidence: float = 0.95
) -> GuaranteedList:
    """Return the longest list of unchecked rows that a check can certify (theorem 1).

    `wrong` (n_checked,) is a mask: whether the given label of each row in `draw.rows` is wrong.
    Pass False for a row without a clear verdict. If you leave such rows out, the guarantee is void.
    `fdr` is the false discovery rate of the first attempt; choose it before the check. `attempt` is
    1 for the first draw and 1 more for each larger draw (see `attempt_level`). `confidence` is the
    probability that all bounds of this draw hold at once (theorem 2).

    Examples
    --------
    >>> draw = draw_check(np.linspace(1, 0, 600), n_flagged=200, n_checked=45)
    >>> print(certify(draw, draw.rows < 180, fdr=0.1))
    203 labels listed as wrong. On average over random draws, at most 10% of the listed labels are
    right (false discovery rate). With 95% confidence, at most 52 of these 203 labels are right.
    >>> print(certify(draw, draw.rows % 2 == 0, fdr=0.1).reason)
    with 45 checked rows, a list needs at least 56 labels; but 19 of the 40 checked labels among the
    273 most suspicious rows are right. This is too many for a false discovery rate of 0.1: more
    checked rows would not help.
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
    """Return the reason for an empty list: too few checked rows, or too many right labels."""
    level, n = _level(fdr), len(draw.rows)
    smallest = smallest_list(len(draw.pool), n, fdr)
    if smallest > draw.n_left:
        least = math.ceil(1 / level) - 1
        return (
            f"with {counted(n, 'checked row')}, no list can have a false discovery rate of "
            f"{float(level):g}. Check at least {max(least, n + 1)} rows."
        )
    n_above = np.arange(1, len(draw.pool) + 1)
    n_checked = n_above - bounds.unchecked
    # Of the prefixes that are long enough, take the one with the smallest fraction of right rows
    # among its checked rows.
    share = np.where(n_checked > 0, bounds.right_checked / np.maximum(n_checked, 1), 1.0)
    share[bounds.unchecked < smallest] = np.inf
    best = int(share.argmin())
    said = (
        f"with {counted(n, 'checked row')}, a list needs at least {counted(smallest, 'label')}; "
        f"but {int(bounds.right_checked[best])} of the {n_checked[best]} checked labels among the "
        f"{n_above[best]} most suspicious rows are right. "
    )
    if binom.sf(bounds.right_checked[best] - 1, n_checked[best], float(level)) <= REFUTED_AT:
        rate = f"a false discovery rate of {float(level):g}"
        return said + f"This is too many for {rate}: more checked rows would not help."
    # For this prefix, C + 1 ≈ 1 + n · share · prefix / pool. The rule of theorem 1 compares this
    # with q n · prefix / pool.
    excess = max(float(level) - share[best], float(level) / EXPECTED_RESOLUTION)
    more = math.ceil(len(draw.pool) / n_above[best] / excess)
    return said + f"Check about {max(more, n + 1)} rows in total."


def attempt_level(fdr: float, attempt: int) -> float:
    """Return the false discovery rate of an attempt, after smaller draws gave empty lists.

    Theorem 1 holds for a fixed number of checked rows. If a check is extended until it gives a
    list, this number is not fixed. So the k-th attempt uses the rate fdr / 2^(k-1). By a union
    bound, the lists of the first k attempts together have an FDR of at most (2 - 2^(1-k)) fdr.

    Examples
    --------
    >>> attempt_level(0.1, 1), attempt_level(0.1, 2)
    (0.1, 0.05)
    """
    _level(fdr)  # raises if the rate is not allowed
    return fdr * 0.5 ** (check_count("attempt", attempt, 1) - 1)


# Bounds for every threshold -----------------------------------------------------------------------


def fdp_bounds(draw: CheckDraw, wrong: BoolArray, *, confidence: float = 0.95) -> Bounds:
    """Return upper bounds on the number of right labels, for all thresholds at once (theorem 2)."""
    wrong = np.asarray(wrong)
    if wrong.shape != draw.rows.shape or wrong.dtype != np.bool_:
        problem = f"has dtype {wrong.dtype} and shape {wrong.shape}"
        advice = f"pass an array with one True or False per drawn row ({len(draw.rows)} in total)."
        raise ArgumentError("wrong", problem, advice)
    right_checked = np.cumsum(np.isin(draw.pool, draw.rows[~wrong]), dtype=np.intp)
    unchecked = np.cumsum(~np.isin(draw.pool, draw.rows), dtype=np.intp)
    least = right_bounds(len(draw.pool), len(draw.rows), confidence=confidence)
    is_bounded = right_checked < len(least)
    above = least[np.minimum(right_checked, len(least) - 1)] - right_checked
    most_right = np.where(is_bounded, np.minimum(above, unchecked), unchecked)
    # A longer prefix has at least as many right labels, so its bound holds for shorter prefixes.
    most_right = np.minimum.accumulate(most_right[::-1])[::-1]
    return Bounds(right_checked, unchecked, most_right, confidence)


@lru_cache
def right_bounds(n_pool: int, n_checked: int, *, confidence: float = 0.95) -> IntArray:
    """Return the bounds B of theorem 2, of shape (min(n_checked, MOST_RIGHT_CHECKED + 1),).

    If c checked rows above a threshold are right, at most B[c] of all rows above it are right.
    """
    delta = 1 - check_within("confidence", confidence, 0, 1)
    if not 0 < delta < 1:
        advice = "pass a number between 0 and 1, such as 0.95."
        raise ArgumentError({"confidence": confidence}, "is not allowed", advice)
    n_bounds = min(n_checked, MOST_RIGHT_CHECKED + 1)
    # At the level δ / n_bounds, some bound fails with probability at most δ, by a union bound.
    low, high = delta / n_bounds, delta
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        missed = miss_probability(n_pool, n_checked, _local_bounds(n_pool, n_checked, middle))
        low, high = (middle, high) if missed <= delta else (low, middle)
    bounds = _local_bounds(n_pool, n_checked, low)
    bounds.flags.writeable = False  # the cache returns the same array to every caller
    return bounds


def _local_bounds(n_pool: int, n_checked: int, level: float) -> IntArray:
    """Return max {k : P(H(k) ≤ c) > level} for c = 0, 1, …, by bisection: P decreases with k."""
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
    """Return the probability that any bound of theorem 2 fails: H(B_c + 1) ≤ c for some c."""
    counts = np.arange(
        len(bounds)
    )  # possible numbers of drawn rows so far; with more, no bound fails
    probability = (counts == 0).astype(float)  # of each number, and of no failure so far
    missed, at = 0.0, 0
    for c, to in enumerate(bounds + 1):
        # If j of the first `at` rows are drawn, x of the rows from `at` to `to` are drawn with
        # probability C(to - at, x) C(N - to, n - j - x) / C(N - at, n - j), where C is a binomial
        # coefficient. The three factors below are indexed by x, by j + x and by j.
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
    """Return the logarithms of binomial coefficients; -inf if a coefficient is 0."""
    total, chosen = np.broadcast_arrays(total, chosen)
    is_possible = (chosen >= 0) & (chosen <= total)
    chosen = np.where(is_possible, chosen, 0)
    logarithm = gammaln(total + 1.0) - gammaln(chosen + 1.0) - gammaln(total - chosen + 1.0)
    return np.asarray(np.where(is_possible, logarithm, -np.inf))
