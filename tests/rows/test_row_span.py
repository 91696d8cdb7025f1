"""With fewer samples than features, the fit on the span of the rows is the fit on the features."""

import numpy as np
import pytest

import problems
import twin
from prepared import prepared_rows
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.probes.recipe import Recipe
from twohot.probes.rounds import LABELS, LabelTargets, run_rounds
from twohot.rows.coordinates import Coordinates, choose_coordinates, span_of
from twohot.rows.principal_axes import measure_axes
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy
from twohot.solve.solver import Settings

N_SAMPLES, N_FEATURES = 100, 130
SETTINGS = Settings(tol=1e-10, max_iter=500)
L2 = 1e-3


def few_rows(dtype=np.float64):
    problem = problems.synthetic(5, 20, N_FEATURES)
    assert problem.X.shape == (N_SAMPLES, N_FEATURES)
    return problem.X.astype(dtype), problem.given_labels


def rows_of(X, weights=None, intercept=False):
    return prepared_rows(X, n_classes=5, weights=weights, intercept=intercept, n_jobs=2)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_solution_is_that_on_all_features(weighted, intercept):
    X, labels = few_rows()
    v = problems.random_weights(N_SAMPLES) if weighted else None
    rows = rows_of(X, v, intercept)
    teacher = Recipe(CrossEntropy(), l2=L2)
    student = Recipe(CrossEntropy(), l2=L2, teacher=teacher)
    recipe = Recipe(GeneralizedCrossEntropy(), l2=L2, teacher=student, n_candidates=2)
    few = choose_coordinates(rows)
    assert few.origin is not None
    many = Coordinates(rows, measure_axes(rows))
    for coordinates in (few, many):
        coordinates.rows.attach(LABELS, labels)
    found = run_rounds(few, LabelTargets(5), recipe, SETTINGS)
    expected = run_rounds(many, LabelTargets(5), recipe, SETTINGS)
    for short, full in zip(found, expected, strict=True):
        assert short.converged
        assert full.converged
        assert short.coef.shape == (5, N_FEATURES)
        np.testing.assert_allclose(short.coef, full.coef, rtol=0, atol=1e-7)
        np.testing.assert_allclose(short.intercept, full.intercept, rtol=0, atol=1e-7)
        assert short.value == pytest.approx(full.value, rel=1e-10)


def test_rows_keep_their_inner_products_and_their_second_moment_is_diagonal():
    X, _ = few_rows()
    v = np.random.default_rng(0).random(N_SAMPLES) + 0.1
    span = span_of(rows_of(X, v))
    rows, reduced = twin.prepare(X, v=v), span.rows.X
    np.testing.assert_allclose(reduced @ reduced.T, rows @ rows.T, rtol=0, atol=1e-12)
    moment = (reduced.T * v) @ reduced / v.sum()
    np.testing.assert_allclose(moment, np.diag(span.axes.variances), rtol=0, atol=1e-12)
    np.testing.assert_allclose(span.axes.mean_row, v @ reduced / v.sum(), atol=1e-12)
    assert span.axes.mean_square == pytest.approx(1)
    # Centring makes the rows linearly dependent: one direction less than rows.
    assert reduced.shape[1] == N_SAMPLES - 1


def test_equal_rows_span_fewer_directions():
    X, _ = few_rows()
    X = np.vstack([X[:30], X[:30]])
    reduced = span_of(rows_of(X)).rows.X
    assert reduced.shape == (60, 29)  # one less by centring


def test_coefficients_keep_the_part_that_rows_can_see():
    X, _ = few_rows()
    span = span_of(rows_of(X, intercept=True))
    coef = np.random.default_rng(0).normal(size=(5, N_FEATURES + 1))
    lifted = span.to_features(span.from_features(coef))
    rows = np.hstack([twin.prepare(X), np.ones((N_SAMPLES, 1))])
    np.testing.assert_allclose(rows @ lifted.T, rows @ coef.T, rtol=0, atol=1e-10)
    # The rest, orthogonal to all rows, is gone.
    assert np.linalg.norm(lifted[:, :-1]) < np.linalg.norm(coef[:, :-1])


@pytest.mark.parametrize("probe", [LinearProbe(), DistilledProbe(), PartialLabelProbe()])
def test_one_row_less_than_features_makes_no_difference(probe):
    # Around N = d both ways are taken. A row of weight zero, or a column of zeros, tips the
    # balance and changes nothing else.
    X, labels = few_rows()
    X = X[:, :N_SAMPLES]
    probe.set_params(tol=1e-9)
    square = probe.fit(X, labels).coef_  # N = d: not reduced
    wide = np.hstack([X, np.zeros((N_SAMPLES, 1))])  # N < d: reduced
    np.testing.assert_allclose(probe.fit(wide, labels).coef_[:, :-1], square, atol=1e-5)
    long = np.vstack([wide, wide[:1]])
    v = np.append(np.ones(N_SAMPLES), 0)
    weighted = probe.fit(long, np.append(labels, labels[0]), v).coef_[:, :-1]
    np.testing.assert_allclose(weighted, square, rtol=0, atol=1e-5)


def test_float32_rows_are_reduced_in_float64_and_solved_in_float32():
    X, labels = few_rows(np.float32)
    assert span_of(rows_of(X)).rows.X.dtype == np.float32
    probe = LinearProbe(l2=L2).fit(X, labels)
    exact = LinearProbe(l2=L2, tol=1e-10).fit(X.astype(np.float64), labels)
    np.testing.assert_allclose(probe.coef_, exact.coef_, rtol=0, atol=2e-4)


@pytest.mark.parametrize("n_samples", [8, 40])
def test_rows_that_are_all_zero_span_nothing(n_samples):
    probe = LinearProbe().fit(np.zeros((n_samples, 20)), np.arange(n_samples) % 4)
    np.testing.assert_array_equal(probe.coef_, np.zeros((4, 20)))
    assert probe.rounds_[0].converged
    np.testing.assert_allclose(probe.predict_proba(np.ones((2, 20))), 0.25)
