"""The first and last right rounds against verdicts of single rounds."""

import numpy as np
import pytest
from hypothesis import given

from theory.dense import random_problem
from theory.problems import LATE, SEEDS, THREE, THREE_CORRUPTION, few_examples, model_of
from twohot.theory import (
    CorrelationModel,
    RoundsNeeded,
    Verdict,
    judge,
    outputs_by_round,
    rounds_until_right,
)

BREAKS = CorrelationModel.case_3(
    n_classes=3, same_class=0.8, same_superclass=0.1, n_per_class=[20, 200, 200]
)
BREAKING = [[0.8, 0, 0.2], [0.1, 0.7, 0.2], [0.5, 0, 0.5]]


def judged(model: CorrelationModel, corruption: np.ndarray, l2: float, last: int) -> np.ndarray:
    """(last, n_classes) whether each class is right in each round."""
    predicted = outputs_by_round(model, corruption, l2=l2, n_rounds=last)
    return np.array(
        [[verdict is Verdict.RIGHT for verdict in judge(each).verdicts] for each in predicted]
    )


def check_against_rounds(needed: RoundsNeeded, right: np.ndarray, horizon: int) -> None:
    """Compare with the verdicts of single rounds, as far as they go."""
    firsts, lasts = [*needed.per_class, needed.overall], [*needed.until, needed.overall_until]
    for column, first, last in zip([*right.T, right.all(axis=1)], firsts, lasts, strict=True):
        rounds = 1 + np.flatnonzero(column)
        if not np.isfinite(first):
            assert not (rounds >= horizon).any()
            assert np.isnan(last)
            continue
        if first > horizon:
            assert not column[horizon - 1 : int(min(first, len(column) + 1)) - 1].any()
        elif first > 1:
            assert not column[int(first) - 2]
        end = int(min(max(last, horizon), len(column)))
        assert column[int(first) - 1 : end].all()
        if last < len(column):
            assert not column[int(last)]


@few_examples
@given(SEEDS)
def test_rounds_until_right_match_single_rounds(seed: int) -> None:
    problem = random_problem(seed)
    model, l2 = model_of(problem), problem.l2
    horizon = 1 + seed % 20
    needed = rounds_until_right(model, problem.corruption, l2=l2, max_rounds=horizon)
    check_against_rounds(needed, judged(model, problem.corruption, l2, 60), horizon)


def test_reports_classes_that_are_never_right_together() -> None:
    """Class 0 becomes wrong in round 4, in which class 2 becomes right."""
    needed = rounds_until_right(BREAKS, BREAKING, l2=0.03)
    assert needed.per_class.tolist() == [np.inf, 1, 4]
    assert needed.overall == np.inf
    assert np.isnan(needed.overall_until)
    early = rounds_until_right(BREAKS, BREAKING, l2=0.03, max_rounds=2)
    assert early.per_class.tolist() == [1, 1, 4]
    assert early.until.tolist()[0] == 3
    assert early.overall == np.inf
    check_against_rounds(needed, judged(BREAKS, np.array(BREAKING), 0.03, 250), 50)


def test_reports_the_last_right_round() -> None:
    """Late rounds predict only the largest class: rounds 3 to 85 are right, and no later one."""
    l2 = 0.65 / (3 * THREE.n_samples)
    needed = rounds_until_right(THREE, THREE_CORRUPTION, l2=l2)
    assert 50 < needed.overall_until < 120
    check_against_rounds(needed, judged(THREE, THREE_CORRUPTION, l2, 200), 50)
    late = rounds_until_right(THREE, THREE_CORRUPTION, l2=l2, max_rounds=150)
    assert late.overall == np.inf


@pytest.mark.parametrize("name", LATE)
def test_late_rounds_are_neither_tied_nor_right_by_rounding(name: str) -> None:
    correlation, size, corruption, l2, verdict = LATE[name]
    model = CorrelationModel.from_correlation(correlation, class_sizes=size)
    needed = rounds_until_right(model, corruption, l2=l2)
    first = 1 if verdict == "right" else np.inf
    assert needed.per_class.tolist() == [first] * model.n_classes
    assert needed.overall == first
    assert np.isnan(needed.overall_until) or np.isinf(needed.overall_until)
