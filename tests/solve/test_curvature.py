"""Metrics equal the matrices of the formulas; the history satisfies the secant equation."""

import numpy as np
import pytest

import problems
import twin
from prepared import posed
from twohot.probes.rounds import LABELS
from twohot.solve.curvature import ClassMetrics, History, metrics_at
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy

N_CLASSES, N_FEATURES = 5, 12
L2 = 0.01


def vectors(seed=1):
    """Return one vector per class; the vectors sum to zero."""
    drawn = np.random.default_rng(seed).normal(size=(N_CLASSES, N_FEATURES))
    return drawn - drawn.mean(axis=0)


@pytest.fixture
def metrics():
    generator = np.random.default_rng(0)
    return ClassMetrics(
        diagonal=generator.random((N_CLASSES, N_FEATURES)) + 0.1,
        means=generator.normal(size=(N_CLASSES, N_FEATURES)),
        curvature=generator.random((N_CLASSES, 1)),
    )


def test_metrics_multiply_and_solve_by_the_matrix_of_each_class(metrics):
    v = vectors()
    product, solution = metrics.multiply(v), metrics.solve(v)
    for k, (diagonal, mean) in enumerate(zip(metrics.diagonal, metrics.means, strict=True)):
        matrix = np.diag(diagonal) + metrics.curvature[k] * np.outer(mean, mean)
        np.testing.assert_allclose(product[k], matrix @ v[k], rtol=1e-12)
        np.testing.assert_allclose(solution[k], np.linalg.solve(matrix, v[k]))


def small_problem(loss=None):
    data = problems.synthetic()
    ridge = L2 * N_CLASSES * len(data.X)  # rows have unit norm
    return posed(data.X, data.given_labels, loss=loss, ridge=ridge)


def test_metric_at_zero_is_the_curvature():
    # Uniform outputs: mean_i (1/K) x xᵀ + l2 on classes that sum to zero, diagonal in these axes.
    problem, direction, step = small_problem(), vectors(), 1e-6
    metric = metrics_at(problem)
    change = problem.evaluate(step * direction).gradient - problem.gradient_at_zero()
    np.testing.assert_allclose(metric.multiply(direction), change / step, rtol=0, atol=1e-6)
    np.testing.assert_allclose(metric.multiply(metric.solve(direction)), direction)


@pytest.mark.parametrize("loss", [CrossEntropy(), GeneralizedCrossEntropy(0.7)], ids=str)
def test_metrics_have_the_mean_row_of_each_class(loss):
    problem, coef = small_problem(loss), vectors()
    evaluation = problem.evaluate(coef)
    rows = problem.axes.from_rows(twin.prepare(problem.rows.X), 1)
    p = twin.outputs(rows, coef)
    if loss.is_robust:
        labels = twin.one_hot(problem.rows.columns[LABELS])
        p = p * np.sum(labels * p**0.7, axis=1, keepdims=True)
    metrics = metrics_at(problem, evaluation)
    np.testing.assert_allclose(metrics.means, p.T @ rows / p.sum(axis=0)[:, None], atol=1e-10)
    expected = evaluation.curvature[:, None] * problem.axes.variances + L2
    np.testing.assert_allclose(metrics.diagonal, expected)


@pytest.fixture
def history(metrics):
    """Steps on a quadratic whose classes are coupled, kept in the space where they sum to zero."""
    history = History(np.dtype(np.float64))
    root = np.random.default_rng(2).normal(size=(N_CLASSES * N_FEATURES, 4))
    for step in map(vectors, range(10, 16)):
        change = metrics.multiply(step) + 0.2 * (root @ (root.T @ step.ravel())).reshape(step.shape)
        history.add(step, change - change.mean(axis=0), metrics, 0.3)
    assert len(history.pairs) == 6
    return history


def test_solution_of_the_last_change_is_the_last_step(history, metrics):
    newest = history.pairs[-1]
    np.testing.assert_allclose(history.solve(newest.change, metrics), newest.step, atol=1e-10)


def test_solution_is_symmetric_positive_and_sums_to_zero(history, metrics):
    u, v = vectors(20), vectors(21)
    left, right = (history.solve(w, metrics) for w in (v, u))
    assert np.vdot(u, left) == pytest.approx(np.vdot(right, v), rel=1e-10)
    for w, solution in ((v, left), (u, right)):
        assert np.vdot(w, solution) > 0
        np.testing.assert_allclose(solution.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("factor", [-1, 0])
def test_pair_without_positive_curvature_is_dropped(factor, metrics):
    history = History(np.dtype(np.float64))
    history.add(vectors(), factor * vectors(), metrics, 0.3)
    history.add(0 * vectors(), 0 * vectors(), metrics, 0.3)
    assert len(history.pairs) == 0
    assert not history.solve(0 * vectors(), metrics).any()
