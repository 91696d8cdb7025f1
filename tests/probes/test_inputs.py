"""Bad input is refused with the argument, what came, what is allowed and what to do."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import problems
import twin
from twohot import (
    AutoProbe,
    AveragedProbe,
    DiscriminantProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
    find_data_issues,
    find_label_issues,
    forecast,
)
from twohot.base.labels import code_labels

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels
SOFT = twin.one_hot(Y)

PROBES = [LinearProbe, DistilledProbe, PartialLabelProbe]


def refuse(message, X=X, y=Y, *, probe=None, weights=None):
    with pytest.raises(ValueError, match=message):
        (probe or LinearProbe()).fit(X, y, weights)


def changed(value, row=7, column=3):
    rows = X.copy()
    rows[row, column] = value
    return rows


# Features ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", PROBES)
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array, pd.DataFrame])
@pytest.mark.parametrize(("bad", "name"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_nan_and_infinity_in_the_features(make, stored, bad, name):
    message = f"X contains {name}.* at row 7, column 3: features must be finite, so drop or impute"
    refuse(message, X=stored(changed(bad)), probe=make())


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_nan_in_features_of_less_precision(dtype):
    refuse("X contains NaN at row 7", X=changed(np.nan).astype(dtype))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_nan_in_new_features(method):
    probe = LinearProbe().fit(X, Y)
    with pytest.raises(ValueError, match="X contains NaN at row 7, column 3"):
        getattr(probe, method)(changed(np.nan))


@pytest.mark.parametrize("make", PROBES)
def test_complex_features(make):
    refuse(
        r"X holds complex numbers .Complex data not supported. .*: pass their real part",
        X * 1j,
        probe=make(),
    )


def test_features_that_are_not_numbers():
    words = np.array([["one", "two"]] * len(X), dtype=object)
    refuse(r"X holds objects of type str: pass real numbers", words)


def test_features_that_are_strings():
    refuse(r"X holds text .dtype <U3.: pass real numbers", X=np.array([["one", "two"]] * len(X)))


@pytest.mark.parametrize("call", [LinearProbe().fit, AutoProbe().fit, find_label_issues])
def test_cells_that_numpy_would_convert_are_refused(call):
    texts, dates = X.astype(str), (1000 * X).astype("M8[s]")
    objects = X.astype(object)
    objects[3, 4] = "0.5"
    for bad, kind in (
        (texts, "text"),
        (texts.tolist(), "text"),
        (texts.astype("S"), "bytes"),
        (dates, "dates"),
        (dates - dates[0], "durations"),
        (objects, "objects of type str"),
        (pd.DataFrame(objects).add_prefix("x"), "objects of type str in the column 'x4'"),
        (X * 1j, "complex numbers"),
    ):
        with pytest.raises(ValueError, match=f"X (holds {kind}|is not numeric in the column)"):
            call(bad, Y)


def test_masked_cells_are_refused_by_every_call():
    masked = np.ma.masked_array(X, np.zeros(X.shape, dtype=bool))
    probe = LinearProbe().fit(masked, Y)
    np.testing.assert_array_equal(probe.coef_, LinearProbe().fit(X, Y).coef_)
    masked[3, 4] = np.ma.masked
    issues = find_label_issues(X, Y, probe=probe)
    calls = (
        lambda: LinearProbe().fit(masked, Y),
        lambda: AutoProbe().fit(masked, Y),
        lambda: DiscriminantProbe().fit(masked, Y),
        lambda: probe.predict(masked),
        lambda: probe.predict_proba(masked),
        lambda: find_label_issues(masked, Y),
        lambda: find_label_issues(masked, Y, probe=probe),
        lambda: find_data_issues(masked, issues),
        lambda: forecast(masked, Y),
    )
    for call in calls:
        with pytest.raises(
            ValueError, match=r"X has masked cells, the first at \(3, 4\): fill them"
        ):
            call()
    weights = np.ma.masked_array(np.ones(len(X)), np.arange(len(X)) == 2)
    refuse(r"sample_weight has masked cells, the first at \(2,\)", weights=weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(len(X), "1"), "sample_weight holds text"),
        (np.ones(len(X)) * 1j, "sample_weight holds complex numbers"),
        ([{}] * len(X), "sample_weight holds what is no number"),
        ("1", "sample_weight holds text"),
    ],
)
def test_weights_that_are_no_numbers(weights, message):
    refuse(message, weights=weights)


def test_a_seed_that_draws_nothing():
    for seed in ("x", -1, 1.5, [0]):
        refuse(
            "random_state=.* seeds nothing: pass a",
            probe=LinearProbe(random_state=seed),
        )
    LinearProbe(random_state=np.random.default_rng(0)).fit(X, Y)


def test_a_frame_with_a_column_of_words():
    frame = pd.DataFrame(X).assign(word="one")
    frame.columns = frame.columns.astype(str)
    words = r"X (is not numeric|holds objects of type str) in the column 'word': pass"  # by pandas
    refuse(words, X=frame)
    refuse(r"X is not numeric in the column 'word': pass numbers", X=pl.from_pandas(frame))


@pytest.mark.parametrize("make", PROBES)
def test_no_rows_and_no_columns(make):
    refuse(r"0 sample\(s\)", np.empty((0, 3)), [], probe=make())
    refuse(r"0 feature\(s\)", np.empty((5, 0)), [0, 1, 0, 1, 0], probe=make())


def test_features_of_the_wrong_dimension():
    refuse("Expected 2D array, got 1D array", X=X[:, 0])
    refuse("dim 3", X=X[:, :, np.newaxis])


def test_new_features_of_another_width():
    probe = LinearProbe().fit(X, Y)
    with pytest.raises(ValueError, match="X has 11 features, but LinearProbe is expecting 12"):
        probe.predict(X[:, :11])


def test_a_probe_that_is_not_fitted(tmp_path):
    for call in (
        lambda probe: probe.predict(X),
        lambda probe: probe.predict_proba(X),
        lambda probe: probe.score(X, Y),
        lambda probe: next(probe.staged_predict_proba(X)),
        lambda probe: probe.save(tmp_path / "probe.safetensors"),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(LinearProbe())


# Labels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", PROBES)
def test_one_class_only(make):
    message = "y has one class only.*pass rows of at least two classes"
    refuse(message, y=np.zeros(len(X)), probe=make())
    refuse("one class only.*'cat'", y=["cat"] * len(X), probe=make())


def test_labels_and_features_of_different_length():
    refuse("y has 299 labels and X has 300 rows: pass one label per row", y=Y[:-1])


def test_no_labels():
    refuse("requires y to be passed, but the target y is None", y=None)


@pytest.mark.parametrize(
    "labels",
    [
        np.where(Y == 0, np.nan, Y),
        np.array([None if label == 0 else "x" for label in Y], dtype=object),
        pd.Series([None if label == 0 else f"c{label}" for label in Y]),
    ],
    ids=["nan", "None", "pandas"],
)
def test_missing_labels(labels):
    first = int(np.argmax(Y == 0))
    refuse(
        f"no label in {(Y == 0).sum()} rows, the first is row {first}: drop these rows", y=labels
    )


def test_labels_that_are_measurements():
    refuse("continuous", y=X[:, 0])
    refuse("holds inf, which is no class", y=np.where(Y == 0, np.inf, Y))


def test_labels_of_several_columns():
    refuse("1d array", y=SOFT)


def test_labels_that_do_not_sort():
    labels = np.array([1, "a"] * 150, dtype=object)
    refuse("y mixes numbers and text: pass labels of one type", y=labels)


def test_labels_at_score_that_the_probe_does_not_know_are_wrong():
    probe = LinearProbe().fit(X, Y)
    right = probe.predict(X) == Y
    assert probe.score(X, np.where(Y == 0, 9, Y)) == pytest.approx(np.mean(right & (Y != 0)))
    rare = np.where(np.arange(len(Y)) == 7, "yak", np.array(list("abcde"))[Y])
    splits = [(np.arange(100, 300), np.arange(100)), (np.arange(100), np.arange(100, 300))]
    assert np.isfinite(cross_val_score(LinearProbe(), X, rare, cv=splits)).all()
    # None that is known may be a mistake.
    with pytest.raises(ValueError, match=r"y has 2 labels.*none of the 5.*'y', 'z'.*see classes_"):
        probe.score(X[:3], ["y", "z", "y"])


def test_labels_and_features_of_different_length_at_score():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LinearProbe().fit(X, Y).score(X, Y[:-1])


# Weights -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            np.ones(len(X) - 1),
            r"sample_weight has shape \(299,\) and X has 300 rows: pass one weight",
        ),
        (np.full(len(X), -1.0), "sample_weight has the negative or missing weight -1.0 in row 0"),
        (np.full(len(X), np.nan), "sample_weight has the negative or missing weight nan in row 0"),
        *(
            (np.full(len(X), weight), "sample_weight adds up to .*: divide the weights by their")
            for weight in (1e-320, 1e-200, 1e200, 1e308)
        ),
        (np.zeros(len(X)), "sample_weight is zero for every row"),
        (np.ones((len(X), 2)), r"sample_weight has shape \(300, 2\)"),
    ],
)
def test_sample_weights(weights, message):
    refuse(message, weights=weights)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "class_weight='even' is not known: pass 'balanced', a dict"),
        ({7: 2.0}, "class_weight names 7, which is not among the 5 classes"),
        ({0: -1.0}, r"class_weight\[0\]=-1.0 is not allowed: pass a number from 0 to"),
        ({0: np.nan}, r"class_weight\[0\]=nan is not allowed"),
        ({0: np.inf}, r"class_weight\[0\]=inf is not allowed"),
        ({0: "2"}, r"class_weight\[0\]='2' is not allowed"),
        (dict.fromkeys(range(5), 0), "sample_weight times class_weight is zero for every row"),
        (dict.fromkeys(range(5), 1e300), r"sample_weight times class_weight adds up to 3e\+302"),
    ],
)
def test_class_weights(class_weight, message):
    refuse(message, probe=LinearProbe(class_weight=class_weight))


# Parameters --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", PROBES)
@pytest.mark.parametrize("name", ["l2", "ridge"])
@pytest.mark.parametrize("value", [0, 0.0, -1.0, np.nan, np.inf, "1", True])
def test_penalties_are_positive_and_finite(make, name, value):
    refuse(rf"{name}={value!r} is not allowed: pass a positive, fin", probe=make(**{name: value}))


def test_a_bad_penalty_in_a_sequence_is_named():
    refuse(r"ridge\[1\]=0 is not allowed", probe=DistilledProbe(ridge=[1, 0, 1]))


def test_a_sequence_of_penalties_of_the_wrong_length():
    message = "ridge has 2 values for 3 rounds: pass one number, or one"
    refuse(message, probe=DistilledProbe(ridge=[1, 2]))
    refuse("l2 has 1 value for 2 rounds", probe=PartialLabelProbe(l2=[1]))


@pytest.mark.parametrize("make", PROBES)
def test_both_penalties(make):
    message = "l2=0.1 and ridge=2 both set the penalty: pass one of them"
    refuse(message, probe=make(l2=0.1, ridge=2))


@pytest.mark.parametrize("n_rounds", [0, -3, 1.5, "2", None, True])
def test_fewer_than_one_round(n_rounds):
    refuse("n_rounds=.*pass an integer of at least 1", probe=DistilledProbe(n_rounds=n_rounds))


def test_more_candidates_than_classes():
    message = "n_candidates=6 is more than the 5 classes: pass at most 5"
    refuse(message, probe=PartialLabelProbe(n_candidates=6))


@pytest.mark.parametrize("n_candidates", [0, -1, 2.0, "2"])
def test_no_candidates(n_candidates):
    message = "n_candidates=.*pass an integer of at least 1"
    refuse(message, probe=PartialLabelProbe(n_candidates=n_candidates))


@pytest.mark.parametrize("make", PROBES)
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("loss", "mae", "loss='mae' is not known: pass one of 'ce', 'gce'"),
        ("gce_power", 0, "gce_power=0 is not allowed: pass a number from 0.001 to 1"),
        ("gce_power", 1.1, "gce_power=1.1 is not allowed"),
        ("gce_power", np.nan, "gce_power=nan is not allowed"),
        ("start", "one", "start='one' is not known: pass one of 'teacher', 'zero'"),
        ("start", np.zeros((5, 3)), r"start has shape \(5, 3\).*of shape \(5, 12\)"),
        ("start", np.full((5, 12), np.nan), "start has shape .* or holds NaN"),
        ("fit_intercept", "yes", "fit_intercept='yes' is not known: pass one of 'auto'"),
        ("center", "no", "center='no' is not allowed: pass True or False"),
        ("normalize", 1, "normalize=1 is not allowed: pass True or False"),
        ("whiten", None, "whiten=None is not allowed: pass True or False"),
        ("verbose", "x", "verbose='x' is not allowed: pass an integer of at least 0"),
        ("tol", 0, "tol=0 is not allowed: pass a positive, finite number"),
        ("tol", np.nan, "tol=nan is not allowed"),
        ("max_iter", 0, "max_iter=0 is not allowed: pass an integer of at least 1"),
        ("dtype", "float16", "dtype='float16' is not a precision to compute in: pass float32 or"),
        ("dtype", int, "dtype=.*int.* is not a precision to compute in"),
        ("n_jobs", 0, "n_jobs=0"),
        ("n_jobs", 1.5, "n_jobs=1.5"),
    ],
)
def test_parameters_of_every_probe(make, name, value, message):
    refuse(message, probe=make(**{name: value}))


@pytest.mark.parametrize("make", [DistilledProbe, PartialLabelProbe])
def test_the_loss_of_the_teacher(make):
    message = "teacher_loss='mae' is not known: pass one of 'ce', 'gce'"
    refuse(message, probe=make(teacher_loss="mae"))


# Soft targets ------------------------------------------------------------------------------------


def soft_with(row):
    targets = SOFT.copy()
    targets[4] = row
    return targets


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (soft_with([1.2, -0.2, 0, 0, 0]), "targets has the negative or missing value -0.2"),
        (soft_with([np.nan, 1, 0, 0, 0]), "targets has the negative or missing value nan"),
        (soft_with([0.5, 0.2, 0, 0, 0]), r"do not sum to one \(row 4: 0.7\): divide each row"),
        (soft_with([np.inf, 0, 0, 0, 0]), r"do not sum to one \(row 4: inf\)"),
        (SOFT[:-1], "targets has 299 rows and X has 300: pass one row"),
        (SOFT[:, 0], r"targets has shape \(300,\): pass one row of probabilities per sample"),
        (np.ones((300, 1)), "at least two classes"),
        (SOFT.astype(str), "targets has dtype .*: pass real numbers"),
        (SOFT * 1j, "targets has dtype complex128"),
    ],
    ids=[
        "negative",
        "nan",
        "sum",
        "infinity",
        "rows",
        "one column",
        "one class",
        "text",
        "complex",
    ],
)
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_soft_targets(targets, message, stored):
    if stored is sp.csr_array and (targets.ndim == 1 or targets.dtype.kind == "U"):
        stored = np.asarray  # a sparse array cannot hold these
    with pytest.raises(ValueError, match=message):
        LinearProbe().fit_soft(X, stored(targets))


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "a", "b", "c", "d"], [["a"] * 5]])
def test_names_of_soft_targets(classes):
    with pytest.raises(ValueError, match=r"classes has shape .* one name per column"):
        LinearProbe().fit_soft(X, SOFT, classes=classes)


# Not errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", PROBES)
def test_a_row_at_the_mean_is_fitted_and_predicted_uniform(make):
    rows = X - X.mean(axis=0)
    rows = np.vstack([rows, -rows, np.zeros((1, 12))])  # the last one is the mean
    labels = np.concatenate([Y, Y, [0]])
    probe = make().fit(rows, labels)
    assert all(entry.converged for entry in probe.rounds_)
    np.testing.assert_allclose(probe.predict_proba(rows[-1:]), 0.2, atol=1e-12)


@pytest.mark.parametrize("make", PROBES)
def test_a_gradient_that_vanishes_at_zero(make):
    # Every row with every label: there is nothing to learn.
    rows, labels = np.repeat(X[:20], 5, axis=0), np.tile(np.arange(5), 20)
    probe = make().fit(rows, labels)
    assert all(entry.converged for entry in probe.rounds_)
    np.testing.assert_array_equal(probe.coef_, 0)
    np.testing.assert_allclose(probe.predict_proba(X), 0.2)


@pytest.mark.parametrize("make", PROBES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_features_without_spread(make, dtype):
    probe = make().fit(np.full((20, 3), 0.3, dtype=dtype), np.arange(20) % 4)
    assert all(entry.converged for entry in probe.rounds_)
    np.testing.assert_allclose(probe.predict_proba(np.ones((2, 3))), 0.25)


def test_numerals_as_text_are_ordered_by_value_and_it_is_said():
    by_value, alike = ["0", "10", "20", "30", "100"], ["0", "10", "20", "30", "40"]
    names = np.array(by_value)[Y]
    with pytest.warns(UserWarning, match=r"in the order of its value.*pass integers"):
        probe = LinearProbe().fit(X, names)
    assert probe.classes_.tolist() == by_value
    # Nothing to say where both orders are the same, nor of labels that are coded already.
    assert LinearProbe().fit(X, np.array(alike)[Y]).classes_.tolist() == alike
    assert LinearProbe().fit(X, code_labels(names)).classes_.tolist() == by_value


def test_cells_of_soft_targets_that_are_stored_in_parts_count_once():
    n_rows, n_classes = SOFT.shape
    # Every cell twice, by half, side by side in its row.
    halves = sp.csr_array(
        (
            np.repeat(SOFT.ravel() / 2, 2),
            np.tile(np.repeat(np.arange(n_classes), 2), n_rows),
            2 * n_classes * np.arange(n_rows + 1),
        ),
        shape=SOFT.shape,
    )
    assert halves.nnz == 2 * SOFT.size
    for loss in ("ce", "gce"):
        whole = LinearProbe(loss=loss).fit_soft(X, SOFT)
        found = LinearProbe(loss=loss).fit_soft(X, halves)
        np.testing.assert_allclose(found.coef_, whole.coef_, atol=1e-4)
    assert halves.nnz == 2 * SOFT.size  # a user's own is left as it was


@pytest.mark.parametrize(
    "probe",
    [LinearProbe(), DiscriminantProbe(), AutoProbe(), AveragedProbe(probes=[LinearProbe()])],
)
def test_a_fit_that_fails_leaves_the_last_one_whole(probe):
    probe.fit(X, Y)
    before, outputs = probe.n_features_in_, probe.predict_proba(X)
    with pytest.raises(ValueError, match="contains NaN"):
        probe.fit(changed(np.nan)[:, :4], Y)
    assert probe.n_features_in_ == before
    np.testing.assert_array_equal(probe.predict_proba(X), outputs)


def test_a_first_fit_that_fails_leaves_nothing():
    probe = LinearProbe()
    with pytest.raises(ValueError, match="contains NaN"):
        probe.fit(changed(np.nan), Y)
    assert not hasattr(probe, "n_features_in_")


def test_one_long_label_does_not_make_all_of_them_long():
    labels = np.array([*Y.astype(str)[:-1], "x" * 20_000])
    tracemalloc.start()
    try:
        coded = code_labels(labels)
        assert tracemalloc.get_traced_memory()[1] < labels.nbytes / 4
    finally:
        tracemalloc.stop()
    assert coded.classes.tolist() == ["0", "1", "2", "3", "4", "x" * 20_000]


@pytest.mark.parametrize("weight", [None, np.r_[np.ones(4), np.zeros(8)]])
def test_a_search_says_how_many_rows_it_needs(weight):
    n_rows = 4 if weight is None else 12
    X, y = np.random.default_rng(0).normal(size=(n_rows, 2)), np.arange(n_rows) % 2
    with pytest.raises(ValueError, match="X has 4 rows with a label and a weight: pass at least 5"):
        AutoProbe().fit(X, y, sample_weight=weight)
