"""Forecasts say what then happens, on data whose answer is known, in both directions."""

import json
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from problems import digits, synthetic
from twohot import (
    AutoProbe,
    DiscriminantProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
)
from twohot.base.labels import Labels
from twohot.describe.advice import Action
from twohot.describe.figures import forecast_figure
from twohot.describe.forecast import forecast
from twohot.judge.choice import choice_from_json
from twohot.noise import corrupt_labels, make_features, pair_flip, symmetric
from twohot.theory import LabelAveraging, judge, type_outputs

PROBES = {
    each.__name__: each
    for each in (DiscriminantProbe, DistilledProbe, LinearProbe, PartialLabelProbe)
}


def made_features(noise_rate, same_class=0.25, n_classes=10, n_per_class=60):
    """Noisy training rows, and twice as many clean ones to test on."""
    made = make_features(
        n_classes=n_classes,
        n_per_class=3 * n_per_class,
        n_features=128,
        same_class=same_class,
        random_state=0,
    )
    train = np.arange(len(made.labels)) % 3 == 0
    noise = symmetric(n_classes, noise_rate)
    given = corrupt_labels(made.labels[train], noise, random_state=0).given_labels
    return made.features[train], given, made.features[~train], made.labels[~train]


def score(code, X, given, X_test, test_labels):
    probe = eval(code, {}, PROBES)  # noqa: S307 - code of our own
    return probe.fit(X, given).score(X_test, test_labels)


def best_plain(*data):
    return max(score(f"LinearProbe(ridge={ridge})", *data) for ridge in (10, 50))


def auto(X, given, X_test, test_labels):
    return AutoProbe(n_jobs=1).fit(X, given).score(X_test, test_labels)


def test_much_noise_on_good_features_calls_for_auto_probe_and_it_gains():
    data = made_features(0.6)
    found = forecast(*data[:2], n_jobs=1)
    assert found.advice.action is Action.ANCHORED
    assert found.advice.code == "AutoProbe()"
    assert auto(*data) > best_plain(*data) + 0.01
    assert found.noise.rate == pytest.approx(0.6, abs=0.05)
    assert found.advice.audit


def test_little_noise_on_good_features_needs_a_plain_probe_and_auto_probe_gains_nothing():
    data = made_features(0.05, same_class=0.4)
    found = forecast(*data[:2], n_jobs=1)
    assert found.advice.action is Action.PLAIN
    plain = score(found.advice.code, *data)
    assert plain > 0.98
    assert auto(*data) < plain + 0.01
    assert found.noise.rate == pytest.approx(0.05, abs=0.02)


def test_features_that_know_nothing_are_called_so():
    generator = np.random.default_rng(0)
    found = forecast(generator.standard_normal((400, 20)), np.arange(400) % 4, n_jobs=1)
    assert found.advice.action is Action.NOTHING
    assert found.advice.code == ""
    assert "no better than the class frequencies" in found.advice.summary
    assert "wrong" not in repr(found)


@pytest.mark.parametrize("distance", [0.0, 6.0])
def test_a_rare_class_is_learnt_where_it_differs(distance):
    generator = np.random.default_rng(1)
    labels = (np.arange(400) % 20 == 0).astype(int)
    X = generator.standard_normal((400, 5))
    X[:, 0] += distance * labels
    found = forecast(X, labels, n_jobs=1)
    # Where it does not differ, nothing is to be learnt but that it is rare.
    assert (found.comparison.agreement > 0.96) == (distance > 0)
    assert (found.advice.action is Action.NOTHING) == (distance == 0)


@pytest.mark.parametrize(("rate", "hopeless"), [(0.3, False), (0.6, True)])
def test_a_known_majority_of_wrong_labels_is_hopeless_and_probes_then_learn_it(rate, hopeless):
    data = digits(0.0)
    noise = pair_flip(10, rate)
    given = corrupt_labels(data.true_labels, noise, random_state=0).given_labels
    found = forecast(data.X, given, corruption=noise, n_jobs=1)
    assert (found.advice.action is Action.NOTHING) == hopeless
    assert (best_plain(data.X, given, data.X_test, data.test_labels) < 0.5) == hopeless
    if hopeless:
        assert "some wrong label at least as often as the right one" in found.advice.summary
        said = "Rows of 10 classes have some other label"
        assert any(c.startswith(said) and "and 5 more" in c for c in found.advice.cautions)


def test_a_label_whose_rows_look_like_another_is_named():
    data = digits(0.0)
    given = data.true_labels.copy()
    # Some ones are called seven, and no seven is: those look like ones to any probe.
    given[given == 7] = 4
    given[np.flatnonzero(given == 1)[::8]] = 7
    found = forecast(data.X, given, n_jobs=1)
    assert any("predicted as another label" in c and "7 like 1" in c for c in found.advice.cautions)


def test_the_theory_predicts_label_averaging_from_noisy_labels_and_their_noise():
    made = make_features(
        n_classes=6,
        n_per_class=80,
        n_features=512,
        same_class=0.4,
        decay=0,
        random_state=0,
        dtype=np.float64,
    )
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
    # The block model jumps where the rows of a class, which differ, get there one after another.
    predicted = [guarantee.accuracy for guarantee in found.theory.guarantees]
    for t in (1, 3, 4, 5):
        assert predicted[t - 1] == pytest.approx(right[t - 1].mean(), abs=0.06)
    assert found.theory.rounds_needed.overall == 4
    # Centring takes one sixth of the correlation inside of six classes.
    assert found.correlation.same_class == pytest.approx(0.4 * 5 / 6, abs=0.02)
    assert found.theory.separation == pytest.approx(1.72, abs=0.05)
    assert found.theory.eigengap > 0


def test_the_theory_is_asked_about_the_estimates():
    data = digits(0.5)
    found = forecast(data.X, data.given_labels, ridge=3.0, n_rounds=2, n_jobs=1)
    l2 = 3.0 / (10 * found.theory.model.n_samples)
    for t, guarantee in enumerate(found.theory.guarantees, start=1):
        expected = judge(
            type_outputs(found.theory.model, found.noise.corruption, l2=l2, n_rounds=t)
        )
        np.testing.assert_allclose(guarantee.margins, expected.margins)
    assert found.theory.model.n_samples == pytest.approx(1000)


def test_own_probabilities_and_superclasses_are_used():
    data = digits(0.5)
    # Columns in any order, by their names.
    truth = pd.DataFrame(np.eye(10)[data.true_labels]).iloc[:, ::-1]
    groups = np.arange(10) // 5
    found = forecast(
        data.X, data.given_labels, probabilities=truth, superclass=groups, n_jobs=1, cv=2
    )
    # The noise is read off the surest fifth of the rows: 0.5 ± 0.035.
    assert found.noise.rate == pytest.approx(0.5, abs=0.07)
    assert found.noise.interval[0] < 0.5 < found.noise.interval[1]
    shuffled = truth.sample(frac=1, random_state=0).to_numpy()
    other = forecast(data.X, data.given_labels, probabilities=shuffled, n_jobs=1, cv=2)
    assert other.noise.rate != found.noise.rate
    sparse = sp.csr_array(shuffled)
    again = forecast(data.X, data.given_labels, probabilities=sparse, n_jobs=1, cv=2)
    assert again.noise.rate == other.noise.rate
    assert other.comparison.choice == found.comparison.choice
    np.testing.assert_array_equal(found.correlation.superclass, groups)


def test_a_class_of_one_row_is_kept():
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
def test_auto_probe_fits_the_same_label_model(noise_rate, options):
    data = digits(noise_rate)
    groups = np.arange(len(data.X)) // 10 if options.pop("groups", False) else None
    found = forecast(data.X, data.given_labels, n_jobs=1, groups=groups, **options)
    probe = AutoProbe(n_jobs=1, **options).fit(data.X, data.given_labels, groups=groups)
    assert found.comparison.choice == probe.choice_
    assert found.noise.rate == pytest.approx(probe.choice_.noise_rate)
    assert found.noise.interval == probe.choice_.interval


def test_rows_without_a_label_are_as_good_as_absent():
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


def test_classes_of_coded_labels_without_a_row_are_no_classes_of_the_forecast():
    data = synthetic()
    coded = Labels(data.given_labels + 1, np.array(["yak", "e", "d", "c", "b", "a", "zoo"]))
    found = forecast(data.X, coded, superclass=[0, 0, 1, 1, 1], n_jobs=1)
    assert found.classes.tolist() == ["e", "d", "c", "b", "a"]
    np.testing.assert_array_equal(found.given_sizes, np.bincount(data.given_labels))


def test_what_labels_may_mean_is_a_caution():
    data = synthetic()
    y = np.where(data.given_labels == 0, "n/a", data.given_labels.astype(str))
    assert "'n/a' is a class here" in forecast(data.X, y, n_jobs=1).advice.cautions[-1]
    named = forecast(data.X, y, missing=["n/a"], n_jobs=1)
    assert named.classes.tolist() == ["1", "2", "3", "4"]
    assert not any("n/a" in caution for caution in named.advice.cautions)


def test_a_forecast_is_printed_with_its_evidence_and_shown_shortly():
    data = digits(0.6)
    found = forecast(data.X, data.given_labels, n_jobs=1)
    advice = found.advice
    assert str(found).splitlines() == [
        advice.summary,
        f"  {advice.code}",
        advice.wrong_labels,
        *(f"- {sentence}" for sentence in (*advice.evidence, *advice.cautions)),
    ]
    rate = f"{found.noise.rate:.0%}"
    assert repr(found) == (
        f"<Forecast: use AutoProbe; 1000 rows, 10 classes, about {rate} of the labels wrong>"
    )


def test_the_record_holds_what_was_found():
    data = digits(0.6)
    found = forecast(data.X, data.given_labels, n_jobs=1)
    record = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert set(record) == {each.name for each in fields(found)}
    assert record["advice"]["action"] == found.advice.action
    assert record["advice"]["audit"] is True
    assert sum(record["given_sizes"]) == 1000
    assert record["noise"]["rate"] == found.noise.rate
    assert record["noise"]["interval"] == list(found.noise.interval)
    np.testing.assert_array_equal(record["noise"]["corruption"], found.noise.corruption)
    np.testing.assert_array_equal(record["correlation"]["estimated"], found.correlation.estimated)
    assert record["correlation"]["same_class"] == found.correlation.same_class
    assert record["theory"]["separation"] == found.theory.separation
    assert record["theory"]["eigengap"] == found.theory.eigengap
    for saved, each in zip(record["theory"]["guarantees"], found.theory.guarantees, strict=True):
        assert saved["margins"] == each.margins.tolist()
    assert choice_from_json(record["comparison"]["choice"]) == found.comparison.choice
    assert record["comparison"]["gain"] == found.comparison.gain


def test_what_is_not_finite_becomes_null():
    data = digits(0.8)
    # So much noise that no number of rounds repairs every label.
    found = forecast(data.X, data.given_labels, corruption=symmetric(10, 0.89), n_jobs=1)
    assert np.isinf(found.theory.rounds_needed.overall)
    assert found.to_json()["theory"]["rounds_needed"]["overall"] is None


def test_the_picture_shows_agreement_and_margins():
    data = digits(0.6)
    found = forecast(data.X, data.given_labels, n_jobs=1)
    choice = found.comparison.choice
    agreement, margins = forecast_figure(found).axes
    shown = agreement.lines[0].get_xdata().astype(float)
    expected = [found.comparison.agreement, *(entry.agreement for entry in choice.tried)]
    np.testing.assert_allclose(shown, 100 * np.array(expected))
    bold = [
        label.get_text()
        for label in agreement.get_yticklabels()
        if label.get_fontweight() == "bold"
    ]
    assert bold == ["AutoProbe", *(entry.name for entry in choice.chosen)]
    heights = [bar.get_height() for bar in margins.containers[1]]
    np.testing.assert_allclose(heights, np.sort(found.theory.guarantees[-1].margins))
    names = [label.get_text() for label in margins.get_xticklabels()]
    assert names[0] == str(found.theory.guarantees[-1].margins.argmin())
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
def test_bad_input_of_a_forecast_is_named(change, message):
    arguments = {"X": X, "y": LABELS, **change}
    with pytest.raises(ValueError, match=message):
        forecast(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_agreement_that_says_nothing_of_accuracy_promises_nothing():
    data = digits(0.0)
    even = np.full((10, 10), 1 / 9)  # a right label is rarer than any wrong one
    np.fill_diagonal(even, 0)
    found = forecast(data.X, data.given_labels, corruption=even, n_jobs=1)
    assert found.advice.action is Action.NOTHING
    assert found.noise.slope <= 0
    assert np.isnan(found.noise.as_accuracy(found.comparison.gain))


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_a_row_that_is_not_finite_is_counted_among_all_rows(store):
    data = synthetic()
    X, y = data.X.copy(), data.given_labels.astype(object)
    y[:4], X[10, 3] = None, np.nan
    with pytest.raises(ValueError, match="X contains NaN at row 10, column 3"):
        forecast(store(X), y)
