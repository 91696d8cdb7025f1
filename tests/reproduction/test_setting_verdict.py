"""The rule for claims about accuracies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot_paper.accuracy_claims import JudgedSetting, Setting, judge_settings
from twohot_paper.claim import Answer
from twohot_paper.table import Mean

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


# Where a statement holds, and the condition of the verdict: none, or "" if it is not confirmed.
CONDITIONS = [
    (lambda _: True, None),
    (lambda place: place != Setting("cars", "symmetric", 0.5), None),
    (lambda place: place.noise_rate > 0.4, "the noise rate is at least 0.5"),
    (lambda place: place.noise_rate < 0.4, "the noise rate is at most 0.3"),
    (lambda place: 0.2 < place.noise_rate < 0.8, "the noise rate is 0.3 to 0.7"),
    (lambda place: place.noise_rate > 0.8, "the noise rate is at least 0.9"),
    (lambda place: place.corruption == "symmetric", "noise is symmetric"),
    (lambda place: place.data == "food", "the dataset is food"),
    (lambda place: place.data != "cars", "the dataset is birds, food or pets"),
    (lambda p: p.data in {"pets", "food"} or p.noise_rate > 0.8, "the dataset is food or pets"),
    (lambda place: place.data == "food" and place.noise_rate > 0.4, ""),  # a tenth of the settings
    (lambda _: False, ""),
]


@pytest.mark.parametrize(("holds", "condition"), CONDITIONS)
def test_verdict_names_the_widest_condition(holds, condition):
    judged = judge_settings(tried(holds), "Gain")
    if condition is None:
        assert judged.answer is Answer.CONFIRMED
    else:
        assert judged.answer is (Answer.CONDITIONAL if condition else Answer.REFUTED)
        assert judged.condition == condition
    held = sum(trial.holds for trial in tried(holds))
    assert f"in {held} of 40 settings" in judged.evidence
    assert len(judged.table.rows) == 8


def test_no_verdict_without_settings():
    assert judge_settings([], "Gain").answer is Answer.NOT_TESTABLE


@given(st.lists(st.booleans(), min_size=4, max_size=40))
def test_answer_follows_from_the_counts(outcomes):
    settings = [Setting("pets", "symmetric", i / 100) for i in range(len(outcomes))]
    pairs = zip(settings, outcomes, strict=True)
    judged = judge_settings([JudgedSetting(place, None, held) for place, held in pairs], "Gain")
    assert (judged.answer is Answer.CONFIRMED) == (sum(outcomes) >= 0.9 * len(outcomes))
    if not any(outcomes):
        assert judged.answer is Answer.REFUTED


def test_basis_counts_settings_and_draws():
    draws = [Mean(1.0, 0.0, 1), Mean(1.0, 0.0, 1), Mean(1.0, 0.1, 3), Mean(-1.0, 0.0, 1)]
    judged = [
        JudgedSetting(Setting("pets", "symmetric", rate), value, value.mean > 0)
        for rate, value in zip(RATES, draws, strict=False)
    ]
    assert judge_settings(judged, "Gain").basis == "symmetric noise: 3 of 4 settings, 1 to 3 draws"
    one = [JudgedSetting(each.setting, draws[0], each.holds) for each in judged]
    assert judge_settings(one, "Gain").basis == "symmetric noise: 3 of 4 settings, 1 draw"


def test_evidence_counts_settings_outside_the_condition():
    judged = judge_settings(tried(lambda place: place.data != "cars"), "Gain")
    assert "is birds, food or pets: 30 of 30, elsewhere 0 of 10." in judged.evidence


def test_evidence_counts_by_dataset_noise_and_rate():
    judged = judge_settings(tried(lambda place: place.noise_rate > 0.8), "Gain")
    assert "By dataset: birds 2 of 10, cars 2 of 10, " in judged.evidence
    assert "By kind of noise: superclass 4 of 20, symmetric 4 of 20." in judged.evidence
    assert "By noise rate: 0.1 0 of 8, 0.3 0 of 8, " in judged.evidence
    assert "By" not in judge_settings(tried(lambda _: True), "Gain").evidence


def test_verdict_names_all_widest_conditions():
    # Four datasets at four rates, one kind of noise.
    square = [
        each
        for each in tried(lambda place: place.noise_rate < 0.4 or place.data in {"cars", "pets"})
        if each.setting.corruption == "symmetric" and each.setting.noise_rate < 0.8
    ]
    assert str(judge_settings(square, "Gain")) == (
        "confirmed only when the noise rate is at most 0.3, or when the dataset is cars or pets"
    )
