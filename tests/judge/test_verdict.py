"""The verdict: flags against brute force, transitions, the interval, rows outside the sample."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import problems
from twohot import AutoProbe
from twohot.base.labels import NO_LABEL, Labels
from twohot.judge import verdict as verdict_module
from twohot.judge.label_model import z_score
from twohot.judge.verdict import (
    BlockJudge,
    LabelVerdict,
    choose_flags,
    count_transitions,
    share_interval,
)

DIGITS = problems.digits(0.3, 400)

doubts = st.lists(
    st.tuples(st.floats(0, 1, allow_subnormal=False), st.booleans()), min_size=1, max_size=9
)


def make_verdict(doubt, codes, first):
    codes, first, doubt = np.array(codes), np.array(first), np.array(doubt)
    second, confidence, runner_up = (
        (first + 1) % 3,
        np.full(len(first), 0.8),
        np.full(len(first), 0.1),
    )
    share = float(np.nanmean(doubt))
    return LabelVerdict(
        codes,
        first,
        second,
        confidence,
        runner_up,
        doubt,
        share,
        (0.0, 1.0),
        learnt=True,
        n_classes=3,
    )


# Flags -------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(doubts)
def test_flags_maximise_expected_f1(pairs):
    doubt, eligible = (np.array(each) for each in zip(*pairs, strict=True))
    flagged = np.flatnonzero(choose_flags(doubt, eligible))
    assert eligible[flagged].all()
    rows = np.flatnonzero(eligible)
    subsets = [each for size in range(1, len(rows) + 1) for each in combinations(rows, size)]
    expected_f1 = {each: 2 * doubt[[*each]].sum() / (len(each) + doubt.sum()) for each in subsets}
    best = max(expected_f1.values(), default=0.0)
    if not best:
        assert not len(flagged)
    else:
        assert expected_f1[tuple(flagged)] == pytest.approx(best)


@settings(max_examples=60, deadline=None)
@given(doubts, st.floats(0, 1))
def test_precision_flags_as_many_as_possible(pairs, precision):
    doubt, eligible = (np.array(each) for each in zip(*pairs, strict=True))
    flagged = choose_flags(doubt, eligible, precision=precision)
    assert eligible[flagged].all()
    order = np.flatnonzero(eligible)[np.argsort(-doubt[eligible], kind="stable")]
    allowed = [n for n in range(1, len(order) + 1) if doubt[order[:n]].mean() >= precision - 1e-9]
    assert flagged.sum() in {max(allowed, default=0), *allowed}
    if flagged.any():
        assert doubt[flagged].mean() >= precision - 2e-9
        rest = eligible & ~flagged
        assert not rest.any() or doubt[rest].max() <= doubt[flagged].min()


def test_unlabelled_rows_do_not_count_towards_f1():
    doubt = np.array([0.9, np.nan, 0.6, np.nan, 0.1])
    eligible = np.array([True, False, True, False, True])
    found = choose_flags(doubt, eligible)
    np.testing.assert_array_equal(
        found[[0, 2, 4]], choose_flags(doubt[[0, 2, 4]], eligible[[0, 2, 4]])
    )
    assert not found[[1, 3]].any()


@pytest.mark.parametrize("asked", [{}, {"precision": 0.0}, {"budget": 5}])
def test_no_eligible_rows_give_no_flags(asked):
    nothing = np.zeros(3, dtype=bool)
    assert not choose_flags(np.array([0.9, 0.8, np.nan]), nothing, **asked).any()


def test_eligible_labels():
    verdict = make_verdict([0.9, 0.9, 0.2, 0.9, np.nan], [0, 0, 1, 2, NO_LABEL], [1, 0, 1, 0, 2])
    # The label of row 1 is the most probable class. Rows 2 and 3 are the only ones of their class.
    # Row 4 has no label.
    assert verdict.eligible.tolist() == [True, False, False, False, False]
    assert verdict.flag().tolist() == [True, False, False, False, False]
    assert verdict.likeliest_other.tolist() == [1, 1, 2, 0, 2]


# The matrix --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dense", [True, False])
def test_transitions_are_fractions_of_true_classes(dense, monkeypatch):
    rng = np.random.default_rng(0)
    true, labels = rng.integers(0, 4, 60), rng.integers(0, 5, 60)
    if not dense:
        monkeypatch.setattr(verdict_module, "MOST_DENSE", 4)
    found = count_transitions(true, labels, 5)
    assert sp.issparse(found) == (not dense)
    found = found if dense else found.toarray()
    for k in range(4):
        for g in range(5):
            assert found[k, g] == pytest.approx(np.mean(labels[true == k] == g))
    assert found[4].tolist() == [0, 0, 0, 0, 1]  # a class without a row keeps its label


def test_corruption_is_computed_from_flags():
    verdict = make_verdict([0.95, 0.05, 0.05, np.nan], [0, 0, 1, NO_LABEL], [1, 0, 1, 2])
    expected = [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]
    np.testing.assert_allclose(verdict.corruption, expected)


# The fraction of wrong labels --------------------------------------------------------------------


def test_z_score_is_the_mean_in_standard_errors():
    values = np.random.default_rng(0).normal(0.3, size=100)
    assert z_score(values) == pytest.approx(values.mean() / (values.std() / 10))
    assert z_score(np.ones(5)) == np.inf
    assert z_score(-np.ones(5)) == -np.inf
    assert not z_score(np.zeros(5)) > 0


@pytest.fixture(scope="module")
def judged():
    labels = Labels(DIGITS.given_labels, np.arange(10))
    return AutoProbe(n_jobs=1).fit_coded(DIGITS.X, labels)


def test_interval_contains_estimate_and_truth(judged):
    anchored, verdict = judged.anchored, judged.verdict
    low, high = share_interval(anchored)
    assert (low, high) == verdict.interval
    assert 0 <= low < verdict.share < high <= 1
    wrong = DIGITS.given_labels != DIGITS.true_labels
    assert low < wrong.mean() < high
    assert verdict.share == pytest.approx(np.mean(verdict.doubt))
    # The rounds change the ranking of the labels, and not the mean probability.
    assert verdict.share == pytest.approx(anchored.share_wrong, abs=1e-6)
    assert verdict.learnt


def test_clean_separable_classes_have_little_noise():
    rng = np.random.default_rng(0)
    labels = np.arange(240) % 3
    rows = 4 * np.eye(3)[labels] + rng.normal(size=(240, 3))
    verdict = AutoProbe(n_jobs=1).fit_coded(rows, Labels(labels, np.arange(3))).verdict
    assert verdict.interval[0] < 0.03
    assert verdict.share < 0.05
    assert verdict.flag().mean() < 0.05


# Rows outside of the sample ----------------------------------------------------------------------


def test_rows_outside_the_sample_are_judged_as_well(set_sample_rows):
    set_sample_rows(700)
    data = problems.digits(0.3, 1200)
    labels = Labels(data.given_labels, np.arange(10))
    lines = []
    judged = AutoProbe(n_jobs=1).fit_coded(data.X, labels, callback=lines.append)
    assert [line for line in lines if "judged" in line][-1] == "judged 1,200 of 1,200 rows"
    anchored, verdict = judged.anchored, judged.verdict
    index = anchored.sample.index
    assert len(index) == 700
    outside = np.setdiff1d(np.arange(1200), index)
    wrong = data.given_labels != data.true_labels
    assert np.isfinite(verdict.doubt).all()
    for rows in (index, outside):
        found, true = verdict.flag()[rows], wrong[rows]
        assert 2 * (found & true).sum() / (found.sum() + true.sum()) > 0.85
        assert verdict.doubt[rows].mean() == pytest.approx(true.mean(), abs=0.06)
    # The sample has the same fraction of each class.
    sizes = np.bincount(data.given_labels)
    np.testing.assert_allclose(np.bincount(anchored.sample.codes) / sizes, 700 / 1200, atol=0.02)


def test_rows_outside_the_sample_with_more_features_than_rows():
    """The rows are then stored along their principal axes, and fits must use the same axes."""
    made = np.random.default_rng(0)
    classes = np.arange(200) % 4
    rows = made.normal(size=(4, 400))[classes] + 6 * made.normal(size=(200, 400))
    codes = np.where(np.arange(200) < 100, classes, NO_LABEL)
    probe = AutoProbe(n_jobs=1)
    anchored = probe.fit_coded(rows, Labels(codes, np.arange(4))).anchored
    sample, judge = anchored.sample, BlockJudge.of(anchored)
    points = np.concatenate(
        list(sample.whole.rows.map(lambda block: block.prepared() @ judge.basis))
    )
    np.testing.assert_allclose(points[sample.index], sample.points, rtol=0, atol=1e-3)
