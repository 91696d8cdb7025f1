"""The metrics are the matrices they stand for, and past steps enter as they should."""

import numpy as np
import pytest

import problems
import twin
from twohot.distill.targets import one_hot
from twohot.rows.coordinates import choose_coordinates
from twohot.rows.preparation import FeatureSet, fit_preparation
from twohot.solve.objective import CrossEntropy, GeneralizedCrossEntropy, Problem
from twohot.solve.precondition import ClassMetrics, metrics_at, metrics_at_zero
from twohot.solve.secants import History
from twohot.solve.terms import target_moment

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
def test_multiply_and_solve_are_those_of_the_matrix_of_each_class(with_means):
    metrics, v = random_metrics(with_means=with_means), vectors()
    product, solution = metrics.multiply(v), metrics.solve(v)
    for k in range(N_CLASSES):
        np.testing.assert_allclose(product[k], dense(metrics, k) @ v[k], rtol=1e-12)
        np.testing.assert_allclose(solution[k], np.linalg.solve(dense(metrics, k), v[k]))


def small_problem():
    data = problems.synthetic()
    fitted = fit_preparation(data.X, center=True, normalize=True, weights=None)
    features = FeatureSet(data.X, fitted, dtype=np.dtype(np.float64), n_classes=N_CLASSES)
    coordinates = choose_coordinates(features, 1)
    targets = one_hot(data.given_labels, N_CLASSES)
    moment = target_moment(coordinates, targets)
    penalty = np.full(N_FEATURES, L2)
    return targets, Problem(features, coordinates.spectrum, moment, penalty, 1)


def test_the_metric_at_zero_is_the_exact_curvature_there():
    # Uniform outputs: mean_i (1/K) x xᵀ + l2 on classes that sum to zero, diagonal in these axes.
    _, problem = small_problem()
    metrics = metrics_at_zero(problem)
    direction = vectors() - vectors().mean(axis=0)
    objective, step = CrossEntropy(problem), 1e-6
    change = objective.evaluate(step * direction).gradient - objective.gradient_at_zero()
    np.testing.assert_allclose(metrics.multiply(direction), change / step, rtol=0, atol=1e-6)


@pytest.mark.parametrize("loss", ["ce", "gce"])
def test_metrics_of_a_pass_take_the_mean_row_of_each_class(loss):
    targets, problem = small_problem()
    coef = vectors()
    if loss == "ce":
        evaluation = CrossEntropy(problem).evaluate(coef)
    else:
        evaluation = GeneralizedCrossEntropy(problem, targets, 0.7, means=None).evaluate(coef)
    rows = problem.spectrum.from_features(twin.prepare(problem.features.X))
    p = twin.outputs(rows, coef)
    if loss == "gce":
        p = p * np.sum(targets.matrix.toarray() * p**0.7, axis=1, keepdims=True)
    metrics = metrics_at(problem, evaluation)
    np.testing.assert_allclose(metrics.means, p.T @ rows / p.sum(axis=0)[:, None], atol=1e-10)
    expected = evaluation.curvature[:, None] * problem.spectrum.variances + L2
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
        history.add(step, change, metrics)
    assert len(history.pairs) == n_pairs
    return history


def test_the_newest_pair_is_reproduced():
    # The secant equation: the solution of the last change of the gradient is the last step.
    metrics = random_metrics()
    history = history_of_a_quadratic(metrics)
    newest = history.pairs[-1]
    np.testing.assert_allclose(history.solve(newest.change, metrics), newest.step, atol=1e-10)


def test_the_solution_is_symmetric_and_goes_downhill():
    metrics = random_metrics()
    history = history_of_a_quadratic(metrics)
    u, v = (vectors(seed) - vectors(seed).mean(axis=0) for seed in (20, 21))
    left, right = np.vdot(u, history.solve(v, metrics)), np.vdot(history.solve(u, metrics), v)
    assert left == pytest.approx(right, rel=1e-10)
    for w in (u, v):
        assert np.vdot(w, history.solve(w, metrics)) > 0


def test_directions_leave_the_sum_over_classes_alone():
    metrics = random_metrics()
    history = history_of_a_quadratic(metrics)
    gradient = vectors(5) - vectors(5).mean(axis=0)
    np.testing.assert_allclose(history.solve(gradient, metrics).sum(axis=0), 0, atol=1e-12)


def test_a_pair_without_curvature_is_not_kept():
    history = History(np.dtype(np.float64))
    history.add(vectors(), -vectors(), random_metrics())
    assert len(history.pairs) == 0
