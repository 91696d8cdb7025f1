"""Noise is estimated as in an audit, or follows from a known corruption."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import problems
from twohot import find_label_issues, forecast
from twohot.describe.true_classes import NoiseEstimate, count_noise, expected_noise, take_noise
from twohot.judge.verdict import LabelVerdict
from twohot.noise import corrupt_labels, pair_flip, superclass_noise, symmetric


def test_counts_of_many_rows_are_shares():
    corruption = superclass_noise([0, 0, 1, 1, 1], 0.4)
    true_labels = np.repeat(np.arange(5), 4000)
    noisy = corrupt_labels(true_labels, corruption, random_state=0)
    found = count_noise(true_labels, noisy.given_labels, np.ones(20_000), 5)
    np.testing.assert_allclose(found.corruption, noisy.corruption, atol=2e-3)
    assert found.rate == pytest.approx(noisy.noise_rate, abs=1e-3)
    np.testing.assert_allclose(found.class_sizes, 4000)


def test_counts_of_few_rows_are_pulled_to_symmetric_noise():
    true_labels = np.repeat(np.arange(20), 10)
    corruption = symmetric(20, 0.6)
    noisy = corrupt_labels(true_labels, corruption, random_state=0)
    found = count_noise(true_labels, noisy.given_labels, np.ones(200), 20)
    pulled = np.abs(found.corruption - corruption).mean()
    assert pulled < 0.4 * np.abs(noisy.corruption - corruption).mean()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_counts_give_a_corruption_matrix(pairs):
    predicted, given_labels = np.array(pairs).T
    found = count_noise(predicted, given_labels, np.ones(len(pairs)), 4)
    assert found.corruption.min() >= 0
    np.testing.assert_allclose(found.corruption.sum(axis=1), 1)
    np.testing.assert_allclose(found.posterior.sum(axis=0), 1)
    agree, n_absent = (predicted == given_labels).sum(), 4 - len(set(predicted))
    assert found.rate == pytest.approx(1 - (agree + n_absent) / (len(pairs) + n_absent))


def test_share_of_wrong_labels_is_that_of_an_audit():
    data = problems.digits(0.4, 400)
    issues = find_label_issues(data.X, data.given_labels, n_jobs=1)
    found = forecast(data.X, data.given_labels, n_jobs=1).noise
    assert found.rate == pytest.approx(issues.noise_rate)
    assert found.interval == pytest.approx(issues.noise_interval)
    assert found.class_sizes.sum() == pytest.approx(400)


def test_wrong_labels_are_of_the_likeliest_other_class():
    # Of 3000 rows of each class, a third has the label of the next class.
    true, n_rows = np.arange(9000) % 3, 9000
    codes = np.where(np.arange(n_rows) % 9 < 3, (true + 1) % 3, true)
    wrong = codes != true
    verdict = LabelVerdict(
        codes=codes,
        first=true,
        second=(true + 2) % 3,
        confidence=np.full(n_rows, 0.9),
        runner_up=np.full(n_rows, 0.1),
        doubt=wrong.astype(float),
        share=1 / 3,
        interval=(0.3, 0.4),
        learnt=True,
        n_classes=3,
    )
    found = expected_noise(verdict)
    assert found.rate == pytest.approx(1 / 3)
    assert found.interval == (0.3, 0.4)
    np.testing.assert_allclose(found.corruption, pair_flip(3, 1 / 3), atol=0.01)


def test_known_noise_gives_the_sizes_of_true_classes():
    sizes = np.array([100.0, 300.0])
    corruption = np.array([[0.9, 0.1], [0.3, 0.7]])
    found = take_noise(corruption, np.rint(corruption.T @ sizes).astype(int))
    np.testing.assert_allclose(found.class_sizes, sizes)
    assert found.rate == pytest.approx((10 + 90) / 400)
    assert found.given
    assert found.interval == (found.rate, found.rate)


def test_slope_turns_agreement_into_accuracy():
    generator = np.random.default_rng(0)
    true_labels = np.repeat(np.arange(4), 5000)
    noise = symmetric(4, 0.5)
    labels = corrupt_labels(true_labels, noise, random_state=1).given_labels
    wrong = generator.random(len(labels)) < 0.2
    predicted = (true_labels + wrong * generator.integers(1, 4, len(labels))) % 4
    lost = (true_labels == labels).mean() - (predicted == labels).mean()
    found = NoiseEstimate(noise, np.full(4, 5000.0), given=True)
    assert lost / found.slope == pytest.approx(wrong.mean(), abs=0.01)
