"""What a search knows about held-out rows, against counting by hand."""

import numpy as np
import pytest
from twohot.select.auto_probe import search_probe
from twohot.select.result import choice_of

from compared import make_comparison, make_tried
from problems import synthetic
from twohot import AutoProbe
from twohot._checks.labels import code_labels
from twohot.distill.recipe import TEACHER
from twohot.forecast.gains import compare

DATA = synthetic(noise_rate=0.5)
N_ROWS = len(DATA.X)


@pytest.fixture(scope="module")
def selection():
    """A selection that holds every fifth row out."""
    rows = np.arange(N_ROWS)
    splits = [(rows[rows % 5 != fold], rows[rows % 5 == fold]) for fold in (0, 1)]
    probe = AutoProbe(cv=splits, n_jobs=1)
    return search_probe(probe, DATA.X, code_labels(DATA.given_labels))[1]


def test_predictions_are_those_the_agreement_was_counted_from(selection):
    found = compare(selection)
    assert found.choice == choice_of(selection)
    np.testing.assert_array_equal(
        found.given, np.concatenate([DATA.given_labels[0::5], DATA.given_labels[1::5]])
    )
    assert tuple(found.predicted) == found.choice.tried
    for entry, predicted in found.predicted.items():
        assert predicted.itemsize <= 4
        assert entry.agreement == pytest.approx((predicted == found.given).mean())
    assert found.n_rows == N_ROWS


def test_plain_is_what_the_rule_chooses_of_teachers(selection):
    found = compare(selection)
    assert found.plain.method == TEACHER
    assert found.plain.recipe == selection.search.best(TEACHER).recipe


def test_gains_are_paired():
    given = np.array([0, 0, 1, 1])
    plain, other = make_tried("teacher", 0.5), make_tried("robust", 0.75, chosen=True)
    predicted = {plain: np.array([0, 1, 1, 0]), other: np.array([0, 0, 1, 0])}
    found = make_comparison(given, predicted)
    gain, error = found.gain(other)
    assert gain == 0.25
    assert error == pytest.approx(np.std([0, 1, 0, 0]) / 2)
    assert found.gain(plain) == (0.0, 0.0)
