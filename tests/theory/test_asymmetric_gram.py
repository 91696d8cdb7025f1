"""Rounds on a matrix that is not symmetric, against a plain twin and against the symmetric case."""

import numpy as np
import pytest
from hypothesis import given

from theory.dense import exact_round, rounds
from theory.problems import FIGURE, FIGURE_L2, SEEDS, few_examples
from twohot.theory import (
    LabelAveraging,
    asymmetric_linear_rounds,
    asymmetric_softmax_rounds,
    independent_perturbation,
    softmax_rounds,
    uniform_perturbation,
)


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw a small matrix of unit diagonal, labels and a penalty."""
    rng = np.random.default_rng(seed)
    n_samples, n_classes = int(rng.integers(2, 12)), int(rng.integers(2, 5))
    features = rng.normal(size=(n_samples, 6))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    noise = independent_perturbation(n_samples, amplitude=0.1, seed=rng)
    targets = np.eye(n_classes)[rng.integers(n_classes, size=n_samples)]
    return features @ features.T + noise, targets, 10 ** rng.uniform(-2, 0)


@few_examples
@given(SEEDS)
def test_rounds_agree_with_plain_algebra(seed: int) -> None:
    matrix, targets, l2 = drawn(seed)
    ridge = targets.size * l2
    linear = asymmetric_linear_rounds(matrix, targets, l2=l2, n_rounds=3)
    exact = asymmetric_softmax_rounds(matrix, targets, l2=l2, n_rounds=3)
    outputs = targets
    for number, (by_theory, fitted) in enumerate(zip(linear, exact, strict=True), start=1):
        truth = rounds(matrix, targets, ridge, number)
        np.testing.assert_allclose(by_theory, truth, rtol=0, atol=1e-10)
        outputs = exact_round(matrix, outputs, l2)
        assert fitted.converged
        np.testing.assert_allclose(fitted.outputs, outputs, rtol=0, atol=1e-10)


@few_examples
@given(SEEDS)
def test_the_residual_certifies_the_fixed_point(seed: int) -> None:
    matrix, targets, l2 = drawn(seed)
    slope = matrix / (len(matrix) * l2)
    for fitted in asymmetric_softmax_rounds(matrix, targets, l2=l2, n_rounds=2):
        error = np.abs(fitted.logits - slope @ (targets - fitted.outputs)).max()
        assert fitted.residual <= 1e-14
        assert error <= 1e-13 * (1 + np.abs(slope).sum(axis=1).max())
        targets = fitted.outputs


def test_few_steps_are_not_called_converged() -> None:
    matrix, targets, _ = drawn(3)
    (stopped,) = asymmetric_softmax_rounds(matrix, targets, l2=1e-2, n_rounds=1, max_steps=1)
    assert not stopped.converged
    assert stopped.n_steps == 1
    assert stopped.residual > 1e-6


def test_a_gram_matrix_has_the_rounds_of_the_symmetric_solver() -> None:
    gram, targets = FIGURE.gram(), np.eye(4)[np.arange(400) % 7 % 4]
    symmetric = softmax_rounds(LabelAveraging.from_gram(gram), targets, l2=FIGURE_L2, n_rounds=3)
    general = asymmetric_softmax_rounds(gram, targets, l2=FIGURE_L2, n_rounds=3)
    for one, other in zip(symmetric, general, strict=True):
        np.testing.assert_allclose(one.outputs, other.outputs, rtol=0, atol=1e-12)


def test_raw_and_symmetric_perturbation_are_of_one_draw() -> None:
    raw = independent_perturbation(30, amplitude=0.05, seed=7)
    np.testing.assert_array_equal(
        (raw + raw.T) / 2, uniform_perturbation(30, amplitude=0.05, seed=7)
    )
    assert (np.diag(raw) == 0).all()
    assert 0.04 < np.abs(raw).max() <= 0.05


def test_the_authors_matrix_is_far_from_symmetric_and_solved_all_the_same() -> None:
    matrix = FIGURE.gram() + independent_perturbation(400, amplitude=0.05, seed=0)
    assert np.linalg.eigvals(matrix).real.min() == pytest.approx(0.026, abs=5e-3)
    targets = np.eye(4)[np.arange(400) % 7 % 4]
    (fitted,) = asymmetric_softmax_rounds(matrix, targets, l2=FIGURE_L2, n_rounds=1)
    assert fitted.converged
    assert fitted.n_steps <= 8
    assert fitted.residual < 1e-15


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [(np.ones((2, 3)), "square"), (-0.2 * np.eye(2), "no solution"), ([[np.nan]], "NaN")],
)
def test_bad_matrices_are_refused(matrix: np.ndarray, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        asymmetric_linear_rounds(matrix, np.eye(2), l2=0.05, n_rounds=1)
