"""Trials are honest: no probe predicts a row it was fitted on."""

from itertools import permutations

import numpy as np
import pytest

from problems import synthetic
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.audit._rows import check_labelled_rows
from twohot.audit.trials import TRIAL_TOLERANCE, Method, Trial, Trials, run_trials


def tried(X, y, **changes):
    settings = {"n_rounds": 3, "n_folds": 3, "max_rows": 10_000, "random_state": 0, "n_jobs": 1}
    said = []
    data = check_labelled_rows(X, y)
    found = run_trials(data, **{**settings, **changes}, report=said.append)
    return found, said


@pytest.fixture(scope="module")
def noisy():
    return synthetic(noise_rate=0.5)


@pytest.fixture(scope="module")
def found(noisy):
    return tried(noisy.X, noisy.given_labels)


def test_every_kind_is_tried(found):
    trials, said = found
    assert [trial.name for trial in trials.trials] == [
        "plain probe (ridge 50)",
        "plain probe (ridge 10)",
        "several rounds (2)",
        "several rounds (3)",
        "two-hot student (ridge 10)",
        "robust loss (ridge 10)",
    ]
    assert len(said) == 4


@pytest.mark.parametrize(
    ("name", "probe"),
    [
        ("plain probe (ridge 50)", LinearProbe()),
        ("plain probe (ridge 10)", LinearProbe(ridge=10)),
        ("several rounds (2)", DistilledProbe(n_rounds=2)),
        ("two-hot student (ridge 10)", PartialLabelProbe()),
        ("robust loss (ridge 10)", LinearProbe(loss="gce")),
    ],
)
def test_predictions_are_those_of_probes_that_did_not_see_the_row(noisy, found, name, probe):
    trials, _ = found
    (trial,) = [trial for trial in trials.trials if trial.name == name]
    expected = np.empty_like(trials.given)
    for fold in range(3):
        held_out, fitted = trials.rows[fold::3], np.delete(trials.rows, np.s_[fold::3])
        probe.set_params(tol=TRIAL_TOLERANCE).fit(noisy.X[fitted], noisy.given_labels[fitted])
        expected[fold::3] = probe.predict(noisy.X[held_out])
    np.testing.assert_array_equal(trial.predicted, expected)


def test_the_code_of_a_trial_makes_its_probe(found):
    probes = {kind.__name__: kind for kind in (LinearProbe, DistilledProbe, PartialLabelProbe)}
    made = {trial.name: eval(trial.code, {}, probes) for trial in found[0].trials}  # noqa: S307
    assert made["plain probe (ridge 10)"].ridge == 10
    assert made["several rounds (3)"].n_rounds == 3
    assert isinstance(made["two-hot student (ridge 10)"], PartialLabelProbe)
    assert made["robust loss (ridge 10)"].loss == "gce"


def test_rows_without_a_label_are_not_tried(noisy):
    y = noisy.given_labels.astype(object)
    y[:40] = None
    trials, _ = tried(noisy.X, y)
    np.testing.assert_array_equal(np.sort(trials.rows), np.arange(40, len(y)))
    np.testing.assert_array_equal(trials.given, y[trials.rows].astype(int))


def test_no_more_rows_are_tried_than_allowed(noisy):
    first, _ = tried(noisy.X, noisy.given_labels, max_rows=50)
    again, _ = tried(noisy.X, noisy.given_labels, max_rows=50)
    other, _ = tried(noisy.X, noisy.given_labels, max_rows=50, random_state=1)
    assert len(np.unique(first.rows)) == 50
    np.testing.assert_array_equal(first.rows, again.rows)
    assert set(first.rows.tolist()) != set(other.rows.tolist())
    # Every fold has its share of every label.
    for label in range(5):
        shares = [np.count_nonzero(first.given[fold::3] == label) for fold in range(3)]
        assert max(shares) - min(shares) <= 1


def test_gains_are_paired():
    given = np.array([0, 0, 1, 1])
    plain = Trial(Method.PLAIN, 1, 50.0, np.array([0, 1, 1, 0]))
    other = Trial(Method.ROBUST, 1, 10.0, np.array([0, 0, 1, 0]))
    trials = Trials(np.arange(4), given, (plain, other))
    assert trials.agreement(plain) == 0.5
    assert trials.best() is other
    assert trials.best(Method.PLAIN) is plain
    gain, error = trials.gain(other, over=plain)
    assert gain == 0.25
    assert error == pytest.approx(np.std([0, 1, 0, 0]) / 2)


def test_chance_is_that_of_all_orders():
    given = np.array([0, 0, 0, 1, 2])
    trial = Trial(Method.PLAIN, 1, 50.0, np.array([0, 1, 1, 2, 0]))
    orders = np.array(list(permutations(trial.predicted)))
    agreement = (orders == given).mean(axis=1)
    chance = Trials(np.arange(5), given, (trial,)).chance(trial)
    assert chance == pytest.approx((agreement.mean(), agreement.std()))
