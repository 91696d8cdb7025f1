"""Metrics equal the matrices of the formulas; the history satisfies the secant equation."""

import numpy as np
import pytest

import problems
import twin
from prepared import posed
from twohot.probes.rounds import LABELS
from twohot.solve.curvature import ClassMetrics, History, metrics_at, metrics_at_zero
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy

N_CLASSES, N_FEATURES = 5, 12
L2 = 0.01


def random_metrics(seed=0, with_means=True):
    generator = np.random.default_rng(seed)
    return ClassMetrics(
        diagonal=generator.random((N_CLASSES, N_FEATURES)) + 0.1,
        means=generator.normal(size=(N_CLASSES, N_FEATURES)) if with_means else None,
        curvature=generator.random((N_CLASSES, 1)),
    )


def dense(metrics, k):
    """The metric of one class, written out."""
    matrix = np.diag(metrics.diagonal[k])
    if metrics.means is not None:
        matrix = matrix + metrics.curvature[k] * np.outer(metrics.means[k], metrics.means[k])
    return matrix


def vectors(seed=1):
    return np.random.default_rng(seed).normal(size=(N_CLASSES, N_FEATURES))


@pytest.mark.parametrize("with_means", [False, True])
def test_metrics_multiply_and_solve_by_the_matrix_of_each_class(with_means):
    metrics, v = random_metrics(with_means=with_means), vectors()
    product, solution = metrics.multiply(v), metrics.solve(v)
    for k in range(N_CLASSES):
        np.testing.assert_allclose(product[k], dense(metrics, k) @ v[k], rtol=1e-12)
        np.testing.assert_allclose(solution[k], np.linalg.solve(dense(metrics, k), v[k]))


def small_problem():
    data = problems.synthetic()
    return posed(data.X, data.given_labels, ridge=L2 * N_CLASSES * len(data.X))  # of unit norm


def test_metric_at_zero_is_the_curvature():
    # Uniform outputs: mean_i (1/K) x xᵀ + l2 on classes that sum to zero, diagonal in these axes.
    problem = small_problem()
    metrics = metrics_at_zero(problem)
    direction = vectors() - vectors().mean(axis=0)
    loss, step = CrossEntropy(), 1e-6
    change = loss.evaluate(problem, step * direction).gradient - loss.gradient_at_zero(problem)
    np.testing.assert_allclose(metrics.multiply(direction), change / step, rtol=0, atol=1e-6)


@pytest.mark.parametrize("loss", [CrossEntropy(), GeneralizedCrossEntropy(0.7)], ids=str)
def test_metrics_have_the_mean_row_of_each_class(loss):
    problem, coef = small_problem(), vectors()
    evaluation = loss.evaluate(problem, coef)
    rows = problem.axes.from_rows(twin.prepare(problem.rows.X), 1)
    p = twin.outputs(rows, coef)
    if loss.is_robust:
        labels = twin.one_hot(problem.rows.columns[LABELS])
        p = p * np.sum(labels * p**0.7, axis=1, keepdims=True)
    metrics = metrics_at(problem, evaluation)
    np.testing.assert_allclose(metrics.means, p.T @ rows / p.sum(axis=0)[:, None], atol=1e-10)
    expected = evaluation.curvature[:, None] * problem.axes.variances + L2
    np.testing.assert_allclose(metrics.diagonal, expected)


def history_of_a_quadratic(metrics, n_pairs=6, coupling=0.2):
    """Steps on a quadratic whose classes are coupled, kept in the space where they sum to zero."""
    generator = np.random.default_rng(2)
    history = History(np.dtype(np.float64))
    root = generator.normal(size=(N_CLASSES * N_FEATURES, 4))
    for seed in range(10, 10 + n_pairs):
        step = vectors(seed) - vectors(seed).mean(axis=0)
        flat = step.ravel()
        change = metrics.multiply(step) + coupling * (root @ (root.T @ flat)).reshape(step.shape)
        change -= change.mean(axis=0)
        history.add(step, change, metrics, 0.3)
    assert len(history.pairs) == n_pairs
    return history


def test_solution_of_the_last_change_is_the_last_step():
    metrics = random_metrics()
    history = history_of_a_quadratic(metrics)
    newest = history.pairs[-1]
    np.testing.assert_allclose(history.solve(newest.change, metrics), newest.step, atol=1e-10)


def test_solution_is_symmetric_positive_and_sums_to_zero():
    metrics = random_metrics()
    history = history_of_a_quadratic(metrics)
    u, v = (vectors(seed) - vectors(seed).mean(axis=0) for seed in (20, 21))
    left, right = (history.solve(w, metrics) for w in (v, u))
    assert np.vdot(u, left) == pytest.approx(np.vdot(right, v), rel=1e-10)
    for w, solution in ((v, left), (u, right)):
        assert np.vdot(w, solution) > 0
        np.testing.assert_allclose(solution.sum(axis=0), 0, atol=1e-12)


def test_pair_with_negative_curvature_is_dropped():
    history = History(np.dtype(np.float64))
    history.add(vectors(), -vectors(), random_metrics(), 0.3)
    assert len(history.pairs) == 0
