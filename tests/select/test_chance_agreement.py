"""Chance is what the same predictions agree with in any other order."""

from itertools import permutations

import numpy as np
import pytest

import problems
from compared import make_tried
from twohot import AutoProbe
from twohot.select.chance_agreement import CHANCE_ERRORS, chance_agreement
from twohot.select.result import Choice


@pytest.mark.parametrize(
    ("given", "predicted"),
    [([0, 0, 0, 1, 2], [0, 1, 1, 2, 0]), ([0, 1, 1, 1], [1, 1, 1, 1]), ([1], [1]), ([1], [0])],
)
def test_chance_is_that_of_all_orders(given, predicted):
    agreement = (np.array(list(permutations(predicted))) == given).mean(axis=1)
    chance = chance_agreement(np.array(given), np.array(predicted))
    assert chance == pytest.approx((agreement.mean(), agreement.std()))


def test_a_row_of_weight_two_counts_as_two_rows():
    given, predicted = np.array([0, 1, 2, 1]), np.array([0, 1, 1, 2])
    weights = np.array([2, 1, 3, 0])
    repeated = chance_agreement(np.repeat(given, weights), np.repeat(predicted, weights))
    assert chance_agreement(given, predicted, weights.astype(float)) == pytest.approx(repeated)


@pytest.mark.parametrize(("above", "learnt"), [(0.0099, False), (0.0101, True)])
def test_something_is_learnt_where_any_candidate_beats_chance_by_a_row(above, learnt):
    beaten = 0.2 + CHANCE_ERRORS * 0.05
    tried = (
        make_tried("teacher", beaten - 0.1, chance=0.2, chance_error=0.05, chosen=True),
        make_tried("robust", beaten + above, chance=0.2, chance_error=0.05),
    )
    assert Choice(tried, n_held_out=100, n_splits=1).learnt == learnt


def test_a_search_knows_its_chance():
    data = problems.digits(0.5, 300)
    probe = AutoProbe(n_jobs=1).fit(data.X, data.given_labels)
    assert probe.choice_.learnt
    assert all(0.05 < entry.chance < 0.2 for entry in probe.choice_.tried)
    shuffled = np.random.default_rng(0).permutation(data.given_labels)
    assert not AutoProbe(n_jobs=1).fit(data.X, shuffled).choice_.learnt
