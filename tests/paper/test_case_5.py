"""Case V: the printed formula, and the false identity in its proof."""

from typing import Any

import numpy as np
import pytest

from paper.as_printed import case_5_printed
from theory.dense import Problem, block_correlation, circulant, rounds
from twohot.theory import CorrelationModel, type_outputs

CASE_5 = {"same_class": 0.6, "same_superclass": 0.3, "n_per_class": 30, "l2": 1e-3, "n_rounds": 3}


def corrected(corruption: np.ndarray, *, l2: float, n_rounds: int, **levels: Any) -> np.ndarray:
    """The outputs of the general form, which dense solves confirm."""
    model = CorrelationModel.case_5(**levels)
    return type_outputs(model, corruption, l2=l2, n_rounds=n_rounds).outputs


@pytest.mark.parametrize("superclass", [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2]])
def test_case_5_as_printed_is_wrong(superclass: list[int]) -> None:
    correlation = block_correlation(superclass, 0.6, 0.3, 0.1)
    counts = 24 * np.eye(6, dtype=int)
    counts[np.arange(6), [1, 0, 3, 2, 5, 4]] = 6
    problem = Problem(correlation, np.ones(6), counts, CASE_5["l2"])
    truth = rounds(problem.gram, problem.one_hot, problem.ridge, 3)
    known = {**CASE_5, "superclass": superclass, "elsewhere": 0.1}
    types = (problem.true_labels, problem.given_labels)
    printed = case_5_printed(problem.corruption, **known)[types]
    assert np.abs(printed - truth).max() > 1e-2
    right = corrected(problem.corruption, **known)[types]
    np.testing.assert_allclose(right, truth, rtol=0, atol=1e-12)


def test_case_5_as_printed_is_right_without_correlation_elsewhere() -> None:
    """The code of the printed formula agrees in the cases in which the formula is right."""
    corruption = np.random.default_rng(0).dirichlet(np.ones(6), size=6)
    known = {**CASE_5, "superclass": [0, 0, 0, 1, 1, 2], "elsewhere": 0.0}
    np.testing.assert_allclose(
        case_5_printed(corruption, **known), corrected(corruption, **known), atol=1e-13
    )
    balanced = circulant([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    one = {**CASE_5, "superclass": [0] * 6, "elsewhere": 0.1}
    np.testing.assert_allclose(
        case_5_printed(balanced, **one), corrected(balanced, **one), atol=1e-13
    )


def test_case_5_identity_behind_the_printed_inverse_is_false() -> None:
    """1·QᵀQ is Qᵀ 1 diag(K_i) Q, not Qᵀ diag(K_i) Q. All later steps use the false identity."""
    members = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 1]], dtype=float)
    sizes = np.diag([3.0, 2.0, 1.0])
    left = np.ones((6, 6)) @ members.T @ members
    assert np.abs(left - members.T @ sizes @ members).max() == 3
    np.testing.assert_array_equal(left, members.T @ np.ones((3, 3)) @ sizes @ members)
