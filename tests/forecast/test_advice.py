"""Advice follows the evidence, on both sides of every threshold."""

from dataclasses import replace

import numpy as np
import pytest
from twohot.select.chance_agreement import chance_agreement

from compared import make_comparison, make_tried
from twohot._checks.labels import Labels
from twohot.forecast.advice import Action, advise
from twohot.forecast.noise_estimate import NoiseEstimate
from twohot.forecast.true_correlations import unmix
from twohot.noise import symmetric

SIZES = np.array([500, 500])
ABOUT = {"labels": Labels(np.repeat([0, 1], SIZES), np.array([0, 1])), "theory": "Theory."}
CLEAN = NoiseEstimate(np.eye(2), np.array([500.0, 500.0]), given=True)
HALF = NoiseEstimate(symmetric(2, 0.25), np.array([500.0, 500.0]), given=True)
APART = unmix(np.array([[0.3, -0.3], [-0.3, 0.3]]), CLEAN, np.zeros(2, dtype=int))
ALIKE = unmix(np.array([[0.1, 0.2], [0.2, 0.1]]), CLEAN, np.zeros(2, dtype=int))

PLAIN, ROUNDS, TWO_HOT = ("teacher", 1), ("rounds", 3), ("two-hot", 2)
ROBUST, SECOND = ("robust", 1), ("robust rounds", 2)


def compared(n_right, chosen, n_rows=1000):
    """Return candidates on labels 0 and 1 in turn, that agree on so many rows."""
    given = np.arange(n_rows) % 2
    order = np.random.default_rng(0).permutation(n_rows)
    predicted = {}
    for kind, right in n_right.items():
        method, n_rounds = kind
        found = np.where(np.isin(np.arange(n_rows), order[:right]), given, 1 - given)
        chance, chance_error = chance_agreement(given, found)
        entry = make_tried(
            method,
            right / n_rows,
            n_rounds=n_rounds,
            chance=chance,
            chance_error=chance_error,
            chosen=kind == chosen,
        )
        predicted[entry] = found
    return make_comparison(given, predicted)


CASES = [
    ({PLAIN: 900, ROBUST: 909}, ROBUST, CLEAN, Action.PLAIN, "robust .*: 0.9 ± 0.3"),
    ({PLAIN: 900, ROBUST: 890}, PLAIN, CLEAN, Action.PLAIN, "no student is ahead"),
    # What was chosen decides, and not what agrees most.
    ({PLAIN: 900, ROBUST: 911}, PLAIN, CLEAN, Action.PLAIN, "no student is ahead"),
    ({PLAIN: 900, ROBUST: 890}, ROBUST, CLEAN, Action.PLAIN, "robust .*: -1.0 ± 0.3"),
    ({PLAIN: 900, ROBUST: 911}, ROBUST, CLEAN, Action.ROBUST, "promises 1.1 ± 0.3"),
    # Agreement counts half for accuracy where a quarter of the labels is wrong, of two.
    ({PLAIN: 600, ROBUST: 606}, ROBUST, HALF, Action.ROBUST, "promises 1.2 ± 0.5"),
    ({PLAIN: 700, ROUNDS: 750}, ROUNDS, CLEAN, Action.ROUNDS, r"several rounds \(3\)"),
    ({PLAIN: 700, TWO_HOT: 750}, TWO_HOT, CLEAN, Action.ROBUST, r"\(two-hot\)"),
    ({PLAIN: 700, SECOND: 750}, SECOND, CLEAN, Action.ROBUST, r"\(robust rounds\)"),
    ({PLAIN: 520, ROBUST: 545}, ROBUST, CLEAN, Action.NOTHING, "say nothing"),
    ({PLAIN: 520, ROBUST: 560}, ROBUST, CLEAN, Action.ROBUST, "promises"),
]


@pytest.mark.parametrize(("n_right", "chosen", "noise", "action", "words"), CASES)
def test_advice_follows_the_evidence(n_right, chosen, noise, action, words):
    comparison = compared(n_right, chosen)
    found = advise(comparison, noise, APART, **ABOUT)
    assert found.action is action
    assert found.summary.startswith(str(action))
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(found.summary)
    advised = {
        Action.NOTHING: "",
        Action.PLAIN: comparison.plain.estimator,
    }.get(action, comparison.choice.chosen.estimator)
    assert found.code == advised
    assert ("Theory." in found.evidence) == (action is not Action.NOTHING)


@pytest.mark.parametrize(("least", "audit"), [(0.02, False), (0.2, True)])
@pytest.mark.parametrize("chosen", [PLAIN, ROBUST])
def test_labels_that_are_surely_wrong_are_worth_an_audit(least, audit, chosen):
    """The least share that may be wrong decides, whatever is to be fitted."""
    noise = replace(HALF, given=False, interval=(least, 0.3))
    found = advise(compared({PLAIN: 600, ROBUST: 700}, chosen), noise, APART, **ABOUT)
    assert found.audit == audit
    assert ("About 25% of the labels look wrong: `twohot audit`" in found.summary) == audit
    known = advise(compared({PLAIN: 600, ROBUST: 700}, chosen), HALF, APART, **ABOUT)
    assert known.audit


def test_classes_that_are_alike_are_hopeless():
    found = advise(compared({PLAIN: 900, ROBUST: 890}, PLAIN), CLEAN, ALIKE, **ABOUT)
    assert (found.action, found.code) == (Action.NOTHING, "")
    assert "no more alike than" in found.summary


def test_what_auto_probe_takes_is_said_whatever_is_advised():
    comparison = compared({PLAIN: 900, ROBUST: 905}, ROBUST)
    found = advise(comparison, CLEAN, APART, **ABOUT)
    assert found.action is Action.PLAIN
    said = "Of 2 candidates AutoProbe takes robust (ridge 10), with the same rows held out."
    assert said in found.evidence


def test_a_gain_that_may_be_chance_is_called_so():
    found = advise(compared({PLAIN: 150, ROBUST: 152}, ROBUST, 200), HALF, APART, **ABOUT)
    assert found.action is Action.ROBUST
    sure = advise(compared({PLAIN: 600, ROBUST: 650}, ROBUST, 700), HALF, APART, **ABOUT)
    said = "cannot tell this from chance"
    assert any(said in caution for caution in found.cautions)
    assert not any(said in caution for caution in sure.cautions)


def test_rows_that_the_choice_did_not_use_are_counted():
    whole = compared({PLAIN: 900, ROBUST: 890}, PLAIN)
    said = "The choice was made on 300 of 1000 rows"
    for n_rows in (300, 1000):
        found = advise(replace(whole, n_rows=n_rows), CLEAN, APART, **ABOUT)
        assert any(c.startswith(said) for c in found.cautions) == (n_rows == 300)
