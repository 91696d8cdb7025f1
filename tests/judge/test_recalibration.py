"""Recalibrated probabilities of wrong labels, against slow twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from twohot.judge.recalibration import (
    ISOTONIC_ROWS,
    LEAST_PROBABILITY,
    bounded_logit,
    recalibrate,
)


def checked_data(seed, n_checked, n_rows=400):
    """Return probabilities that are half of the true ones, checked rows, and their verdicts."""
    generator = np.random.default_rng(seed)
    p = generator.beta(1, 3, n_rows)
    p[generator.integers(0, n_rows, 5)] = np.nan
    rows = generator.choice(np.flatnonzero(~np.isnan(p)), n_checked, replace=False)
    wrong = generator.uniform(size=n_checked) < np.minimum(2 * p[rows], 1)
    return p, rows, wrong, generator


SIZES = [1, 10, ISOTONIC_ROWS - 1, ISOTONIC_ROWS, 150]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(SIZES))
def test_ranking_stays_and_checked_rows_keep_their_verdict(seed, n_checked) -> None:
    p, rows, wrong, generator = checked_data(seed, n_checked)
    found = recalibrate(p, rows, wrong)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(p))
    np.testing.assert_array_equal(found[rows], wrong)
    others = np.setdiff1d(np.flatnonzero(~np.isnan(p)), rows)
    assert (np.diff(found[others][np.argsort(p[others])]) >= 0).all()
    assert ((found[others] >= 0) & (found[others] <= 1)).all()
    # The order of the rows and of the checked rows changes no bit.
    moved = generator.permutation(len(p))
    place, shuffled = np.argsort(moved), generator.permutation(n_checked)
    again = recalibrate(p[moved], place[rows[shuffled]], wrong[shuffled])
    np.testing.assert_array_equal(again, found[moved])


def with_pseudo_rows(p, rows, wrong):
    """Return x, y and weights: checked rows, and 25 pseudo rows with a total weight of 20."""
    pseudo = np.quantile(p[~np.isnan(p)], np.linspace(0.02, 0.98, 25))
    weights = np.append(np.ones(len(rows)), np.full(25, 20 / 25))
    return np.append(p[rows], pseudo), np.append(wrong, pseudo), weights


def slow_platt(p, y, weights):
    """Return the most probable shift and slope, by a search on finer and finer grids."""
    z, a, c, width = logit(p), 0.0, 0.0, 8.0
    for _ in range(60):
        steps = width * np.linspace(-1, 1, 9)
        shifts, slopes = (grid.ravel() for grid in np.meshgrid(a + steps, c + steps))
        logits = shifts + np.exp(slopes) * z[:, np.newaxis]
        likelihood = weights @ (y[:, np.newaxis] * logits - np.logaddexp(0, logits))
        best = np.argmax(likelihood - shifts**2 / 18 - slopes**2 / 2)
        a, c, width = shifts[best], slopes[best], 0.7 * width
    return a, np.exp(c)


def certain_data(seed):
    """Return probabilities 0 and 1, checked rows, and random verdicts."""
    generator = np.random.default_rng(seed)
    p = generator.integers(0, 2, 60).astype(float)
    return p, generator.choice(60, 12, replace=False), generator.random(12) < 0.5


@pytest.mark.parametrize(
    ("p", "rows", "wrong", "tolerance"),
    [(*checked_data(seed, n)[:3], 1e-5) for seed in range(4) for n in (1, 12, 49)]
    + [(*certain_data(seed), 1e-4) for seed in range(40)],
)
def test_few_checks_use_platt_scaling(p, rows, wrong, tolerance) -> None:
    x, y, weights = with_pseudo_rows(p, rows, wrong)
    a, b = slow_platt(np.clip(x, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY), y, weights)
    others = np.setdiff1d(np.arange(len(p)), rows)
    expected = expit(a + b * bounded_logit(p[others]))
    np.testing.assert_allclose(recalibrate(p, rows, wrong)[others], expected, atol=tolerance)


def slow_isotonic(x, y, weights):
    """Return x and the regression: adjacent values out of order are pooled pair by pair."""
    blocks = [[[a], b * w, w] for a, b, w in sorted(zip(x, y, weights, strict=True))]
    k = 0
    while k + 1 < len(blocks):
        first, second = blocks[k], blocks[k + 1]
        if first[1] / first[2] > second[1] / second[2]:
            merged = [first[0] + second[0], first[1] + second[1], first[2] + second[2]]
            blocks[k : k + 2], k = [merged], max(k - 1, 0)
        else:
            k += 1
    places = [a for block in blocks for a in block[0]]
    return places, [block[1] / block[2] for block in blocks for _ in block[0]]


@pytest.mark.parametrize("n_checked", [50, 200])
@pytest.mark.parametrize("seed", range(4))
def test_many_checks_use_isotonic_regression(seed, n_checked) -> None:
    p, rows, wrong, _ = checked_data(seed, n_checked)
    x, y, weights = with_pseudo_rows(p, rows, wrong)
    places, values = slow_isotonic(x.tolist(), y.tolist(), weights.tolist())
    others = np.setdiff1d(np.flatnonzero(~np.isnan(p)), rows)
    expected = np.interp(p[others], places, values)
    np.testing.assert_allclose(recalibrate(p, rows, wrong)[others], expected, atol=1e-9)


def test_no_checks_change_nothing() -> None:
    p, rows, wrong, _ = checked_data(0, 5)
    np.testing.assert_array_equal(recalibrate(p, rows[:0], wrong[:0]), p)
    # Checked rows without a label are ignored.
    p[rows] = np.nan
    np.testing.assert_array_equal(recalibrate(p, rows, wrong), p)


@pytest.mark.parametrize("n_checked", [49, 200])
def test_certain_probabilities_stay_finite(n_checked) -> None:
    p = np.tile([0.0, 1.0, 0.5, 1e-300], 100)
    wrong = np.arange(n_checked) % 3 == 0
    found = recalibrate(p, np.arange(n_checked), wrong)
    assert np.isfinite(found).all()
    zero, one, half, tiny = found[-4:]
    assert 0 <= zero <= tiny <= half <= one <= 1


@pytest.mark.parametrize("n_checked", [5, 30, 60])
def test_one_surprise_does_not_move_all_rows(n_checked) -> None:
    # A reviewer confirms flagged rows, and finds an error in one that was almost certainly right.
    p = np.append(np.full(80, 0.99), np.full(320, 1e-6))
    rows = np.append(np.arange(n_checked - 1), 399)
    found = recalibrate(p, rows, np.ones(n_checked, dtype=bool))
    assert found.mean() < p.mean() + 0.1


def test_checks_correct_an_overconfident_model() -> None:
    errors = []
    for seed in range(5):
        p, rows, wrong, _ = checked_data(seed, 100, n_rows=4000)
        others = np.setdiff1d(np.flatnonzero(~np.isnan(p)), rows)
        true = np.minimum(2 * p[others], 1)
        found = recalibrate(p, rows, wrong)[others]
        errors.append((np.abs(p[others] - true).mean(), np.abs(found - true).mean()))
    before, after = np.mean(errors, axis=0)
    assert after < before / 2
