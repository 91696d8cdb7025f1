"""The record and the picture of a forecast show its numbers."""

import json

import numpy as np
import pytest

from problems import digits
from twohot.figures.forecast import forecast_figure
from twohot.forecast.as_json import candidate_rows, class_rows, forecast_record
from twohot.forecast.forecast import forecast
from twohot.noise import symmetric


@pytest.fixture(scope="module")
def found():
    data = digits(0.6)
    return forecast(data.X, data.given_labels, n_jobs=1)


def test_the_record_holds_what_was_found(found):
    record = json.loads(json.dumps(forecast_record(found), allow_nan=False))
    assert record["advice"]["action"] == found.advice.action
    assert record["n_rows"] == 1000
    assert record["noise"]["rate"] == found.noise.rate
    np.testing.assert_array_equal(record["noise"]["corruption"], found.noise.corruption)
    np.testing.assert_array_equal(record["correlation"]["estimated"], found.correlation.estimated)
    assert record["theory"]["separation"] == found.theory.separation
    assert record["theory"]["eigengap"] == found.theory.eigengap
    tried = found.comparison.choice.tried
    for row, entry in zip(record["candidates"], tried, strict=True):
        assert (row["candidate"], row["code"]) == (entry.name, entry.estimator)
        assert row["chosen"] == (entry is found.comparison.choice.chosen)
        gain, error = found.comparison.gain(entry)
        assert row["gain"] == pytest.approx(gain / found.noise.slope)
        assert row["gain_error"] == pytest.approx(error / found.noise.slope)


def test_classes_stand_weakest_first(found):
    rows = forecast_record(found)["classes"]
    last = [row["margin_by_round"][-1] for row in rows]
    assert last == sorted(found.theory.guarantees[-1].margins.tolist())
    for row in rows:
        k = found.classes.tolist().index(row["class"])
        assert row["labels_right"] == found.noise.corruption[k, k]
        assert row["margin_by_round"][0] == found.theory.guarantees[0].margins[k]


def test_what_is_not_finite_becomes_null():
    data = digits(0.8)
    # So much noise that no number of rounds repairs every label.
    found = forecast(data.X, data.given_labels, corruption=symmetric(10, 0.89), n_jobs=1)
    assert np.isinf(found.theory.rounds_needed.overall)
    assert forecast_record(found)["theory"]["rounds_needed"] is None


def test_the_picture_shows_gains_and_margins(found):
    gains, margins = forecast_figure(
        candidate_rows(found), class_rows(found), found.theory.ridge
    ).axes
    shown = gains.lines[0].get_xdata().astype(float)
    expected = [100 * row["gain"] for row in forecast_record(found)["candidates"]]
    np.testing.assert_allclose(shown, expected)
    chosen = [label for label in gains.get_yticklabels() if label.get_fontweight() == "bold"]
    assert [label.get_text() for label in chosen] == [found.comparison.choice.chosen.name]
    heights = [bar.get_height() for bar in margins.containers[1]]
    np.testing.assert_allclose(heights, np.sort(found.theory.guarantees[-1].margins))
    names = [label.get_text() for label in margins.get_xticklabels()]
    assert sorted(names) == [str(k) for k in range(10)]
