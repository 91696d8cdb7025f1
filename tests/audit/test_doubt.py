"""Flags are those of the best expected F1 and of a precision; shares are bracketed."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from twohot.audit.doubt import (
    BELIEVED,
    BELIEVED_BESIDE_EVEN,
    BoundaryWeight,
    Trust,
    combined_doubt,
    is_established,
    promised_doubt,
    share_wrong,
    weigh_boundary,
)
from twohot.audit.flags import flag_for_f1, flag_for_precision

CHANCES = st.integers(0, 10).map(lambda tenths: tenths / 10)
SEVEN = arrays(float, 7, elements=CHANCES)
ELIGIBLE = arrays(bool, 7)


@given(SEVEN, ELIGIBLE)
def test_flags_have_the_best_expected_f1_of_all_sets(doubt, eligible):
    def expected(flagged):
        return 2 * doubt[flagged].sum() / (len(flagged) + doubt.sum()) if flagged else 0.0

    rows = np.flatnonzero(eligible)
    sets = (list(some) for size in range(len(rows) + 1) for some in combinations(rows, size))
    flagged = flag_for_f1(doubt, eligible)
    assert not (flagged & ~eligible).any()
    assert expected(np.flatnonzero(flagged).tolist()) == pytest.approx(max(map(expected, sets)))


@given(SEVEN, SEVEN, ELIGIBLE, st.sampled_from([0.3, 0.5, 0.8, 1.0]))
def test_flags_keep_the_precision_and_no_more_of_the_doubtful_do(
    doubt, promised, eligible, precision
):
    flagged = flag_for_precision(doubt, eligible, precision, promised)
    order = sorted(np.flatnonzero(eligible), key=lambda row: (-doubt[row], row))
    n_flagged = int(flagged.sum())
    assert sorted(order[:n_flagged]) == np.flatnonzero(flagged).tolist()
    assert not n_flagged or promised[flagged].mean() >= precision - 1e-9
    for size in range(n_flagged + 1, len(order) + 1):
        assert promised[order[:size]].mean() < precision


WEIGHTS = st.builds(BoundaryWeight, st.sampled_from([0.2, 0.35, 0.49]), st.sampled_from([0.0, 0.6]))


@given(SEVEN, SEVEN, ELIGIBLE, WEIGHTS)
def test_doubt_is_between_the_stories_and_grows_with_each(at_random, at_boundary, unlike, weight):
    doubt = combined_doubt(at_random, at_boundary, unlike, weight)
    raised = np.where(unlike, np.maximum(at_boundary, weight.at_least), at_boundary)
    assert (doubt >= at_random).all()
    assert (doubt <= np.maximum(at_random, raised) + 1e-12).all()
    assert (combined_doubt(at_random, np.ones(7), unlike, weight) >= doubt - 1e-12).all()
    more = np.maximum(at_random, 0.5)
    assert (combined_doubt(more, at_boundary, unlike, weight) >= doubt - 1e-12).all()
    # What only the second story doubts is never more likely wrong than right.
    assert (doubt[at_random == 0] < 0.5).all()


def test_the_boundary_counts_less_beside_noise_alike_for_all_classes():
    at_boundary, unlike = np.array([0.9, 0.3, 0.0, np.nan]), np.array([True, True, False, False])
    even = weigh_boundary(at_boundary, unlike, established=True, even=True)
    by_class = weigh_boundary(at_boundary, unlike, established=True, even=False)
    assert even == BoundaryWeight(BELIEVED_BESIDE_EVEN, 0.0)
    assert by_class == BoundaryWeight(BELIEVED, 0.0)


def test_without_random_noise_all_that_is_unlike_its_label_is_doubted():
    at_boundary, unlike = np.array([0.9, 0.3, 0.0, np.nan]), np.array([True, True, False, False])
    weight = weigh_boundary(at_boundary, unlike, established=False, even=True)
    assert weight == BoundaryWeight(BELIEVED, pytest.approx(0.6))
    doubt = combined_doubt(np.array([0.0, 0.0, 0.0, np.nan]), at_boundary, unlike, weight)
    np.testing.assert_allclose(doubt, [BELIEVED * 0.9, BELIEVED * 0.6, 0, np.nan])


def test_overlap_that_rows_explain_raises_no_doubt():
    # Another class is likelier for a third of the labels, and the rows themselves overlap so much.
    unlike = np.arange(300) < 100
    weight = weigh_boundary(np.full(300, 0.005), unlike, established=False, even=True)
    assert not flag_for_f1(
        combined_doubt(np.zeros(300), np.full(300, 0.005), unlike, weight), unlike
    ).any()
    none = np.zeros(3, dtype=bool)
    assert weigh_boundary(np.zeros(3), none, established=False, even=True).at_least == 0


def test_share_is_split_and_bracketed():
    at_random = np.array([0.5, 0.0, 0.1, np.nan])
    at_boundary = np.array([0.3, 0.6, 0.1, np.nan])
    share = share_wrong(
        at_random, at_boundary, at_random, noise_rate=0.2, noise_rate_interval=(0.15, 0.3)
    )
    assert share.wrong == pytest.approx(0.2)
    assert share.unclear == pytest.approx(0.2)
    assert share.low == pytest.approx(0.15)
    assert share.high == pytest.approx(0.5)


def test_share_stays_a_share():
    nothing = np.zeros(3)
    all_open = share_wrong(nothing, np.full(3, 0.6), nothing, 0.0001, (0.0, 0.9))
    assert (all_open.low, all_open.high) == (0.0, 1.0)


def test_the_least_share_is_what_is_promised_and_nothing_where_noise_is_not_established():
    at_random, at_boundary = np.array([0.5, 0.1]), np.zeros(2)
    about = {"noise_rate": 0.3, "noise_rate_interval": (0.25, 0.4)}
    share = share_wrong(at_random, at_boundary, at_random / 2, **about)
    assert (share.wrong, share.low) == (pytest.approx(0.3), pytest.approx(0.1))
    few = share_wrong(at_random, at_boundary, at_random, 0.02, (0.01, 0.03))
    assert few.low == 0


def test_nothing_is_promised_of_unknown_classes_nor_of_rows_without_a_label():
    at_random, sizes = np.array([0.9, 0.9, 0.9, np.nan]), np.array([9, 10, 100, 3])
    known = Trust(fewest_labels=10).known(sizes, even=True)
    promised = promised_doubt(at_random, np.full(4, 0.5), known, even=True)
    np.testing.assert_array_equal(promised, [0, 0.9, 0.9, np.nan])
    assert Trust().known(sizes, even=False).all()
    assert not Trust(is_curved=True, explained=0.1).known(sizes, even=True).any()
    # Classes that are spread over others look like noise that differs between them.
    assert Trust(is_curved=True).known(sizes, even=True).all()
    assert not Trust(is_curved=True).known(sizes, even=False).any()


def test_noise_is_established_where_none_of_the_rates_that_explain_it_is_small():
    assert is_established(0.05, (0.03, 0.08))
    assert not is_established(0.02, (0.015, 0.03))
    assert not is_established(0.025, (0.006, 0.07))


def test_rows_without_a_label_are_never_flagged():
    doubt = np.array([np.nan, 0.9, 0.2])
    eligible = np.array([False, True, True])
    assert flag_for_f1(doubt, eligible).tolist() == [False, True, False]
    assert flag_for_precision(doubt, eligible, 0.9, doubt).tolist() == [False, True, False]
    nothing = np.zeros(3, dtype=bool)
    assert not flag_for_f1(doubt, nothing).any()
    assert not flag_for_precision(doubt, nothing, 0.5, doubt).any()
