"""Noise is what the audit expects it to be, or follows from what a user knows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twohot.audit.opinions import Opinions
from twohot.audit.verdict import reach_verdict

import problems
from twohot import find_label_issues, forecast
from twohot._checks.labels import code_labels
from twohot.forecast.noise_estimate import (
    NoiseEstimate,
    count_noise,
    expected_noise,
    take_noise,
)
from twohot.noise import corrupt_labels, superclass_noise, symmetric


def test_counts_are_shares_where_rows_are_many():
    corruption = superclass_noise([0, 0, 1, 1, 1], 0.4)
    true_labels = np.repeat(np.arange(5), 4000)
    noisy = corrupt_labels(true_labels, corruption, random_state=0)
    found = count_noise(true_labels, noisy.given_labels, np.ones(20_000), 5)
    np.testing.assert_allclose(found.corruption, noisy.corruption, atol=2e-3)
    assert found.rate == pytest.approx(noisy.noise_rate, abs=1e-3)
    np.testing.assert_allclose(found.class_sizes, 4000)


def test_counts_from_few_rows_are_pulled_to_even_noise():
    true_labels = np.repeat(np.arange(20), 10)
    corruption = symmetric(20, 0.6)
    noisy = corrupt_labels(true_labels, corruption, random_state=0)
    found = count_noise(true_labels, noisy.given_labels, np.ones(200), 20)
    pulled = np.abs(found.corruption - corruption).mean()
    assert pulled < 0.4 * np.abs(noisy.corruption - corruption).mean()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_counted_noise_is_a_corruption_matrix(pairs):
    predicted, given_labels = np.array(pairs).T
    found = count_noise(predicted, given_labels, np.ones(len(pairs)), 4)
    assert found.corruption.min() >= 0
    np.testing.assert_allclose(found.corruption.sum(axis=1), 1)
    np.testing.assert_allclose(found.posterior.sum(axis=0), 1)
    agree, n_absent = (predicted == given_labels).sum(), 4 - len(set(predicted))
    assert found.rate == pytest.approx(1 - (agree + n_absent) / (len(pairs) + n_absent))


def test_the_share_of_wrong_labels_is_that_of_the_audit():
    data = problems.digits(0.4, 400)
    issues = find_label_issues(data.X, data.given_labels, n_jobs=1)
    found = forecast(data.X, data.given_labels, n_jobs=1).noise
    assert found.rate == pytest.approx(issues.noise_rate)
    assert found.interval == pytest.approx(issues.noise_interval)
    assert found.class_sizes.sum() == pytest.approx(400)


def test_wrong_labels_are_of_the_likeliest_other_class():
    # Labels 0, 0 and 1 of rows that look like 0, like 1, and like 1 before 2.
    outputs = np.log(np.array([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.01, 0.9, 0.09]]))
    labels = code_labels([0, 0, 1, 2, 2]).take([0, 1, 2])
    opinions = Opinions(outputs, outputs)
    verdict = reach_verdict(opinions, labels, fewest_rows=1)
    np.testing.assert_array_equal(verdict.likeliest_other, [1, 1, 2])
    found = expected_noise(verdict)
    assert found.rate <= verdict.doubt.sum() / 3 + 1e-12


def test_known_noise_says_how_large_the_true_classes_are():
    sizes = np.array([100.0, 300.0])
    corruption = np.array([[0.9, 0.1], [0.3, 0.7]])
    found = take_noise(corruption, np.rint(corruption.T @ sizes).astype(int))
    np.testing.assert_allclose(found.class_sizes, sizes)
    assert found.rate == pytest.approx((10 + 90) / 400)
    assert found.given


def test_the_slope_turns_agreement_into_accuracy():
    generator = np.random.default_rng(0)
    true_labels = np.repeat(np.arange(4), 5000)
    noise = symmetric(4, 0.5)
    labels = corrupt_labels(true_labels, noise, random_state=1).given_labels
    wrong = generator.random(len(labels)) < 0.2
    predicted = (true_labels + wrong * generator.integers(1, 4, len(labels))) % 4
    lost = (true_labels == labels).mean() - (predicted == labels).mean()
    found = NoiseEstimate(noise, np.full(4, 5000.0), given=True)
    assert lost / found.slope == pytest.approx(wrong.mean(), abs=0.01)
