"""Many rounds and tiny penalties, against decimals and limits, and against single rounds."""

from decimal import Decimal, localcontext
from functools import partial

import numpy as np
import pytest
from hypothesis import given

from theory.dense import random_problem, symmetric
from theory.problems import (
    FIGURE,
    FIGURE_L2,
    LATE,
    SEEDS,
    THREE,
    THREE_CORRUPTION,
    few_examples,
    model_of,
)
from twohot import theory as th
from twohot.base.messages import ArgumentError
from twohot.theory import CorrelationModel, PairLevels, judge, type_outputs

LEVELS = PairLevels(n_classes=4, n_per_class=100, same_class=0.4, same_superclass=0.1)
HALF = symmetric(4, 0.5)
MOST = 10**15


def shrinkage(l2: float) -> th.Shrinkage:
    levels = {"same_class": 0.4, "same_superclass": 0.1, "n_per_class": 100}
    return th.shrinkage(superclass=[0] * 4, **levels, l2=l2)


def rounds_in_decimals(l2: str, noise_rate: str) -> int:
    """⌊ln(1 + 1/gap) / ln(q/p)⌋ + 1 of the figures' setting, in 80 digits."""
    with localcontext() as context:
        context.prec = 80
        own, class_mean = Decimal("0.6"), Decimal("30.6")
        ridge = 1600 * Decimal(l2)
        ratio = class_mean * (ridge + own) / (own * (ridge + class_mean))
        gap = 1 - Decimal(4) / 3 * Decimal(noise_rate)
        return int((1 + 1 / gap).ln() / ratio.ln()) + 1


def predicted(
    n_rounds: int, corruption: np.ndarray = HALF, l2: float = FIGURE_L2
) -> th.TypeOutputs:
    return type_outputs(FIGURE, corruption, l2=l2, n_rounds=n_rounds)


@pytest.mark.parametrize("n_rounds", [45_000, 48_000, 10**6, 10**9, 10**12, MOST])
def test_late_rounds_stay_right_below_the_smallest_float(n_rounds: int) -> None:
    late = predicted(n_rounds)
    verdict = judge(late)
    assert verdict.holds
    assert verdict.accuracy == 1.0
    assert (late.margin_ranks() > 0).all()
    # Margins of 0 have an order: the noisy samples of all classes have the smallest.
    ranks = late.margin_ranks()
    assert (np.diag(ranks) >= ranks.min(axis=1)).all()
    assert late.outputs.max() == pytest.approx(0.25)


def test_classes_with_different_decay_are_judged_separately() -> None:
    """Margins of class 1 are 10⁻⁸⁷⁰⁰⁰⁰⁰⁰⁰⁰ times those of class 0 after 10⁹ rounds."""
    model = CorrelationModel.case_1(n_classes=3, same_class=0.5, n_per_class=[500, 5, 50])
    corruption = [[0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [0.6, 0.1, 0.3]]
    late = judge(type_outputs(model, corruption, l2=1e-3, n_rounds=10**9))
    assert [str(each) for each in late.verdicts] == ["right", "right", "wrong"]
    assert late.weakest_class == 2


@pytest.mark.parametrize(
    ("l2", "noise_rate"), [("1e-6", "0.5"), ("1e-9", "0.3"), ("1e-12", "0.5"), ("1e-12", "0.7")]
)
def test_first_right_round_is_exact_among_millions(l2: str, noise_rate: str) -> None:
    expected = rounds_in_decimals(l2, noise_rate)
    corruption, penalty = symmetric(4, float(noise_rate)), float(l2)
    log_ratio = th.log_separation_at(LEVELS, l2=penalty)
    assert th.rounds_needed(corruption, log_separation=log_ratio).overall == expected
    assert th.rounds_until_right(FIGURE, corruption, l2=penalty).overall == expected
    for n_rounds, holds in ((expected - 1, False), (expected, True)):
        found = th.rounds_condition(corruption, log_separation=log_ratio, n_rounds=n_rounds)
        assert found.holds == holds
        assert judge(predicted(n_rounds, corruption, penalty)).holds == holds


@pytest.mark.parametrize("l2", ["1e-20", "1e-30", "1e-50"])
def test_tiny_penalties_need_the_log_separation(l2: str) -> None:
    log_ratio = th.log_separation_at(LEVELS, l2=float(l2))
    kept = shrinkage(float(l2))
    assert kept.log_separation == pytest.approx(log_ratio, rel=1e-14)
    needed = th.rounds_needed(HALF, log_separation=log_ratio).overall
    assert needed == pytest.approx(rounds_in_decimals(l2, "0.5"), rel=1e-12)
    assert th.separation_at(LEVELS, l2=float(l2)) == 1.0
    with pytest.raises(ArgumentError, match=r"log_separation=log_separation_at\(levels, l2=...\)"):
        th.rounds_needed(HALF, separation=th.separation_at(LEVELS, l2=float(l2)))


@pytest.mark.parametrize("l2", [1e-6, 1e-9, 1e-11, 1e-12, 1e-15])
def test_rejects_a_separation_with_too_few_digits(l2: float) -> None:
    kept = shrinkage(l2)
    if l2 < 1e-10:
        with pytest.raises(ArgumentError, match=r"is too close to 1: .*: pass log_separation="):
            th.rounds_needed(HALF, separation=kept.separation)
    else:
        exact = th.rounds_needed(HALF, log_separation=kept.log_separation).overall
        assert abs(th.rounds_needed(HALF, separation=kept.separation).overall - exact) <= 1


def test_shrinkage_of_many_rounds_keeps_log_separation() -> None:
    kept = shrinkage(FIGURE_L2)
    late = kept.after(10**6)
    assert late.own == 0.0
    assert late.separation == np.inf
    assert late.log_separation == pytest.approx(1e6 * np.log(kept.separation), rel=1e-12)
    assert th.rounds_condition(HALF, log_separation=late.log_separation, n_rounds=1).holds
    assert kept.after(0).separation == 1.0
    both = th.Shrinkage.product([kept, kept.after(2)])
    assert both.log_separation == pytest.approx(3 * kept.log_separation)
    uniform = th.lemma_outputs(HALF, superclass=[0] * 4, kept=late)
    np.testing.assert_allclose(uniform, 0.25)


def test_many_evolving_rounds_do_not_underflow() -> None:
    case_1 = partial(CorrelationModel.case_1, n_classes=4, n_per_class=100)
    models = [case_1(same_class=0.4), case_1(same_class=0.5)] * 4_000
    verdict = judge(th.evolving_outputs(models, HALF, l2=10 * FIGURE_L2))
    assert verdict.holds
    assert verdict.margins.max() == 0.0


def test_deviations_of_many_rounds_are_accurate() -> None:
    """At l2 = 1e-12, a round keeps 1 - 3e-9 of a label, and 10¹⁰ rounds 1e-13."""
    averaging = th.LabelAveraging.from_gram([[1.0, 0.5], [0.5, 1.0]])
    late = averaging.deviations(np.eye(2), l2=1e-12, n_rounds=10**10)
    kept = np.exp(-(10.0**10) * np.log1p(4e-12 / 0.5))
    np.testing.assert_allclose(late, kept * np.array([[0.5, -0.5], [-0.5, 0.5]]), rtol=1e-13)


@pytest.mark.parametrize(("size", "l2"), [(1e60, 1e60), (1e-60, 1e-60), (1e60, 1e-60)])
def test_extreme_sizes_and_penalties_do_not_overflow(size: float, l2: float) -> None:
    model = FIGURE.with_class_sizes(size)
    found = judge(type_outputs(model, HALF, l2=l2, n_rounds=3))
    assert np.isfinite(found.margins).all()
    assert th.rounds_until_right(model, HALF, l2=l2).overall >= 1


# First and last right rounds against verdicts of single rounds ------------------------------------

BREAKS = CorrelationModel.case_3(
    n_classes=3, same_class=0.8, same_superclass=0.1, n_per_class=[20, 200, 200]
)
BREAKING = [[0.8, 0, 0.2], [0.1, 0.7, 0.2], [0.5, 0, 0.5]]


def judged(model: CorrelationModel, corruption: np.ndarray, l2: float, last: int) -> np.ndarray:
    """(last, n_classes) whether each class is right in each round."""
    predicted = th.outputs_by_round(model, corruption, l2=l2, n_rounds=last)
    return np.array(
        [[verdict is th.Verdict.RIGHT for verdict in judge(each).verdicts] for each in predicted]
    )


def check_against_rounds(needed: th.RoundsNeeded, right: np.ndarray, horizon: int) -> None:
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
    needed = th.rounds_until_right(model, problem.corruption, l2=l2, max_rounds=horizon)
    check_against_rounds(needed, judged(model, problem.corruption, l2, 60), horizon)


def test_reports_classes_that_are_never_right_together() -> None:
    """Class 0 becomes wrong in round 4, in which class 2 becomes right."""
    needed = th.rounds_until_right(BREAKS, BREAKING, l2=0.03)
    assert needed.per_class.tolist() == [np.inf, 1, 4]
    assert needed.overall == np.inf
    assert np.isnan(needed.overall_until)
    early = th.rounds_until_right(BREAKS, BREAKING, l2=0.03, max_rounds=2)
    assert early.per_class.tolist() == [1, 1, 4]
    assert early.until.tolist()[0] == 3
    assert early.overall == np.inf
    check_against_rounds(needed, judged(BREAKS, np.array(BREAKING), 0.03, 250), 50)


def test_reports_the_last_right_round() -> None:
    """Late rounds predict only the largest class: rounds 3 to 85 are right, and no later one."""
    l2 = 0.65 / (3 * THREE.n_samples)
    needed = th.rounds_until_right(THREE, THREE_CORRUPTION, l2=l2)
    assert 50 < needed.overall_until < 120
    check_against_rounds(needed, judged(THREE, THREE_CORRUPTION, l2, 200), 50)
    late = th.rounds_until_right(THREE, THREE_CORRUPTION, l2=l2, max_rounds=150)
    assert late.overall == np.inf


@pytest.mark.parametrize("name", LATE)
def test_late_rounds_are_neither_tied_nor_right_by_rounding(name: str) -> None:
    correlation, size, corruption, l2, verdict = LATE[name]
    model = CorrelationModel.from_correlation(correlation, class_sizes=size)
    needed = th.rounds_until_right(model, corruption, l2=l2)
    first = 1 if verdict == "right" else np.inf
    assert needed.per_class.tolist() == [first] * model.n_classes
    assert needed.overall == first
    assert np.isnan(needed.overall_until) or np.isinf(needed.overall_until)
