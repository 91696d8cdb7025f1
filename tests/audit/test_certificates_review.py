"""Theorem 3 over all outcomes of small reviews, and reviews that stop by the theorem."""

import copy
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from twohot.audit.review_bound import (
    GAP_WEIGHTS,
    GAPS,
    CertifiedReview,
    Look,
    Remaining,
    SecondLooks,
    corrected_bound,
    fewest_looks,
    most_marked,
)
from twohot.base import ArgumentError

N_SMALL = 8
# The kind of the next look, given the numbers of looks and of wrong labels found: None is a random
# look; True and False choose a row that is known to have a wrong or a right label.
CHOOSERS = {
    "random": lambda _n_looks, _found: None,
    "right ones first": lambda n_looks, _found: False if n_looks < 4 else None,
    "wrong ones first": lambda n_looks, _found: True if n_looks < 3 else None,
    "in turn": lambda n_looks, _found: (None, True, None, False)[n_looks % 4],
    "after a wrong one": lambda _n_looks, found: False if found % 2 else None,
}
VERDICTS = {True: "wrong", False: "right"}


def chance_of_a_miss(remaining, n_wrong, chooser):
    """Return the probability that the bound is below the truth now or later."""
    if remaining.bound < n_wrong:
        return 1.0
    if not remaining.left:
        return 0.0
    chances = {True: n_wrong / remaining.left, False: 1 - n_wrong / remaining.left}
    chosen = chooser(N_SMALL - remaining.left, remaining.found)
    if chosen is not None and not chances[chosen]:
        chosen = None
    if chosen is not None:
        chances = {chosen: 1.0}
    total = 0.0
    for is_wrong, chance in chances.items():
        if chance:
            after = copy.deepcopy(remaining)
            after.look(VERDICTS[is_wrong], is_random=chosen is None)
            total += chance * chance_of_a_miss(after, n_wrong - is_wrong, chooser)
    return total


@pytest.mark.parametrize("chooser", CHOOSERS.values(), ids=CHOOSERS)
@pytest.mark.parametrize(("alpha", "target"), [(0.2, 1), (0.4, 2)])
def test_the_bound_holds_at_every_moment_of_every_review(chooser, alpha, target):
    for n_wrong in range(N_SMALL + 1):
        remaining = Remaining(N_SMALL, target, alpha=alpha)
        assert chance_of_a_miss(remaining, n_wrong, chooser) <= alpha + 1e-12


def exact_best(n_rows, target, alpha, looks):
    """Return the largest total that was never ruled out, in exact fractions."""
    large = GAPS * target >= 1
    gaps = np.rint(GAPS[large] * target).astype(int).tolist()
    weights = [Fraction(v) / Fraction(GAP_WEIGHTS[large].sum()) for v in GAP_WEIGHTS[large]]
    likelihood = [Fraction(1)] * (n_rows + 1)
    left, found, best = n_rows, 0, n_rows
    for is_wrong, is_random in looks:
        if is_random:
            for w in range(n_rows + 1):
                share = min(max(Fraction(w - found, left), Fraction(0)), Fraction(1))
                likelihood[w] *= share if is_wrong else 1 - share
        left, found = left - 1, found + is_wrong
        if not is_random:
            best = min(best, found + left)
            continue
        possible = range(found, found + left + 1)
        alive = [
            w
            for w in possible
            if sum(
                weight * likelihood[w - gap]
                for gap, weight in zip(gaps, weights, strict=True)
                if w - gap in possible
            )
            < likelihood[w] / Fraction(alpha)
        ]
        best = min(best, max(alive))
    return best


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=20),
    st.integers(1, 6),
)
def test_the_bound_is_that_of_exact_arithmetic(looks, target):
    remaining = Remaining(20, target, alpha=0.125)
    for number, (is_wrong, is_random) in enumerate(looks, start=1):
        remaining.look(VERDICTS[is_wrong], is_random=is_random)
        best = exact_best(20, target, 0.125, looks[:number])
        if remaining.found > best:
            return  # more was found than the bound allowed, so `remaining` started again
        assert remaining.bound == min(best - remaining.found, remaining.left)


@given(
    st.lists(st.sampled_from(["right", "wrong", "unsure"]), max_size=40),
    st.integers(1, 8),
)
def test_the_bound_never_grows_and_ends_at_what_is_unsure(verdicts, target):
    remaining = Remaining(40, target, alpha=1e-9)  # so small that the bound never starts again
    before = remaining.bound
    for number, verdict in enumerate(verdicts):
        remaining.look(verdict, is_random=number % 3 > 0)
        assert remaining.unsure <= remaining.bound <= remaining.left + remaining.unsure
        assert remaining.bound <= before
        before = remaining.bound
    while remaining.left:
        remaining.look("right", is_random=True)
    assert remaining.bound == verdicts.count("unsure")


def test_restarts_if_more_is_found_than_the_bound_allows():
    remaining = Remaining(40, 2, alpha=0.4)
    for _ in range(30):
        remaining.look("right", is_random=True)
    assert remaining.bound < 8
    for _ in range(8):
        remaining.look("wrong", is_random=False)
    assert remaining.bound == remaining.left == 2


@pytest.mark.parametrize("n_wrong", [0, 3])
def test_the_looks_needed_are_those_that_reach_the_target(n_wrong):
    remaining = Remaining(2_000, 20)
    for number in range(150):
        remaining.look(VERDICTS[number < n_wrong], is_random=True)
    for _ in range(remaining.looks_needed(20)):
        assert remaining.bound > 20
        remaining.look("right", is_random=True)
    assert remaining.bound <= 20
    assert remaining.looks_needed(20) == 0


@pytest.mark.parametrize(("n_rows", "target"), [(20, 1), (300, 5), (8_000, 100)])
def test_no_procedure_needs_fewer_looks(n_rows, target):
    looks = fewest_looks(n_rows, target)
    ways = comb(n_rows, target + 1)
    chances = [comb(n_rows - each, target + 1) / ways for each in (looks - 1, looks)]
    assert chances[1] <= 0.05 < chances[0]
    assert Remaining(n_rows, target).looks_needed(target) >= looks


# The review --------------------------------------------------------------------------------------

DOUBT = np.linspace(1, 0, 400)
WRONG = DOUBT > 0.75
WRONG[[250, 390]] = True


def reviewed(*, until=0.02):
    review = CertifiedReview(DOUBT, until=until)
    while review.bound > review.target:
        review.decide(VERDICTS[bool(WRONG[review.next().row])])
    return review


def test_a_review_starts_with_the_list_and_returns_after_a_random_wrong_label():
    review = reviewed(until=0.01)
    kinds = [look.is_random for look in review.looks]
    first = kinds.index(True)
    in_order = [look.row for look in review.looks if not look.is_random]
    assert in_order[:first] == list(range(first))
    # 46 of the last 50 labels of the list are right.
    assert first == np.count_nonzero(DOUBT > 0.75) + 46
    wrong = [place for place, look in enumerate(review.looks) if kinds[place] and WRONG[look.row]]
    assert wrong
    assert not any(kinds[wrong[0] + 1 : wrong[0] + 101])
    assert review.bound >= np.count_nonzero(WRONG) - review.remaining.found
    rows = [look.row for look in review.looks]
    assert len(set(rows)) == len(rows)


def test_target_is_computed_from_the_decimal():
    doubt = np.linspace(1, 0, 100)
    targets = [CertifiedReview(doubt, until=share / 100).target for share in range(1, 101)]
    assert targets == list(range(1, 101))


def test_reviews_every_row_if_needed():
    review = CertifiedReview(np.array([0.1, np.nan, 0.3, 0.2]), until=0.34)
    for _ in range(3):
        review.decide("unsure")
    assert sorted(look.row for look in review.looks) == [0, 2, 3]
    assert review.bound == 3
    with pytest.raises(ArgumentError, match="every row was reviewed"):
        review.next()


def test_text_of_a_review_counts_the_decisions_left():
    review = CertifiedReview(DOUBT, until=0.02)
    assert str(review) == "No bound yet: no random row was reviewed."
    said = set()
    while review.bound > review.target:
        review.decide(VERDICTS[bool(WRONG[review.next().row])])
        said.add(str(review))
        n_more = review.remaining.looks_needed(review.target)
        if n_more and len(said) > 1:
            assert f"it takes at least {n_more} more decision" in str(review)
    bound = f"At most {review.bound} of 400 labels ({review.bound / 400:.2%}) are still wrong"
    assert str(review) == f"{bound} (95% confidence); the target of 2% is reached."


def test_text_of_a_review_with_too_many_unsure_rows():
    review = CertifiedReview(DOUBT[:60], until=0.02)
    for _ in range(60):
        review.decide("unsure")
    assert str(review).endswith(
        "60 rows with the verdict unsure count as wrong, which is above the target of 2%."
    )


def test_undo_replays_the_log():
    review = reviewed()
    bounds = []
    again = CertifiedReview(DOUBT, until=0.02)
    for look in review.looks:
        bounds.append(again.bound)
        again.decide(look.verdict)
    for bound in bounds[:-6:-1]:
        review.undo()
        assert review.bound == bound
    review.decide("wrong")
    assert review.looks[-1].row == again.looks[len(bounds) - 5].row


LOG = reviewed().looks


@pytest.mark.parametrize(
    ("looks", "seed", "says"),
    [
        ([*LOG[:20], *LOG[21:]], 0, r"log has row 21, from the list, as decision 21, but this"),
        (LOG, 1, r"drawn at random, as decision 147, but this review selects row \d+, drawn"),
        ([Look(0, True, "right")], 0, r"decision 1, but this review selects row 0, from the"),
        ([*LOG[:99], Look(99, False, "maybe")], 0, r"verdict='maybe' is not known"),
    ],
)
def test_rejects_the_log_of_another_review(looks, seed, says):
    with pytest.raises(ArgumentError, match=says):
        CertifiedReview(DOUBT, until=0.02, seed=seed).replay(looks)


def test_the_bound_covers_at_every_look_of_simulated_reviews():
    missed = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        wrong = generator.random(300) < 0.1
        doubt = generator.normal(size=300) + wrong
        review = CertifiedReview(doubt, until=0.02, seed=seed)
        still = int(wrong.sum())
        is_missed = False
        while review.remaining.left:
            row = review.next().row
            review.decide(VERDICTS[bool(wrong[row])])
            still -= wrong[row]
            is_missed |= review.bound < still
        missed += is_missed
    assert missed <= 10 + 2 * (200 * 0.05 * 0.95) ** 0.5


# A reviewer who errs -----------------------------------------------------------------------------


def second_looks_at(verdict, first, second, n_again, generator):
    rows = np.flatnonzero(first == verdict)
    again = generator.choice(rows, n_again or len(rows), replace=False)
    return SecondLooks(len(rows), len(again), int(np.count_nonzero(second[again] != verdict)))


@pytest.mark.parametrize(
    ("share_wrong", "n_kept_again", "n_repaired_again"),
    [(0.2, 150, 150), (0.2, 160, None), (0.7, 60, None)],  # None: all
)
def test_corrected_bound_covers_reviewer_errors(share_wrong, n_kept_again, n_repaired_again):
    corrected, misses, rate = [], 0, 0.02
    for seed in range(200):
        generator = np.random.default_rng(seed)
        truth = generator.random(4_000) < share_wrong
        first, second = (truth ^ (generator.random(4_000) < rate) for _ in range(2))
        kept = second_looks_at(False, first, second, n_kept_again, generator)
        repaired = second_looks_at(True, first, second, n_repaired_again, generator)
        found = corrected_bound(0, kept, repaired)
        assert 0 <= found.disagreement <= found.error_rate < 0.5
        # All rows were reviewed: a label is still wrong if the first look erred.
        misses += found.bound < np.count_nonzero(first != truth)
        misses += found.error_rate < np.mean(first != second)
        corrected.append(found)
    mean = np.mean([found.disagreement for found in corrected])
    assert mean == pytest.approx(2 * rate * (1 - rate), rel=0.1)
    assert misses <= 3


def test_without_disagreement_and_errors_the_correction_is_small():
    kept, repaired = SecondLooks(5_000, 5_000, 0), SecondLooks(40, 40, 0)
    assert corrected_bound(12, kept, repaired).bound == 12
    assert corrected_bound(12, SecondLooks(0, 0, 0), SecondLooks(0, 0, 0)).bound == 12


@pytest.mark.parametrize(("n_rows", "n_again"), [(40, 10), (17, 1), (25, 25)])
def test_marked_rows_are_bounded_with_the_error_probability(n_rows, n_again):
    alpha = 0.05
    most = [
        most_marked(SecondLooks(n_rows, n_again, n_differ), alpha)
        for n_differ in range(n_again + 1)
    ]
    for n_marked in range(n_rows + 1):
        chances = hypergeom(n_rows, n_marked, n_again).pmf(np.arange(n_again + 1))
        assert chances[np.array(most) < n_marked].sum() <= alpha


def after(n_rows, *verdicts):
    """Return the bound of a review after some decisions."""
    remaining = Remaining(n_rows, 1)
    for verdict in verdicts:
        remaining.look(verdict, is_random=False)
    return remaining


SHORT = CertifiedReview(np.array([0.9, 0.5]), until=0.5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Remaining(0, 1), r"n_rows=0 is not allowed"),
        (lambda: Remaining(9, 0), r"target=0 is not allowed"),
        (lambda: Remaining(9, 1, alpha=1), r"alpha=1 is not allowed"),
        (lambda: after(1, "right", "right"), "every row was reviewed"),
        (
            lambda: after(9, "unsure", "unsure").looks_needed(1),
            r"target=1 is less than the 2 rows with the verdict unsure",
        ),
        (lambda: CertifiedReview(DOUBT, until=0.002), r"until=0.002 allows no wrong label among"),
        (lambda: CertifiedReview(DOUBT, until=2), r"until=2 is not allowed"),
        (
            lambda: CertifiedReview(DOUBT, until=0.02, seed=2**53 - 1),
            r"seed=9007199254740991 is larger than the integers that a browser computes",
        ),
        (
            lambda: SHORT.replay(Look(row, False, "right") for row in range(3)),
            "has more decisions than the dataset has rows to review: 2 rows",
        ),
        (lambda: corrected_bound(1, SecondLooks(5, 6, 0), SecondLooks(5, 1, 0)), r"n_again=6"),
        (lambda: corrected_bound(1, SecondLooks(9, 6, 3), SecondLooks(9, 6, 4)), r"differ in 7 of"),
    ],
)
def test_rejects_invalid_arguments(call, says):
    with pytest.raises(ArgumentError, match=says):
        call()
