"""Correlations of true classes are recovered from those that noise mixed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.describe import class_correlation
from twohot.describe.true_classes import (
    LARGEST_CORRELATION,
    NoiseEstimate,
    feasible,
    take_noise,
    unmix,
)
from twohot.noise import corrupt_labels, make_features, pair_flip, symmetric
from twohot.theory import CorrelationModel


def random_noise(seed, n_classes):
    """Noise that leaves most labels right, in classes of unequal size."""
    generator = np.random.default_rng(seed)
    corruption = 0.4 * generator.dirichlet(np.ones(n_classes), n_classes) + 0.6 * np.eye(n_classes)
    return NoiseEstimate(corruption, generator.uniform(50, 200, n_classes), given=True)


def random_correlation(seed, n_classes):
    vectors = np.random.default_rng(seed).standard_normal((n_classes, 4))
    return 0.9 * vectors @ vectors.T / (vectors**2).sum(axis=1).max()


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 8))
def test_unmixing_undoes_the_mixing(seed, n_classes):
    noise, correlation = random_noise(seed, n_classes), random_correlation(seed, n_classes)
    # Rows of label b are of class a with share posterior[a, b], counted here one pair at a time.
    joint = np.diag(noise.class_sizes) @ noise.corruption
    mixed = np.empty_like(correlation)
    for b in range(n_classes):
        for c in range(n_classes):
            weights = np.outer(joint[:, b], joint[:, c])
            mixed[b, c] = (weights * correlation).sum() / weights.sum()
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
    found = unmix(correlation, clean, np.array([0, 0, 1]))
    levels = (found.same_class, found.same_superclass, found.elsewhere, found.other_class)
    assert levels == pytest.approx((0.4, 0.2, -0.05, 0.1 / 3))
    alone = unmix(correlation, clean, np.arange(3))
    assert np.isnan(alone.same_superclass)
    assert np.isnan(unmix(correlation, clean, np.zeros(3, dtype=int)).elsewhere)


@pytest.mark.parametrize("corruption", [symmetric(6, 0.5), pair_flip(6, 0.3)], ids=["even", "pair"])
def test_recovers_correlations_of_true_classes_from_noisy_labels(corruption):
    made = make_features(
        n_classes=6, n_per_class=200, n_features=64, same_class=0.4, random_state=0
    )
    noisy = corrupt_labels(made.labels, corruption, exact=True, random_state=0)
    clean = class_correlation(made.features, made.labels).means
    measured = class_correlation(made.features, noisy.given_labels).means
    # The noise mixes classes so much that measured correlations are a third too small.
    assert np.diag(measured).max() < 0.7 * np.diag(clean).min()
    noise = take_noise(corruption, np.bincount(noisy.given_labels))
    found = unmix(measured, noise, np.zeros(6, dtype=int))
    np.testing.assert_allclose(found.estimated, clean, atol=0.06)
    assert found.same_class == pytest.approx(np.diag(clean).mean(), abs=0.02)


@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 3.0))
def test_feasible_correlations_are_those_of_some_rows(seed, scale):
    matrix = np.random.default_rng(seed).standard_normal((5, 5))
    found = feasible(scale * (matrix + matrix.T))
    assert np.linalg.eigvalsh(found).min() > -1e-12
    assert np.diag(found).max() <= LARGEST_CORRELATION + 1e-12
    model = CorrelationModel.from_correlation(found, class_sizes=np.full(5, 20.0))
    assert np.linalg.eigvalsh(model.gram()).min() > -1e-9
