"""Axes of wide rows: the leading ones by iteration, the rest by reflection."""

import numpy as np
import pytest
import scipy.linalg as sl

from twohot import AutoProbe, DiscriminantProbe, LinearProbe
from twohot.rows import principal_axes
from twohot.rows.open import fit_preparation
from twohot.rows.principal_axes import leading_axes, measure_axes, reflected_basis
from twohot.rows.rows import Rows

N_FEATURES, N_LEADING = 40, 8


def wide_rows(n_samples=600, seed=0):
    """Return rows whose variance falls by a fifth from one axis to the next, and labels."""
    rng = np.random.default_rng(seed)
    turn = sl.qr(rng.normal(size=(N_FEATURES, N_FEATURES)))[0]
    X = rng.normal(size=(n_samples, N_FEATURES)) * 0.9 ** np.arange(N_FEATURES) @ turn
    return X, np.argmax(X @ rng.normal(size=(N_FEATURES, 4)) + rng.normal(size=(n_samples, 4)), 1)


@pytest.fixture
def _wide(monkeypatch):
    monkeypatch.setattr(principal_axes, "WIDE", N_FEATURES - 1)
    monkeypatch.setattr(principal_axes, "LEADING_AXES", N_LEADING)


def measured(X, *, intercept, weights=None, exact=True):
    preparation = fit_preparation(X, center=True, normalize=True, weights=weights)
    rows = Rows(X, preparation, intercept=intercept, weights=weights, block_rows=100)
    return measure_axes(rows, exact=exact)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_axes", [1, 7, 20])
def test_a_reflection_has_the_given_axes_and_is_orthogonal(n_axes, intercept):
    rng = np.random.default_rng(n_axes)
    axes = sl.qr(rng.normal(size=(20, n_axes)), mode="economic")[0]
    basis = reflected_basis(axes, intercept=intercept)
    whole = basis.columns(0)
    n = 20 + intercept
    np.testing.assert_allclose(whole.T @ whole, np.eye(n), atol=1e-13)
    np.testing.assert_allclose(whole[:20, 20 - n_axes : 20], axes, atol=1e-13)
    if intercept:
        np.testing.assert_allclose(whole[-1], np.eye(n)[-1], atol=1e-15)
    vectors = rng.normal(size=(70, n))
    np.testing.assert_allclose(basis.from_rows(vectors, 2), vectors @ whole, atol=1e-12)
    np.testing.assert_allclose(basis.to_rows(vectors, 1), vectors @ whole.T, atol=1e-12)


def test_axes_that_are_already_in_place_need_no_turn():
    basis = reflected_basis(np.eye(12)[:, 7:], intercept=False)
    np.testing.assert_allclose(np.abs(basis.columns(7)), np.eye(12)[:, 7:], atol=1e-15)


def test_leading_axes_are_those_of_the_largest_eigenvalues():
    X, _ = wide_rows()
    moment = X.T @ X / len(X)
    variances, axes = leading_axes(moment, N_LEADING)
    expected, vectors = sl.eigh(moment)
    np.testing.assert_allclose(axes.T @ axes, np.eye(N_LEADING), atol=1e-13)
    # What they miss is of the kind of the last of them.
    np.testing.assert_allclose(variances, expected[-N_LEADING:], rtol=0.03)
    assert variances.sum() >= 0.99 * expected[-N_LEADING:].sum()
    first = np.abs(vectors[:, -3:].T @ axes[:, -3:])
    np.testing.assert_allclose(first, np.eye(3), atol=0.02)


@pytest.mark.usefixtures("_wide")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_variances_are_those_along_the_axes_and_of_the_rest_their_mean(intercept, weighted):
    X, _ = wide_rows()
    v = np.random.default_rng(1).uniform(0.1, 2, len(X)) if weighted else np.ones(len(X))
    found = measured(X, intercept=intercept, weights=v if weighted else None)
    rows = X - v @ X / v.sum()
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    along = rows @ found.reading(intercept=intercept)
    squares = v @ along**2 / v.sum()
    np.testing.assert_allclose(found.variances[N_FEATURES - N_LEADING : N_FEATURES], squares[-8:])
    n_rest = N_FEATURES - N_LEADING
    np.testing.assert_allclose(found.variances[:n_rest], squares[:n_rest].mean())
    np.testing.assert_allclose(found.mean_row[:N_FEATURES], v @ along / v.sum(), atol=1e-14)
    assert len(found.variances) == N_FEATURES + intercept


@pytest.mark.usefixtures("_wide")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_axes_that_only_help_are_fewer_and_of_some_rows(intercept, weighted, monkeypatch):
    X, _ = wide_rows(16_000)
    weights = np.random.default_rng(1).uniform(0.1, 2, len(X)) if weighted else None
    exact = measured(X, intercept=intercept, weights=weights)
    monkeypatch.setattr(principal_axes, "HELPFUL_AXES", 5)
    helpful = measured(X, intercept=intercept, weights=weights, exact=False)
    leading, first = helpful.basis.columns(N_FEATURES - 5), exact.basis.columns(N_FEATURES - 5)
    assert not np.array_equal(leading, first)
    np.testing.assert_allclose(np.linalg.svd(leading.T @ first)[1][:4], 1, atol=0.02)
    n_rest = N_FEATURES - 5
    assert np.ptp(helpful.variances[:n_rest]) == 0
    assert helpful.variances[:N_FEATURES].sum() == pytest.approx(1)
    np.testing.assert_allclose(helpful.variances[n_rest:], exact.variances[n_rest:], rtol=0.2)
    # What a penalty is measured by is that of all rows.
    assert helpful.mean_square == pytest.approx(exact.mean_square, rel=1e-12)
    assert sl.norm(helpful.mean_row) == pytest.approx(sl.norm(exact.mean_row), rel=1e-9)


@pytest.mark.usefixtures("_wide")
def test_axes_that_are_part_of_a_probe_are_exact():
    X, y = wide_rows(9_000)  # of which some would do where axes only help
    found = LinearProbe(whiten=True, dtype="float64").fit(X, y).coef_
    expected = measured(X, intercept=False).half_whitened(intercept=False)
    along = found - expected.to_rows(expected.project(found, 1), 1)
    np.testing.assert_allclose(along, 0, atol=1e-9 * np.abs(found).max())


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_fit_does_not_depend_on_how_the_axes_are_found(fit_intercept, monkeypatch):
    X, y = wide_rows()
    probe = LinearProbe(ridge=3, tol=1e-9, fit_intercept=fit_intercept, dtype="float64")
    expected = probe.fit(X, y).coef_
    n_passes = probe.rounds_[0].n_passes
    monkeypatch.setattr(principal_axes, "WIDE", N_FEATURES - 1)
    monkeypatch.setattr(principal_axes, "LEADING_AXES", N_LEADING)
    found = probe.fit(X, y)
    np.testing.assert_allclose(found.coef_, expected, atol=1e-6 * np.abs(expected).max())
    assert found.rounds_[0].n_passes <= 1.5 * n_passes


@pytest.mark.usefixtures("_wide")
@pytest.mark.parametrize("value", [0.0, 2.5])
def test_features_that_never_vary_have_no_axes(value):
    X, y = np.full((60, N_FEATURES), value), np.arange(60) % 3
    for probe in (LinearProbe(), LinearProbe(whiten=True), DiscriminantProbe()):
        outputs = probe.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(outputs, 1 / 3, atol=1e-6)
    auto = AutoProbe().fit(X, y)
    np.testing.assert_allclose(auto.predict_proba(X), 1 / 3, atol=0.05)
    assert not auto.choice_.learnt


@pytest.mark.usefixtures("_wide")
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_rows_may_be_of_any_size(scale):
    X, y = wide_rows()
    expected = LinearProbe(normalize=False).fit(X, y).predict(X)
    found = LinearProbe(normalize=False).fit(X * scale, y).predict(X * scale)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("_wide")
def test_axes_that_are_left_out_still_count_for_the_floor_of_whitening():
    X, _ = wide_rows()
    axes = measured(X, intercept=False)
    few = axes.leading(intercept=False, most=3).half_whitened(intercept=False)
    np.testing.assert_array_equal(few.scale, axes.half_whitened(intercept=False).scale[-3:])
