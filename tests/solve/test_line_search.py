"""How far each class goes along a direction."""

import numpy as np

from twohot.solve.steps import MOST_LOOKS, SHORTER, Line, search_lengths

FAR = np.full(1, 1e6)


def test_a_move_that_is_far_too_long_is_shortened_until_it_leads_down():
    # |t| rises from 1e-5 on: the curvature at zero promises a move of 1e4.
    slope, kink = -1.0, 1e-5

    def terms(lengths, order):
        t = float(lengths[0])
        value, steepness = (slope * t, slope) if t < kink else (slope * kink + (t - kink), 1.0)
        flat = np.array([[1e-4]])
        return (value, np.array([steepness]), flat, flat[0])[: 2 * order]

    line = Line(terms, np.array([slope]), np.zeros(1), FAR, rounding=0.0, least_bend=1e-4)
    found = search_lengths(line)
    assert 0 < found[0] < 2 * kink
    assert found[0] < 1e4 * SHORTER**MOST_LOOKS


def test_no_class_goes_farther_than_it_may():
    # The first class goes down for ever, as the intercept of a class without rows does.
    def terms(lengths, order):
        t = np.float64(lengths)
        value = np.exp(-t[0]) + 0.5 * (t[1] - 1) ** 2
        slope = np.array([-np.exp(-t[0]), t[1] - 1])
        bend = np.array([np.exp(-t[0]), 1.0])
        return (value, slope, np.diag(bend), bend)[: 2 * order]

    line = Line(terms, np.array([-1.0, -1.0]), np.zeros(2), np.array([0.7, 9.0]), 0.0, 1e-4)
    found = search_lengths(line)
    assert found[0] == 0.7
    assert abs(found[1] - 1) < 0.2
