"""The partial-label student: ties, small penalties, and the terms of its condition."""

import numpy as np
import pytest

from theory.dense import symmetric
from theory.problems import FIGURE, SKEWED
from twohot.theory import judge, partial_label_condition, partial_label_outputs


@pytest.mark.parametrize("n_candidates", [1, 2, 3, 4])
@pytest.mark.parametrize("ties", ["spread", "lowest"])
def test_condition_matches_outputs_with_ties(n_candidates: int, ties: str) -> None:
    how = {"l2": 3e-4, "n_candidates": n_candidates, "ties": ties}
    for corruption in (symmetric(4, 0.4), np.eye(4), SKEWED):
        found = partial_label_condition(FIGURE, corruption, **how)
        student = partial_label_outputs(FIGURE, corruption, **how)
        verdict = judge(student)
        assert found.verdicts == verdict.verdicts
        np.testing.assert_allclose(found.class_slack, verdict.margins, rtol=0, atol=1e-12)
        if ties == "spread":
            classes = np.arange(4)
            full = student.rows[classes, :, classes] == student.rows.max(axis=2)
            contained = (full | ~student.occurs).all(axis=1)
            assert found.truth_is_candidate.tolist() == contained.tolist()


@pytest.mark.parametrize("exponent", [*range(-50, -20, 6), *range(-19, -2)])
def test_student_is_right_at_any_small_penalty(exponent: int) -> None:
    """Second places and margins are of the order of the ridge. The student stays right."""
    l2 = 10.0**exponent
    found = partial_label_condition(FIGURE, SKEWED, l2=l2)
    verdict = judge(partial_label_outputs(FIGURE, SKEWED, l2=l2))
    assert found.holds
    assert verdict.accuracy == 1.0
    if exponent < -6:  # in first order x (1/δ - 1/λ_q) (1 - C_kk - C_kỹ)/2
        first = 16 * 100 * l2 * 0.5 * 0.3 * (1 / 0.6 - 1 / 30.6)
        np.testing.assert_allclose(verdict.margins, first, rtol=2e-3)
