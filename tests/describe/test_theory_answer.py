"""The theory gets estimates without changes."""

import numpy as np
import pytest

from twohot.describe.theory_answer import ask_theory
from twohot.describe.true_classes import CorrelationEstimate, NoiseEstimate, unmix
from twohot.theory import PairLevels, rounds_needed, separation_at

CLEAN = NoiseEstimate(np.eye(2), np.array([50.0, 50.0]), given=True)


def answer(same, other):
    measured = np.array([[same, other], [other, same]])
    return ask_theory(unmix(measured, CLEAN, np.array([0, 0])), CLEAN, ridge=10.0, n_rounds=2)


def test_separation_is_that_of_equal_classes():
    expected = separation_at(PairLevels(2, 50, 0.3, -0.1), l2=10.0 / (2 * 100))
    assert answer(0.3, -0.1).separation == pytest.approx(expected)
    # Equal correlations within and between classes have none.
    assert np.isnan(answer(0.1, 0.1).separation)


def estimated(correlation, corruption, sizes):
    noise = NoiseEstimate(np.array(corruption), np.array(sizes, dtype=float), given=True)
    known = CorrelationEstimate(
        measured=correlation,
        estimated=correlation,
        superclass=np.zeros(len(sizes), dtype=int),
        n_limited=0,
    )
    return known, noise


def test_counts_rounds_beyond_the_requested_ones():
    """Half of the labels are wrong and the penalty is tiny: the closed form needs 531 rounds."""
    correlation = 0.1 + 0.3 * np.eye(4)
    known, noise = estimated(correlation, 0.5 * np.eye(4) + (1 - np.eye(4)) / 6, [100] * 4)
    found = ask_theory(known, noise, ridge=1600e-6, n_rounds=3)
    separation = separation_at(PairLevels(4, 100, 0.4, 0.1), l2=1e-6)
    assert rounds_needed(noise.corruption, separation=separation).overall == 531
    assert found.rounds_needed.overall == 531


def test_reports_the_last_right_round():
    """Rounds 3 to 87 are right; after them, the largest class wins."""
    correlation = np.array([[0.45, 0.12, -0.03], [0.12, 0.30, -0.02], [-0.03, -0.02, 0.38]])
    corruption = [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]]
    known, noise = estimated(correlation, corruption, [400, 150, 250])
    early, late = (ask_theory(known, noise, ridge=0.65, n_rounds=t) for t in (4, 120))
    first, last = early.rounds_needed.overall, early.rounds_needed.overall_until
    right = [t for t, each in enumerate(late.guarantees, start=1) if each.holds]
    assert right == list(range(int(first), int(last) + 1))
    assert late.rounds_needed.overall == np.inf  # of 120 rounds, the last is not right
