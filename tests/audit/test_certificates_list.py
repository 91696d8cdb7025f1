"""Theorems 1 and 2 over all draws and all labels of small pools, and the guarantee of a list."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.audit.guaranteed_list import (
    CheckDraw,
    attempt_level,
    certify,
    draw_check,
    fdp_bounds,
    miss_probability,
    right_bounds,
    rows_needed,
    seeded_order,
    smallest_list,
)
from twohot.base import ArgumentError

SMALL = [(8, 3), (9, 4), (10, 2), (7, 6)]  # pools, and rows that are checked


def all_draws(n_pool, n_checked):
    pool = np.arange(n_pool)
    return [CheckDraw(pool, np.array(rows), 0) for rows in combinations(pool, n_checked)]


def all_labels(n_pool):
    return np.array(list(product([False, True], repeat=n_pool)))


# Every draw, every label -------------------------------------------------------------------------


@pytest.mark.parametrize("fdr", [0.1, 0.25, 0.5, 0.8])
@pytest.mark.parametrize(("n_pool", "n_checked"), SMALL)
def test_the_fdr_is_at_most_that_of_theorem_1(n_pool, n_checked, fdr):
    wrong = all_labels(n_pool)
    draws = all_draws(n_pool, n_checked)
    share = np.zeros(len(wrong))
    for draw in draws:
        for verdicts in product([False, True], repeat=n_checked):
            listed = certify(draw, np.array(verdicts), fdr).rows
            found = np.all(wrong[:, draw.rows] == verdicts, axis=1)
            share[found] += np.sum(~wrong[np.ix_(found, listed)], axis=1) / max(len(listed), 1)
    n_wrong = wrong.sum(axis=1)
    never = [comb(int(count), n_checked + 1) / comb(n_pool, n_checked + 1) for count in n_wrong]
    assert np.all(share / len(draws) <= fdr * (1 - np.array(never)) + 1e-12)
    is_possible = smallest_list(n_pool, n_checked, fdr) <= n_pool - n_checked
    assert (share.max() > 0) == is_possible  # else the inequality holds trivially


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(("n_pool", "n_checked"), SMALL)
def test_the_bounds_hold_at_every_threshold_at_once(n_pool, n_checked, confidence):
    wrong = all_labels(n_pool)
    draws = all_draws(n_pool, n_checked)
    missed = np.zeros(len(wrong))
    for draw in draws:
        is_checked = np.isin(draw.pool, draw.rows)
        right_left = np.cumsum(~wrong & ~is_checked, axis=1)
        for verdicts in product([False, True], repeat=n_checked):
            bounds = fdp_bounds(draw, np.array(verdicts), confidence=confidence)
            found = np.all(wrong[:, draw.rows] == verdicts, axis=1)
            missed[found] += np.any(right_left[found] > bounds.most_right, axis=1)
    assert np.all(missed / len(draws) <= 1 - confidence + 1e-12)


@pytest.mark.parametrize(("n_pool", "n_checked"), SMALL)
def test_the_probability_of_a_miss_is_that_of_all_subsets(n_pool, n_checked):
    bounds = right_bounds(n_pool, n_checked, confidence=0.7)
    subsets = np.array(list(combinations(range(1, n_pool + 1), n_checked)))
    missed = np.any(subsets > bounds + 1, axis=1).mean()
    assert miss_probability(n_pool, n_checked, bounds) == pytest.approx(missed, abs=1e-12)
    assert missed <= 0.3


def test_bounds_of_a_large_pool_are_tight():
    bounds = right_bounds(100_000, 300)
    assert miss_probability(100_000, 300, bounds) == pytest.approx(0.05, rel=1e-3)
    assert len(bounds) == 61  # thresholds with more checked right labels are not bounded
    draw = draw_check(np.linspace(1, 0, 5_000), 2_000, 300)
    found = fdp_bounds(draw, np.zeros(300, dtype=bool))
    beyond = found.right_checked > 60
    np.testing.assert_array_equal(found.most_right[beyond], found.unchecked[beyond])


# Laws --------------------------------------------------------------------------------------------


@st.composite
def checks(draw):
    n_pool = draw(st.integers(2, 40))
    n_checked = draw(st.integers(1, n_pool - 1))
    chosen = draw_check(np.linspace(1, 0, n_pool), n_pool, n_checked, seed=draw(st.integers(0, 99)))
    wrong = draw(st.lists(st.booleans(), min_size=n_checked, max_size=n_checked))
    return chosen, np.array(wrong), draw(st.sampled_from([0.05, 0.1, 0.2, 0.5]))


def plain_certify(draw, wrong, fdr):
    """Return the list of theorem 1 by a loop over the rows of the pool."""
    is_wrong = dict(zip(draw.rows.tolist(), wrong.tolist(), strict=True))
    listed, longest, n_right = [], [], 0
    for row in draw.pool.tolist():
        if row in is_wrong:
            n_right += not is_wrong[row]
        else:
            listed.append(row)
        allowed = round(fdr * 100) * (len(draw.rows) + 1) * len(listed)
        if listed and 100 * draw.n_left * (1 + n_right) <= allowed:
            longest = list(listed)
    return longest


@given(checks())
def test_the_list_equals_that_of_a_plain_loop(check):
    draw, wrong, fdr = check
    found = certify(draw, wrong, fdr)
    assert found.rows.tolist() == plain_certify(draw, wrong, fdr)
    assert bool(found.reason) == (len(found.rows) == 0)
    assert set(found.found_wrong) <= set(draw.rows[wrong])
    smallest = smallest_list(len(draw.pool), len(draw.rows), fdr)
    assert len(found.rows) == 0 or len(found.rows) >= smallest
    assert 0 <= found.most_right <= len(found.rows)


@given(checks())
def test_lists_grow_with_the_rate_and_with_wrong_labels(check):
    draw, wrong, fdr = check
    found = certify(draw, wrong, fdr)
    more = wrong.copy()
    more[: len(more) // 2] = True
    for other in (certify(draw, wrong, 0.9), certify(draw, more, fdr)):
        assert set(found.rows) <= set(other.rows)
        assert np.all(other.bounds.most_right <= found.bounds.most_right)


@given(checks())
def test_bounds_grow_along_the_order(check):
    draw, wrong, _ = check
    bounds = fdp_bounds(draw, wrong)
    assert np.all(np.diff(bounds.most_right) >= 0)
    assert np.all((bounds.most_right >= 0) & (bounds.most_right <= bounds.unchecked))
    assert bounds.longest(1.0) == len(draw.pool)
    prefix = bounds.longest(0.3)
    assert prefix == 0 or bounds.most_share[prefix - 1] <= 0.3


@given(st.integers(1, 500), st.integers(1, 200), st.sampled_from([0.05, 0.1, 0.2]))
def test_a_third_of_the_rows_needed_makes_the_list_possible(n_pool, list_size, fdr):
    list_size = min(list_size, n_pool)
    least = -(-rows_needed(n_pool, fdr, list_size) // 3)
    assert least >= 1
    assert smallest_list(n_pool, least, fdr) <= list_size


def test_rates_are_exact_decimals():
    # 0.1 · 30 is more than 3 in floating point.
    assert smallest_list(302, 29, 0.1) == 91
    assert smallest_list(329, 29, 0.1) == 100


# The draw ----------------------------------------------------------------------------------------


def test_draws_from_the_most_suspicious_rows_and_extends_the_draw():
    doubt = np.random.default_rng(0).random(200)
    doubt[:20] = np.nan
    draw = draw_check(doubt, n_flagged=40, n_checked=10, seed=3)
    assert set(draw.pool) == set(np.argsort(-np.nan_to_num(doubt))[:60])
    assert len(set(draw.rows)) == 10
    assert set(draw.rows) < set(draw.pool)
    longer = draw.extended(30)
    np.testing.assert_array_equal(longer.rows[:10], draw.rows)
    np.testing.assert_array_equal(longer.pool, draw.pool)
    assert len(draw_check(doubt, n_flagged=4, n_checked=10).pool) == 20


def test_all_orders_are_equally_likely():
    counts = {}
    for seed in range(6_000):
        order = tuple(seeded_order(np.arange(4), seed).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    spread = sum((count - 250) ** 2 / 250 for count in counts.values())
    assert spread < 49.7  # chi-squared, 23 degrees of freedom: exceeded with a chance of .001


def split_mix(state, number):
    """Return an output of SplitMix64 for a state, computed with integers of any size."""
    word = (state + number * 0x9E37_79B9_7F4A_7C15) % 2**64
    word = (word ^ (word >> 30)) * 0xBF58_476D_1CE4_E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D0_49BB_1331_11EB % 2**64
    return word ^ (word >> 31)


def test_an_order_is_the_same_in_any_language():
    starts = [split_mix(0, seed + 1) for seed in range(3)]
    # The published first outputs of SplitMix64 from state 0.
    assert starts == [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]
    for seed, start in enumerate(starts):
        keys = [split_mix(start, row + 1) for row in range(9)]
        expected = sorted(range(9), key=keys.__getitem__)
        assert seeded_order(np.arange(9), seed).tolist() == expected


# The text of a list ------------------------------------------------------------------------------

DRAW = draw_check(np.linspace(1, 0, 600), n_flagged=200, n_checked=45)


def test_text_of_a_list_has_its_rate_and_its_bound():
    found = certify(DRAW, DRAW.rows < 180, 0.1)
    n_listed, text = len(found.rows), str(found)
    assert text.startswith(f"{n_listed} labels listed as wrong. On average over random draws")
    assert "at most 10% of the listed labels are right (false discovery rate)" in text
    assert text.endswith(f"at most {found.most_right} of these {n_listed} labels are right.")
    assert set(found.found_wrong) == set(DRAW.rows[DRAW.rows < 180])


@pytest.mark.parametrize(
    ("n_checked", "is_wrong", "fdr", "says"),
    [
        (15, lambda rows: rows >= 0, 0.05, "discovery rate of 0.05. Check at least 19"),
        (45, lambda rows: rows % 2 == 0, 0.1, "more checked rows would not help"),
        (15, lambda rows: rows < 180, 0.1, "Check about 48 rows in total"),
    ],
)
def test_text_of_an_empty_list_says_what_would_help(n_checked, is_wrong, fdr, says):
    draw = DRAW.extended(n_checked)
    found = certify(draw, is_wrong(draw.rows), fdr)
    assert len(found.rows) == found.most_right == 0
    assert says in found.reason
    assert str(found) == f"No list: {found.reason}"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: draw_check(np.ones(9), 4, 9), r"n_checked=9 leaves nothing to list, because"),
        (lambda: draw_check(np.ones(9), 4, 0), r"n_checked=0 is not allowed"),
        (lambda: draw_check(np.ones(9), 4, 2, seed=-1), r"seed=-1 is not allowed"),
        (lambda: certify(DRAW, np.ones(45), 0.1), r"wrong has dtype float64 .*row \(45 in"),
        (lambda: certify(DRAW, np.ones(44, bool), 0.1), r"dtype bool and shape \(44,\)"),
        (lambda: certify(DRAW, np.ones(45, bool), 0), r"fdr=0 is not allowed"),
        (lambda: certify(DRAW, np.ones(45, bool), 1e-7), r"fdr=1e-07 is not allowed"),
        (lambda: certify(DRAW, np.ones(45, bool), 10), r"fdr=10 is not allowed"),
        (lambda: right_bounds(20, 4, confidence=1), r"confidence=1 is not allowed"),
        (lambda: attempt_level(0.1, 0), r"attempt=0 is not allowed"),
    ],
)
def test_rejects_invalid_arguments(call, says):
    with pytest.raises(ArgumentError, match=says):
        call()
