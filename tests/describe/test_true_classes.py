"""Estimates of true classes: their noise, and their correlations without it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import problems
from twohot import find_label_issues, forecast
from twohot.describe.true_classes import (
    LARGEST_CORRELATION,
    NoiseEstimate,
    count_noise,
    expected_noise,
    feasible,
    take_noise,
    unmix,
)
from twohot.judge.verdict import LabelVerdict
from twohot.noise import corrupt_labels, pair_flip, superclass_noise, symmetric
from twohot.theory import CorrelationModel


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
    flagged = issues.rows
    assert found.n_likely_wrong == (issues.probability_wrong[flagged] > 0.5).sum() > 0
    assert found.class_sizes.sum() == pytest.approx(400)


def test_wrong_labels_are_of_the_likeliest_other_class():
    # Of 3000 rows of each class, a third has the label of the next class.
    true, n_rows = np.arange(9000) % 3, 9000
    codes = np.where(np.arange(n_rows) % 9 < 3, (true + 1) % 3, true)
    shares = {"confidence": np.full(n_rows, 0.9), "runner_up": np.full(n_rows, 0.1)}
    estimate = {"share": 1 / 3, "interval": (0.3, 0.4), "learnt": True, "n_classes": 3}
    places = {"codes": codes, "first": true, "second": (true + 2) % 3}
    verdict = LabelVerdict(**places, **shares, doubt=(codes != true).astype(float), **estimate)
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


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 8))
def test_unmixing_undoes_the_mixing(seed, n_classes):
    # Noise that leaves most labels right, in classes of unequal size.
    generator = np.random.default_rng(seed)
    corruption = 0.4 * generator.dirichlet(np.ones(n_classes), n_classes) + 0.6 * np.eye(n_classes)
    noise = NoiseEstimate(corruption, generator.uniform(50, 200, n_classes), given=True)
    vectors = generator.standard_normal((n_classes, 4))
    correlation = 0.9 * vectors @ vectors.T / (vectors**2).sum(axis=1).max()
    # A fraction posterior[a, b] of the rows of label b is of class a; pairs are counted one by one.
    joint = np.diag(noise.class_sizes) @ noise.corruption
    mixed = np.empty_like(correlation)
    for b, c in np.ndindex(mixed.shape):
        mixed[b, c] = np.average(correlation, weights=np.outer(joint[:, b], joint[:, c]))
    found = unmix(mixed, noise, np.zeros(n_classes, dtype=int))
    assert found.n_limited == 0
    np.testing.assert_allclose(found.estimated, correlation, atol=1e-9)


def test_removes_noise_only_as_far_as_errors_allow():
    # One axis keeps all, three keep 1 - 0.72 * 4 / 3 = 0.04, less than the error of a class mean.
    noise = NoiseEstimate(symmetric(4, 0.72), np.full(4, 50.0), given=True)
    even, apart = np.full((4, 4), 0.25), np.eye(4) - 0.25
    found = unmix(0.1 * even + 0.005 * apart, noise, np.zeros(4, dtype=int))
    assert found.n_limited == 3
    expected = 0.1 * even + 0.005 * 50 * apart
    np.testing.assert_allclose(found.estimated, expected, atol=1e-12)


def test_class_without_pairs_gets_the_mean_of_the_others():
    clean = NoiseEstimate(np.eye(3), np.array([5.0, 5.0, 1.0]), given=True)
    found = unmix(np.diag([0.2, 0.4, np.nan]), clean, np.zeros(3, dtype=int))
    assert found.estimated[2, 2] == pytest.approx(0.3)


def test_levels_are_means_over_pairs_of_classes():
    correlation = np.array([[0.5, 0.2, 0.0], [0.2, 0.3, -0.1], [0.0, -0.1, 0.4]])
    clean = NoiseEstimate(np.eye(3), np.ones(3), given=True)
    found, alone, together = (
        unmix(correlation, clean, np.array(groups)) for groups in ([0, 0, 1], [0, 1, 2], [0, 0, 0])
    )
    levels = (found.same_class, found.same_superclass, found.elsewhere, found.other_class)
    assert levels == pytest.approx((0.4, 0.2, -0.05, 0.1 / 3))
    assert np.isnan([alone.same_superclass, together.elsewhere]).all()


@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 3.0))
def test_feasible_correlations_are_those_of_some_rows(seed, scale):
    matrix = np.random.default_rng(seed).standard_normal((5, 5))
    found = feasible(scale * (matrix + matrix.T))
    assert np.linalg.eigvalsh(found).min() > -1e-12
    assert np.diag(found).max() <= LARGEST_CORRELATION + 1e-12
    model = CorrelationModel.from_correlation(found, class_sizes=np.full(5, 20.0))
    assert np.linalg.eigvalsh(model.gram()).min() > -1e-9
