"""An upper bound on the number of labels that are still wrong, valid at every time of a review.

A reviewer looks at rows one after another, and gives a *verdict* on the given label of each row:
right, wrong or unsure. Most rows come from a *list* of all rows, most suspicious first. Other rows
are drawn at random from all rows that were not reviewed yet. The bound uses only the random rows.

Conventions
-----------
W of the N labels are wrong. At any time of the review, let `left` be the number of rows that were
not reviewed yet, and `found` the number of wrong labels that the reviewer has found. A *look* is
the review of one row. A look is *chosen* if a rule that uses only past looks selected its row. A
look is *random* if its row was drawn uniformly from all rows that were not reviewed yet. X = 1 if
the label of the row is wrong, else 0.

Theorem 3 (remaining wrong labels)
----------------------------------
For an integer w, a possible value of W, let μ(w) = (w - found) / left just before a random look,
and

    L(w) = Π over random looks of μ(w)^X (1 - μ(w))^(1 - X),
    e(w) = Σ_k v_k L(w - g_k) / L(w)

for fixed gaps g_k > 0 and weights v_k that sum to one. With probability at least 1 - α,
e(W) < 1 / α during the whole review. Call w possible if e(w) was below 1 / α so far, and let `best`
be the largest possible w. Then, with this probability, at most best - found wrong labels remain,
whenever the reviewer stops.

Proof. Let W = w. Then X = 1 has probability μ(w) at each random look, whatever was chosen before,
because chosen looks and their outcomes are functions of the past. So each random look multiplies
L(w - g_k) / L(w) by a factor of conditional mean at most 1. (The mean is less than 1 if w - g_k is
impossible, because its likelihood is then 0.) So e(w) is a non-negative supermartingale that starts
at 1. By Ville's inequality, the probability that it ever reaches 1 / α is at most α. ∎

The random rows come from a permutation of all rows, which is computed from a seed. The next random
row is the first row of the permutation that was not reviewed yet. So only the seed is stored.

Theorem 4 (least number of looks)
---------------------------------
A procedure is valid at level α if its claim is false with probability at most α, for any labels.
Apply such a procedure to T rows without wrong labels, and let it claim "at most b wrong labels
remain" after s looks. Then

    binom(T - s, b + 1) / binom(T, b + 1) ≤ α,   about s ≥ T (1 - α^(1 / (b + 1))).

Proof. Make the labels of b + 1 random rows wrong. If the procedure looks at none of these rows, it
makes the same claim, which is now false. The left side of the inequality is the probability that it
looks at none of them. ∎

Verdicts
--------
In the theorems, a label is wrong if the reviewer says so, or would say so. The verdict "unsure"
counts as a wrong label that remains. The verdict on a row must not depend on other rows, so the
review page shows neither the scores nor which looks are random. Each row must get a verdict before
the next row is shown.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
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

Verdict = Literal["right", "wrong", "unsure"]  # verdicts on a given label

# Gaps g_k of theorem 3 as multiples of the target, and their weights v_k. Near the target, the gap
# of 1 target gives the strongest evidence against w. The gaps of 2 and 8 targets help while many
# wrong labels remain.
GAPS = np.array([1.0, 0.75, 0.5, 2.0, 8.0])
GAP_WEIGHTS = np.array([0.4, 0.3, 0.2, 0.06, 0.04])
LARGEST_EXPONENT = 700.0  # exp overflows above it; e(w) exceeds 1 / α for much smaller exponents
# The review switches to random rows when fewer than LEAST_WRONG of the last WINDOW rows of the list
# had wrong labels. After a random row with a wrong label, the next RETURN_ROWS rows come from the
# list.
WINDOW, LEAST_WRONG, RETURN_ROWS = 50, 5, 100


class Remaining:
    """An upper bound on the number of labels that are still wrong (theorem 3).

    It is updated after each look, that is, after the review of each row.

    Parameters
    ----------
    n_rows : int
        Number of rows with a label.
    target : int
        Number of wrong labels that may remain. The bound is valid whatever the target is, but it is
        tuned to reach this number with few looks.
    alpha : float
        Error probability. The probability that the bound is too small at any time is at most alpha.

    Attributes
    ----------
    left : int
        Number of rows that were not reviewed yet.
    found : int
        Number of rows with the verdict "wrong" or "unsure".
    unsure : int
        Number of rows with the verdict "unsure".

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
            raise ArgumentError({"alpha": alpha}, "is not allowed", "pass a number such as 0.05.")
        self.alpha = alpha
        self.found = self.unsure = 0
        large = GAPS * target >= 1
        self._gaps = np.rint(GAPS[large] * target).astype(int)
        self._weights = GAP_WEIGHTS[large] / GAP_WEIGHTS[large].sum()
        # log L(w) for w = found, …, best, where best ≤ found + left. Smaller w are impossible.
        # Larger w are impossible or excluded by theorem 3.
        self._log_likelihood = np.zeros(n_rows + 1)

    @property
    def bound(self) -> int:
        """Upper bound on wrong labels among rows without a verdict or with the verdict "unsure"."""
        return len(self._log_likelihood) - 1 + self.unsure

    def look(self, verdict: Verdict, *, is_random: bool) -> None:
        """Update the bound with the verdict on one more row.

        Parameters
        ----------
        verdict : {"right", "wrong", "unsure"}
            Verdict on the given label. If it is "wrong", the bound assumes that you correct the
            label or exclude the row.
        is_random : bool
            Whether the row was drawn uniformly from all rows that were not reviewed yet.
        """
        check_choice("verdict", verdict, get_args(Verdict))
        if not self.left:
            raise ArgumentError("", "every row was reviewed", "stop, because the bound is exact.")
        is_wrong = verdict != "right"
        if is_random:
            mu = np.arange(len(self._log_likelihood)) / self.left  # μ(w) for w = found, …, best
            with np.errstate(divide="ignore"):  # impossible w have log 0, and are removed below
                self._log_likelihood += np.log(mu) if is_wrong else np.log1p(-mu)
        self.left -= 1
        self.found += is_wrong
        self.unsure += verdict == "unsure"
        totals = self._log_likelihood[int(is_wrong) :][: self.left + 1]
        if not len(totals):
            # More wrong labels were found than the bound allowed. The probability of this is at
            # most α. Start again with all w that are possible.
            totals = np.zeros(self.left + 1)
        elif is_random:
            possible = np.flatnonzero(self._evidence(totals) < 1 / self.alpha)
            totals = totals[: possible[-1] + 1]  # the smallest total is always possible
        self._log_likelihood = totals

    def _evidence(self, log_likelihood: FloatArray) -> FloatArray:
        """Return e(w) for w = found, …, best, from log L(w) for the same w."""
        evidence = np.zeros(len(log_likelihood))
        for gap, weight in zip(self._gaps, self._weights, strict=True):
            ratio = log_likelihood[:-gap] - log_likelihood[gap:]
            evidence[gap:] += weight * np.exp(np.minimum(ratio, LARGEST_EXPONENT))
        return evidence

    def looks_needed(self, target: int) -> int:
        """Return how many more random looks, all at right labels, lower the bound to `target`.

        Raises
        ------
        ArgumentError
            If more than `target` rows have the verdict "unsure".
        """
        if target < self.unsure:
            problem = f"is less than the {counted(self.unsure, 'row')} with the verdict unsure"
            advice = "give these rows the verdict right or wrong, or pass a larger target."
            raise ArgumentError({"target": target}, problem, advice)
        if self.bound <= target:
            return 0
        return _least(lambda n_right: self._bound_after(n_right) <= target, -1, self.left)

    def _bound_after(self, n_right: int) -> int:
        """Return the bound after `n_right` more random looks, all at right labels."""
        wrong = np.arange(min(len(self._log_likelihood), self.left - n_right + 1))
        # Π (1 - μ) = binom(left - wrong, n) / binom(left, n)
        more = _log_factorial(self.left - wrong) - _log_factorial(self.left - wrong - n_right)
        ruled_out = self._evidence(self._log_likelihood[: len(wrong)] + more) >= 1 / self.alpha
        return int(np.flatnonzero(~ruled_out)[-1]) + self.unsure


def _log_factorial(numbers: IntArray | int) -> FloatArray:
    return np.asarray(gammaln(numbers + 1.0))


def _least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest integer above `low` for which a condition holds, by bisection.

    The condition must hold at `high`. If it holds at an integer, it must hold at all larger ones.
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def fewest_looks(n_rows: int, target: int, *, alpha: float = 0.05) -> int:
    """Return how many looks a claim of at most `target` wrong labels needs, at least (theorem 4).

    Examples
    --------
    >>> fewest_looks(8_000, target=100)
    233
    """

    def log_ways(n: int) -> float:  # log binom(n, target + 1), up to a constant
        return float(_log_factorial(n) - _log_factorial(n - target - 1))

    all_ways, log_alpha = log_ways(n_rows), math.log(alpha)
    # After n_rows - target looks, only `target` rows are left, so the claim is true.
    return _least(lambda n: log_ways(n_rows - n) - all_ways <= log_alpha, 0, n_rows - target)


# A review with a stopping rule --------------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    """One decision of a review: a row, how the row was selected, and the verdict on its label."""

    row: int  # position in the data
    is_random: bool  # drawn from all rows that were not reviewed; else the next row of the list
    verdict: Verdict


class CertifiedReview:
    """A review with a stopping rule: it selects the next row and bounds the remaining wrong labels.

    The review starts with a list of all rows, most suspicious rows first. When less than 10 % of
    the last 50 rows of the list had wrong labels, the next rows are drawn at random from all rows
    that were not reviewed yet. After a random row with a wrong label, the next 100 rows come from
    the list.

    Parameters
    ----------
    doubt : array of shape (n_rows,)
        One score per row; larger is more suspicious. A row without a label has NaN, and is not
        reviewed. The scores must not change during the review.
    until : float
        Fraction of the labels that may stay wrong. The review can stop when the bound is at most
        this fraction.
    seed : int
        Seed of the random rows.
    alpha : float
        Error probability. The probability that the bound is too small at any time is at most alpha.

    Attributes
    ----------
    target : int
        Number of labels that may stay wrong, computed from `until`.
    looks : list of Look
        All decisions in their order. With the seed and the scores, they suffice to compute the
        bound again.
    corrected : CorrectedBound or None
        The bound, corrected for errors of the reviewer; None if too few rows were shown a second
        time.

    Examples
    --------
    >>> review = CertifiedReview(np.linspace(1, 0, 1_000), until=0.02)
    >>> while review.bound > review.target:
    ...     review.decide("wrong" if review.next().row < 100 else "right")
    >>> len(review.looks), review.bound
    (285, 19)
    >>> print(review)
    At most 19 of 1000 labels (1.90%) are still wrong (95% confidence); the target of 2% is reached.

    To save a certificate.json, create the review with `twohot.audit.review_of` and pass it to
    `twohot.audit.write_review_certificate`.
    """

    def __init__(
        self, doubt: FloatArray, *, until: float, seed: int = 0, alpha: float = 0.05
    ) -> None:
        by_doubt = doubt_order(np.asarray(doubt))
        self._n_labels = len(by_doubt)
        check_within("until", until, 0, 1)
        # The target is computed from decimal text. In floating point, 0.29 * 100 is less than 29.
        self.target = math.floor(Fraction(str(float(until))) * self._n_labels)
        if self.target < 1:
            problem = f"allows no wrong label among {counted(self._n_labels, 'label')}"
            advice = "review every row, or pass at least 1 divided by the number of labels."
            raise ArgumentError({"until": until}, problem, advice)
        # The order of the rows in the list (False), and the order of the random rows (True).
        self._orders = {False: by_doubt, True: seeded_order(by_doubt, check_seed(seed))}
        self.until, self.seed, self.alpha = until, seed, alpha
        self.corrected: CorrectedBound | None = None
        self._restart(len(doubt))

    def _restart(self, n_rows: int) -> None:
        self.looks: list[Look] = []
        self.remaining = Remaining(self._n_labels, self.target, alpha=self.alpha)
        self._reviewed = np.zeros(n_rows, dtype=bool)
        self._places = {False: 0, True: 0}  # in each order, all rows before this place are reviewed
        self._recent: list[bool] = []  # whether the last WINDOW rows of the list had wrong labels
        self._returns = 0  # number of rows of the list that follow before the next random row

    @property
    def bound(self) -> int:
        """Upper bound on the number of labels that are still wrong; see `Remaining.bound`."""
        return self.remaining.bound

    def __str__(self) -> str:
        """Return the bound as text, and the least number of further decisions to the target."""
        if self.remaining.left and not any(look.is_random for look in self.looks):
            return "No bound yet: no random row was reviewed."
        labels = counted(self._n_labels, "label")
        said = (
            f"At most {self.bound} of {labels} ({self.bound / self._n_labels:.2%}) are "
            f"still wrong ({1 - self.alpha:.0%} confidence); "
        )
        if self.bound <= self.target:
            return said + f"the target of {100 * self.until:.4g}% is reached."
        if self.remaining.unsure > self.target:
            n_unsure = counted(self.remaining.unsure, "row")
            said += f"{n_unsure} with the verdict unsure count as wrong, which is above the target"
            return said + f" of {100 * self.until:.4g}%."
        n_more = counted(self.remaining.looks_needed(self.target), "more decision")
        return said + f"it takes at least {n_more} to reach {100 * self.until:.4g}%."

    def next(self) -> Look:
        """Return the next row to review, as a `Look` whose verdict "unsure" is a placeholder."""
        if not self.remaining.left:
            raise ArgumentError("", "every row was reviewed", "stop the review.")
        is_random = not (
            self._returns or len(self._recent) < WINDOW or sum(self._recent) >= LEAST_WRONG
        )
        order = self._orders[is_random]
        while self._reviewed[order[self._places[is_random]]]:
            self._places[is_random] += 1
        return Look(int(order[self._places[is_random]]), is_random, "unsure")

    def decide(self, verdict: Verdict) -> None:
        """Add the verdict on the row that `next` returns."""
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
        """Remove the last decision."""
        earlier = self.looks[:-1]
        self._restart(len(self._reviewed))
        self.replay(earlier)

    def replay(self, looks: Iterable[Look]) -> None:
        """Add earlier decisions, in their order.

        Raises
        ------
        ArgumentError
            If the decisions are on other rows than this review selects. They are then from another
            audit or seed, or a decision was removed or changed.
        """
        for number, look in enumerate(looks, start=len(self.looks) + 1):
            if not self.remaining.left:
                n_rows = counted(number - 1, "row with a label", "rows with labels")
                problem = f"has more decisions than the dataset has rows to review: {n_rows}"
                raise ArgumentError("log", problem, "pass the decisions on this dataset.")
            expected = self.next()
            if (look.row, look.is_random) != (expected.row, expected.is_random):
                kind = {True: "drawn at random", False: "from the list"}
                problem = (
                    f"has row {look.row}, {kind[look.is_random]}, as decision {number}, but this "
                    f"review selects row {expected.row}, {kind[expected.is_random]}"
                )
                advice = "pass all decisions in their order, with their own scores and seed."
                raise ArgumentError("log", problem, advice)
            self.decide(look.verdict)


# Correction for reviewer errors -------------------------------------------------------------------


@dataclass(frozen=True)
class SecondLooks:
    """Counts of second verdicts, on a random sample of the rows that have one first verdict."""

    n_rows: int  # number of rows with this first verdict
    n_again: int  # number of rows in the sample, which were shown a second time
    n_differ: int  # number of rows in the sample whose second verdict differs from the first


@dataclass(frozen=True)
class CorrectedBound:
    """A bound on wrong labels, corrected for a reviewer whose error rate is equal for all rows."""

    bound: int  # upper bound on labels that are wrong: not reviewed, or with a wrong verdict
    error_rate: float  # upper bound on the probability that a verdict is wrong
    disagreement: float  # estimated fraction of rows whose second verdict would differ


def corrected_bound(
    bound: int, kept: SecondLooks, repaired: SecondLooks, *, alpha: float = 0.005
) -> CorrectedBound:
    """Return the bound of a review, corrected for reviewer errors that second looks show.

    A label is kept if its verdict is "right", and repaired if its verdict is "wrong". The
    correction adds two bounds: on the errors among kept labels, and among repaired labels. It
    assumes that every verdict is wrong with the same probability ε < 1/2, and that two verdicts on
    a row are independent. Then two verdicts differ with probability 2 ε (1 - ε) ≥ ε, and the
    reviewer finds a wrong label with probability 1 - ε. The two samples may contain different
    fractions of the kept and of the repaired labels.

    Parameters
    ----------
    bound : int
        The value of `Remaining.bound`. Its error probability and those of the two added bounds sum
        to the error probability of the result.
    kept, repaired : SecondLooks
        Second looks at labels with the verdict "right", and at labels with the verdict "wrong".
    alpha : float
        Error probability of each of the two added bounds.

    Examples
    --------
    >>> corrected_bound(99, SecondLooks(8_000, 150, 3), SecondLooks(500, 150, 2))
    CorrectedBound(bound=743, error_rate=0.0696..., disagreement=0.0196...)
    """
    n_rows = max(kept.n_rows + repaired.n_rows, 1)
    n_errors = most_marked(kept, alpha) + most_marked(repaired, alpha)
    error_rate = n_errors / n_rows
    if error_rate >= 0.5:
        n_differ, n_again = kept.n_differ + repaired.n_differ, kept.n_again + repaired.n_again
        problem = f"second looks differ in {n_differ} of {counted(n_again, 'row')}"
        advice = "show more rows a second time."
        raise ArgumentError("", f"{problem}, so half of all verdicts may be wrong", advice)
    expected = sum(each.n_rows * each.n_differ / max(each.n_again, 1) for each in (kept, repaired))
    corrected = math.ceil((bound + n_errors) / (1 - error_rate))
    return CorrectedBound(corrected, error_rate, expected / n_rows)


def rows_again(rows: IntArray, seed: int, share: float) -> IntArray:
    """Return a random sample of a fraction `share` of the rows, for `second_looks`."""
    n_again = math.ceil(check_within("share", share, 0, 1) * len(rows))
    return seeded_order(rows, seed + 1)[:n_again]


def second_looks(
    looks: Iterable[Look], again: Mapping[int, Sequence[Verdict]], sample: IntArray
) -> tuple[SecondLooks, SecondLooks] | None:
    """Return counts of the second looks at kept and at repaired labels; None if one is missing.

    `looks` are the first looks. `again` maps each row that was shown again to its later verdicts.
    If the second verdict differs from the first, a third verdict follows and decides. Two kinds of
    rows are shown again: all rows with the first verdict "wrong", and the rows of `sample` with the
    first verdict "right" (see `rows_again`).

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
        first_row = f"the first is row {min(others)}"
        problem = f"has {counted(len(others), 'row')} that needed no second look ({first_row})"
        raise ArgumentError("again", problem, "pass the second looks of this review, unchanged.")
    n_due = {row: 1 + (seen[0] != first[row]) for row, seen in again.items()}
    if any(len(again.get(row, ())) < n_due.get(row, 1) for row in due):
        return None

    def of(verdict: Verdict) -> SecondLooks:
        n_rows = list(first.values()).count(verdict)
        rows = [row for row in due if first[row] == verdict]
        return SecondLooks(n_rows, len(rows), sum(again[row][0] != verdict for row in rows))

    return of("right"), of("wrong")


def most_marked(looks: SecondLooks, alpha: float) -> int:
    """Return an upper bound on the rows whose second verdict differs, or would differ.

    Of all rows with the same first verdict, only a sample was shown a second time. The bound is for
    all of them. It is too small with probability at most `alpha`.
    """
    n_rows, n_again, n_differ = looks.n_rows, looks.n_again, looks.n_differ
    for name, number, most in (("n_again", n_again, n_rows), ("n_differ", n_differ, n_again)):
        if not 0 <= number <= most:
            advice = f"pass a number from 0 to {most}."
            raise ArgumentError({name: number}, "is not allowed for these rows", advice)

    def is_excluded(n_marked: int) -> bool:
        return bool(hypergeom.cdf(n_differ, n_rows, n_marked, n_again) <= alpha)

    return _least(is_excluded, n_differ, n_rows - n_again + n_differ + 1) - 1
