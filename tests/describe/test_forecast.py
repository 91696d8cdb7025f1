"""Forecasts agree with what happens, on data whose answer is known."""

import json
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from problems import digits, synthetic
from twohot import AutoProbe, LinearProbe, find_label_issues
from twohot.base.labels import Labels
from twohot.describe.advice import Action
from twohot.describe.figures import forecast_figure
from twohot.describe.forecast import forecast
from twohot.judge.choice import choice_from_json
from twohot.noise import corrupt_labels, make_features, pair_flip, symmetric
from twohot.theory import LabelAveraging, judge, type_outputs


@pytest.fixture(scope="module")
def noisy():
    """Return a forecast for digits with 60 % wrong labels."""
    data = digits(0.6)
    return forecast(data.X, data.given_labels, n_jobs=1)


def made_features(noise_rate, same_class=0.25):
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


def test_much_noise_on_good_features_needs_auto_probe():
    data = made_features(0.6)
    found = forecast(*data[:2], n_jobs=1)
    assert (found.advice.action, found.advice.code) == (Action.ANCHORED, "AutoProbe()")
    assert score(AutoProbe(n_jobs=1), *data) > best_plain(*data) + 0.01
    assert found.noise.rate == pytest.approx(0.6, abs=0.05)
    assert found.advice.audit


def test_little_noise_on_good_features_needs_a_plain_probe():
    data = made_features(0.05, same_class=0.4)
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
    assert found.advice.action is Action.NOTHING
    assert found.advice.code == ""
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
    assert said.startswith("The lower bound is 0 because these labels alone cannot distinguish")
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
    found = forecast(data.X, given, corruption=noise, n_jobs=1)
    assert (found.advice.action is Action.NOTHING) == hopeless
    assert (best_plain(data.X, given, data.X_test, data.test_labels) < 0.5) == hopeless
    if hopeless:
        assert "some wrong label at least as often as the right one" in found.advice.summary
        start = "Rows of 10 classes have some other label"
        assert any(c.startswith(start) and "and 5 more" in c for c in found.advice.cautions)


def test_names_labels_whose_rows_look_like_another():
    data = digits(0.0)
    given = data.true_labels.copy()
    # Only some ones have the label seven: they look like ones to any probe.
    given[given == 7] = 4
    given[np.flatnonzero(given == 1)[::8]] = 7
    found = forecast(data.X, given, n_jobs=1)
    assert any("predicted as another label" in c and "7 like 1" in c for c in found.advice.cautions)


def test_theory_predicts_label_averaging():
    shape = {"n_classes": 6, "n_per_class": 80, "n_features": 512, "same_class": 0.4, "decay": 0}
    made = make_features(**shape, random_state=0, dtype=np.float64)
    noisy = corrupt_labels(made.labels, symmetric(6, 0.5), random_state=0)
    given, ridge = noisy.given_labels, 0.5
    options = {"ridge": ridge, "n_rounds": 5, "n_jobs": 1}
    found = forecast(made.features, given, corruption=symmetric(6, 0.5), **options)
    rows = made.features - made.features.mean(axis=0)
    averaging = LabelAveraging.from_features(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    l2 = ridge / (6 * len(rows))
    right = [
        (averaging.deviations(np.eye(6)[given], l2=l2, n_rounds=t).argmax(axis=1) == made.labels)
        for t in range(1, 6)
    ]
    # All rows of a class of the block model become right in one round; real rows one by one.
    predicted = [guarantee.accuracy for guarantee in found.theory.guarantees]
    for t in (1, 3, 4, 5):
        assert predicted[t - 1] == pytest.approx(right[t - 1].mean(), abs=0.06)
    assert found.theory.rounds_needed.overall == 4
    # Centring reduces the correlation within six classes by one sixth.
    assert found.correlation.same_class == pytest.approx(0.4 * 5 / 6, abs=0.02)
    assert found.theory.separation == pytest.approx(1.72, abs=0.05)
    assert found.theory.eigengap > 0


def test_theory_uses_the_estimates():
    data = digits(0.5)
    found = forecast(data.X, data.given_labels, ridge=3.0, n_rounds=2, n_jobs=1)
    l2 = 3.0 / (10 * found.theory.model.n_samples)
    for t, guarantee in enumerate(found.theory.guarantees, start=1):
        outputs = type_outputs(found.theory.model, found.noise.corruption, l2=l2, n_rounds=t)
        np.testing.assert_allclose(guarantee.margins, judge(outputs).margins)
    assert found.theory.model.n_samples == pytest.approx(1000)


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
    other = forecast(data.X, probabilities=shuffled, **labels)
    assert other.noise.rate != found.noise.rate
    again = forecast(data.X, probabilities=sp.csr_array(shuffled), **labels)
    assert again.noise.rate == other.noise.rate
    assert other.comparison.choice == found.comparison.choice
    np.testing.assert_array_equal(found.correlation.superclass, groups)


def test_keeps_class_of_one_row():
    data = digits(0.0)
    y = data.given_labels.astype(object)
    y[0] = 10
    y[1:5] = None
    found = forecast(data.X, y, n_jobs=1)
    assert found.given_sizes[-1] == 1
    assert found.given_sizes.sum() == len(y) - 4
    assert np.isfinite(found.correlation.estimated).all()
    assert found.advice.action is not Action.NOTHING
    assert any(c.startswith("1 class has one row") for c in found.advice.cautions)


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
    assert not any("n/a" in caution for caution in named.advice.cautions)


def test_text_has_the_advice_and_its_evidence(noisy):
    advice = noisy.advice
    assert str(noisy).splitlines() == [
        advice.summary,
        f"  {advice.code}",
        advice.wrong_labels,
        *(f"- {sentence}" for sentence in (*advice.evidence, *advice.cautions)),
    ]
    numbers = f"1000 rows, 10 classes, about {noisy.noise.rate:.0%} of the labels wrong"
    assert repr(noisy) == f"<Forecast: use AutoProbe; {numbers}>"


def test_record_has_all_fields(noisy):
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


def test_infinity_becomes_null():
    data = digits(0.8)
    # With so much noise, no number of rounds repairs all labels.
    found = forecast(data.X, data.given_labels, corruption=symmetric(10, 0.89), n_jobs=1)
    assert np.isinf(found.theory.rounds_needed.overall)
    assert found.to_json()["theory"]["rounds_needed"]["overall"] is None


def test_figure_shows_agreement_and_margins(noisy):
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


X, LABELS = np.random.default_rng(0).standard_normal((30, 4)), np.arange(30) % 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [1] * 30}, r"y has only one class \(1\)"),
        ({"y": [None] * 30}, "y has no label in any of its 30 rows"),
        ({"y": [""] * 30}, "y has no label in any"),
        ({"y": [0] * 28 + [1, 2]}, r"y has 1 class with at least two rows, of 3"),
        ({"y": LABELS[:20]}, "y has 20 labels and X has 30 rows"),
        ({"X": np.where(np.eye(30, 4), np.nan, X)}, "X contains NaN"),
        ({"X": np.where(np.eye(30, 4), np.inf, X)}, "X contains infinity"),
        # Rows without a label count.
        (
            {"X": sp.csr_array(np.where(np.eye(30, 4, -9), np.nan, X)), "y": [None, *LABELS[1:]]},
            "X contains NaN at row 9, column 0",
        ),
        ({"corruption": np.eye(2)}, "corruption has 2 rows for 3 classes: pass one row and one"),
        ({"corruption": 2 * np.eye(3)}, "does not sum to one"),
        ({"probabilities": np.ones((30, 2)) / 2}, "has 2 columns for 3 classes: pass one column"),
        ({"probabilities": np.full((30, 3), np.nan)}, "negative or missing value nan"),
        (
            {"y": (LABELS + 8).astype(str), "probabilities": np.full((30, 3), 1 / 3)},
            r"y has text that is a number \('8', '9', '10'\).*pass a data frame with the class",
        ),
        (
            {"corruption": np.eye(3), "probabilities": np.full((30, 3), 1 / 3)},
            "corruption and probabilities both set the noise: pass one of them",
        ),
        ({"superclass": [0, 0]}, r"superclass has shape \(2,\) .* pass 3 integers"),
        ({"ridge": -1.0}, "ridge=-1.0 is not allowed"),
        ({"n_rounds": 1}, "n_rounds=1 is not allowed: pass an integer of at least 2"),
        ({"cv": 1}, "cv=1 is not allowed"),
        ({"cv": []}, "cv does not hold out every row with a label exactly once"),
        ({"groups": [1] * 20}, "groups has 20 entries for 30 rows"),
        ({"groups": [1] * 30}, "groups puts all 30 rows into one group"),
        ({"random_state": -1}, "random_state=-1 is not a random state"),
        ({"n_jobs": 0}, "n_jobs=0 is not a number of threads"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_rejects_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        forecast(**{"X": X, "y": LABELS, **change})


def test_agreement_unrelated_to_accuracy_is_no_gain():
    data = digits(0.0)
    even = np.full((10, 10), 1 / 9)  # a right label is rarer than any wrong one
    np.fill_diagonal(even, 0)
    found = forecast(data.X, data.given_labels, corruption=even, n_jobs=1)
    assert found.advice.action is Action.NOTHING
    assert found.noise.slope <= 0
    assert np.isnan(found.noise.as_accuracy(found.comparison.gain))
