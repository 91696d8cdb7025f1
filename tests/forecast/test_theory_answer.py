"""The theory is asked about estimates as they are."""

import numpy as np
import pytest

from twohot.forecast.noise_estimate import NoiseEstimate
from twohot.forecast.theory_answer import ask_theory
from twohot.forecast.true_correlations import unmix
from twohot.theory import PairLevels, separation_at

CLEAN = NoiseEstimate(np.eye(2), np.array([50.0, 50.0]), given=True)


def answer(same, other):
    measured = np.array([[same, other], [other, same]])
    return ask_theory(unmix(measured, CLEAN, np.array([0, 0])), CLEAN, ridge=10.0, n_rounds=2)


def test_the_separation_is_that_of_equal_classes():
    expected = separation_at(PairLevels(2, 50, 0.3, -0.1), l2=10.0 / (2 * 100))
    assert answer(0.3, -0.1).separation == pytest.approx(expected)


def test_classes_that_are_not_separated_have_no_separation():
    assert np.isnan(answer(0.1, 0.1).separation)
