"""How many labels are still wrong, during a review: a bound that holds at every moment.

A reviewer looks at rows one after another. Most are chosen, the most doubtful first; some are drawn
at random from all that are left. The random ones alone say how many wrong labels remain.

Conventions
-----------
W of the N labels are wrong. At some moment `left` rows have not been looked at, and `found` wrong
labels were found. A look is *chosen* if any rule picked its row that uses only the past, and
*random* if the row is drawn uniformly from all `left` rows. X = 1 if its label is wrong.

Theorem 3 (what remains)
------------------------
For an integer w let μ(w) = (w - found) / left just before a random look, and

    L(w) = Π over random looks of μ(w)^X (1 - μ(w))^(1 - X),
    e(w) = Σ_k v_k L(w - g_k) / L(w)

for fixed gaps g_k > 0 and weights v_k that sum to one. Then, with probability at least 1 - α, W is
at all times at once among the w with e(w) < 1 / α at all times so far. So, with `best` the least so
far of the largest such w, at most best - found wrong labels remain, whenever the reviewer stops.

Proof. If W = w, the chance of X = 1 is exactly μ(w) at each random look, whatever was chosen
before, since the order and the outcomes of chosen looks are functions of the past. Each factor of
a ratio then has conditional mean at most 1. It is less than 1 once w - g_k became impossible, from
when on its likelihood is 0. So e(w) is a non-negative supermartingale that begins at 1, and by
Ville's inequality it ever reaches 1 / α with probability at most α. ∎

A permutation of all rows that is fixed by a seed, whose rows are skipped if they were reviewed
before, is such a stream of random rows. Nothing but the seed is kept.

Theorem 4 (no method needs fewer)
---------------------------------
If a procedure is valid at level α, whatever it uses, and claims "at most b wrong labels remain"
after s looks at a set of T rows in which no label is wrong, then

    binom(T - s, b + 1) / binom(T, b + 1) ≤ α,   about s ≥ T (1 - α^(1 / (b + 1))).

Proof. Plant b + 1 wrong labels in the set at random. Unless one of them is looked at, the run is
the same and the claim is false. ∎

What a verdict is
-----------------
The theorems hold for the verdicts of the reviewer. A row that the reviewer skips, or is not sure
of, counts as wrong and as still remaining. The page must not show which looks are random, nor the
doubt: a verdict that depends on them is not a property of the row. A row that was shown must get a
verdict before the next one is shown.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from scipy.special import gammaln
from scipy.stats import hypergeom

from twohot.audit.guaranteed_list import check_seed, doubt_order, seeded_order
from twohot.base import (
    ArgumentError,
    FloatArray,
    IntArray,
    check_choice,
    check_count,
    check_within,
    counted,
)

Verdict = Literal["right", "wrong", "unsure"]  # of a given label

# Gaps of theorem 3 as multiples of the target, with their weights: most evidence against w comes
# from a count that is smaller by about the target; 2 and 8 shorten reviews in which much remains.
GAPS = np.array([1.0, 0.75, 0.5, 2.0, 8.0])
GAP_WEIGHTS = np.array([0.4, 0.3, 0.2, 0.06, 0.04])
LARGEST_EXPONENT = 700.0  # beyond, exp overflows; 1 / α is reached long before
# The review leaves the list when fewer than a share of its last rows were wrong. A wrong label
# among random rows says that the list is worth more rows.
WINDOW, LEAST_SHARE, RETURN_ROWS = 50, 0.1, 100


class Remaining:
    """An upper bound for the number of labels that are still wrong (theorem 3).

    Parameters
    ----------
    n_rows : int
        Rows with a label.
    target : int
        The number of wrong labels that may remain. It sets the gaps, and so which counts are ruled
        out fastest; the bound is valid for any target.
    alpha : float
        The bound is ever too small with at most this probability.

    Attributes
    ----------
    left, found, unsure : int
        Rows that were not looked at; labels that were found wrong; rows without a clear verdict.

    Examples
    --------
    >>> remaining = Remaining(1_000, target=10)
    >>> for _ in range(200):
    ...     remaining.look("right", is_random=True)
    >>> remaining.bound, remaining.left
    (79, 800)
    >>> remaining.looks_needed(10)
    97
    """

    def __init__(self, n_rows: int, target: int, *, alpha: float = 0.05) -> None:
        self.left = check_count("n_rows", n_rows, 1)
        self.target = check_count("target", target, 1)
        if not 0 < check_within("alpha", alpha, 0, 1) < 1:
            raise ArgumentError({"alpha": alpha}, "is not allowed", "pass e.g. 0.05.")
        self.alpha = alpha
        self.found = self.unsure = 0
        self._best = n_rows  # largest total that was never ruled out
        kept = GAPS * target >= 1
        self._gaps = np.rint(GAPS[kept] * target).astype(int)
        self._weights = GAP_WEIGHTS[kept] / GAP_WEIGHTS[kept].sum()
        # log L(w) of w = found, …, min(best, found + left). Other totals are impossible, or larger
        # than one that was ruled out; none of these needs a smaller one than found.
        self._log_likelihood = np.zeros(n_rows + 1)

    @property
    def bound(self) -> int:
        """How many labels are wrong at most, of rows not looked at or without a clear verdict."""
        return min(self._best - self.found, self.left) + self.unsure

    def look(self, verdict: Verdict, *, is_random: bool) -> None:
        """Take the verdict of one more row.

        Parameters
        ----------
        verdict : {"right", "wrong", "unsure"}
            Of its given label. A wrong one is repaired, or its row excluded.
        is_random : bool
            Whether the row was drawn uniformly from all that were left.
        """
        check_choice("verdict", verdict, get_args(Verdict))
        if not self.left:
            raise ArgumentError("", "every row was looked at", "stop: the bound is the number.")
        is_wrong = verdict != "right"
        if is_random:
            share = np.arange(len(self._log_likelihood)) / self.left  # μ(w), from w = found on
            with np.errstate(divide="ignore"):  # what becomes impossible is cut off below
                self._log_likelihood += np.log(share) if is_wrong else np.log1p(-share)
        self.left -= 1
        self.found += is_wrong
        self.unsure += verdict == "unsure"
        kept = self._log_likelihood[int(is_wrong) :][: self.left + 1]
        if not len(kept):
            # More was found than the bound allowed: the event of probability α. Start anew.
            kept = np.zeros(self.left + 1)
        elif is_random:
            possible = np.flatnonzero(self._evidence(kept) < 1 / self.alpha)
            kept = kept[: possible[-1] + 1]  # nothing speaks against the first, the least possible
        self._log_likelihood = kept
        self._best = self.found + len(kept) - 1

    def _evidence(self, log_likelihood: FloatArray) -> FloatArray:
        """Return e(w) of consecutive totals, all of them possible."""
        evidence = np.zeros(len(log_likelihood))
        for gap, weight in zip(self._gaps, self._weights, strict=True):
            ratio = log_likelihood[:-gap] - log_likelihood[gap:]
            evidence[gap:] += weight * np.exp(np.minimum(ratio, LARGEST_EXPONENT))
        return evidence

    def looks_needed(self, target: int) -> int:
        """Return how many random looks reach a target if they find no wrong label.

        Raises
        ------
        ArgumentError
            If rows without a clear verdict are more than the target.
        """
        if target < self.unsure:
            problem = f"is less than the {counted(self.unsure, 'row')} without a clear verdict"
            raise ArgumentError({"target": target}, problem, "decide these rows.")
        low, high = -1, self.left
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._bound_after(middle) <= target else (middle, high)
        return max(high, 0) if self.bound > target else 0

    def _bound_after(self, n_right: int) -> int:
        """Return the bound after some more random looks that find right labels only."""
        wrong = np.arange(min(len(self._log_likelihood), self.left - n_right + 1))
        # Π (1 - μ) = binom(left - wrong, n) / binom(left, n)
        more = _log_factorial(self.left - wrong) - _log_factorial(self.left - wrong - n_right)
        ruled_out = self._evidence(self._log_likelihood[: len(wrong)] + more) >= 1 / self.alpha
        return int(np.flatnonzero(~ruled_out)[-1]) + self.unsure


def _log_factorial(numbers: IntArray) -> FloatArray:
    return np.asarray(gammaln(numbers + 1.0))


def fewest_looks(n_rows: int, target: int, *, alpha: float = 0.05) -> int:
    """Return the looks that any valid procedure needs to claim a target (theorem 4).

    Examples
    --------
    >>> fewest_looks(8_000, target=100)
    233
    """
    low, high = 0, n_rows - target  # with so many no set of target + 1 rows is left
    planted = _log_factorial(np.array([n_rows])) - _log_factorial(np.array([n_rows - target - 1]))
    while high - low > 1:
        looks = (low + high) // 2
        rest = np.array([n_rows - looks])
        chance = _log_factorial(rest) - _log_factorial(rest - target - 1) - planted
        low, high = (low, looks) if chance[0] <= math.log(alpha) else (looks, high)
    return high


# A review: which row comes next -------------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    """One decision of a review."""

    row: int
    is_random: bool  # drawn from all rows that were left, not taken from the list
    verdict: Verdict


class CertifiedReview:
    """A review with a stopping rule: it says which row comes next, and how many remain wrong.

    The list comes first, most doubtful rows first, until fewer than 10 % of its last 50 rows were
    wrong. Then rows are drawn at random from all that are left. After a wrong label there, 100 more
    rows of the list are reviewed.

    Parameters
    ----------
    doubt : array of shape (n_rows,)
        The larger, the more doubtful; NaN for rows without a label, which are not reviewed. It must
        not change during the review.
    until : float
        Share of the labels that may stay wrong.
    seed : int
        Of the random rows.
    alpha : float
        The bound is ever too small with at most this probability.

    Attributes
    ----------
    target : int
        How many labels may stay wrong.
    looks : list of Look
        All decisions, in their order. With the seed and the doubts they are the whole certificate.
    corrected : CorrectedBound or None
        The bound for a reviewer who errs; of a certificate whose rows were shown a second time.

    Examples
    --------
    >>> review = CertifiedReview(np.linspace(1, 0, 1_000), until=0.02)
    >>> while review.bound > review.target:
    ...     review.decide("wrong" if review.next().row < 100 else "right")
    >>> len(review.looks), review.bound
    (285, 19)
    >>> print(review)
    At most 19 of 1000 labels (1.90%) are still wrong, 95% sure; 2% is reached.
    """

    def __init__(
        self, doubt: FloatArray, *, until: float, seed: int = 0, alpha: float = 0.05
    ) -> None:
        self._list = doubt_order(np.asarray(doubt))
        n_rows = len(self._list)
        check_within("until", until, 0, 1)
        # Of the decimal that was passed: 0.29 * 100 is less than 29 in floating point.
        self.target = math.floor(Fraction(str(float(until))) * n_rows)
        if self.target < 1:
            problem = f"is less than one of {counted(n_rows, 'label')}"
            advice = "review every row, or pass a share of at least 1 / n_labels."
            raise ArgumentError({"until": until}, problem, advice)
        self._drawn = seeded_order(self._list, check_seed(seed))
        self.until, self.seed, self.alpha = until, seed, alpha
        self.corrected: CorrectedBound | None = None
        self._restart(len(doubt))

    def _restart(self, n_rows: int) -> None:
        self.looks: list[Look] = []
        self.remaining = Remaining(len(self._list), self.target, alpha=self.alpha)
        self._reviewed = np.zeros(n_rows, dtype=bool)
        self._at_list = self._at_drawn = 0  # what comes before was reviewed
        self._recent: list[bool] = []  # whether the last rows of the list were wrong
        self._returns = 0  # rows of the list that a wrong label among random rows calls for

    @property
    def bound(self) -> int:
        """How many labels are still wrong at most; see `Remaining`."""
        return self.remaining.bound

    def __str__(self) -> str:
        """Return how many labels are still wrong, and how many decisions the target may take."""
        n_rows = len(self._list)
        if self.remaining.left and not any(look.is_random for look in self.looks):
            return "No bound yet: no row was drawn at random so far."
        said = (
            f"At most {self.bound} of {counted(n_rows, 'label')} ({self.bound / n_rows:.2%}) are "
            f"still wrong, {1 - self.alpha:.0%} sure; "
        )
        if self.bound <= self.target:
            return said + f"{100 * self.until:.4g}% is reached."
        if self.remaining.unsure > self.target:
            n_unsure = counted(self.remaining.unsure, "row")
            return (
                said + f"{n_unsure} without a clear verdict are more than {100 * self.until:.4g}%."
            )
        n_more = self.remaining.looks_needed(self.target)
        return said + f"at least {n_more} more decisions for {100 * self.until:.4g}%."

    def next(self) -> Look:
        """Return the row to decide next, its verdict open: "unsure"."""
        if not self.remaining.left:
            raise ArgumentError("", "every row was reviewed", "stop the review.")
        is_random = not (
            self._returns or len(self._recent) < WINDOW or sum(self._recent) >= LEAST_SHARE * WINDOW
        )
        if is_random:
            while self._reviewed[self._drawn[self._at_drawn]]:
                self._at_drawn += 1
            return Look(int(self._drawn[self._at_drawn]), is_random, "unsure")
        while self._reviewed[self._list[self._at_list]]:
            self._at_list += 1
        return Look(int(self._list[self._at_list]), is_random, "unsure")

    def decide(self, verdict: Verdict) -> None:
        """Take the verdict of the row that came next."""
        look = self.next()
        self.remaining.look(verdict, is_random=look.is_random)
        self.looks.append(Look(look.row, look.is_random, verdict))
        self._reviewed[look.row] = True
        is_wrong = verdict != "right"
        if look.is_random:
            self._returns = RETURN_ROWS if is_wrong else 0
        else:
            self._recent = [*self._recent, is_wrong][-WINDOW:]
            self._returns = max(self._returns - 1, 0)

    def undo(self) -> None:
        """Take the last decision back: all others are replayed."""
        kept = self.looks[:-1]
        self._restart(len(self._reviewed))
        self.replay(kept)

    def replay(self, looks: Iterable[Look]) -> None:
        """Take the decisions of a log, which must be those that this review asks for.

        Raises
        ------
        ArgumentError
            If the log has a gap, or rows in another order: it is of another audit or seed, or a
            line of it was removed or changed.
        """
        for number, look in enumerate(looks, start=len(self.looks) + 1):
            if not self.remaining.left:
                problem = f"has a decision {number}, and only {number - 1} rows have labels"
                raise ArgumentError("log", problem, "pass the log of this audit.")
            expected = self.next()
            if (look.row, look.is_random) != (expected.row, expected.is_random):
                kind = {True: "drawn at random", False: "of the list"}
                problem = (
                    f"has row {look.row}, {kind[look.is_random]}, as decision {number}, where row "
                    f"{expected.row}, {kind[expected.is_random]}, comes next"
                )
                advice = "pass the whole log as it was written, with its audit and seed."
                raise ArgumentError("log", problem, advice)
            self.decide(look.verdict)


# A reviewer who errs ------------------------------------------------------------------------------


@dataclass(frozen=True)
class SecondLooks:
    """Blind second looks at a uniform sample of reviewed rows that got the same verdict."""

    n_rows: int  # rows with this verdict
    n_again: int  # of them, shown a second time
    n_differ: int  # of these, judged otherwise


@dataclass(frozen=True)
class CorrectedBound:
    """A bound on labels that are wrong in truth, for a reviewer with one error rate for all."""

    bound: int  # labels that are wrong at most: not reviewed, kept by mistake, repaired by mistake
    error_rate: float  # of one look, at most
    disagreement: float  # estimated share of rows whose second look differs from the first


def corrected_bound(
    bound: int, kept: SecondLooks, repaired: SecondLooks, *, alpha: float = 0.005
) -> CorrectedBound:
    """Correct the bound of a review for errors of the reviewer, seen by second looks.

    It adds what second looks find among kept and among repaired labels. It assumes one error rate
    ε for all rows, whatever their labels and doubts, and errors of two looks that are independent
    and less frequent than 1/2. The disagreement over all reviewed rows, 2 ε (1 - ε), is then no
    less than ε, and a wrong label is seen with probability 1 - ε. The shares of the kept and of the
    repaired labels that are shown again may differ: each counts by how many such labels there are.

    Parameters
    ----------
    bound : int
        Of `Remaining`, with its own error probability.
    kept, repaired : SecondLooks
        Of labels judged right, and of labels that were repaired.
    alpha : float
        Error probability of each of the two bounds that are added.

    Examples
    --------
    >>> corrected_bound(99, SecondLooks(8_000, 150, 3), SecondLooks(500, 150, 2))
    CorrectedBound(bound=743, error_rate=0.0696..., disagreement=0.0196...)
    """
    n_rows = max(kept.n_rows + repaired.n_rows, 1)
    n_differ = most_marked(kept, alpha) + most_marked(repaired, alpha)
    error_rate = n_differ / n_rows
    if error_rate >= 0.5:
        n_seen, n_again = kept.n_differ + repaired.n_differ, kept.n_again + repaired.n_again
        problem = f"differ in {n_seen} of {counted(n_again, 'row')}: up to half of all may be wrong"
        raise ArgumentError("", f"second looks {problem}", "show more rows a second time.")
    expected = sum(each.n_rows * each.n_differ / max(each.n_again, 1) for each in (kept, repaired))
    return CorrectedBound(
        math.ceil((bound + n_differ) / (1 - error_rate)), error_rate, expected / n_rows
    )


def rows_again(rows: IntArray, seed: int, share: float) -> IntArray:
    """Return the rows that are shown a second time if their label is kept, by a seeded draw.

    Examples
    --------
    >>> rows_again(np.arange(20), seed=0, share=0.1)
    array([19,  3])
    """
    n_again = math.ceil(check_within("share", share, 0, 1) * len(rows))
    return seeded_order(rows, seed + 1)[:n_again]


def second_looks(
    looks: Iterable[Look], again: Mapping[int, Sequence[Verdict]], sample: IntArray
) -> tuple[SecondLooks, SecondLooks] | None:
    """Return what second looks say of kept and of repaired labels; None while some are due.

    Parameters
    ----------
    looks : iterable of Look
        The first looks, which the bound counts.
    again : mapping
        Of each row that was shown again, the verdicts of the second look and, where that differs
        from the first, of the third one, which decides.
    sample : array of int
        Rows that are shown again if their label is kept; see `rows_again`. All repairs are.

    Examples
    --------
    >>> looks = [Look(0, False, "wrong"), Look(3, True, "right"), Look(1, True, "right")]
    >>> second_looks(looks, {0: ["wrong"], 3: ["wrong", "right"]}, sample=np.array([3, 2]))
    (SecondLooks(n_rows=2, n_again=1, n_differ=1), SecondLooks(n_rows=1, n_again=1, n_differ=0))
    """
    first = {look.row: look.verdict for look in looks}
    sampled = set(sample.tolist())
    due = {
        row
        for row, verdict in first.items()
        if verdict == "wrong" or (verdict == "right" and row in sampled)
    }
    others = again.keys() - due
    if others:
        problem = f"has {counted(len(others), 'row')} that no second look was due for"
        raise ArgumentError("again", problem, f"pass the log as it was written ({min(others)}).")
    n_due = {row: 1 + (seen[0] != first[row]) for row, seen in again.items()}
    if any(len(again.get(row, ())) < n_due.get(row, 1) for row in due):
        return None

    def of(verdict: Verdict) -> SecondLooks:
        n_rows = sum(found == verdict for found in first.values())
        rows = [row for row in due if first[row] == verdict]
        return SecondLooks(n_rows, len(rows), sum(again[row][0] != verdict for row in rows))

    return of("right"), of("wrong")


def most_marked(looks: SecondLooks, alpha: float) -> int:
    """Return the most rows of all that may differ, given how many of a uniform sample do."""
    for name in ("n_again", "n_differ"):
        most = looks.n_rows if name == "n_again" else looks.n_again
        if not 0 <= getattr(looks, name) <= most:
            advice = f"pass a number from 0 to {most}."
            raise ArgumentError({name: getattr(looks, name)}, "is not allowed", advice)
    low, high = looks.n_differ, looks.n_rows - looks.n_again + looks.n_differ + 1
    while high - low > 1:
        middle = (low + high) // 2
        tail = hypergeom.cdf(looks.n_differ, looks.n_rows, middle, looks.n_again)
        low, high = (middle, high) if tail > alpha else (low, middle)
    return int(low)
