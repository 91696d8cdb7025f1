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
LIKELY_CLEAN = replace(CLEAN, given=False, interval=(0.0, 0.03))
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
        (0.01, 1.65, CLEAN, Action.ANCHORED, ("1.65 standard errors", "+1.0 points, standard")),
        # The reason "not more likely" does not mention a gain in agreement.
        (0.03, 1.64, CLEAN, Action.PLAIN, ("held-out labels more likely (the gain is 1.64",)),
        (-0.016, 5.0, CLEAN, Action.ANCHORED, ("5.00 standard errors",)),
        (-0.017, 5.0, CLEAN, Action.PLAIN, ("predicts fewer", "-1.7 points, standard error 1.0")),
        # A point of accuracy is half a point of agreement if a quarter of two classes is wrong.
        (0.02, 5.0, QUARTER, Action.ANCHORED, ("5.00 standard errors", "+4.0 points, standard")),
    ],
)
def test_advises_auto_probe_if_a_test_shows_that_it_is_better(gain, likelier, noise, action, said):
    found = advise(compared(gain, likelier), noise, APART, LABELS)
    assert found.action is action
    assert found.summary.startswith(f"{action}: ")
    assert all(each in found.summary for each in said)
    assert found.summary.count("points") == len(said) - 1
    assert found.code == ("AutoProbe()" if action is Action.ANCHORED else PLAIN.estimator)


def test_evidence_has_the_numbers_of_the_summary():
    found = advise(compared(0.02), QUARTER, APART, LABELS)
    likelihood, agreement, slope = found.evidence
    assert "is -0.400. With the class frequencies alone, it is -0.700." in likelihood
    assert "predicts 82.0% of 1000 held-out labels." in agreement
    assert "The plain probe, teacher (ridge 10), predicts 80.0%." in agreement
    assert "more likely under AutoProbe (the gain is 2.00 standard errors)" in agreement
    assert "rises by 0.50 points" in slope


HALF = np.array([[0.4, 0.6], [0.0, 1.0]])
MOST = NoiseEstimate(HALF, np.array([900.0, 100.0]), given=True)
FEW = NoiseEstimate(HALF, np.array([100.0, 900.0]), given=True)


@pytest.mark.parametrize(
    ("learnt", "noise", "correlation", "action", "reason"),
    [
        (False, FOUND, APART, Action.NOTHING, "no better than the class frequencies"),
        (True, CLEAN, ALIKE, Action.NOTHING, "no more similar than rows of different"),
        (True, MOST, APART, Action.NOTHING, "in 1 of 2 classes, with 90% of the rows, a"),
        (True, FEW, APART, Action.ANCHORED, "makes held-out labels more likely"),
    ],
)
def test_names_data_for_which_no_method_helps(learnt, noise, correlation, action, reason):
    found = advise(compared(0.05, learnt=learnt), noise, correlation, LABELS)
    assert (found.action, found.code == "") == (action, action is Action.NOTHING)
    assert reason in found.summary
    assert ("cannot be estimated" in found.wrong_labels) == (not learnt)
    lost = any(c.startswith("In 1 class, a wrong label is at least") for c in found.cautions)
    assert lost == (noise in (MOST, FEW))


@pytest.mark.parametrize(
    ("noise", "audit", "words"),
    [
        (replace(FOUND, interval=(0.2, 0.3)), True, "About 25.0% of the labels are wrong (betwe"),
        (replace(FOUND, interval=(0.0, 0.3), n_likely_wrong=9), True, "The lower bound of"),
        (replace(FOUND, interval=(0.0, 0.3)), False, "About 25.0% of the labels are wrong (betw"),
        (LIKELY_CLEAN, False, "No label is likely to be wro"),
        (replace(LIKELY_CLEAN, n_likely_wrong=1), True, "About 0.0% of the labels are wrong (bet"),
        (QUARTER, True, "For the corruption you passed, 25.0% of the labels are wrong."),
        (CLEAN, False, "For the corruption you passed, 0.0% of the labels are wrong."),
    ],
)
@pytest.mark.parametrize("gain", [0.0, 0.1])
def test_advises_an_audit_if_some_labels_are_likely_wrong(noise, audit, words, gain):
    found = advise(compared(gain), noise, APART, LABELS)
    assert found.audit == audit
    assert words in found.wrong_labels


def test_advises_auto_probe_if_rows_are_too_few_for_a_plain_probe():
    found = advise(replace(compared(), plain=None), CLEAN, APART, LABELS)
    assert (found.action, found.code) == (Action.ANCHORED, "AutoProbe()")
    assert "too few rows" in found.summary


@pytest.mark.parametrize(
    ("changes", "noise", "caution", "is_said"),
    [
        ({"looks_like": (1, 1)}, CLEAN, "than as their label: 0 as 1.", True),
        ({"looks_like": (1, 1), "learnt": False}, CLEAN, "0 as 1", False),
        ({"n_rows": 300}, CLEAN, "The label model was fitted on 300 of 1000 rows.", True),
        ({}, CLEAN, "The label model was fitted", False),
        ({}, FOUND, "cannot be detected", True),
        ({}, QUARTER, "cannot be detected", False),
    ],
)
def test_cautions_name_limits_of_the_evidence(changes, noise, caution, is_said):
    found = advise(compared(**changes), noise, APART, LABELS)
    assert any(caution in each for each in found.cautions) == is_said
