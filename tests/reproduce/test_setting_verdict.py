"""The one rule by which claims about accuracies are judged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.reproduce.claim import Answer
from twohot.reproduce.setting_verdict import JudgedSetting, Setting, judge_settings
from twohot.reproduce.table import Mean

RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
KINDS = ("superclass", "symmetric")


def tried(holds):
    return [
        JudgedSetting(place, None, holds(place))
        for data in ("cars", "pets", "food", "birds")
        for kind in KINDS
        for rate in RATES
        for place in [Setting(data, kind, rate)]
    ]


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        (lambda _: True, "confirmed"),
        (lambda place: place != Setting("cars", "symmetric", 0.5), "confirmed"),
        (
            lambda place: place.noise_rate > 0.4,
            "confirmed only when the noise rate is at least 0.5",
        ),
        (lambda place: place.noise_rate < 0.4, "confirmed only when the noise rate is at most 0.3"),
        (lambda place: place.corruption == "symmetric", "confirmed only when noise is symmetric"),
        (lambda place: place.data == "food", "confirmed only when the data set is food"),
        (
            lambda place: place.noise_rate > 0.8,
            "confirmed only when the noise rate is at least 0.9",
        ),
        # A tenth of the settings.
        (lambda place: place.data == "food" and place.noise_rate > 0.4, "not confirmed"),
        (lambda _: False, "not confirmed"),
    ],
)
def test_the_widest_condition_is_named(holds, verdict):
    judged = judge_settings(tried(holds), "Gain")
    assert str(judged) == verdict
    held = sum(trial.holds for trial in tried(holds))
    assert f"in {held} of 40 settings" in judged.evidence
    assert len(judged.table.rows) == 8


def test_nothing_finished_is_no_verdict():
    assert judge_settings([], "Gain").answer is Answer.NOT_TESTABLE


@given(st.lists(st.booleans(), min_size=4, max_size=40))
def test_the_answer_follows_from_the_counts(outcomes):
    settings = [Setting("pets", "symmetric", i / 100) for i in range(len(outcomes))]
    pairs = zip(settings, outcomes, strict=True)
    judged = judge_settings([JudgedSetting(place, None, held) for place, held in pairs], "Gain")
    assert (judged.answer is Answer.CONFIRMED) == (sum(outcomes) >= 0.9 * len(outcomes))
    if not any(outcomes):
        assert judged.answer is Answer.REFUTED


def test_a_verdict_says_how_much_is_behind_it():
    draws = [Mean(1.0, 0.0, 1), Mean(1.0, 0.0, 1), Mean(1.0, 0.1, 3), Mean(-1.0, 0.0, 1)]
    judged = [
        JudgedSetting(Setting("pets", "symmetric", rate), value, value.mean > 0)
        for rate, value in zip(RATES, draws, strict=False)
    ]
    assert judge_settings(judged, "Gain").basis == "3 of 4 settings, 1 to 3 draws"
    one = [JudgedSetting(each.setting, draws[0], each.holds) for each in judged]
    assert judge_settings(one, "Gain").basis == "3 of 4 settings, 1 draw"
