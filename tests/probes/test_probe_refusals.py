"""Invalid input is rejected with the argument, its value, what is allowed and what to do."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import problems
import twin
from twohot import (
    AutoProbe,
    DiscriminantProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
    explain_label,
    find_data_issues,
    find_label_issues,
    forecast,
    top_candidates,
)
from twohot.base import ArgumentError
from twohot.judge import out_of_fold_probabilities

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels
SOFT = twin.one_hot(Y)
PROBES = [LinearProbe, DistilledProbe, PartialLabelProbe]


def check_rejected(message, X=X, y=Y, *, probe=None, weights=None):
    with pytest.raises(ValueError, match=message):
        (probe or LinearProbe()).fit(X, y, weights)


def changed(value, row=7, column=3):
    rows = X.copy()
    rows[row, column] = value
    return rows


def every(value):
    return np.full(len(X), value)


# Any probe: what is passed, or the parameters of the probe ----------------------------------------

EVERY_CLASS = partial(dict.fromkeys, range(5))
OF_EVERY_PROBE = [
    *(
        (f"X contains {name}.* at row 7, column 3: drop the row or", {"X": stored(changed(bad))})
        for bad, name in ((np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf"))
        for stored in (np.asarray, sp.csr_array, pd.DataFrame)
    ),
    ("X holds complex numbers .Complex data not supported. .*: pass their real", {"X": X * 1j}),
    (r"0 sample\(s\)", {"X": np.empty((0, 3)), "y": []}),
    (r"0 feature\(s\)", {"X": np.empty((5, 0)), "y": [0, 1, 0, 1, 0]}),
    ("y has only one class.*pass rows of at least two classes", {"y": every(0.0)}),
    ("only one class.*'cat'", {"y": ["cat"] * len(X)}),
    ("l2=0.1 and ridge=2 both set the penalty: pass one of them", {"l2": 0.1, "ridge": 2}),
    *(
        (re.escape(f"{name}={value!r} is not allowed: pass a positive, fin"), {name: value})
        for name in ("l2", "ridge")
        for value in (0, -1.0, np.nan, "1", True)
    ),
    ("loss='mae' is not known: pass one of 'ce', 'gce'", {"loss": "mae"}),
    ("gce_power=0 is not allowed: pass a number from 0.001 to 1", {"gce_power": 0}),
    ("start='one' is not known: pass one of 'teacher', 'zero'", {"start": "one"}),
    (r"start has shape \(5, 3\).*of shape .* = \(5, 12\)", {"start": np.zeros((5, 3))}),
    ("start contains NaN or infinity", {"start": np.full((5, 12), np.nan)}),
    ("fit_intercept='yes' is not known: pass one of 'auto'", {"fit_intercept": "yes"}),
    ("center='no' is not allowed: pass True or False", {"center": "no"}),
    ("normalize=1 is not allowed: pass True or False", {"normalize": 1}),
    ("whiten=None is not allowed: pass True or False", {"whiten": None}),
    ("verbose='x' is not allowed: pass an integer of at least 0", {"verbose": "x"}),
    ("tol=0 is not allowed: pass a positive, finite number", {"tol": 0}),
    ("max_iter=0 is not allowed: pass an integer of at least 1", {"max_iter": 0}),
    ("dtype='float16' is not a precision to compute in: pass float32", {"dtype": "float16"}),
    ("n_jobs=0", {"n_jobs": 0}),
    ("random_state='x' is not a random state", {"random_state": "x"}),
    ("class_weight='even' is not known: pass 'balanced', a dict", {"class_weight": "even"}),
    ("class_weight names 7, which is not among the 5 classes", {"class_weight": {7: 2.0}}),
    (r"class_weight\[0\]=-1.0 is not allowed: pass a number", {"class_weight": {0: -1.0}}),
    ("sample_weight times class_weight is zero for every", {"class_weight": EVERY_CLASS(0)}),
    (r"sample_weight times class_weight adds up to 3e\+302", {"class_weight": EVERY_CLASS(1e300)}),
]


@pytest.mark.parametrize("make", PROBES)
@pytest.mark.parametrize(("message", "given"), OF_EVERY_PROBE)
def test_every_probe_rejects(make, message, given):
    data = {name: given[name] for name in ("X", "y") if name in given}
    parameters = {name: value for name, value in given.items() if name not in data}
    check_rejected(message, probe=make(**parameters), **data)


# What is passed -----------------------------------------------------------------------------------

WORDS = np.array([["one", "two"]] * len(X))
FRAME = pd.DataFrame(X).add_prefix("x").assign(word="one")
NO_LABEL = f"no label in {(Y == 0).sum()} rows .the first is row {np.argmax(Y == 0)}.: drop rows"
WEIGHT = "sample_weight has the weight"
INVALID_DATA = [
    ("X contains NaN at row 7", {"X": changed(np.nan).astype(np.float16)}),
    ("X contains NaN at row 7", {"X": changed(np.nan).astype(np.float32)}),
    ("X holds objects of type str: pass real numbers", {"X": WORDS.astype(object)}),
    ("X holds text .dtype <U3.: pass real numbers", {"X": WORDS}),
    ("X holds text .*: pass real numbers", {"X": [["a", 1.0], ["b", 2.0]], "y": [0, 1]}),
    (
        "X (has a column that is not numeric|holds objects of type str) .*word.*extract",
        {"X": FRAME},
    ),
    ("'word'.: pass numbers, one .* To embed text, run", {"X": pl.from_pandas(FRAME)}),
    (r"X has shape \(300,\): pass rows of features, of shape \(n_sam", {"X": X[:, 0]}),
    (r"X has shape \(300,\): pass rows of features", {"X": X[:, 0].tolist()}),
    (r"X has shape \(300,\): pass rows of features", {"X": FRAME["x0"]}),
    ("dim 3", {"X": X[:, :, np.newaxis]}),
    ("X has equal column names", {"X": pd.DataFrame(X[:, :2], columns=["a", "a"])}),
    (
        "X has a sparse column .* with fill value nan",
        {"X": pd.DataFrame(X).astype(pd.SparseDtype("float"))},
    ),
    ("X has rows of different lengths: pass the same", {"X": [[1.0], [1.0, 2.0]], "y": [0, 1]}),
    ("y has 299 labels and X has 300 rows: pass one label per row", {"y": Y[:-1]}),
    ("requires y to be passed, but the target y is None", {"y": None}),
    (NO_LABEL, {"y": np.where(Y == 0, np.nan, Y)}),
    (NO_LABEL, {"y": pd.Series([None if label == 0 else f"c{label}" for label in Y])}),
    ("continuous", {"y": X[:, 0]}),
    ("holds inf, which is not a class", {"y": np.where(Y == 0, np.inf, Y)}),
    ("1d array", {"y": SOFT}),
    ("y mixes numbers and text: pass only numbers or", {"y": np.array([1, "a"] * 150, object)}),
    ("sample_weight holds text", {"weights": every("1")}),
    ("sample_weight holds complex numbers", {"weights": every(1j)}),
    ("sample_weight holds a value that is not a number", {"weights": [{}] * len(X)}),
    ("sample_weight holds text", {"weights": "1"}),
    (r"sample_weight has shape \(299,\) and X has 300 rows: pass one", {"weights": np.ones(299)}),
    (r"sample_weight has shape \(300, 2\)", {"weights": np.ones((300, 2))}),
    (rf"{WEIGHT} -1.0 in row 0 \(the.*: pass finite weights of at", {"weights": every(-1.0)}),
    (f"{WEIGHT} nan in row 0", {"weights": every(np.nan)}),
    ("sample_weight is zero for every row", {"weights": every(0.0)}),
    *(
        ("sample_weight adds up to .*: divide the weights by their mean", {"weights": every(each)})
        for each in (1e-320, 1e-200, 1e200, 1e308)
    ),
    (
        r"sample_weight has masked cells, first at index \(0,\)",
        {"weights": np.ma.masked_less(Y, 9)},
    ),
]


@pytest.mark.parametrize(("message", "given"), INVALID_DATA)
def test_rejects_invalid_data(message, given):
    check_rejected(message, **given)


@pytest.mark.parametrize("call", [AutoProbe().fit, find_label_issues, forecast])
@pytest.mark.parametrize("path", ["a.features", Path("a.features")])
def test_rejects_a_path_passed_as_features(call, path):
    with pytest.raises(ArgumentError, match=r"^X is a text or a path: pass an array"):
        call(path, Y)


@pytest.mark.parametrize("call", [AutoProbe().fit, find_label_issues, forecast])
def test_rejects_labels_passed_as_features(call):
    with pytest.raises(ArgumentError, match=r"^X has shape \(300,\): pass rows of features"):
        call(Y, Y)


@pytest.mark.parametrize("X", [np.full((4, 2), object()), [[{}]] * 4])
def test_rejects_objects_that_are_no_numbers(X):
    with pytest.raises(TypeError, match=r"X is not numeric .*: pass numbers, one"):
        LinearProbe().fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("call", [LinearProbe().fit, AutoProbe().fit, find_label_issues])
def test_rejects_cells_that_numpy_would_convert(call):
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
        with pytest.raises(ValueError, match=f"X (holds {kind}|has .* not numeric)"):
            call(bad, Y)


def test_every_call_rejects_masked_cells():
    masked = np.ma.masked_array(X, np.zeros(X.shape, dtype=bool))
    probe = LinearProbe().fit(masked, Y)
    np.testing.assert_array_equal(probe.coef_, LinearProbe().fit(X, Y).coef_)
    masked[3, 4] = np.ma.masked
    issues = find_label_issues(X, Y, probe=probe)
    for call in (
        lambda: LinearProbe().fit(masked, Y),
        lambda: AutoProbe().fit(masked, Y),
        lambda: DiscriminantProbe().fit(masked, Y),
        lambda: probe.predict(masked),
        lambda: probe.predict_proba(masked),
        lambda: find_label_issues(masked, Y),
        lambda: find_label_issues(masked, Y, probe=probe),
        lambda: find_data_issues(masked, issues),
        lambda: forecast(masked, Y),
    ):
        with pytest.raises(ValueError, match=r"X has masked cells, first at index \(3, 4\): fill"):
            call()


@pytest.mark.parametrize("weight", [None, np.r_[np.ones(4), np.zeros(8)]])
def test_auto_probe_says_how_many_rows_it_needs(weight):
    n_rows = 4 if weight is None else 12
    X, y = np.random.default_rng(0).normal(size=(n_rows, 2)), np.arange(n_rows) % 2
    with pytest.raises(
        ValueError, match="X has 4 rows with a label and a positive weight: pass at least 5"
    ):
        AutoProbe().fit(X, y, sample_weight=weight)


# Parameters of some probes ------------------------------------------------------------------------


COUNT = "an integer of at least 1"
INVALID_PARAMETERS = [
    (r"ridge\[1\]=0 is not allowed", DistilledProbe(ridge=[1, 0, 1])),
    ("ridge has 2 values for 3 rounds: pass one number, or one", DistilledProbe(ridge=[1, 2])),
    ("l2 has 1 value for 2 rounds", PartialLabelProbe(l2=[1])),
    (f"n_rounds=0 is not allowed: pass {COUNT}", DistilledProbe(n_rounds=0)),
    (f"n_candidates=0 is not allowed: pass {COUNT}", PartialLabelProbe(n_candidates=0)),
    ("n_candidates=6 is more than the 5 classes: pass at m", PartialLabelProbe(n_candidates=6)),
    ("teacher_loss='mae' is not known: pass one of", DistilledProbe(teacher_loss="mae")),
    ("teacher_loss='mae' is not known: pass one of", PartialLabelProbe(teacher_loss="mae")),
    ("shrinkage=0 is not allowed: pass a number from 1e-06 to 1", DiscriminantProbe(shrinkage=0)),
    ("shrinkage='wolf' is not known: pass one of 'auto'", DiscriminantProbe(shrinkage="wolf")),
    (f"n_axes=0 is not allowed: pass {COUNT}", DiscriminantProbe(n_axes=0)),
]


@pytest.mark.parametrize(("message", "probe"), INVALID_PARAMETERS)
def test_rejects_invalid_parameters(message, probe):
    check_rejected(message, X + 0.2, probe=probe)


# Soft targets and their candidates ----------------------------------------------------------------


def soft_with(row):
    targets = SOFT.copy()
    targets[4] = row
    return targets


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (soft_with([1.2, -0.2, 0, 0, 0]), "targets has the negative value -0.2"),
        (soft_with([np.nan, 1, 0, 0, 0]), "targets contains NaN"),
        (soft_with([0.5, 0.2, 0, 0, 0]), r"do not sum to one \(row 4: 0.7\): divide each row"),
        (soft_with([np.inf, 0, 0, 0, 0]), r"do not sum to one \(row 4: inf\)"),
        (SOFT[:-1], "targets has 299 rows and X has 300: pass one row"),
        (SOFT[:, 0], r"targets has shape \(300,\): pass one row of probabilities per sample"),
        (np.ones((300, 1)), "at least two classes"),
        (SOFT.astype(str), "targets has dtype .*: pass real numbers"),
        (SOFT * 1j, "targets has dtype complex128"),
    ],
)
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_rejects_invalid_soft_targets(targets, message, stored):
    if stored is sp.csr_array and (targets.ndim == 1 or targets.dtype.kind == "U"):
        stored = np.asarray  # a sparse array cannot hold these
    with pytest.raises(ValueError, match=message):
        LinearProbe().fit_soft(X, stored(targets))


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (
            ["a", "b"],
            r"classes has shape \(2,\) and targets has 5 columns: pass one name per column",
        ),
        ([["a"] * 5], r"classes has shape \(1, 5\) and targets has 5 columns"),
        (list("aabcd"), r"classes names 'a' twice: pass a different name for each column"),
        (list("bacde"), r"classes is not sorted \(numbers by value, then text\): sort the names"),
    ],
)
def test_rejects_invalid_classes_of_soft_targets(classes, message):
    with pytest.raises(ValueError, match=message):
        LinearProbe().fit_soft(X, SOFT, classes=classes)


@pytest.mark.parametrize(
    ("outputs", "n_candidates", "message"),
    [
        *(
            (outputs, 2, "outputs has shape .* and dtype .*: pass one row of finite scores")
            for outputs in ([0.5, 0.5], [["a", "b"]], [[1j, 1]])
        ),
        *(
            (outputs, 2, "outputs holds NaN or infinity: pass one row of finite scores")
            for outputs in ([[np.nan, 1]], [[np.inf, 1]])
        ),
        ([[0.5, 0.3, 0.2]], 0, f"n_candidates=0 is not allowed: pass {COUNT}"),
        ([[0.5, 0.3, 0.2]], 4, "n_candidates=4 is more than the 3 classes: pass at most"),
    ],
)
def test_rejects_invalid_candidates(outputs, n_candidates, message):
    with pytest.raises(ValueError, match=message):
        top_candidates(outputs, n_candidates)


# Labels and weights in another order than the rows of X ---------------------------------------

CODES = np.arange(60) % 3
ROWS = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)) + 3 * np.eye(3, 4)[CODES])
ROWS.columns = list("abcd")
NAMED = ROWS.set_axis([f"row {number}" for number in range(60)])
SERIES = pd.Series(CODES, ROWS.index)
REVERSED = SERIES.iloc[::-1]
ONES = pd.Series(1.0, REVERSED.index)

CALLS = {
    **{make.__name__: make().fit for make in (*PROBES, DiscriminantProbe, AutoProbe)},
    "leave one out": DiscriminantProbe().fit_leave_one_out,
    "score": lambda X, y: LinearProbe().fit(ROWS, CODES).score(X, y),
    "out of fold": lambda X, y: out_of_fold_probabilities(LinearProbe(), X, y),
    "find_label_issues": find_label_issues,
    "forecast": forecast,
    "explain_label": lambda X, y: explain_label(X, y, [0]),
}


@pytest.mark.parametrize("call", CALLS)
def test_rejects_labels_in_another_order(call):
    for X, y in ((ROWS, REVERSED), (NAMED, SERIES.set_axis(NAMED.index).iloc[::-1])):
        with pytest.raises(ValueError, match=r"y has another index than X.*pass y\.loc\[X\.index"):
            CALLS[call](X, y)


OTHER_ORDER = [
    (LinearProbe().fit, {"y": SERIES, "sample_weight": ONES}),
    (AutoProbe().fit, {"y": SERIES, "sample_weight": ONES}),
    (LinearProbe().fit(ROWS, SERIES).score, {"y": SERIES, "sample_weight": ONES}),
    (AutoProbe().fit, {"y": SERIES, "groups": ONES}),
    (LinearProbe().fit_soft, {"targets": pd.get_dummies(REVERSED, dtype=float)}),
]


@pytest.mark.parametrize(("call", "given"), OTHER_ORDER)
def test_rejects_other_arguments_in_another_order(call, given):
    with pytest.raises(ValueError, match=f"{[*given][-1]} has another index than X"):
        call(ROWS, **given)


@pytest.mark.parametrize("X", [ROWS, NAMED, ROWS.to_numpy()], ids=["counted", "named", "array"])
@pytest.mark.parametrize("y", [SERIES, CODES, CODES.tolist()], ids=["series", "array", "list"])
def test_default_index_is_ignored(X, y):
    assert LinearProbe().fit(X, y).score(X, y) > 0.9
    assert LinearProbe().fit(NAMED, SERIES.set_axis(NAMED.index)).score(NAMED, y) > 0.9


# New rows, and fits that fail ---------------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predict_rejects_invalid_features(method):
    call = getattr(LinearProbe().fit(X, Y), method)
    with pytest.raises(ValueError, match="X contains NaN at row 7, column 3"):
        call(changed(np.nan))
    with pytest.raises(ValueError, match="X has 11 features, but LinearProbe is expecting 12"):
        call(X[:, :11])


def test_probe_that_is_not_fitted_raises(tmp_path):
    for call in (
        lambda probe: probe.predict(X),
        lambda probe: probe.predict_proba(X),
        lambda probe: probe.score(X, Y),
        lambda probe: next(probe.staged_predict_proba(X)),
        lambda probe: probe.save(tmp_path / "probe.safetensors"),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(LinearProbe())


def test_score_rejects_unknown_labels():
    probe = LinearProbe().fit(X, Y)
    message = r"y has 2 labels.*not among the 5.*'y', 'z'.*in classes_, or fit the probe again"
    with pytest.raises(ValueError, match=message):
        probe.score(X[:3], ["y", "z", "y"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        probe.score(X, Y[:-1])


@pytest.mark.parametrize("probe", [LinearProbe(), DiscriminantProbe(), AutoProbe()], ids=str)
def test_failed_fit_leaves_the_probe_unchanged(probe):
    bad = changed(np.nan)[:, :4]
    check_rejected("contains NaN", bad, probe=probe)
    assert not hasattr(probe, "n_features_in_")
    before = probe.fit(X, Y).predict_proba(X)
    check_rejected("contains NaN", bad, probe=probe)
    assert probe.n_features_in_ == 12
    np.testing.assert_array_equal(probe.predict_proba(X), before)
