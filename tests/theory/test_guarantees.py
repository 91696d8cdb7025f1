"""Guarantees against accuracies of single samples, and by laws."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given

from theory.dense import circulant, symmetric
from theory.problems import FIGURE, FIGURE_L2, FIGURE_SEPARATION, SEEDS, examples
from twohot import theory as th
from twohot.theory import CorrelationModel, PairLevels, Verdict, judge, type_outputs


def test_reports_ties() -> None:
    """At the exact threshold, outputs at the true and the given label are equal."""
    ridge = 16 * 100 * FIGURE_L2
    p, q = 0.6 / (ridge + 0.6), 30.6 / (ridge + 30.6)
    rate = 0.75 * (1 - 1 / ((q / p) ** 3 - 1))  # 1 - 4η/3 = threshold
    at = symmetric(4, rate)
    verdict = judge(type_outputs(FIGURE, at, l2=FIGURE_L2, n_rounds=3))
    assert set(verdict.verdicts) == {Verdict.TIE}
    assert not verdict.holds
    assert verdict.accuracy == pytest.approx(1 - rate)
    condition = th.rounds_condition(at, separation=q / p, n_rounds=3)
    assert set(condition.verdicts) == {Verdict.TIE}
    assert th.rounds_needed(at, separation=q / p).overall == 4


def test_reports_the_class_that_fails_first() -> None:
    """Class 1 has the most wrong labels of one kind, so it fails first."""
    corruption = np.array(
        [[0.6, 0.2, 0.1, 0.1], [0.1, 0.45, 0.35, 0.1], [0.2, 0.1, 0.5, 0.2], [0.1, 0.25, 0.05, 0.6]]
    )
    needed = th.rounds_needed(corruption, separation=FIGURE_SEPARATION)
    assert needed.slowest_class == 1
    tried = th.rounds_until_right(FIGURE, corruption, l2=FIGURE_L2)
    np.testing.assert_array_equal(tried.per_class, needed.per_class)
    verdict = judge(type_outputs(FIGURE, corruption, l2=FIGURE_L2, n_rounds=3))
    assert verdict.weakest_class == 1
    assert verdict.tightest_label[1] == 2
    assert [str(each) for each in verdict.verdicts] == ["right", "wrong", "right", "right"]

    def more_noise(rate: float) -> np.ndarray:
        return (1 - rate) * np.eye(4) + rate * corruption

    tolerated = th.noise_tolerated(
        more_noise, lambda shares: type_outputs(FIGURE, shares, l2=FIGURE_L2, n_rounds=3)
    )
    assert tolerated.weakest_class == 1
    assert tolerated.overall == tolerated.highest[1] < tolerated.highest[0] == 1.0


def test_classes_without_noise_are_right_in_every_round() -> None:
    corruption = np.array([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0], [0.0, 0.0, 1.0]])
    condition = th.rounds_condition(corruption, separation=1.2, n_rounds=1)
    assert [str(each) for each in condition.verdicts] == ["wrong", "wrong", "right"]
    assert th.rounds_needed(corruption, separation=1.2).per_class.tolist() == [10, 10, 1]
    rounded = np.kron(np.eye(2), [[0.6, 0.4], [0.4, 0.6]])
    rounded[2:, 2:] = (1 - 2**-53) * np.eye(2)  # however its shares round
    assert th.rounds_needed(rounded, separation=1.2).per_class.tolist() == [10, 10, 1, 1]
    given = th.rounds_condition(corruption, separation=1.2, n_rounds=0)
    assert given.threshold == np.inf
    assert [str(each) for each in given.verdicts] == ["wrong", "wrong", "right"]


def test_thresholds_of_many_rounds_do_not_overflow() -> None:
    assert th.rounds_condition(symmetric(3, 0.5), separation=150.0, n_rounds=10_000).threshold == 0
    near_one = th.rounds_condition(symmetric(3, 0.5), separation=1 + 1e-9, n_rounds=1).threshold
    assert near_one == pytest.approx(1e9, rel=1e-6)


@pytest.mark.parametrize("tied_at", range(1, 8))
@pytest.mark.parametrize("gap", [0.5, 0.25, 0.125])
def test_rounds_needed_exclude_a_tie(gap: float, tied_at: int) -> None:
    """If (q/p)ᵗ = 1 + 1/gap, round t is a tie and t + 1 is right, however t rounds."""
    corruption = [[(1 + gap) / 2, (1 - gap) / 2], [(1 - gap) / 2, (1 + gap) / 2]]
    separation = (1 + 1 / gap) ** (1 / tied_at)
    assert th.rounds_needed(corruption, separation=separation).overall == tied_at + 1
    at, after = (
        th.rounds_condition(corruption, separation=separation, n_rounds=t).verdicts[0]
        for t in (tied_at, tied_at + 1)
    )
    assert (at, after) == (Verdict.TIE, Verdict.RIGHT)


def test_no_round_corrects_a_class_without_majority() -> None:
    for corruption in ([[0.4, 0.6], [0.6, 0.4]], [[0.5, 0.5], [0.5, 0.5]]):
        needed = th.rounds_needed(corruption, separation=2.0)
        assert needed.per_class.tolist() == [np.inf, np.inf]
        assert needed.overall == np.inf
        assert np.isnan(needed.overall_until)
        model = CorrelationModel.case_1(n_classes=2, same_class=0.3, n_per_class=30)
        assert th.rounds_until_right(model, corruption, l2=0.01, max_rounds=9).overall == np.inf


def test_largest_noise_rates_of_the_partial_label_student() -> None:
    """Symmetric noise is tolerated up to (K-1)/K, but with ties="lowest" not η = 0."""

    def student(ties):
        return lambda shares: th.partial_label_outputs(FIGURE, shares, l2=FIGURE_L2, ties=ties)

    spread = th.noise_tolerated(lambda eta: symmetric(4, eta), student("spread"))
    assert spread.overall == pytest.approx(0.75, abs=1e-8)
    assert spread.lowest.tolist() == [0.0] * 4
    # Three wrong labels of different weight: at η = 0 they tie for the second place, at any
    # other rate the commonest takes it.
    skewed = np.array([0.0, 0.5, 0.3, 0.2])

    def tilted(rate: float) -> np.ndarray:
        return circulant(np.array([1 - rate, 0, 0, 0]) + rate * skewed)

    lowest = th.noise_tolerated(tilted, student("lowest"))
    assert lowest.lowest.max() > 0
    assert 0 < lowest.overall <= 2 / 3


def test_noise_rates_are_found_to_the_last_digit_or_nan() -> None:
    """A resolution below the spacing of floats ends at the largest rate that works."""
    first, third = (
        partial(type_outputs, FIGURE, l2=FIGURE_L2, n_rounds=n_rounds) for n_rounds in (1, 3)
    )
    fine = th.noise_tolerated(partial(symmetric, 4), third, resolution=1e-300)
    assert fine.overall == pytest.approx(0.75 * (1 - 1 / (FIGURE_SEPARATION**3 - 1)), abs=1e-12)
    never = th.noise_tolerated(lambda _: symmetric(4, 0.9), first)
    assert np.isnan([*never.highest, never.overall]).all()
    assert never.weakest_class == 0


@examples
@given(SEEDS)
def test_penalty_and_separation_are_inverse_functions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c, d = np.sort(rng.uniform(-0.2, 0.95, size=2))[::-1]
    levels = PairLevels(
        n_classes=int(rng.integers(2, 200)),
        n_per_class=float(rng.integers(2, 5000)),
        same_class=c,
        same_superclass=d,
    )
    largest = th.largest_separation(levels)
    wanted = 1 + (largest - 1) * rng.uniform(0.01, 0.99)
    assert th.separation_at(
        levels, l2=th.l2_for_separation(levels, separation=wanted)
    ) == pytest.approx(wanted)
    assert (
        1
        < th.separation_at(levels, l2=1e-12)
        < th.separation_at(levels, l2=1e12)
        <= largest * (1 + 1e-9)
    )
    for impossible in (1.0, largest, largest + 1, 0.5):
        with pytest.raises(ValueError, match=r"separation=.* is not between 1 and"):
            th.l2_for_separation(levels, separation=impossible)
