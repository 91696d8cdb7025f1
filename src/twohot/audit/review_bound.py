"""An upper bound on the labels that are still wrong, valid at every moment of a review.

A reviewer looks at rows one after another. Most rows are chosen, most suspicious first; others are
drawn at random from all rows that are left. Only random rows bound how many wrong labels remain.

Conventions
-----------
W of the N labels are wrong. At any moment, `left` rows have not been reviewed, and the reviewer has
found `found` wrong labels. A *look* is the review of one row. A look is *chosen* if a rule that
uses only past looks selected its row. A look is *random* if its row was drawn uniformly from all
`left` rows. X = 1 if the label of the row is wrong, else 0.

Theorem 3 (remaining wrong labels)
----------------------------------
For an integer w let μ(w) = (w - found) / left just before a random look, and

    L(w) = Π over random looks of μ(w)^X (1 - μ(w))^(1 - X),
    e(w) = Σ_k v_k L(w - g_k) / L(w)

for fixed gaps g_k > 0 and weights v_k that sum to one. With probability at least 1 - α,
e(W) < 1 / α at all times at once. Call w possible if e(w) < 1 / α so far, and let `best` be the
largest possible w. Then at most best - found wrong labels remain, whenever the reviewer stops.

Proof. Let W = w. Then X = 1 has probability μ(w) at each random look, whatever was chosen before:
chosen looks and their outcomes are functions of the past. So each factor of a ratio has
conditional mean at most 1. It is less than 1 once w - g_k is impossible and has likelihood 0. So
e(w) is a non-negative supermartingale that starts at 1. By Ville's inequality, it ever reaches
1 / α with probability at most α. ∎

A seeded permutation of all rows gives the random rows: take the next row that was not reviewed.
Only the seed is stored.

Theorem 4 (least number of looks)
---------------------------------
Let a procedure be valid at level α. Apply it to T rows without wrong labels, and let it claim "at
most b wrong labels remain" after s looks. Then

    binom(T - s, b + 1) / binom(T, b + 1) ≤ α,   about s ≥ T (1 - α^(1 / (b + 1))).

Proof. Make the labels of b + 1 random rows wrong. Unless the procedure looks at one of these rows,
it makes the same claim, which is now false. ∎

Verdicts
--------
The theorems hold for the verdicts of the reviewer. A row without a clear verdict counts as a wrong
label that remains. A verdict must depend on its row alone, so the review page shows neither which
looks are random nor the scores. Each row that is shown must get a verdict before the next row.
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

# Gaps of theorem 3 as multiples of the target, with their weights. The total w - target gives the
# strongest evidence against w; the gaps of 2 and 8 targets help while many wrong labels remain.
GAPS = np.array([1.0, 0.75, 0.5, 2.0, 8.0])
GAP_WEIGHTS = np.array([0.4, 0.3, 0.2, 0.06, 0.04])
LARGEST_EXPONENT = 700.0  # above it, exp overflows; 1 / α is reached long before
# The review switches to random rows when fewer than LEAST_WRONG of the last WINDOW rows of the list
# had wrong labels. After a random row with a wrong label, RETURN_ROWS rows of the list follow.
WINDOW, LEAST_WRONG, RETURN_ROWS = 50, 5, 100


class Remaining:
    """An upper bound on the number of labels that are still wrong (theorem 3), updated per look.

    Parameters
    ----------
    n_rows : int
        Number of rows with a label.
    target : int
        Number of wrong labels that may remain. The bound is valid for any target, and reaches this
        one fastest.
    alpha : float
        Largest probability that the bound is ever too small.

    Attributes
    ----------
    left, found, unsure : int
        Number of rows that were not reviewed, of wrong labels that were found, and of rows without
        a clear verdict. `found` includes `unsure`.

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
        large = GAPS * target >= 1
        self._gaps = np.rint(GAPS[large] * target).astype(int)
        self._weights = GAP_WEIGHTS[large] / GAP_WEIGHTS[large].sum()
        # log L(w) for w = found, …, best, where best ≤ found + left. Smaller totals are impossible;
        # larger ones are impossible or ruled out.
        self._log_likelihood = np.zeros(n_rows + 1)

    @property
    def bound(self) -> int:
        """Upper bound on wrong labels among rows not reviewed or without a clear verdict."""
        return len(self._log_likelihood) - 1 + self.unsure

    def look(self, verdict: Verdict, *, is_random: bool) -> None:
        """Update the bound with the verdict on one more row.

        Parameters
        ----------
        verdict : {"right", "wrong", "unsure"}
            Verdict on the given label. A wrong label is repaired, or its row is excluded.
        is_random : bool
            Whether the row was drawn uniformly from all rows that were left.
        """
        check_choice("verdict", verdict, get_args(Verdict))
        if not self.left:
            raise ArgumentError("", "every row was reviewed", "stop: the bound is exact.")
        is_wrong = verdict != "right"
        if is_random:
            mu = np.arange(len(self._log_likelihood)) / self.left  # μ(w) for w = found, …, best
            with np.errstate(divide="ignore"):  # impossible totals are cut off below
                self._log_likelihood += np.log(mu) if is_wrong else np.log1p(-mu)
        self.left -= 1
        self.found += is_wrong
        self.unsure += verdict == "unsure"
        totals = self._log_likelihood[int(is_wrong) :][: self.left + 1]
        if not len(totals):
            # More wrong labels were found than the bound allowed, with probability α: start again.
            totals = np.zeros(self.left + 1)
        elif is_random:
            possible = np.flatnonzero(self._evidence(totals) < 1 / self.alpha)
            totals = totals[: possible[-1] + 1]  # the smallest total is always possible
        self._log_likelihood = totals

    def _evidence(self, log_likelihood: FloatArray) -> FloatArray:
        """Return e(w) for consecutive possible totals."""
        evidence = np.zeros(len(log_likelihood))
        for gap, weight in zip(self._gaps, self._weights, strict=True):
            ratio = log_likelihood[:-gap] - log_likelihood[gap:]
            evidence[gap:] += weight * np.exp(np.minimum(ratio, LARGEST_EXPONENT))
        return evidence

    def looks_needed(self, target: int) -> int:
        """Return how many more random looks, all at right labels, lower the bound to a target.

        Raises
        ------
        ArgumentError
            If the rows without a clear verdict exceed the target.
        """
        if target < self.unsure:
            problem = f"is less than the {counted(self.unsure, 'row')} without a clear verdict"
            raise ArgumentError({"target": target}, problem, "decide these rows.")
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
    """Return the least number above `low` for which a condition holds, by bisection.

    The condition holds at `high`, and at every number above one for which it holds.
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def fewest_looks(n_rows: int, target: int, *, alpha: float = 0.05) -> int:
    """Return how many looks any valid procedure needs to claim a target (theorem 4).

    Examples
    --------
    >>> fewest_looks(8_000, target=100)
    233
    """

    def log_ways(n: int) -> float:  # log binom(n, target + 1), up to a constant
        return float(_log_factorial(n) - _log_factorial(n - target - 1))

    all_ways, log_alpha = log_ways(n_rows), math.log(alpha)
    # After n_rows - target looks, fewer than target + 1 rows are left.
    return _least(lambda n: log_ways(n_rows - n) - all_ways <= log_alpha, 0, n_rows - target)


# A review with a stopping rule --------------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    """One decision of a review: a row, how the row was selected, and the verdict on its label."""

    row: int
    is_random: bool  # drawn from all rows that were left; else the next row of the list
    verdict: Verdict


class CertifiedReview:
    """A review with a stopping rule: it selects the next row and bounds the remaining wrong labels.

    The review starts with a list of all rows, most suspicious rows first. When less than 10 % of
    the last 50 rows of the list had wrong labels, the next rows are drawn at random from all rows
    that are left. After a random row with a wrong label, 100 more rows of the list follow.

    Parameters
    ----------
    doubt : array of shape (n_rows,)
        Scores; larger is more suspicious. NaN for rows without a label, which are not reviewed. The
        scores must not change during the review.
    until : float
        Fraction of the labels that may stay wrong.
    seed : int
        Seed of the random rows.
    alpha : float
        Largest probability that the bound is ever too small.

    Attributes
    ----------
    target : int
        Number of labels that may stay wrong.
    looks : list of Look
        All decisions in order. Together with the seed and the scores, they are the certificate.
    corrected : CorrectedBound or None
        The bound corrected for reviewer errors, if some rows were shown a second time.

    Examples
    --------
    >>> review = CertifiedReview(np.linspace(1, 0, 1_000), until=0.02)
    >>> while review.bound > review.target:
    ...     review.decide("wrong" if review.next().row < 100 else "right")
    >>> len(review.looks), review.bound
    (285, 19)
    >>> print(review)
    At most 19 of 1000 labels (1.90%) are still wrong (95% confidence); 2% is reached.

    To save a certificate.json, create the review with `twohot.audit.review_of` and pass it to
    `twohot.audit.write_review_certificate`.
    """

    def __init__(
        self, doubt: FloatArray, *, until: float, seed: int = 0, alpha: float = 0.05
    ) -> None:
        by_doubt = doubt_order(np.asarray(doubt))
        self._n_labels = len(by_doubt)
        check_within("until", until, 0, 1)
        # Computed from the decimal text: in floating point, 0.29 * 100 is less than 29.
        self.target = math.floor(Fraction(str(float(until))) * self._n_labels)
        if self.target < 1:
            problem = f"is less than one of {counted(self._n_labels, 'label')}"
            advice = "review every row, or pass a share of at least 1 / n_labels."
            raise ArgumentError({"until": until}, problem, advice)
        # The order of rows from the list (False), and of random rows (True).
        self._orders = {False: by_doubt, True: seeded_order(by_doubt, check_seed(seed))}
        self.until, self.seed, self.alpha = until, seed, alpha
        self.corrected: CorrectedBound | None = None
        self._restart(len(doubt))

    def _restart(self, n_rows: int) -> None:
        self.looks: list[Look] = []
        self.remaining = Remaining(self._n_labels, self.target, alpha=self.alpha)
        self._reviewed = np.zeros(n_rows, dtype=bool)
        self._places = {False: 0, True: 0}  # in each order, the rows before this were reviewed
        self._recent: list[bool] = []  # whether the last rows of the list had wrong labels
        self._returns = 0  # rows of the list still to review after a random wrong label

    @property
    def bound(self) -> int:
        """Upper bound on the labels that are still wrong; see `Remaining`."""
        return self.remaining.bound

    def __str__(self) -> str:
        """Return the bound, and at least how many more decisions the target needs, as text."""
        if self.remaining.left and not any(look.is_random for look in self.looks):
            return "No bound yet: no random row was reviewed."
        labels = counted(self._n_labels, "label")
        said = (
            f"At most {self.bound} of {labels} ({self.bound / self._n_labels:.2%}) are "
            f"still wrong ({1 - self.alpha:.0%} confidence); "
        )
        if self.bound <= self.target:
            return said + f"{100 * self.until:.4g}% is reached."
        if self.remaining.unsure > self.target:
            n_unsure = f"{counted(self.remaining.unsure, 'row')} without a clear verdict"
            return said + f"{n_unsure} are more than {100 * self.until:.4g}%."
        n_more = self.remaining.looks_needed(self.target)
        return said + f"at least {n_more} more decisions for {100 * self.until:.4g}%."

    def next(self) -> Look:
        """Return the next row to review, as a `Look` with the preliminary verdict "unsure"."""
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
        """Add the decisions of a log.

        Raises
        ------
        ArgumentError
            If the log has other rows than this review selects. The log is then from another audit
            or seed, or a line was removed or changed.
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


# Correction for reviewer errors -------------------------------------------------------------------


@dataclass(frozen=True)
class SecondLooks:
    """Results of showing a random sample of the rows with one verdict a second time."""

    n_rows: int  # rows with this verdict
    n_again: int  # rows of the sample, shown a second time
    n_differ: int  # rows of the sample whose second verdict differs from the first


@dataclass(frozen=True)
class CorrectedBound:
    """A bound on wrong labels, corrected for a reviewer with one error rate for all rows."""

    bound: int  # wrong labels: not reviewed, kept by mistake, or repaired by mistake
    error_rate: float  # upper bound on the error rate of one look
    disagreement: float  # estimated fraction of rows whose second verdict would differ


def corrected_bound(
    bound: int, kept: SecondLooks, repaired: SecondLooks, *, alpha: float = 0.005
) -> CorrectedBound:
    """Return the bound of a review, corrected for reviewer errors that second looks show.

    The correction adds bounds on the errors among kept labels and among repaired labels. It assumes
    that every look errs with the same probability ε < 1/2, and that two looks at a row err
    independently. Then two looks disagree with probability 2 ε (1 - ε) ≥ ε, and the reviewer
    finds a wrong label with probability 1 - ε. The fractions of kept and of repaired labels that
    are shown again may differ: both kinds are weighted by their number of labels.

    Parameters
    ----------
    bound : int
        Bound of `Remaining`. Its error probability is added to those of the correction.
    kept, repaired : SecondLooks
        Second looks at labels with the verdict "right", and at repaired labels.
    alpha : float
        Error probability of each of the two bounds that are added.

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
        raise ArgumentError("", f"{problem}: half of the verdicts may be wrong", advice)
    expected = sum(each.n_rows * each.n_differ / max(each.n_again, 1) for each in (kept, repaired))
    corrected = math.ceil((bound + n_errors) / (1 - error_rate))
    return CorrectedBound(corrected, error_rate, expected / n_rows)


def rows_again(rows: IntArray, seed: int, share: float) -> IntArray:
    """Return a random sample with a fraction `share` of rows, to show again if labels are kept."""
    n_again = math.ceil(check_within("share", share, 0, 1) * len(rows))
    return seeded_order(rows, seed + 1)[:n_again]


def second_looks(
    looks: Iterable[Look], again: Mapping[int, Sequence[Verdict]], sample: IntArray
) -> tuple[SecondLooks, SecondLooks] | None:
    """Return the second looks at kept and at repaired labels; None if second looks are missing.

    `looks` are the first looks, which the bound counts. `again` maps each row that was shown again
    to its second verdict. If the second verdict differs from the first, a third verdict follows and
    decides. All repaired rows are shown again, and the rows of `sample` whose label is kept (see
    `rows_again`).

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
        problem = f"has {counted(len(others), 'row')} that needed no second look"
        raise ArgumentError("again", problem, f"pass the log as it was written ({min(others)}).")
    n_due = {row: 1 + (seen[0] != first[row]) for row, seen in again.items()}
    if any(len(again.get(row, ())) < n_due.get(row, 1) for row in due):
        return None

    def of(verdict: Verdict) -> SecondLooks:
        n_rows = list(first.values()).count(verdict)
        rows = [row for row in due if first[row] == verdict]
        return SecondLooks(n_rows, len(rows), sum(again[row][0] != verdict for row in rows))

    return of("right"), of("wrong")


def most_marked(looks: SecondLooks, alpha: float) -> int:
    """Return an upper bound, with error probability `alpha`, on rows with another second verdict.

    The bound counts the rows with this first verdict whose second verdict differs, or would.
    """
    n_rows, n_again, n_differ = looks.n_rows, looks.n_again, looks.n_differ
    for name, number, most in (("n_again", n_again, n_rows), ("n_differ", n_differ, n_again)):
        if not 0 <= number <= most:
            advice = f"pass a number from 0 to {most}."
            raise ArgumentError({name: number}, "is not allowed", advice)

    def is_excluded(n_marked: int) -> bool:
        return bool(hypergeom.cdf(n_differ, n_rows, n_marked, n_again) <= alpha)

    return _least(is_excluded, n_differ, n_rows - n_again + n_differ + 1) - 1
