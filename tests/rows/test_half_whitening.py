"""Half-whitened axes are the same rows in other coordinates: a fit along them is one on X @ map."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import problems
import twin
from prepared import prepared_rows
from twohot import DistilledProbe, LinearProbe
from twohot.rows import principal_axes
from twohot.rows.coordinates import Coordinates, choose_coordinates, prepare
from twohot.rows.principal_axes import measure_axes

L2 = 1e-3
LONG = problems.synthetic()
WIDE = problems.synthetic(n_classes=4, n_per_class=12, n_features=60)  # fewer rows than features
BOTH = pytest.mark.parametrize("data", [LONG, WIDE], ids=["long", "wide"])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])
INTERCEPT = pytest.mark.parametrize("intercept", [False, True])


@pytest.fixture(params=[7, 512])
def n_axes(request, monkeypatch):
    """The most leading axes that are used."""
    monkeypatch.setattr(principal_axes, "LEADING_AXES", request.param)
    return request.param


FEW_AXES = pytest.mark.parametrize("n_axes", [7], indirect=True)


def weights_of(data, weighted):
    return 1 + problems.random_weights(len(data.X)) if weighted else None


def coordinates_of(data, v=None, *, intercept=False) -> Coordinates:
    rows = prepared_rows(data.X, n_classes=data.n_classes, weights=v, intercept=intercept)
    return choose_coordinates(rows)


# The axes ----------------------------------------------------------------------------------------


@INTERCEPT
@WEIGHTED
@BOTH
def test_the_axes_are_those_of_a_singular_value_decomposition(data, weighted, intercept, n_axes):
    v = weights_of(data, weighted)
    rows = twin.prepare(data.X, v=v)
    expected = twin.half_whitening(rows, v=v, n_axes=n_axes)
    found = coordinates_of(data, v, intercept=intercept).half_whitened()
    m = expected.shape[1]
    basis = found.to_features(np.eye(m + intercept)).T
    if intercept:
        np.testing.assert_allclose(basis[-1], np.eye(m + 1)[-1], atol=1e-12)
        np.testing.assert_allclose(basis[:, -1], np.eye(len(basis))[-1], atol=1e-12)
        basis = basis[:-1, :-1]
    # Signs and order aside, what rows are turned into is the same.
    np.testing.assert_allclose(basis @ basis.T, expected @ expected.T, atol=1e-8)
    along = rows @ basis
    v = np.ones(len(rows)) if v is None else v
    moment, mean = (along.T * v) @ along / v.sum(), v @ along / v.sum()
    np.testing.assert_allclose(moment, np.diag(found.axes.variances[:m]), atol=1e-10)
    np.testing.assert_allclose(found.axes.mean_row[:m], mean, atol=1e-10)
    assert found.axes.mean_square == pytest.approx(np.trace(moment))


def test_leading_axes_are_those_of_the_largest_variances():
    plain = coordinates_of(LONG, intercept=True)
    leading = plain.leading(5)
    found = leading.axes
    np.testing.assert_array_equal(found.basis.columns(0), plain.axes.basis.columns(0)[:, -6:])
    np.testing.assert_array_equal(found.variances[:-1], np.sort(plain.axes.variances[:-1])[-5:])
    # A ridge means the same penalty as along all axes.
    assert leading.unit_penalty == plain.unit_penalty
    coef = np.random.default_rng(0).normal(size=(5, 6))
    np.testing.assert_allclose(
        plain.to_features(plain.axes.extend(coef)), leading.to_features(coef), atol=1e-12
    )


def test_columns_of_zeros_change_nothing():
    padded = np.hstack([LONG.X, np.zeros((len(LONG.X), 4))])
    probe = LinearProbe(whiten=True, tol=1e-9)
    expected = probe.fit(LONG.X, LONG.given_labels).coef_
    found = probe.fit(padded, LONG.given_labels).coef_
    np.testing.assert_allclose(found[:, :-4], expected, atol=1e-7)
    np.testing.assert_allclose(found[:, -4:], 0, atol=1e-12)


@FEW_AXES
@INTERCEPT
@BOTH
def test_coefficients_go_there_and_back(data, intercept, n_axes):
    plain = coordinates_of(data, intercept=intercept)
    index = np.arange(0, len(data.X), 2)
    generator = np.random.default_rng(0)
    for found in (
        plain.half_whitened(),
        plain.half_whitened().in_axes(),
        plain.leading().in_axes(index),
        plain.leading().in_axes(index).half_whitened(),
    ):
        coef = generator.normal(size=(data.n_classes, n_axes + intercept))
        on_features = found.to_features(coef)
        assert on_features.shape == (data.n_classes, data.X.shape[1] + intercept)
        np.testing.assert_allclose(found.from_features(on_features), coef, atol=1e-9)
        # Logits do not depend on the coordinates that rows are stored in.
        rows = twin.prepare(data.X)[:: len(data.X) // found.rows.n_samples]
        logits = rows @ on_features[:, : rows.shape[1]].T
        logits += on_features[:, -1] if intercept else 0
        stored = found.rows.block(0).project(found.on_rows(coef))
        np.testing.assert_allclose(stored, logits[: len(stored)], atol=1e-9)


def test_rows_along_few_axes_are_kept_though_all_features_would_be_too_many(monkeypatch):
    monkeypatch.setattr("twohot.rows.rows.KEPT_BYTES", LONG.X.nbytes - 1)
    rows = prepared_rows(LONG.X, n_classes=5, keep_small=True)
    found = Coordinates(rows, measure_axes(rows)).leading(5).in_axes().take(np.arange(100))
    assert found.rows.block(0).x is found.rows.block(0).x


# Fits along them ---------------------------------------------------------------------------------


@INTERCEPT
@WEIGHTED
@BOTH
def test_a_fit_is_logistic_regression_on_transformed_rows(data, weighted, intercept, n_axes):
    v = weights_of(data, weighted)
    rows = twin.prepare(data.X, v=v)
    rows = rows @ twin.half_whitening(rows, v=v, n_axes=n_axes)
    total = len(rows) if v is None else v.sum()
    reference = LogisticRegression(
        C=1 / (L2 * total), fit_intercept=intercept, tol=1e-10, max_iter=5000
    ).fit(rows, data.given_labels, v)
    probe = LinearProbe(whiten=True, l2=L2, fit_intercept=intercept, tol=1e-9)
    probe.fit(data.X, data.given_labels, v)
    expected = reference.predict_proba(rows)
    np.testing.assert_allclose(probe.predict_proba(data.X), expected, atol=1e-6)
    sparse = LinearProbe(whiten=True, l2=L2, fit_intercept=intercept, tol=1e-9)
    sparse.fit(sp.csr_array(data.X), data.given_labels, v)
    np.testing.assert_allclose(sparse.coef_, probe.coef_, atol=1e-6)


def test_float32_rows_give_the_same_up_to_their_precision():
    exact = LinearProbe(whiten=True, l2=L2, tol=1e-9).fit(LONG.X, LONG.given_labels)
    short = LinearProbe(whiten=True, l2=L2, tol=1e-4).fit(
        LONG.X.astype(np.float32), LONG.given_labels
    )
    expected = exact.predict_proba(LONG.X)
    np.testing.assert_allclose(short.predict_proba(LONG.X), expected, atol=1e-3)


@BOTH
def test_a_ridge_is_relative_to_the_rows_that_are_penalised(data):
    rows = twin.prepare(data.X)
    square = np.sum((rows @ twin.half_whitening(rows)) ** 2) / len(rows)
    probe = LinearProbe(whiten=True, ridge=3.0).fit(data.X, data.given_labels)
    expected = 3 * square / (data.n_classes * len(rows))
    assert probe.rounds_[0].l2 == pytest.approx(expected)


def test_every_round_is_an_optimum_on_transformed_rows():
    probe = DistilledProbe(whiten=True, loss="gce", l2=L2, tol=1e-9, n_rounds=2)
    probe.fit(LONG.X, LONG.given_labels)
    rows = twin.prepare(LONG.X)
    mapped = twin.half_whitening(rows)
    rows = rows @ mapped
    first, second = (np.linalg.lstsq(mapped, each.coef.T)[0].T for each in probe.rounds_)
    given = twin.one_hot(LONG.given_labels)
    assert twin.relative_gradient(rows, given, first, L2) < 2e-9
    targets = twin.outputs(rows, first)
    assert twin.relative_gradient(rows, targets, second, L2, loss="gce") < 2e-9


@BOTH
def test_a_start_on_the_features_is_found_along_the_axes(data):
    probe = LinearProbe(whiten=True, loss="gce", tol=1e-6).fit(data.X, data.given_labels)
    again = LinearProbe(whiten=True, loss="gce", tol=1e-5, start=probe.coef_)
    assert again.fit(data.X, data.given_labels).n_iter_ == 0
    np.testing.assert_allclose(again.coef_, probe.coef_, atol=1e-7)


def test_axes_do_not_depend_on_the_order_of_the_rows():
    generator = np.random.default_rng(0)
    kinds = generator.normal(size=(40_000, 8)) * np.where(np.arange(8) < 4, 1.0, 0.01)
    kinds[1::2] = kinds[1::2, ::-1]  # every second row varies along the other features
    _, coordinates = prepare(
        kinds, center=False, normalize=False, weights=None, n_jobs=1, n_classes=2, intercept=False
    )
    assert coordinates.axes.variances.min() > 0.4
