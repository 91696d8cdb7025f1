"""How far each class goes along a direction."""

import numpy as np

from twohot.solve.line_search import MOST_LOOKS, SHORTER, Line, search_lengths


def test_a_move_that_is_far_too_long_is_shortened_until_it_leads_down():
    # |t| rises from 1e-5 on: the curvature at zero promises a move of 1e4.
    slope, kink = -1.0, 1e-5

    def terms(lengths, order):
        t = float(lengths[0])
        value, steepness = (slope * t, slope) if t < kink else (slope * kink + (t - kink), 1.0)
        flat = np.array([[1e-4]])
        return (value, np.array([steepness]), flat, flat[0])[: 2 * order]

    line = Line(terms, np.array([slope]), np.zeros(1), rounding=0.0, least_bend=1e-4)
    found = search_lengths(line)
    assert 0 < found[0] < 2 * kink
    assert found[0] < 1e4 * SHORTER**MOST_LOOKS
