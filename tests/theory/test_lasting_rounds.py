"""Rounds from which on all is right: against rounds judged one by one, and in closed form."""

import numpy as np
import pytest
from hypothesis import given

from theory.dense import circulant, random_problem, symmetric
from theory.problems import FIGURE, SEEDS, few_examples, model_of
from twohot.theory import (
    CorrelationModel,
    PairLevels,
    RoundsNeeded,
    Verdict,
    judge,
    outputs_by_round,
    rounds_needed,
    rounds_until_right,
    separation_at,
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
    """By rounds one by one, as far as those go."""
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
def test_any_model_is_right_from_the_round_that_is_said(seed: int) -> None:
    problem = random_problem(seed)
    model, l2 = model_of(problem), problem.l2
    horizon = 1 + seed % 20
    needed = rounds_until_right(model, problem.corruption, l2=l2, max_rounds=horizon)
    check_against_rounds(needed, judged(model, problem.corruption, l2, 60), horizon)


def test_classes_that_are_never_right_together_have_no_round() -> None:
    """Class 0 breaks in round 4, the round in which class 2 becomes right."""
    needed = rounds_until_right(BREAKS, BREAKING, l2=0.03)
    assert needed.per_class.tolist() == [np.inf, 1, 4]
    assert needed.overall == np.inf
    assert np.isnan(needed.overall_until)
    early = rounds_until_right(BREAKS, BREAKING, l2=0.03, max_rounds=2)
    assert early.per_class.tolist() == [1, 1, 4]
    assert early.until.tolist()[0] == 3
    assert early.overall == np.inf
    check_against_rounds(needed, judged(BREAKS, np.array(BREAKING), 0.03, 250), 50)


def test_what_does_not_last_has_a_last_round() -> None:
    """The largest class outlives the others: rounds 3 to 85 are right, and no later one."""
    model = CorrelationModel.from_correlation(
        [[0.45, 0.12, -0.03], [0.12, 0.30, -0.02], [-0.03, -0.02, 0.38]],
        class_sizes=[400, 150, 250],
    )
    corruption = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]])
    l2 = 0.65 / (3 * model.n_samples)
    needed = rounds_until_right(model, corruption, l2=l2)
    assert 50 < needed.overall_until < 120
    check_against_rounds(needed, judged(model, corruption, l2, 200), 50)
    assert rounds_until_right(model, corruption, l2=l2, max_rounds=150).overall == np.inf


@pytest.mark.parametrize("exponent", range(-10, -3))
def test_rounds_beyond_any_that_one_would_try_are_counted(exponent: int) -> None:
    """At half wrong labels and l2 = 1e-6 it takes 531 rounds, at 1e-10 five million."""
    l2, corruption = 10.0**exponent, symmetric(4, 0.5)
    closed = rounds_needed(
        corruption, separation=separation_at(PairLevels(4, 100, 0.4, 0.1), l2=l2)
    )
    needed = rounds_until_right(FIGURE, corruption, l2=l2)
    assert needed.overall == pytest.approx(closed.overall, rel=1e-7)
    assert needed.overall_until == np.inf
    if exponent == -6:
        assert needed.overall == 531


def test_hardly_any_penalty_takes_very_many_rounds_and_not_infinitely_many() -> None:
    """In first order the rounds are ln(1 + 1/gap) over x (1/δ - 1/λ_q)."""
    for l2 in (1e-15, 1e-20, 1e-30):
        needed = rounds_until_right(FIGURE, symmetric(4, 0.5), l2=l2)
        expected = np.log1p(3) / (1600 * l2 * (1 / 0.6 - 1 / 30.6))
        assert needed.overall == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "corruption", "l2"),
    [
        (
            CorrelationModel.case_3(
                n_classes=4, same_class=0.5, same_superclass=0.45, n_per_class=200
            ),
            circulant([0.3, 0.5, 0.1, 0.1]),
            0.05,
        ),
        (
            CorrelationModel.from_correlation(np.ones((3, 3)), class_sizes=20),
            symmetric(3, 0.3),
            1e-3,
        ),
        (CorrelationModel.from_correlation(np.ones((3, 3)), class_sizes=20), np.eye(3), 1e-3),
    ],
    ids=["lost majority", "no features", "no features, no noise"],
)
def test_rounding_rights_no_class(
    model: CorrelationModel, corruption: np.ndarray, l2: float
) -> None:
    needed = rounds_until_right(model, corruption, l2=l2)
    assert np.isinf(needed.per_class).all()
    assert needed.overall == np.inf


def test_late_margins_are_no_ties() -> None:
    model = CorrelationModel.case_4(
        superclass=[0, 0, 0, 1, 1, 1], same_class=0.5, same_superclass=0.45, n_per_class=200
    )
    corruption = np.kron(np.eye(2), circulant([0.5, 0.3, 0.2]))
    needed = rounds_until_right(model, corruption, l2=0.01)
    assert needed.per_class.tolist() == [1] * 6
    assert needed.overall_until == np.inf
