"""Advice follows the evidence, on both sides of every test."""

from dataclasses import replace

import numpy as np
import pytest

from twohot.base.labels import Labels
from twohot.describe.advice import Action, advise
from twohot.describe.comparison import Comparison
from twohot.describe.true_classes import NoiseEstimate, take_noise, unmix
from twohot.judge.choice import Choice, Tried
from twohot.noise import symmetric
from twohot.probes.recipe import Recipe
from twohot.solve.losses import CrossEntropy

SIZES = np.array([500, 500])
LABELS = Labels(np.repeat([0, 1], SIZES), np.array([0, 1]))
CLEAN, QUARTER = (take_noise(symmetric(2, rate), SIZES) for rate in (0.0, 0.25))
FOUND = replace(QUARTER, given=False)
APART = unmix(np.array([[0.3, -0.3], [-0.3, 0.3]]), CLEAN, np.zeros(2, dtype=int))
ALIKE = unmix(np.array([[0.1, 0.2], [0.2, 0.1]]), CLEAN, np.zeros(2, dtype=int))
PLAIN = Tried(Recipe(CrossEntropy(), ridge=10.0), 0.8, 0.01, -0.4, 0.1, 1.0, 9.0)


def compared(gain=0.0, likelier=2.0, *, learnt=True, n_rows=1000, looks_like=(0, 1)):
    """AutoProbe and a plain probe that predicts four labels in five."""
    choice = Choice(
        tried=(PLAIN,),
        n_rows=n_rows,
        n_folds=5,
        n_rounds=2,
        agreement=0.8 + gain,
        agreement_error=0.01,
        noise_rate=0.1,
        interval=(0.0, 0.2),
        learnt=learnt,
        parts=(("robust (ridge 10)", 1.0),),
    )
    return Comparison(
        choice=choice,
        plain=PLAIN,
        n_rows=n_rows,
        agreement=0.8 + gain,
        plain_agreement=0.8,
        gain_error=0.01,
        likelier=likelier,
        likelihood=-0.4,
        frequency_likelihood=-0.7,
        looks_like=np.array(looks_like),
    )


@pytest.mark.parametrize(
    ("gain", "likelier", "noise", "action", "said"),
    [
        (0.01, 1.65, CLEAN, Action.ANCHORED, ("1.65 standard errors", "+1.0 ± 1.0 points")),
        # A gain beyond its error that the test does not show is not named beside "not likelier".
        (0.03, 1.64, CLEAN, Action.PLAIN, ("does not make held-out labels likelier (1.64",)),
        (-0.016, 5.0, CLEAN, Action.ANCHORED, ("5.00 standard errors",)),
        (-0.017, 5.0, CLEAN, Action.PLAIN, ("predicts fewer", "-1.7 ± 1.0 points")),
        # A point of accuracy is half a point of agreement if a quarter of two classes is wrong.
        (0.02, 5.0, QUARTER, Action.ANCHORED, ("5.00 standard errors", "+4.0 ± 2.0 points")),
    ],
)
def test_auto_probe_is_advised_if_it_is_better_by_a_test(gain, likelier, noise, action, said):
    found = advise(compared(gain, likelier), noise, APART, LABELS)
    assert found.action is action
    assert found.summary.startswith(f"{action}: ")
    assert all(each in found.summary for each in said)
    assert found.summary.count("points") == len(said) - 1
    assert found.code == ("AutoProbe()" if action is Action.ANCHORED else PLAIN.estimator)


def test_the_evidence_has_the_numbers_of_the_summary():
    found = advise(compared(0.02), QUARTER, APART, LABELS)
    likelihood, agreement, worth = found.evidence
    assert "is -0.400; by the class frequencies alone it is -0.700." in likelihood
    assert "predicts 82.0% of 1000 held-out labels, teacher (ridge 10) 80.0%" in agreement
    assert (
        "The labels are likelier by AutoProbe in a test at 5% (2.00 standard errors)" in agreement
    )
    assert "gives 0.50 points" in worth


def test_labels_that_are_not_learnt_are_hopeless():
    found = advise(compared(0.05, learnt=False), FOUND, APART, LABELS)
    assert (found.action, found.code, found.audit) == (Action.NOTHING, "", False)
    assert "no better than the class frequencies" in found.summary
    assert "cannot be estimated" in found.wrong_labels


def test_classes_that_are_alike_are_hopeless():
    found = advise(compared(0.05), CLEAN, ALIKE, LABELS)
    assert (found.action, found.code) == (Action.NOTHING, "")
    assert "no more similar than rows of two classes" in found.summary


@pytest.mark.parametrize(("size", "hopeless"), [(100, False), (900, True)])
def test_a_majority_of_rows_with_commoner_wrong_labels_is_hopeless(size, hopeless):
    noise = NoiseEstimate(
        np.array([[0.4, 0.6], [0.0, 1.0]]), np.array([size, 1000.0 - size]), given=True
    )
    found = advise(compared(0.05), noise, APART, LABELS)
    assert (found.action is Action.NOTHING) == hopeless
    assert any(c.startswith("Rows of 1 class have some other") for c in found.cautions)


@pytest.mark.parametrize(
    ("noise", "audit", "words"),
    [
        (replace(FOUND, interval=(0.2, 0.3)), True, "About 25.0% of the labels are wrong (20.0%"),
        (replace(FOUND, interval=(0.0, 0.3)), False, "they may all be right if the classes over"),
        (replace(CLEAN, given=False, interval=(0.0, 0.03)), False, "No label is likely to be wro"),
        (QUARTER, True, "For the corruption you passed, 25.0% of the labels are wrong."),
        (CLEAN, False, "For the corruption you passed, 0.0% of the labels are wrong."),
    ],
)
@pytest.mark.parametrize("gain", [0.0, 0.1])
def test_an_audit_is_advised_if_some_labels_are_surely_wrong(noise, audit, words, gain):
    """What to fit does not matter for it."""
    found = advise(compared(gain), noise, APART, LABELS)
    assert found.audit == audit
    assert words in found.wrong_labels


def test_too_few_rows_for_a_plain_probe_leave_auto_probe():
    found = advise(replace(compared(), plain=None), CLEAN, APART, LABELS)
    assert (found.action, found.code) == (Action.ANCHORED, "AutoProbe()")
    assert "too few rows" in found.summary


def test_a_label_whose_rows_look_like_another_is_named():
    found = advise(compared(looks_like=(1, 1)), CLEAN, APART, LABELS)
    assert any("separate the two: 0 like 1." in caution for caution in found.cautions)
    found = advise(compared(looks_like=(1, 1), learnt=False), CLEAN, APART, LABELS)
    assert not any("0 like 1" in caution for caution in found.cautions)


@pytest.mark.parametrize("n_rows", [300, 1000])
def test_rows_that_were_not_used_are_counted(n_rows):
    found = advise(compared(n_rows=n_rows), CLEAN, APART, LABELS)
    said = "The label model was fitted on 300 of 1000 rows."
    assert (said in found.cautions) == (n_rows == 300)


def test_noise_that_cannot_be_seen_is_a_caution_unless_it_is_known():
    for noise, said in ((FOUND, True), (QUARTER, False)):
        found = advise(compared(), noise, APART, LABELS)
        assert any("cannot be detected" in caution for caution in found.cautions) == said
