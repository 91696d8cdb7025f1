"""The principal axes are those of a brute-force second moment, in full or the leading ones."""

import numpy as np
import pytest
import scipy.linalg as sl

import twin
from prepared import prepared_rows
from twohot import AutoProbe, DiscriminantProbe, LinearProbe
from twohot.rows.principal_axes import leading_axes, measure_axes, reflected_basis

WEIGHTED = pytest.mark.parametrize("weighted", [False, True])
INTERCEPT = pytest.mark.parametrize("intercept", [False, True])


def weights_of(n_rows, weighted):
    return np.random.default_rng(1).uniform(0.1, 2, n_rows) if weighted else None


def measured(X, *, exact=True, **options):
    return measure_axes(prepared_rows(X, **options), exact=exact)


def few_features(n_rows=300):
    scales = np.diag([3, 2, 1, 1, 0.5, 0.1])
    return np.random.default_rng(0).normal(size=(n_rows, 6)) @ scales + 0.3


@INTERCEPT
@WEIGHTED
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_second_moment_is_diagonal_along_the_axes(dtype, normalize, weighted, intercept):
    X, v = few_features().astype(dtype), weights_of(300, weighted)
    found = measured(X, weights=v, intercept=intercept, normalize=normalize, n_jobs=2)
    rows = twin.prepare(X, v=v, normalize=normalize)
    v = np.ones(300) if v is None else v
    moment, mean = (rows.T * v) @ rows / v.sum(), v @ rows / v.sum()
    if intercept:  # an axis of its own
        moment, mean = sl.block_diag(moment, 1), np.append(mean, 1)
    tolerance = {"rtol": 0, "atol": 1e-5 if dtype == "float32" else 1e-13}
    basis = found.basis.columns(0)
    np.testing.assert_allclose(basis.T @ basis, np.eye(len(mean)), **tolerance)
    np.testing.assert_allclose(basis.T @ moment @ basis, np.diag(found.variances), **tolerance)
    np.testing.assert_allclose(found.mean_row, mean @ basis, **tolerance)
    expected = np.average(np.sum(rows**2, axis=1), weights=v)  # without the intercept
    assert found.mean_square == pytest.approx(expected, rel=1e-5 if dtype == "float32" else 1e-12)


@WEIGHTED
def test_sample_of_many_rows_is_even(weighted):
    n_rows = 30_000
    X, v = few_features(n_rows), weights_of(n_rows, weighted)
    found, rows = measured(X, weights=v), twin.prepare(X, v=v)
    # About a third, and of every second row about a third too; plain integers are the oracle.
    chosen = np.array([i * 2_654_435_769 % 2**32 < 2**32 // 3 for i in range(n_rows)])
    assert [chosen[first::2].sum() for first in (0, 1)] == pytest.approx([5000, 5000], abs=3)
    v = np.ones(n_rows) if v is None else v
    moment = (rows[chosen].T * v[chosen]) @ rows[chosen] / v[chosen].sum()
    basis = found.basis.columns(0)
    np.testing.assert_allclose((basis * found.variances) @ basis.T, moment, rtol=0, atol=1e-13)
    # The mean row is that of all rows.
    np.testing.assert_allclose(found.mean_row, v @ rows / v.sum() @ basis, atol=1e-13)


def test_order_of_rows_does_not_change_the_axes():
    kinds = np.random.default_rng(0).normal(size=(40_000, 8)) * np.repeat([1.0, 0.01], 4)
    kinds[1::2] = kinds[1::2, ::-1]  # every second row varies along the other features
    assert measured(kinds, center=False, normalize=False).variances.min() > 0.4


def test_axes_are_identical_for_any_number_of_threads():
    X = few_features().astype(np.float32)
    one, three = (measured(X, n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.basis.columns(0), three.basis.columns(0))
    np.testing.assert_array_equal(one.variances, three.variances)


# Many features: leading axes by iteration, the others by reflection -------------------------------

N_FEATURES, N_LEADING = 40, 8


def wide_rows(n_samples=600):
    """Return rows whose variance falls by a fifth from one axis to the next, and labels."""
    rng = np.random.default_rng(0)
    turn = sl.qr(rng.normal(size=(N_FEATURES, N_FEATURES)))[0]
    X = rng.normal(size=(n_samples, N_FEATURES)) * 0.9 ** np.arange(N_FEATURES) @ turn
    return X, np.argmax(X @ rng.normal(size=(N_FEATURES, 4)) + rng.normal(size=(n_samples, 4)), 1)


@pytest.fixture
def _wide(monkeypatch):
    monkeypatch.setattr("twohot.rows.principal_axes.WIDE", N_FEATURES - 1)
    monkeypatch.setattr("twohot.rows.principal_axes.LEADING_AXES", N_LEADING)
    monkeypatch.setattr("twohot.rows.principal_axes.HELPFUL_AXES", 5)


@INTERCEPT
@pytest.mark.parametrize("n_axes", [1, 7, 20])
def test_reflection_is_orthogonal_and_has_the_given_axes(n_axes, intercept):
    rng = np.random.default_rng(n_axes)
    axes = sl.qr(rng.normal(size=(20, n_axes)), mode="economic")[0]
    basis = reflected_basis(axes, intercept=intercept)
    whole, n = basis.columns(0), 20 + intercept
    np.testing.assert_allclose(whole.T @ whole, np.eye(n), atol=1e-13)
    np.testing.assert_allclose(whole[:20, 20 - n_axes : 20], axes, atol=1e-13)
    if intercept:
        np.testing.assert_allclose(whole[-1], np.eye(n)[-1], atol=1e-15)
    vectors = rng.normal(size=(70, n))
    np.testing.assert_allclose(basis.from_rows(vectors, 2), vectors @ whole, atol=1e-12)
    np.testing.assert_allclose(basis.to_rows(vectors, 1), vectors @ whole.T, atol=1e-12)


def test_reflection_may_have_its_axes_in_place():
    basis = reflected_basis(np.eye(12)[:, 7:], intercept=False)
    np.testing.assert_allclose(np.abs(basis.columns(7)), np.eye(12)[:, 7:], atol=1e-15)


def test_leading_axes_have_the_largest_eigenvalues():
    X, _ = wide_rows()
    moment = X.T @ X / len(X)
    variances, axes = leading_axes(moment, N_LEADING)
    expected, vectors = sl.eigh(moment)
    np.testing.assert_allclose(axes.T @ axes, np.eye(N_LEADING), atol=1e-13)
    # Only the last of them are inexact.
    np.testing.assert_allclose(variances, expected[-N_LEADING:], rtol=0.03)
    assert variances.sum() >= 0.99 * expected[-N_LEADING:].sum()
    first = np.abs(vectors[:, -3:].T @ axes[:, -3:])
    np.testing.assert_allclose(first, np.eye(3), atol=0.02)


@pytest.mark.usefixtures("_wide")
@WEIGHTED
@INTERCEPT
def test_other_axes_have_their_mean_variance(intercept, weighted):
    X, _ = wide_rows()
    weights = weights_of(len(X), weighted)
    found = measured(X, intercept=intercept, weights=weights)
    v = np.ones(len(X)) if weights is None else weights
    along = twin.prepare(X, v=v) @ found.reading(intercept=intercept)
    squares, n_rest = v @ along**2 / v.sum(), N_FEATURES - N_LEADING
    np.testing.assert_allclose(found.variances[n_rest:N_FEATURES], squares[n_rest:])
    np.testing.assert_allclose(found.variances[:n_rest], squares[:n_rest].mean())
    np.testing.assert_allclose(found.mean_row[:N_FEATURES], v @ along / v.sum(), atol=1e-14)
    assert len(found.variances) == N_FEATURES + intercept


@pytest.mark.usefixtures("_wide")
@WEIGHTED
@INTERCEPT
def test_inexact_axes_are_fewer_and_from_a_sample(intercept, weighted):
    X, _ = wide_rows(16_000)
    options = {"intercept": intercept, "weights": weights_of(len(X), weighted)}
    exact, found = (measured(X, exact=exact, **options) for exact in (True, False))
    n_rest = N_FEATURES - 5
    leading, first = found.basis.columns(n_rest), exact.basis.columns(n_rest)
    assert not np.array_equal(leading, first)
    np.testing.assert_allclose(np.linalg.svd(leading.T @ first)[1][:4], 1, atol=0.02)
    assert np.ptp(found.variances[:n_rest]) == 0
    assert found.variances[:N_FEATURES].sum() == pytest.approx(1)
    np.testing.assert_allclose(found.variances[n_rest:], exact.variances[n_rest:], rtol=0.2)
    # Penalties are relative to the mean square of all rows.
    assert found.mean_square == pytest.approx(exact.mean_square, rel=1e-12)
    assert sl.norm(found.mean_row) == pytest.approx(sl.norm(exact.mean_row), rel=1e-9)


@pytest.mark.usefixtures("_wide")
def test_axes_of_a_whitened_probe_are_exact():
    X, y = wide_rows(9_000)  # more rows than a sample of inexact axes
    found = LinearProbe(whiten=True, dtype="float64").fit(X, y).coef_
    expected = measured(X).half_whitened(intercept=False)
    along = found - expected.to_rows(expected.project(found, 1), 1)
    np.testing.assert_allclose(along, 0, atol=1e-9 * np.abs(found).max())


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_fit_does_not_depend_on_the_way_axes_are_found(fit_intercept, monkeypatch):
    X, y = wide_rows()
    probe = LinearProbe(ridge=3, tol=1e-9, fit_intercept=fit_intercept, dtype="float64")
    expected = probe.fit(X, y).coef_
    n_passes = probe.rounds_[0].n_passes
    monkeypatch.setattr("twohot.rows.principal_axes.WIDE", N_FEATURES - 1)
    monkeypatch.setattr("twohot.rows.principal_axes.LEADING_AXES", N_LEADING)
    found = probe.fit(X, y)
    np.testing.assert_allclose(found.coef_, expected, atol=1e-6 * np.abs(expected).max())
    assert found.rounds_[0].n_passes <= 1.5 * n_passes


@pytest.mark.usefixtures("_wide")
@pytest.mark.parametrize("value", [0.0, 2.5])
def test_constant_features_give_uniform_outputs(value):
    X, y = np.full((60, N_FEATURES), value), np.arange(60) % 3
    for probe in (LinearProbe(), LinearProbe(whiten=True), DiscriminantProbe()):
        outputs = probe.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(outputs, 1 / 3, atol=1e-6)
    auto = AutoProbe().fit(X, y)
    np.testing.assert_allclose(auto.predict_proba(X), 1 / 3, atol=0.05)
    assert not auto.choice_.learnt


@pytest.mark.usefixtures("_wide")
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scale_of_rows_does_not_change_predictions(scale):
    X, y = wide_rows()
    expected = LinearProbe(normalize=False).fit(X, y).predict(X)
    found = LinearProbe(normalize=False).fit(X * scale, y).predict(X * scale)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("_wide")
def test_dropped_axes_count_for_the_floor_of_whitening():
    axes = measured(wide_rows()[0])
    few = axes.leading(intercept=False, most=3).half_whitened(intercept=False)
    np.testing.assert_array_equal(few.scale, axes.half_whitened(intercept=False).scale[-3:])
