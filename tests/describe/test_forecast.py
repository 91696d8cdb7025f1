"""Forecasts agree with what happens, on data whose answer is known."""

import json
from dataclasses import fields
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from problems import digits, synthetic
from twohot import AutoProbe, LinearProbe, find_label_issues
from twohot.base.labels import Labels
from twohot.describe import forecast, forecast_figure
from twohot.describe.advice import Action
from twohot.describe.forecast import ask_theory
from twohot.describe.true_classes import CorrelationEstimate, NoiseEstimate
from twohot.judge.choice import choice_from_json
from twohot.noise import corrupt_labels, make_features, pair_flip, symmetric
from twohot.theory import LabelAveraging, PairLevels, rounds_needed, separation_at


@cache
def of_digits(noise_rate):
    data = digits(noise_rate)
    return forecast(data.X, data.given_labels, n_jobs=1)


def made_features(noise_rate, same_class):
    """Return noisy training rows of ten classes, and twice as many clean rows for a test."""
    made = make_features(
        n_classes=10, n_per_class=180, n_features=128, same_class=same_class, random_state=0
    )
    train = np.arange(len(made.labels)) % 3 == 0
    noise = symmetric(10, noise_rate)
    given = corrupt_labels(made.labels[train], noise, random_state=0).given_labels
    return made.features[train], given, made.features[~train], made.labels[~train]


def score(probe, X, given, X_test, test_labels):
    return probe.fit(X, given).score(X_test, test_labels)


def best_plain(*data):
    return max(score(LinearProbe(ridge=ridge), *data) for ridge in (10, 50))


def is_said(advice, *words):
    """Return whether one caution has all these words."""
    return any(all(word in caution for word in words) for caution in advice.cautions)


def test_much_noise_on_good_features_needs_auto_probe():
    data = made_features(0.6, 0.25)
    found = forecast(*data[:2], n_jobs=1)
    assert (found.advice.action, found.advice.code) == (Action.ANCHORED, "AutoProbe()")
    assert score(AutoProbe(n_jobs=1), *data) > best_plain(*data) + 0.01
    assert found.noise.rate == pytest.approx(0.6, abs=0.05)
    assert found.advice.audit


def test_little_noise_on_good_features_needs_a_plain_probe():
    data = made_features(0.05, 0.4)
    found = forecast(*data[:2], n_jobs=1)
    assert found.advice.action is Action.PLAIN
    probe = eval(found.advice.code, {"LinearProbe": LinearProbe})  # noqa: S307 (own code)
    plain = score(probe, *data)
    assert plain > 0.98
    assert score(AutoProbe(n_jobs=1), *data) < plain + 0.01
    assert found.noise.rate == pytest.approx(0.05, abs=0.02)


def test_features_without_information_are_named():
    generator = np.random.default_rng(0)
    found = forecast(generator.standard_normal((400, 20)), np.arange(400) % 4, n_jobs=1)
    assert (found.advice.action, found.advice.code) == (Action.NOTHING, "")
    assert "no better than the class frequencies" in found.advice.summary
    assert "wrong" not in repr(found)


def test_audit_and_forecast_agree_on_few_separable_rows():
    X, true = make_blobs(
        400, centers=5, n_features=20, center_box=(-10, 10), cluster_std=1, random_state=0
    )
    noisy = corrupt_labels(true, symmetric(5, 0.15), random_state=0)
    issues = find_label_issues(X, noisy.given_labels, n_jobs=1)
    np.testing.assert_array_equal(issues.is_label_issue, noisy.flipped)
    advice = forecast(X, noisy.given_labels, n_jobs=1).advice
    assert advice.audit
    # The rows are too few for a lower bound above 0. Neither claims that the classes overlap.
    (said,) = issues.messages
    assert said.startswith("The lower bound of the fraction of wrong labels is 0, because the")
    assert said in advice.wrong_labels


@pytest.mark.parametrize("distance", [0.0, 6.0])
def test_rare_class_is_learnt_if_it_differs(distance):
    generator = np.random.default_rng(1)
    labels = (np.arange(400) % 20 == 0).astype(int)
    X = generator.standard_normal((400, 5))
    X[:, 0] += distance * labels
    found = forecast(X, labels, n_jobs=1)
    # If it does not differ, only its rarity can be learnt.
    assert (found.comparison.agreement > 0.96) == (distance > 0)
    assert (found.advice.action is Action.NOTHING) == (distance == 0)


@pytest.mark.parametrize(("rate", "hopeless"), [(0.3, False), (0.6, True)])
def test_known_majority_of_wrong_labels_is_hopeless(rate, hopeless):
    data = digits(0.0)
    noise = pair_flip(10, rate)
    given = corrupt_labels(data.true_labels, noise, random_state=0).given_labels
    advice = forecast(data.X, given, corruption=noise, n_jobs=1).advice
    assert (advice.action is Action.NOTHING) == hopeless
    assert (best_plain(data.X, given, data.X_test, data.test_labels) < 0.5) == hopeless
    words = "a wrong label is at least as frequent as the right one"
    assert (words in advice.summary) == hopeless
    assert is_said(advice, "In 10 classes", words, "and 5 more") == hopeless


def test_agreement_unrelated_to_accuracy_is_no_gain():
    data = digits(0.0)
    even = np.full((10, 10), 1 / 9)  # a right label is rarer than any wrong one
    np.fill_diagonal(even, 0)
    found = forecast(data.X, data.given_labels, corruption=even, n_jobs=1)
    assert found.advice.action is Action.NOTHING
    assert found.noise.slope <= 0
    assert np.isnan(found.noise.as_accuracy(found.comparison.gain))


def test_names_labels_whose_rows_look_like_another():
    data = digits(0.0)
    given = data.true_labels.copy()
    # Only some ones have the label seven: they look like ones to any probe.
    given[given == 7] = 4
    given[np.flatnonzero(given == 1)[::8]] = 7
    advice = forecast(data.X, given, n_jobs=1).advice
    assert is_said(advice, "predicted as another class", "7 as 1")


def test_uses_given_probabilities_and_superclasses():
    data = digits(0.5)
    # Columns in any order, by their names.
    truth = pd.DataFrame(np.eye(10)[data.true_labels]).iloc[:, ::-1]
    groups, labels = np.arange(10) // 5, {"y": data.given_labels, "n_jobs": 1, "cv": 2}
    found = forecast(data.X, probabilities=truth, superclass=groups, **labels)
    # The noise comes from the surest fifth of the rows: 0.5 ± 0.035.
    assert found.noise.rate == pytest.approx(0.5, abs=0.07)
    assert found.noise.interval[0] < 0.5 < found.noise.interval[1]
    shuffled = truth.sample(frac=1, random_state=0).to_numpy()
    other, again = (
        forecast(data.X, probabilities=each, **labels)
        for each in (shuffled, sp.csr_array(shuffled))
    )
    assert again.noise.rate == other.noise.rate != found.noise.rate
    assert other.comparison.choice == found.comparison.choice
    np.testing.assert_array_equal(found.correlation.superclass, groups)


def test_keeps_class_of_one_row():
    data = digits(0.0)
    y = data.given_labels.astype(object)
    y[:5] = [10, None, None, None, None]
    found = forecast(data.X, y, n_jobs=1)
    assert found.given_sizes[-1] == 1
    assert found.given_sizes.sum() == len(y) - 4
    assert np.isfinite(found.correlation.estimated).all()
    assert found.advice.action is not Action.NOTHING
    assert is_said(found.advice, "1 class has one row")


@pytest.mark.parametrize(
    ("noise_rate", "options"),
    [(0.0, {}), (0.6, {"random_state": 3}), (0.6, {"cv": 3}), (0.6, {"groups": True})],
)
def test_label_model_is_that_of_auto_probe(noise_rate, options):
    data = digits(noise_rate)
    groups = np.arange(len(data.X)) // 10 if options.pop("groups", False) else None
    found = forecast(data.X, data.given_labels, n_jobs=1, groups=groups, **options)
    probe = AutoProbe(n_jobs=1, **options).fit(data.X, data.given_labels, groups=groups)
    assert found.comparison.choice == probe.choice_
    assert found.noise.rate == pytest.approx(probe.choice_.noise_rate)
    assert found.noise.interval == probe.choice_.interval


def test_rows_without_a_label_change_nothing():
    data = digits(0.6)
    y = data.given_labels.astype(object)
    y[::7] = None
    present = np.flatnonzero(np.arange(len(y)) % 7)
    found = forecast(data.X, y, n_jobs=1)
    probe = AutoProbe(n_jobs=1).fit(data.X[present], data.given_labels[present])
    assert found.comparison.choice == probe.choice_
    alone = forecast(data.X[present], data.given_labels[present], n_jobs=1)
    assert str(found) == str(alone)
    np.testing.assert_array_equal(found.correlation.estimated, alone.correlation.estimated)
    assert found.comparison.n_rows == probe.choice_.n_rows == len(present)


def test_classes_without_rows_are_left_out():
    data = synthetic()
    coded = Labels(data.given_labels + 1, np.array(["yak", "e", "d", "c", "b", "a", "zoo"]))
    found = forecast(data.X, coded, superclass=[0, 0, 1, 1, 1], n_jobs=1)
    assert found.classes.tolist() == ["e", "d", "c", "b", "a"]
    np.testing.assert_array_equal(found.given_sizes, np.bincount(data.given_labels))


def test_texts_that_may_mean_no_label_are_a_caution():
    data = synthetic()
    y = np.where(data.given_labels == 0, "n/a", data.given_labels.astype(str))
    assert "'n/a' is a class here" in forecast(data.X, y, n_jobs=1).advice.cautions[-1]
    named = forecast(data.X, y, missing=["n/a"], n_jobs=1)
    assert named.classes.tolist() == ["1", "2", "3", "4"]
    assert not is_said(named.advice, "n/a")


# What is printed, stored and drawn


def test_text_has_the_advice_and_its_evidence():
    noisy = of_digits(0.6)
    advice = noisy.advice
    assert str(noisy).splitlines() == [
        advice.summary,
        f"  {advice.code}",
        advice.wrong_labels,
        *(f"- {sentence}" for sentence in (*advice.evidence, *advice.cautions)),
    ]
    numbers = f"1000 rows, 10 classes, about {noisy.noise.rate:.0%} of the labels wrong"
    assert repr(noisy) == f"<Forecast: use AutoProbe; {numbers}>"


def test_record_has_all_fields():
    noisy = of_digits(0.6)
    record = json.loads(json.dumps(noisy.to_json(), allow_nan=False))
    assert set(record) == {each.name for each in fields(noisy)}
    assert (record["advice"]["action"], record["advice"]["audit"]) == (noisy.advice.action, True)
    assert sum(record["given_sizes"]) == 1000
    for part, names in {
        "noise": ("rate", "interval", "corruption"),
        "correlation": ("estimated", "same_class"),
        "theory": ("separation", "eigengap"),
        "comparison": ("gain",),
    }.items():
        for name in names:
            np.testing.assert_array_equal(record[part][name], getattr(getattr(noisy, part), name))
    for saved, each in zip(record["theory"]["guarantees"], noisy.theory.guarantees, strict=True):
        assert saved["margins"] == each.margins.tolist()
    assert choice_from_json(record["comparison"]["choice"]) == noisy.comparison.choice


def test_figure_shows_agreement_and_margins():
    noisy = of_digits(0.6)
    choice, last = noisy.comparison.choice, noisy.theory.guarantees[-1].margins
    agreement, margins = forecast_figure(noisy).axes
    shown = agreement.lines[0].get_xdata().astype(float)
    expected = [noisy.comparison.agreement, *(entry.agreement for entry in choice.tried)]
    np.testing.assert_allclose(shown, 100 * np.array(expected))
    labels = agreement.get_yticklabels()
    bold = [label.get_text() for label in labels if label.get_fontweight() == "bold"]
    assert bold == ["AutoProbe", *(entry.name for entry in choice.chosen)]
    np.testing.assert_allclose([bar.get_height() for bar in margins.containers[1]], np.sort(last))
    names = [label.get_text() for label in margins.get_xticklabels()]
    assert names[0] == str(last.argmin())
    assert sorted(names) == [str(k) for k in range(10)]


# The theory


def test_theory_predicts_label_averaging():
    shape = {"n_classes": 6, "n_per_class": 80, "n_features": 512, "same_class": 0.4, "decay": 0}
    made = make_features(**shape, random_state=0, dtype=np.float64)
    noise = symmetric(6, 0.5)
    given, ridge = corrupt_labels(made.labels, noise, random_state=0).given_labels, 0.5
    options = {"ridge": ridge, "n_rounds": 5, "n_jobs": 1}
    found = forecast(made.features, given, corruption=noise, **options)
    rows = made.features - made.features.mean(axis=0)
    averaging = LabelAveraging.from_features(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    l2 = ridge / (6 * len(rows))
    # All rows of a class of the block model become right in one round; real rows one by one.
    predicted = [guarantee.accuracy for guarantee in found.theory.guarantees]
    for t in (1, 3, 4, 5):
        outputs = averaging.deviations(np.eye(6)[given], l2=l2, n_rounds=t)
        right = np.mean(outputs.argmax(axis=1) == made.labels)
        assert predicted[t - 1] == pytest.approx(right, abs=0.06)
    assert found.theory.rounds_needed.overall == 4
    # Centring reduces the correlation within six classes by one sixth.
    assert found.correlation.same_class == pytest.approx(0.4 * 5 / 6, abs=0.02)
    assert found.theory.separation == pytest.approx(1.72, abs=0.05)
    assert found.theory.eigengap > 0


def test_infinity_becomes_null():
    data = digits(0.8)
    # With so much noise, no number of rounds repairs all labels.
    found = forecast(data.X, data.given_labels, corruption=symmetric(10, 0.89), n_jobs=1)
    assert np.isinf(found.theory.rounds_needed.overall)
    assert found.to_json()["theory"]["rounds_needed"]["overall"] is None


def asked(correlation, corruption, sizes, **options):
    """Return the answer of the theory for known correlations and noise."""
    noise = NoiseEstimate(np.array(corruption), np.array(sizes, dtype=float), given=True)
    known = CorrelationEstimate(
        measured=correlation, estimated=correlation, superclass=0 * noise.class_sizes, n_limited=0
    )
    return ask_theory(known, noise, **options)


@pytest.mark.parametrize(("same", "other"), [(0.3, -0.1), (0.1, 0.1)])
def test_separation_is_that_of_equal_classes(same, other):
    correlation = np.array([[same, other], [other, same]])
    found = asked(correlation, np.eye(2), [50, 50], ridge=10.0, n_rounds=2).separation
    # Equal correlations within and between classes have none.
    expected = np.nan
    if same > other:
        expected = separation_at(PairLevels(2, 50, same, other), l2=10.0 / (2 * 100))
    assert found == pytest.approx(expected, nan_ok=True)


def test_counts_rounds_beyond_the_requested_ones():
    """Half of the labels are wrong and the penalty is tiny: the closed form needs 531 rounds."""
    corruption = 0.5 * np.eye(4) + (1 - np.eye(4)) / 6
    found = asked(0.1 + 0.3 * np.eye(4), corruption, [100] * 4, ridge=1600e-6, n_rounds=3)
    separation = separation_at(PairLevels(4, 100, 0.4, 0.1), l2=1e-6)
    assert rounds_needed(corruption, separation=separation).overall == 531
    assert found.rounds_needed.overall == 531


def test_reports_the_last_right_round():
    """Rounds 3 to 87 are right; after them, the largest class wins."""
    correlation = np.array([[0.45, 0.12, -0.03], [0.12, 0.30, -0.02], [-0.03, -0.02, 0.38]])
    corruption = [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]]
    early, late = (
        asked(correlation, corruption, [400, 150, 250], ridge=0.65, n_rounds=t) for t in (4, 120)
    )
    first, last = early.rounds_needed.overall, early.rounds_needed.overall_until
    right = [t for t, each in enumerate(late.guarantees, start=1) if each.holds]
    assert right == list(range(int(first), int(last) + 1))
    assert late.rounds_needed.overall == np.inf  # of 120 rounds, the last is not right
