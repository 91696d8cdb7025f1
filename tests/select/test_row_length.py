"""Rows of few features keep their length where it tells classes apart."""

import numpy as np
import pytest

import twohot
from twohot import AutoProbe, find_label_issues, forecast
from twohot.select.row_length import MANY_FEATURES, choose_unit_norm

RNG = np.random.default_rng(0)
Y = np.arange(600) % 3
# Three classes one behind the other: seen from the mean, the outer two are apart, and the one
# between them is in all directions.
ON_A_LINE = np.column_stack([6.0 * Y, np.zeros(600)]) + RNG.normal(size=(600, 2))
GIVEN = np.where(RNG.random(600) < 0.2, (Y + RNG.integers(1, 3, 600)) % 3, Y)


def test_length_counts_where_unit_norm_loses_it(tmp_path):
    probe = AutoProbe(n_jobs=1).fit(ON_A_LINE, GIVEN)
    assert not probe.preparation_.normalize
    assert probe.score(ON_A_LINE, Y) > 0.98
    # Unit norm leaves a circle, on which the class in the middle is everywhere.
    assert AutoProbe(n_jobs=1, normalize=True).fit(ON_A_LINE, GIVEN).score(ON_A_LINE, Y) < 0.9
    # What was chosen can be fitted alone, and comes back from a file.
    alone = probe.choice_.chosen.probe(tol=1e-3).fit(ON_A_LINE, GIVEN)
    assert np.mean(alone.predict(ON_A_LINE) == probe.predict(ON_A_LINE)) > 0.99
    probe.save(tmp_path / "probe.safetensors")
    again = twohot.load(tmp_path / "probe.safetensors")
    assert again.normalize == "auto"
    assert np.array_equal(again.predict(ON_A_LINE), probe.predict(ON_A_LINE))
    assert "normalize=False" in again.choice_.chosen.estimator


def test_the_audit_and_the_forecast_see_the_same_rows():
    found = find_label_issues(ON_A_LINE, GIVEN)
    wrong = GIVEN != Y
    assert np.mean(found.is_label_issue == wrong) > 0.98
    assert abs(forecast(ON_A_LINE, GIVEN).noise.rate - wrong.mean()) < 0.05


def test_unit_norm_is_taken_where_length_says_nothing():
    lengths = np.exp(RNG.normal(size=(600, 1)))
    angles = 2 * np.pi * Y / 3 + 0.2 * RNG.normal(size=600)
    around = lengths * np.column_stack([np.cos(angles), np.sin(angles)])
    assert AutoProbe(n_jobs=1, cv=2).fit(around, GIVEN).preparation_.normalize


def test_rows_that_are_too_large_to_keep_their_length_get_unit_norm():
    far = (ON_A_LINE * 1e18).astype(np.float32)
    probe = AutoProbe(n_jobs=1, cv=2).fit(far, GIVEN)
    assert probe.preparation_.normalize
    with pytest.raises(ValueError, match="X has rows of norm"):
        AutoProbe(normalize=False).fit(far, GIVEN)


def no_search(**_):
    raise AssertionError("nothing is to be compared")


def test_nothing_is_compared_where_rows_have_many_features_or_somebody_has_said():
    assert choose_unit_norm("auto", MANY_FEATURES, no_search)
    assert not choose_unit_norm(False, 2, no_search)
    assert choose_unit_norm(np.True_, 2, no_search)


def test_other_words_are_refused():
    with pytest.raises(
        ValueError, match="normalize='yes' is not known: pass True, False or 'auto'"
    ):
        AutoProbe(normalize="yes").fit(ON_A_LINE, GIVEN)
