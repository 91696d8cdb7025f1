"""The rule decides by agreement, then by likelihood where that has a say, then by preference."""

import numpy as np

from twohot.select import grid
from twohot.select.rule import Score, best, is_likelier, likelihood_counts

TEACHER, WEAK_TEACHER = grid.TEACHER_100, grid.TEACHER_10
ROBUST, WEAK_ROBUST = grid.FIRST_ROBUST, grid.weaker(grid.FIRST_ROBUST, 64)
HALF = grid.robust_round(ROBUST)
ROW = np.arange(100)


def score(candidate, agrees, likelihood):
    """Return the score of a candidate that agrees with some rows, with a likelihood for each."""
    return Score(
        np.asarray(agrees, dtype=float),
        np.broadcast_to(likelihood, len(agrees)).astype(float),
        candidate,
    )


def chosen(*scores, others=(), weights=None):
    """Return the best of some scores; the others have a say in how the noise looks."""
    weights = np.ones(len(ROW)) if weights is None else weights
    counts = likelihood_counts([*scores, *others], weights)
    return scores[best(scores, weights, by_likelihood=counts)]


def test_agreement_decides_where_it_can_tell():
    # Ten rows more, none less: three standard errors, whatever is likelier or preferred.
    plain = score(TEACHER, ROW < 70, -1.0)
    robust = score(HALF, ROW < 60, -0.5)
    assert chosen(plain, robust) is plain


def test_likelihood_decides_between_what_agreement_cannot_tell_apart():
    # 15 rows against 14 others: far less than a standard error.
    one = score(ROBUST, (ROW < 50) | (ROW >= 85), -1.0)
    other = score(WEAK_ROBUST, (ROW < 50) | ((ROW >= 60) & (ROW < 74)), -0.5)
    assert chosen(one, other) is other
    # Where cross-entropy is the likeliest of all, likelihood has no say, and the larger penalty
    # is the safer one.
    teacher = score(TEACHER, ROW < 20, -0.1)
    assert chosen(one, other, others=[teacher]) is one


def test_a_likelihood_within_its_error_leaves_it_to_the_preference():
    noisy = np.where(ROW % 2, -2.0, 0.0)
    one = score(ROBUST, ROW < 50, noisy)
    other = score(HALF, ROW < 50, -noisy - 2.01)  # 0.01 less on average, ± 0.2
    assert chosen(one, other) is other
    sure = score(HALF, ROW < 50, noisy - 0.01)  # the same less on every row
    assert chosen(one, sure) is one


def test_of_one_method_the_larger_penalty_is_better_unless_it_agrees_clearly_less():
    one = score(TEACHER, ROW < 60, -1.0)
    near = score(WEAK_TEACHER, (ROW < 59) | (ROW == 80) | (ROW == 81), -1.0)
    assert chosen(one, near) is one
    assert chosen(near, one) is one
    clear = score(WEAK_TEACHER, ROW < 70, -1.0)
    assert chosen(one, clear) is clear


def test_of_one_method_the_likelier_is_better_where_noise_looks_uniform():
    one = score(ROBUST, ROW < 50, np.where(ROW % 2, -2.0, 0.0))
    other = score(WEAK_ROBUST, ROW < 50, np.where(ROW % 2, 0.01, -2.0))
    assert chosen(one, other) is other
    assert is_likelier(other, one, np.ones(len(ROW)))


def test_the_likelihood_counts_where_hardly_a_label_can_be_wrong():
    # Cross-entropy is the likeliest, so that noise has a structure, if there is any.
    strong, weak = (score(each, ROW < 90, -1.0) for each in (TEACHER, WEAK_TEACHER))
    likelier = score(WEAK_TEACHER, ROW < 91, -0.5)
    assert chosen(strong, weak) is strong
    assert chosen(strong, score(WEAK_TEACHER, ROW < 90, -0.5)) is strong
    assert chosen(strong, likelier) is likelier


def test_half_whitened_rows_are_the_last_tie_break():
    plain, whitened = (score(each, ROW < 50, -1.0) for each in (ROBUST, ROBUST.half_whitened))
    for pair in ((plain, whitened), (whitened, plain)):
        assert chosen(*pair) is whitened
    # A better method, a larger penalty or a larger likelihood comes first.
    assert chosen(score(HALF, ROW < 50, -1.0), whitened).candidate is HALF
    teacher = score(TEACHER, ROW < 20, -0.1)
    weak = score(WEAK_ROBUST.half_whitened, ROW < 50, -1.0)
    assert chosen(plain, weak, others=[teacher]) is plain
    likelier = score(ROBUST, ROW < 50, np.where(ROW % 2, -2.0, 0.01))
    less = score(ROBUST.half_whitened, ROW < 50, np.where(ROW % 2, 0.0, -2.0))
    assert chosen(likelier, less) is likelier


def test_rows_of_larger_weight_decide_more():
    one = score(ROBUST, ROW < 50, -1.0)
    other = score(HALF, ROW < 40, -1.0)
    assert chosen(one, other) is one
    weights = np.where((ROW >= 40) & (ROW < 50), 0.0, 1.0)
    assert chosen(one, other, weights=weights) is other
