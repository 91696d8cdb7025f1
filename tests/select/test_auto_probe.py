"""AutoProbe as a user meets it: what it chooses, from any input, and scikit-learn's manners."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import problems
from stored import frame, memory_map, polars_frame
from twohot import (
    AutoProbe,
    AveragedProbe,
    DiscriminantProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
)
from twohot.noise import corrupt_labels, make_features, symmetric
from twohot.select.grid import coarse_tol

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels
NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])
PROBES = {
    each.__name__: each
    for each in (AveragedProbe, DiscriminantProbe, DistilledProbe, LinearProbe, PartialLabelProbe)
}


def standard_error(accuracy, n_rows):
    return np.sqrt(accuracy * (1 - accuracy) / n_rows)


# What it chooses ---------------------------------------------------------------------------------


@pytest.mark.parametrize("noise_rate", [0.1, 0.3, 0.6])
def test_it_is_as_good_as_the_best_of_its_own_grid(noise_rate):
    data = problems.digits(noise_rate)
    probe = AutoProbe().fit(data.X, data.given_labels)
    scores = {}
    for entry in probe.choice_.tried:
        alone = eval(entry.estimator, {}, PROBES)  # noqa: S307 - code of our own
        assert repr(alone) == repr(entry.probe())
        alone = entry.probe(tol=3e-2).fit(data.X, data.given_labels)
        scores[entry.name] = alone.score(data.X_test, data.test_labels)
    best = max(scores.values())
    allowed = 0.01 + 2 * standard_error(best, len(data.X_test))
    assert probe.score(data.X_test, data.test_labels) > best - allowed
    # The grid is worth choosing from: its worst member would not pass.
    assert min(scores.values()) < best - allowed


@pytest.mark.parametrize("noise_rate", [0.0, 0.3])
def test_classes_of_different_sizes_get_an_intercept(noise_rate):
    generator = np.random.default_rng(0)
    labels = (generator.random(4000) < 0.2).astype(int)
    rows = generator.standard_normal((4000, 20))
    rows[:, 0] += 3 * labels
    given = corrupt_labels(labels[:2000], symmetric(2, noise_rate), random_state=0).given_labels
    # Rows of few features that keep their length have an intercept whatever their classes.
    probe = AutoProbe(normalize=True).fit(rows[:2000], given)
    # A discriminant always has one.
    with_one = [each for each in probe.choice_.tried if each.method != "discriminant"]
    assert all("fit_intercept=True" in entry.estimator for entry in with_one)
    plain = AutoProbe(normalize=True, fit_intercept=False).fit(rows[:2000], given)
    assert not any("fit_intercept" in entry.estimator for entry in plain.choice_.tried)
    right, without = (each.score(rows[2000:], labels[2000:]) for each in (probe, plain))
    assert right > 0.9
    assert right > without + 0.1
    # Rows without weight do not count: the rest is balanced.
    weights = np.ones(2000)
    many = np.flatnonzero(given == 0)
    weights[many[np.count_nonzero(given == 1) :]] = 0
    balanced = AutoProbe(normalize=True).fit(rows[:2000], given, sample_weight=weights)
    assert not any("fit_intercept" in entry.estimator for entry in balanced.choice_.tried)


@pytest.mark.parametrize("noise_rate", [0.0, 0.6])
def test_the_best_method_is_chosen_where_it_is_known(noise_rate):
    made = make_features(
        n_classes=8, n_per_class=400, n_features=64, same_class=0.3, random_state=0
    )
    train = np.arange(len(made.labels)) % 2 == 0
    noise = symmetric(8, noise_rate)
    given = corrupt_labels(made.labels[train], noise, random_state=0).given_labels
    probe = AutoProbe().fit(made.features[train], given)
    right = probe.score(made.features[~train], made.labels[~train])
    teacher = LinearProbe(ridge=10).fit(made.features[train], given)
    assert right >= teacher.score(made.features[~train], made.labels[~train]) - 0.005
    if noise_rate:
        recipe = probe.choice_.chosen.recipe
        methods = {part.method for part in getattr(recipe, "parts", [recipe])}
        assert methods & {"robust", "robust rounds"}
        # The share that is wrong. Part of it is told by the temperature, whatever is held out.
        assert probe.choice_.chosen.noise_rate == pytest.approx(noise_rate, abs=0.1)
    else:
        assert right > 0.99
        assert probe.choice_.chosen.noise_rate < 0.02


def test_features_that_say_nothing_are_no_reason_to_fail():
    generator = np.random.default_rng(0)
    noise, labels = generator.normal(size=(200, 5)), generator.integers(0, 3, 200)
    probe = AutoProbe().fit(noise, labels)
    assert abs(probe.choice_.chosen.agreement - 1 / 3) < 0.15
    constant = AutoProbe().fit(np.ones((60, 4)), np.arange(60) % 3)
    np.testing.assert_allclose(constant.predict_proba(np.ones((2, 4))), 1 / 3)


def test_a_class_that_a_fold_has_no_row_of():
    labels = Y.copy()
    labels[labels == 4] = 3
    labels[17] = 4
    probe = AutoProbe().fit(X, labels)
    assert probe.classes_.tolist() == [0, 1, 2, 3, 4]
    assert probe.predict_proba(X).shape == (len(X), 5)


@pytest.mark.parametrize("n_rows", [2, 3, 7])
def test_very_few_rows(n_rows):
    labels = np.arange(n_rows) % 2
    assert AutoProbe().fit(X[:n_rows], labels).predict(X).shape == (len(X),)


def test_the_choice_is_by_held_out_rows_alone():
    # Rows judged on are those of cv: shuffling their labels there changes the judgement only.
    out = np.arange(len(X)) % 3 == 0
    probe = AutoProbe(cv=[(~out, out)]).fit(X, Y)
    assert probe.choice_.n_held_out == out.sum()
    assert probe.choice_.n_splits == 1
    entry = next(entry for entry in probe.choice_.tried if entry.method == "teacher")
    alone = entry.probe(tol=3e-2).fit(X[~out], Y[~out])
    assert entry.agreement == pytest.approx(alone.score(X[out], Y[out]), abs=0.03)


# Attributes --------------------------------------------------------------------------------------


def test_attributes_are_those_of_the_chosen_probe():
    probe = AutoProbe().fit(X, Y)
    chosen = probe.choice_.chosen
    assert len(probe.rounds_) == chosen.n_rounds
    assert probe.coef_ is probe.rounds_[-1].coef
    assert probe.temperature_ == chosen.temperature
    # A two-hot student is left where it was compared.
    tol = coarse_tol(chosen.recipe, 5) if chosen.method == "two-hot" else probe.tol
    assert probe.rounds_[-1].gradient_norm <= tol
    if chosen.ridge is not None:
        made = {"normalize": chosen.normalize, "whiten": chosen.recipe.whiten}
        alone = LinearProbe(ridge=chosen.ridge, **made).fit(X, Y)
        assert probe.rounds_[-1].l2 == pytest.approx(alone.rounds_[-1].l2)
    assert probe.n_features_in_ == 12
    assert probe.n_iter_ == sum(entry.n_iter for entry in probe.rounds_)


@pytest.mark.parametrize("seed", [1, 2])
def test_rare_classes_are_not_lost_on_the_way_through_the_search(seed):
    # The search comes to small penalties by way of large ones, which flatten rare classes; a fit
    # that starts anew does not know of that.
    digits = problems.digits()
    sizes = (120 * 20.0 ** (-np.arange(10) / 9)).astype(int)
    sizes = np.random.default_rng(seed).permutation(sizes)
    rows = [np.flatnonzero(digits.true_labels == k)[:size] for k, size in enumerate(sizes)]
    kept = np.concatenate(rows)
    noise = corrupt_labels(digits.true_labels[kept], symmetric(10, 0.3), random_state=seed)
    probe = AutoProbe(n_jobs=1).fit(digits.X[kept], noise.given_labels)
    alone = probe.choice_.chosen.probe(tol=1e-2, n_jobs=1).fit(digits.X[kept], noise.given_labels)
    least = alone.score(digits.X_test, digits.test_labels) - 0.03
    assert probe.score(digits.X_test, digits.test_labels) > least


def test_defaults_are_those_promised():
    probe = AutoProbe()
    assert (probe.cv, probe.tol, probe.random_state) == (None, 3e-2, 0)
    assert probe.center is True
    assert probe.normalize == "auto"
    with pytest.raises(TypeError, match="positional"):
        AutoProbe(5)


# Inputs ------------------------------------------------------------------------------------------


ROUND = np.round(X * 64) / 64  # which every precision stores exactly
STORED = {
    "pandas": lambda rows, _: frame(rows),
    "polars": lambda rows, _: polars_frame(rows),
    "csr": lambda rows, _: sp.csr_array(rows),
    "csc": lambda rows, _: sp.csc_array(rows),
    "memory map": memory_map,
    "float16": lambda rows, _: rows.astype(np.float16),
    "float16 memory map": lambda rows, folder: memory_map(rows.astype(np.float16), folder),
    "list": lambda rows, _: rows.tolist(),
}


@pytest.fixture(scope="module")
def fitted():
    return AutoProbe(dtype="float64").fit(ROUND, Y)


@pytest.mark.parametrize("stored", STORED)
def test_any_storage_gives_the_model_of_the_dense_array(stored, fitted, tmp_path):
    rows = STORED[stored](ROUND, tmp_path)
    found = AutoProbe(dtype="float64").fit(rows, Y)
    assert found.choice_.chosen.name == fitted.choice_.chosen.name
    np.testing.assert_allclose(found.predict_proba(rows), fitted.predict_proba(ROUND), atol=1e-6)


def test_names_of_classes_change_nothing(fitted):
    for labels in (NAMES[Y], NAMES[Y].astype(object), pd.Series(NAMES[Y]), NAMES[Y].tolist()):
        found = AutoProbe(dtype="float64").fit(ROUND, labels)
        np.testing.assert_array_equal(found.coef_, fitted.coef_)
        np.testing.assert_array_equal(found.predict(ROUND), NAMES[fitted.predict(ROUND)])
        assert found.choice_ == fitted.choice_


# Weights -----------------------------------------------------------------------------------------


def assert_same_choice(found, expected):
    for one, other in zip(found.choice_.tried, expected.choice_.tried, strict=True):
        assert (one.name, one.chosen) == (other.name, other.chosen)
        assert one.agreement == pytest.approx(other.agreement)
        assert one.agreement_error == pytest.approx(other.agreement_error)
        assert one.likelihood == pytest.approx(other.likelihood, abs=1e-5)
        assert one.likelihood_error == pytest.approx(other.likelihood_error, abs=1e-5)


@pytest.mark.parametrize("n_features", [12, 400])
def test_rows_without_weight_are_as_good_as_absent(n_features):
    # More features than rows are another way to the same fit.
    rows = np.random.default_rng(0).normal(size=(len(X), n_features)) / n_features**0.5
    rows[:, :12] += X
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    present = weights > 0
    found = AutoProbe().fit(rows, Y, weights)
    expected = AutoProbe().fit(rows[present], Y[present])
    assert_same_choice(found, expected)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-6)


def test_weights_are_repetitions():
    v = problems.random_weights(len(X)).astype(int)
    repeated = np.repeat(np.arange(len(X)), v)
    out = np.arange(len(X)) % 4 == 0
    found = AutoProbe(cv=[(~out, out)]).fit(X, Y, v)
    expected = AutoProbe(cv=[(~out[repeated], out[repeated])]).fit(X[repeated], Y[repeated])
    assert_same_choice(found, expected)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-6)


# Manners -----------------------------------------------------------------------------------------


def test_the_result_is_the_same_for_any_number_of_threads():
    # So wide that they are read in three blocks.
    rows, labels = np.tile(np.pad(X, ((0, 0), (0, 500))), (5, 1)), np.tile(Y, 5)
    one, three = (AutoProbe(n_jobs=n, tol=0.1).fit(rows, labels) for n in (1, 3))
    np.testing.assert_array_equal(three.coef_, one.coef_)
    assert three.choice_ == one.choice_


def test_the_random_state_says_which_rows_are_held_out():
    one = AutoProbe(random_state=0).fit(X, Y)
    other = AutoProbe(random_state=1).fit(X, Y)
    assert other.choice_.tried[0].agreement != one.choice_.tried[0].agreement
    # Generators go on from where they are, so that they are made anew each time.
    for make in (np.random.RandomState, np.random.default_rng):
        first, second = (AutoProbe(random_state=make(3)).fit(X, Y) for _ in range(2))
        assert first.choice_ == second.choice_


def test_fitting_twice_gives_the_same():
    probe = AutoProbe().fit(X, Y)
    coef, choice = probe.coef_.copy(), probe.choice_
    np.testing.assert_array_equal(probe.fit(X, Y).coef_, coef)
    assert probe.choice_ == choice


def test_it_works_in_pipelines_and_grids():
    probe = AutoProbe(cv=KFold(2), tol=0.1, n_jobs=1)
    assert clone(probe).get_params().keys() == probe.get_params().keys()
    pipeline = make_pipeline(StandardScaler(), probe).fit(X, NAMES[Y])
    assert set(pipeline.predict(X)) <= set(NAMES)
    search = GridSearchCV(probe, {"tol": [0.3, 0.03]}, cv=2).fit(X, Y)
    assert search.best_params_["tol"] in {0.3, 0.03}
    assert cross_val_score(probe, X, Y, cv=2).min() > 0.3


def test_a_fit_that_fails_leaves_the_last_one():
    probe = AutoProbe().fit(X, Y)
    before = probe.predict_proba(X)
    with pytest.raises(ValueError, match="cv=1 is not allowed"):
        probe.set_params(cv=1).fit(X + 100, Y)
    np.testing.assert_array_equal(probe.predict_proba(X), before)


def test_a_fit_that_is_cut_short_warns():
    with pytest.warns(ConvergenceWarning, match=r"round \d stopped after \d step.*raise"):
        AutoProbe(max_iter=1, tol=1e-6).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tol": 0}, "tol=0 is not allowed: pass a positive"),
        ({"max_iter": 0}, "max_iter=0 is not allowed: pass an integer of at least 1"),
        ({"n_jobs": 0}, "n_jobs=0 is not a number of threads"),
        ({"dtype": "int8"}, "dtype='int8' is not a precision"),
        ({"random_state": -1}, "random_state=-1 seeds nothing"),
        ({"fit_intercept": "yes"}, "fit_intercept='yes' is not known: pass one of 'auto'"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        AutoProbe(**parameters).fit(X, Y)


def test_it_says_what_it_tries(capsys):
    probe = AutoProbe(verbose=1, cv=2).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(probe.choice_.tried)
    entry = probe.choice_.tried[0]
    assert lines[0] == (
        f"AutoProbe: {entry.name}: predicts {entry.agreement:.1%} ± {entry.agreement_error:.1%} "
        "of the held-out labels"
    )
    heard = []
    AutoProbe(cv=2).fit(X, Y, callback=heard.append)
    assert [f"AutoProbe: {line}" for line in heard] == lines
    assert capsys.readouterr().err == ""
