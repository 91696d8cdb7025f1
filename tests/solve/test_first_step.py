"""The first step from zero has the length that minimises the objective."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import problems
import twin
from prepared import posed
from twohot import LinearProbe
from twohot.rows.selected import RANGE, is_sampled
from twohot.solve.curvature import metrics_at
from twohot.solve.first_step import PRECISION, first_coef

DATA = problems.digits()


def problem_of(ridge, *, v=None, n_times=1):
    """Return the problem of a fit to all rows, several times."""
    X, labels = np.tile(DATA.X, (n_times, 1)), np.tile(DATA.given_labels, n_times)
    return posed(X, labels, ridge=n_times * ridge, weights=v)


@pytest.mark.parametrize("ridge", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_length_minimises_the_objective(weighted, ridge):
    v = problems.random_weights(len(DATA.X)) if weighted else None
    problem = problem_of(ridge, v=v)
    at = problem.coordinates
    coef = at.to_features(first_coef(problem))
    rows, targets = twin.prepare(DATA.X, v=v), twin.one_hot(DATA.given_labels)

    def value(length: float) -> float:
        return float(twin.value(rows, targets, length * coef, ridge * at.unit_penalty, v=v))

    found = minimize_scalar(value, bounds=(0.1, 3), method="bounded", options={"xatol": 1e-6}).x
    assert found == pytest.approx(1, abs=3 * PRECISION)


def test_length_from_a_sample_is_nearly_that_from_all_rows():
    problem = problem_of(10.0, n_times=3)  # the same rows thrice, a tenth in the sample
    before = problem.rows.n_row_products
    length = np.linalg.norm(first_coef(problem_of(10.0)))
    assert np.linalg.norm(first_coef(problem)) == pytest.approx(length, rel=0.1)
    assert problem.rows.n_row_products - before == pytest.approx(0.3 * len(DATA.X), abs=1)


def test_step_is_that_of_newton_if_outputs_stay_uniform():
    # With a large penalty logits are tiny, and the metric is the curvature.
    problem = problem_of(1e6)
    before = problem.rows.n_row_products
    newton = metrics_at(problem).solve(problem.target_moment)
    np.testing.assert_allclose(first_coef(problem), newton, rtol=2 * PRECISION)
    assert problem.rows.n_row_products == before  # no row is read


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("ridge", [1e-3, 1.0])
def test_targets_near_uniform_are_fitted(size, ridge):
    targets = problems.random_targets(len(DATA.X), DATA.n_classes) - 1 / DATA.n_classes
    soft = 1 / DATA.n_classes + size * targets
    probe = LinearProbe(ridge=ridge, max_iter=2000).fit_soft(DATA.X, soft)
    assert probe.rounds_[0].converged


@pytest.mark.parametrize("loss", ["ce", "gce"])
def test_rows_without_weight_are_not_sampled(loss):
    # Without this check all sampled rows would have weight zero.
    generator = np.random.default_rng(0)
    X, labels = generator.normal(size=(3000, 20)), generator.integers(5, size=3000)
    weights = np.where(is_sampled(np.arange(3000), RANGE // 10), 0, generator.random(3000) < 0.05)
    fitted = LinearProbe(loss=loss).fit(X, labels, sample_weight=weights.astype(float))
    among = weights > 0
    alone = LinearProbe(loss=loss).fit(X[among], labels[among])
    np.testing.assert_allclose(fitted.coef_, alone.coef_, atol=1e-4 * np.abs(alone.coef_).max())


def test_step_of_uniform_targets_is_zero():
    problem = problem_of(1.0)
    problem.target_moment[...] = 0
    assert not first_coef(problem).any()
