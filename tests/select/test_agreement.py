"""The two measures of a candidate, against formulas written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from twohot.select.agreement import (
    NOISE_RATES,
    TEMPERATURES,
    HeldOut,
    calibrate,
    judge_logits,
    mean,
    pool,
    standard_error,
)


def planted(noise_rate, temperature, n_rows=20_000, n_classes=5):
    """Logits that are `temperature` times too large, and labels of which a share is random."""
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 2, (n_rows, n_classes))
    labels = (logits + generator.gumbel(size=logits.shape)).argmax(axis=1)
    random = generator.random(n_rows) < noise_rate
    labels[random] = generator.integers(0, n_classes, random.sum())
    return temperature * logits, labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_judging_is_the_softmax_at_every_temperature(dtype):
    generator = np.random.default_rng(0)
    logits = (3 * generator.normal(size=(50, 4))).astype(dtype)
    labels = generator.integers(0, 4, 50)
    before = logits.copy()
    found = judge_logits(logits, labels)
    np.testing.assert_array_equal(logits, before)
    np.testing.assert_array_equal(found.predicted, logits.argmax(axis=1))
    assert found.given.shape == (len(TEMPERATURES), 50)
    for temperature, row in zip(TEMPERATURES, found.given, strict=True):
        expected = softmax(before / temperature, axis=1)[np.arange(50), labels]
        np.testing.assert_allclose(row, expected, rtol=2e-5)


def test_pooled_rows_are_those_of_all_splits():
    logits, labels = planted(0.2, 1.0, n_rows=90)
    whole = judge_logits(logits, labels)
    parts = [judge_logits(logits[rows], labels[rows]) for rows in np.split(np.arange(90), [20, 70])]
    np.testing.assert_array_equal(pool(parts).predicted, whole.predicted)
    np.testing.assert_array_equal(pool(parts).given, whole.given)


@pytest.mark.parametrize("noise_rate", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_calibration_recovers_a_planted_noise_rate_and_temperature(noise_rate, temperature):
    logits, labels = planted(noise_rate, temperature)
    found = calibrate(judge_logits(logits, labels), 5, np.ones(len(labels)))
    assert found.noise_rate == pytest.approx(noise_rate, abs=0.03)
    neighbours = np.abs(np.log(np.array(TEMPERATURES) / temperature))
    assert found.temperature in np.array(TEMPERATURES)[np.argsort(neighbours)[:3]]
    if noise_rate < 0.5:
        assert found.temperature == temperature


@pytest.mark.parametrize("noise_rate", [0.0, 0.31, 0.5, 0.8])
@pytest.mark.parametrize("weighted", [False, True])
def test_calibration_is_the_best_of_the_whole_grid(weighted, noise_rate):
    logits, labels = planted(noise_rate, 0.7, n_rows=60)
    v = np.random.default_rng(1).integers(0, 3, 60).astype(float) if weighted else np.ones(60)
    found = calibrate(judge_logits(logits, labels), 5, v)
    values = {}
    for temperature in TEMPERATURES:
        p = softmax(logits / temperature, axis=1)[np.arange(60), labels]
        for rate in NOISE_RATES:
            values[temperature, rate] = np.average(np.log((1 - rate) * p + rate / 5), weights=v)
    best = max(values, key=values.get)
    assert (found.temperature, found.noise_rate) == best
    assert np.average(found.likelihood, weights=v) == pytest.approx(values[best], abs=1e-6)


def test_a_label_that_is_impossible_costs_no_more_than_the_noise():
    given_probability = np.zeros((len(TEMPERATURES), 3), np.float32)
    held_out = HeldOut(np.zeros(3, bool), np.zeros(3), given_probability)
    found = calibrate(held_out, 10, np.ones(3))
    assert found.noise_rate == NOISE_RATES[-1]
    np.testing.assert_allclose(found.likelihood, np.log(NOISE_RATES[-1] / 10))


VALUES = st.lists(st.tuples(st.floats(-10, 10), st.integers(0, 3)), min_size=2, max_size=30).filter(
    lambda pairs: any(count for _, count in pairs)
)


@given(VALUES)
def test_weights_are_repetitions_in_means_and_errors(pairs):
    values, counts = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    repeated = np.repeat(values, counts.astype(int))
    assert mean(values, counts) == pytest.approx(repeated.mean(), abs=1e-9)
    plain = repeated.std() / np.sqrt(len(repeated))
    assert standard_error(values, counts) == pytest.approx(plain, abs=1e-9)


def test_the_error_of_a_share_is_the_binomial_one():
    agrees = (np.arange(100) < 30).astype(float)
    error = standard_error(agrees, np.ones(100))
    assert error == pytest.approx(np.sqrt(0.3 * 0.7 / 100))
