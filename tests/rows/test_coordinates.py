"""Coordinates of a fit: half-whitened axes, rows stored along their axes, the span of few rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import problems
import twin
from prepared import prepared_rows
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.probes.rounds import LABELS, LabelTargets
from twohot.rows.coordinates import Coordinates, choose_coordinates, span_of
from twohot.solve.losses import CrossEntropy
from twohot.solve.solver import Settings, Solver

L2 = 1e-3
LONG = problems.synthetic()
WIDE = problems.synthetic(n_classes=4, n_per_class=12, n_features=60)  # fewer rows than features
BOTH = pytest.mark.parametrize("data", [LONG, WIDE], ids=["long", "wide"])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])
INTERCEPT = pytest.mark.parametrize("intercept", [False, True])


@pytest.fixture(params=[7, 512])
def n_axes(request, monkeypatch):
    """The maximum number of leading axes."""
    monkeypatch.setattr("twohot.rows.principal_axes.LEADING_AXES", request.param)
    return request.param


def weights_of(data, weighted):
    return 1 + problems.random_weights(len(data.X)) if weighted else None


def coordinates_of(data, v=None, *, intercept=False) -> Coordinates:
    rows = prepared_rows(data.X, n_classes=data.n_classes, weights=v, intercept=intercept)
    return choose_coordinates(rows)


@INTERCEPT
@WEIGHTED
@BOTH
def test_half_whitened_axes_match_a_singular_value_decomposition(data, weighted, intercept, n_axes):
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
    # Equal up to signs and order.
    np.testing.assert_allclose(basis @ basis.T, expected @ expected.T, atol=1e-8)
    along = rows @ basis
    v = np.ones(len(rows)) if v is None else v
    moment, mean = (along.T * v) @ along / v.sum(), v @ along / v.sum()
    np.testing.assert_allclose(moment, np.diag(found.axes.variances[:m]), atol=1e-10)
    np.testing.assert_allclose(found.axes.mean_row[:m], mean, atol=1e-10)
    assert found.axes.mean_square == pytest.approx(np.trace(moment))


def test_leading_axes_have_the_largest_variances():
    plain = coordinates_of(LONG, intercept=True)
    leading = plain.leading(5)
    found = leading.axes
    np.testing.assert_array_equal(found.basis.columns(0), plain.axes.basis.columns(0)[:, -6:])
    np.testing.assert_array_equal(found.variances[:-1], np.sort(plain.axes.variances[:-1])[-5:])
    assert leading.unit_penalty == plain.unit_penalty
    coef = np.random.default_rng(0).normal(size=(5, 6))
    np.testing.assert_allclose(
        plain.to_features(plain.axes.extend(coef)), leading.to_features(coef), atol=1e-12
    )


@pytest.mark.parametrize("n_axes", [7], indirect=True)
@INTERCEPT
@BOTH
def test_coefficients_are_converted_both_ways(data, intercept, n_axes):
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


# Fits on half-whitened rows -----------------------------------------------------------------------


@INTERCEPT
@WEIGHTED
@BOTH
def test_whitened_probe_is_logistic_regression_on_transformed_rows(
    data, weighted, intercept, n_axes
):
    v = weights_of(data, weighted)
    rows = twin.prepare(data.X, v=v)
    rows = rows @ twin.half_whitening(rows, v=v, n_axes=n_axes)
    total = len(rows) if v is None else v.sum()
    reference = LogisticRegression(
        C=1 / (L2 * total), fit_intercept=intercept, tol=1e-10, max_iter=5000
    ).fit(rows, data.given_labels, v)
    probe = LinearProbe(whiten=True, l2=L2, fit_intercept=intercept, tol=1e-9)
    found = probe.fit(data.X, data.given_labels, v).predict_proba(data.X)
    np.testing.assert_allclose(found, reference.predict_proba(rows), atol=1e-6)
    coef = probe.coef_
    sparse = probe.fit(sp.csr_array(data.X), data.given_labels, v)
    np.testing.assert_allclose(sparse.coef_, coef, atol=1e-6)


@BOTH
def test_whitened_ridge_is_relative_to_the_transformed_rows(data):
    rows = twin.prepare(data.X)
    square = np.sum((rows @ twin.half_whitening(rows)) ** 2) / len(rows)
    probe = LinearProbe(whiten=True, ridge=3.0).fit(data.X, data.given_labels)
    expected = 3 * square / (data.n_classes * len(rows))
    assert probe.rounds_[0].l2 == pytest.approx(expected)


def test_whitened_rounds_are_optima_on_transformed_rows():
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
def test_whitened_probe_accepts_a_start_on_the_features(data):
    probe = LinearProbe(whiten=True, loss="gce", tol=1e-6).fit(data.X, data.given_labels)
    again = LinearProbe(whiten=True, loss="gce", tol=1e-5, start=probe.coef_)
    assert again.fit(data.X, data.given_labels).n_iter_ == 0
    np.testing.assert_allclose(again.coef_, probe.coef_, atol=1e-7)


def test_columns_of_zeros_change_nothing():
    padded = np.hstack([LONG.X, np.zeros((len(LONG.X), 4))])
    probe = LinearProbe(whiten=True, tol=1e-9)
    expected = probe.fit(LONG.X, LONG.given_labels).coef_
    found = probe.fit(padded, LONG.given_labels).coef_
    np.testing.assert_allclose(found[:, :-4], expected, atol=1e-7)
    np.testing.assert_allclose(found[:, -4:], 0, atol=1e-12)


# Rows stored along their axes ---------------------------------------------------------------------


@INTERCEPT
def test_rows_along_their_axes_give_the_same_fit(intercept):
    at = coordinates_of(LONG, weights_of(LONG, weighted=True), intercept=intercept)
    at.rows.attach(LABELS, LONG.given_labels)
    along, found = at.in_axes(), []
    for each in (at, along):
        fit = Solver(each, Settings(tol=1e-10, max_iter=500)).fit(
            CrossEntropy(), LabelTargets(5), L2
        )
        found.append(each.to_features(fit.evaluation.coef))
    np.testing.assert_allclose(*found, atol=1e-6)
    assert along.axes.basis is None
    assert along.in_axes() is along
    assert np.shares_memory(along.rows.block(1).x, along.rows.X)


@INTERCEPT
def test_leading_axes_are_a_view_of_rows_along_all_axes(intercept):
    at = coordinates_of(LONG, weights_of(LONG, weighted=True), intercept=intercept)
    along = at.in_axes()
    few = along.leading(5)
    assert few.axes.basis is None
    assert np.shares_memory(few.rows.X, along.rows.X)
    assert few.rows.n_columns == 5
    coef = np.random.default_rng(1).normal(size=(5, 5 + intercept))
    expected = at.to_features(at.axes.extend(coef))
    np.testing.assert_allclose(few.to_features(coef), expected, atol=1e-12)
    np.testing.assert_allclose(few.from_features(expected), coef, atol=1e-12)
    np.testing.assert_allclose(
        few.rows.block(1).project(few.on_rows(coef)),
        along.rows.block(1).project(along.on_rows(along.axes.extend(coef))),
        atol=1e-12,
    )


# Fewer rows than features: the span of the rows ---------------------------------------------------


def span(X, v=None, *, intercept=False):
    return span_of(prepared_rows(X, n_classes=4, weights=v, intercept=intercept, n_jobs=2))


def test_span_keeps_inner_products_and_has_a_diagonal_moment():
    v = np.random.default_rng(0).random(len(WIDE.X)) + 0.1
    found = span(WIDE.X, v)
    rows, reduced = twin.prepare(WIDE.X, v=v), found.rows.X
    np.testing.assert_allclose(reduced @ reduced.T, rows @ rows.T, rtol=0, atol=1e-12)
    moment = (reduced.T * v) @ reduced / v.sum()
    np.testing.assert_allclose(moment, np.diag(found.axes.variances), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.axes.mean_row, v @ reduced / v.sum(), atol=1e-12)
    assert found.axes.mean_square == pytest.approx(1)
    assert reduced.shape[1] == len(rows) - 1  # centred rows are linearly dependent


def test_equal_rows_span_fewer_directions():
    assert span(np.vstack([WIDE.X[:20], WIDE.X[:20]])).rows.X.shape == (40, 19)


def test_span_keeps_the_part_of_coefficients_that_changes_logits():
    found = span(WIDE.X, intercept=True)
    coef = np.random.default_rng(0).normal(size=(4, WIDE.X.shape[1] + 1))
    lifted = found.to_features(found.from_features(coef))
    rows = np.hstack([twin.prepare(WIDE.X), np.ones((len(WIDE.X), 1))])
    np.testing.assert_allclose(rows @ lifted.T, rows @ coef.T, rtol=0, atol=1e-10)
    # The part orthogonal to all rows is dropped.
    assert np.linalg.norm(lifted[:, :-1]) < np.linalg.norm(coef[:, :-1])


@pytest.mark.parametrize("probe", [LinearProbe(), DistilledProbe(), PartialLabelProbe()])
def test_fit_is_continuous_where_rows_are_as_many_as_features(probe):
    # A column of zeros makes the rows fewer, a row of weight zero makes them as many again.
    probe.set_params(tol=1e-9)
    n, labels = len(WIDE.X), WIDE.given_labels
    X = WIDE.X[:, :n]
    square = probe.fit(X, labels).coef_
    wide = np.hstack([X, np.zeros((n, 1))])
    np.testing.assert_allclose(probe.fit(wide, labels).coef_[:, :-1], square, atol=1e-5)
    long, v = np.vstack([wide, wide[:1]]), np.append(np.ones(n), 0)
    weighted = probe.fit(long, np.append(labels, labels[0]), v).coef_[:, :-1]
    np.testing.assert_allclose(weighted, square, rtol=0, atol=1e-5)


@pytest.mark.parametrize("n_samples", [8, 40])
def test_rows_of_zeros_give_zero_coefficients(n_samples):
    probe = LinearProbe().fit(np.zeros((n_samples, 20)), np.arange(n_samples) % 4)
    np.testing.assert_array_equal(probe.coef_, np.zeros((4, 20)))
    assert probe.rounds_[0].converged
    np.testing.assert_allclose(probe.predict_proba(np.ones((2, 20))), 0.25)
