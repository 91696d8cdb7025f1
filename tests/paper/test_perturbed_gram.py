"""The perturbed Gram matrix of the figures: repaired, and solved as drawn."""

import numpy as np
import pytest
from hypothesis import given

from theory.dense import exact_round
from theory.problems import FIGURE, FIGURE_L2, SEEDS, few_examples
from twohot.theory import CorrelationModel, LabelAveraging, davis_kahan, repair_gram, softmax_rounds
from twohot_paper.perturbed_gram import (
    asymmetric_softmax_rounds,
    independent_perturbation,
    uniform_perturbation,
)

TARGETS = np.eye(4)[np.arange(400) % 7 % 4]


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
def test_asymmetric_rounds_match_plain_newton(seed: int) -> None:
    matrix, targets, l2 = drawn(seed)
    slope = matrix / (len(matrix) * l2)
    for fitted in asymmetric_softmax_rounds(matrix, targets, l2=l2, n_rounds=3):
        assert fitted.converged
        assert fitted.residual <= 1e-14
        error = np.abs(fitted.logits - slope @ (targets - fitted.outputs)).max()
        assert error <= 1e-13 * (1 + np.abs(slope).sum(axis=1).max())
        truth = exact_round(matrix, targets, l2)
        np.testing.assert_allclose(fitted.outputs, truth, rtol=0, atol=1e-10)
        targets = fitted.outputs


def test_reports_too_few_steps() -> None:
    matrix, targets, _ = drawn(3)
    (stopped,) = asymmetric_softmax_rounds(matrix, targets, l2=1e-2, n_rounds=1, max_steps=1)
    assert not stopped.converged
    assert stopped.n_steps == 1
    assert stopped.residual > 1e-6


def test_solves_the_authors_asymmetric_matrix() -> None:
    matrix = FIGURE.gram() + independent_perturbation(400, amplitude=0.05, seed=0)
    assert np.linalg.eigvals(matrix).real.min() == pytest.approx(0.026, abs=5e-3)
    (fitted,) = asymmetric_softmax_rounds(matrix, TARGETS, l2=FIGURE_L2, n_rounds=1)
    assert fitted.converged
    assert fitted.n_steps <= 8
    assert fitted.residual < 1e-15


def test_rejects_a_matrix_without_a_solution() -> None:
    with pytest.raises(ValueError, match="has no solution: pass another l2"):
        asymmetric_softmax_rounds(-0.2 * np.eye(2), np.eye(2), l2=0.05, n_rounds=1)


def test_perturbations_share_a_draw_and_are_bounded() -> None:
    raw = independent_perturbation(30, amplitude=0.05, seed=7)
    mirrored = uniform_perturbation(30, amplitude=0.05, seed=7)
    np.testing.assert_array_equal((raw + raw.T) / 2, mirrored)
    assert (np.diag(raw) == 0).all()
    assert 0.04 < np.abs(raw).max() <= 0.05


def test_perturbed_matrix_is_no_gram_matrix_until_repaired() -> None:
    """It has 31 negative eigenvalues. Repair changes the correlations little."""
    gram = FIGURE.gram()
    noise = uniform_perturbation(400, amplitude=0.05, seed=0)
    shift = davis_kahan(gram, gram + noise, n_leading=4)
    assert shift.eigengap == pytest.approx(30.0)
    assert shift.sin_angle < shift.bound < 0.1
    assert np.linalg.eigvalsh(gram + noise)[0] == pytest.approx(-0.20, abs=0.03)
    with pytest.raises(ValueError, match=r"pass repair_gram\(gram\)"):
        LabelAveraging.from_gram(gram + noise)
    repaired = repair_gram(gram + noise)
    assert np.linalg.eigvalsh(repaired)[0] > -1e-12
    np.testing.assert_array_equal(np.diag(repaired), 1)
    within = repaired[:100, :100][~np.eye(100, dtype=bool)].mean()
    assert within == pytest.approx(0.397, abs=0.003)
    assert repaired[:100, 100:].mean() == pytest.approx(0.099, abs=0.001)
    given_labels = np.eye(4)[np.arange(400) // 25 % 4]
    for fitted in softmax_rounds(
        LabelAveraging.from_gram(repaired), given_labels, l2=FIGURE_L2, n_rounds=6
    ):
        assert fitted.converged
        assert fitted.n_steps <= 8


def test_repair_keeps_a_gram_matrix() -> None:
    model = CorrelationModel.case_1(n_classes=2, same_class=0.3, n_per_class=5)
    np.testing.assert_allclose(repair_gram(model.gram()), model.gram(), atol=1e-14)
