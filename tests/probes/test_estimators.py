"""The probes: attributes, penalties, weights, containers, soft labels, threads and progress."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import clone

import problems
import twin
from stored import frame, memory_map, polars_frame
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.rows.open import open_rows

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels

KINDS = {
    "linear": LinearProbe,
    "linear gce": lambda **options: LinearProbe(loss="gce", **options),
    "distilled": DistilledProbe,
    "partial": PartialLabelProbe,
}


# Attributes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_attributes_and_outputs(kind, n_classes):
    labels = DATA.true_labels % n_classes
    probe = KINDS[kind](fit_intercept=True).fit(X, labels)
    assert (probe.coef_.shape, probe.intercept_.shape) == ((n_classes, 12), (n_classes,))
    np.testing.assert_array_equal(probe.classes_, np.arange(n_classes))
    assert probe.n_features_in_ == 12
    assert probe.n_iter_ == sum(entry.n_iter for entry in probe.rounds_) > 0
    assert probe.coef_ is probe.rounds_[-1].coef
    outputs, logits = probe.predict_proba(X), probe.decision_function(X)
    assert outputs.shape == (len(X), n_classes)
    np.testing.assert_allclose(outputs.sum(axis=1), 1)
    np.testing.assert_array_equal(probe.predict(X), outputs.argmax(axis=1))
    if n_classes == 2:
        # scikit-learn's convention: one number, positive for the second class.
        assert logits.shape == (len(X),)
        logits = np.column_stack([np.zeros(len(X)), logits])
    np.testing.assert_allclose(softmax(logits, axis=1), outputs, atol=1e-12)


# The penalty -------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_is_dimensionless(normalize, weighted):
    v = problems.random_weights(len(X)) if weighted else None
    total = len(X) if v is None else v.sum()
    probe = LinearProbe(ridge=7, normalize=normalize).fit(X, Y, v)
    rows = twin.prepare(X, normalize=normalize, v=v)
    mean_square = np.average(np.sum(rows**2, axis=1), weights=v)
    l2 = 7 * mean_square / (5 * total)
    assert probe.rounds_[0].l2 == pytest.approx(l2)
    again = LinearProbe(l2=l2, normalize=normalize).fit(X, Y, v)
    np.testing.assert_allclose(again.coef_, probe.coef_, rtol=0, atol=1e-9)


def test_ridge_counts_weights_with_fewer_rows_than_features():
    rows, labels, v = X[:10], Y[:10], 1 + problems.random_weights(10)
    repeated = np.repeat(np.arange(10), v.astype(int))
    few = LinearProbe(ridge=7, tol=1e-9).fit(rows, labels, v)
    assert few.rounds_[0].l2 == pytest.approx(7 / (len(few.classes_) * v.sum()))
    many = LinearProbe(ridge=7, tol=1e-9).fit(rows[repeated], labels[repeated])
    np.testing.assert_allclose(few.coef_, many.coef_, rtol=0, atol=1e-6)


# Weights -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_class_weights_equal_weights_of_rows(kind):
    names = np.array(list("abcde"))[Y]
    by_class = {"a": 2, "c": 3.5}
    v = problems.random_weights(len(X))
    both = v * np.array([by_class.get(name, 1) for name in names])
    probe = KINDS[kind](fit_intercept=True, tol=1e-9)
    found = clone(probe).set_params(class_weight=by_class).fit(X, names, v)
    expected = clone(probe).fit(X, names, both)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_classes_have_equal_total_weight(weighted):
    labels = np.where(np.arange(len(X)) % 3, Y, 0)  # a third more of class 0
    v = problems.random_weights(len(X)) if weighted else np.ones(len(X))
    shares = np.bincount(labels, v) / v.sum()
    by_class = dict(enumerate(1 / (5 * shares)))
    found = LinearProbe(class_weight="balanced", tol=1e-9).fit(X, labels, v)
    expected = LinearProbe(class_weight=by_class, tol=1e-9).fit(X, labels, v)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-7)
    # With an intercept, the weighted mean of the outputs is then uniform.
    row_weights = v * np.array([by_class[label] for label in labels.tolist()])
    mean = np.average(found.predict_proba(X), axis=0, weights=row_weights)
    np.testing.assert_allclose(mean, 0.2, atol=1e-6)


# Inputs of any kind ------------------------------------------------------------------------------


# Multiples of 1/64, which every precision stores exactly.
ROUND = np.round(X * 64) / 64
STORED = {
    "fortran": lambda rows, _: np.asfortranarray(rows),
    "list": lambda rows, _: rows.tolist(),
    "strided": lambda rows, _: np.repeat(rows, 2, axis=1)[:, ::2],
    "memory map": memory_map,
    "csr": lambda rows, _: sp.csr_array(rows),
    "csr matrix": lambda rows, _: sp.csr_matrix(rows),
    "csc": lambda rows, _: sp.csc_array(rows),
    "pandas": lambda rows, _: frame(rows),
    "polars": lambda rows, _: polars_frame(rows),
    "object": lambda rows, _: rows.astype(object),
    "float16": lambda rows, _: rows.astype(np.float16),
    "float32": lambda rows, _: rows.astype(np.float32),
    "csr float32": lambda rows, _: sp.csr_array(rows.astype(np.float32)),
    "float16 memory map": lambda rows, folder: memory_map(rows.astype(np.float16), folder),
}


@pytest.mark.parametrize("stored", STORED)
def test_storage_does_not_matter(stored, tmp_path):
    rows, options = STORED[stored](ROUND, tmp_path), {"dtype": "float64", "tol": 1e-8}
    expected = PartialLabelProbe(**options).fit(ROUND, Y)
    found = PartialLabelProbe(**options).fit(rows, Y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(ROUND), atol=1e-6)
    in_precision_of_rows = DistilledProbe().fit(rows, Y)
    expected = DistilledProbe().fit(ROUND, Y)
    np.testing.assert_allclose(in_precision_of_rows.coef_, expected.coef_, rtol=0, atol=2e-5)


@pytest.mark.parametrize("stored", [np.int32, np.uint8, bool])
def test_features_may_be_integers_or_flags(stored):
    found, expected = (LinearProbe().fit((X > 0).astype(kind), Y) for kind in (stored, float))
    np.testing.assert_array_equal(found.coef_, expected.coef_)


NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])
LABELS = {
    "strings": lambda: NAMES[Y],
    "object strings": lambda: NAMES[Y].astype(object),
    "list of strings": NAMES[Y].tolist,
    "pandas strings": lambda: pd.Series(NAMES[Y]),
    "pandas categories": lambda: pd.Series(NAMES[Y]).astype("category"),
    "polars strings": lambda: pl.Series(NAMES[Y]),
    "other integers": lambda: 10 * Y - 7,
    "int8": lambda: Y.astype(np.int8),
    "whole floats": lambda: Y.astype(float),
}


@pytest.mark.parametrize("kind", LABELS)
def test_type_of_labels_does_not_matter(kind):
    labels = LABELS[kind]()
    expected = PartialLabelProbe().fit(X, Y)
    found = PartialLabelProbe().fit(X, labels)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.classes_, np.unique(np.asarray(labels)))
    np.testing.assert_array_equal(found.predict(X), found.classes_[expected.predict(X)])
    assert found.score(X, labels) == expected.score(X, Y)


def test_labels_may_be_flags():
    probe = LinearProbe().fit(X, Y > 2)
    assert probe.predict(X).dtype == bool
    np.testing.assert_array_equal(probe.coef_, LinearProbe().fit(X, (Y > 2).astype(int)).coef_)


# Soft labels -------------------------------------------------------------------------------------


def test_one_hot_targets_give_the_model_of_the_labels():
    expected = LinearProbe(tol=1e-9).fit(X, Y)
    for targets in (twin.one_hot(Y), sp.csr_array(twin.one_hot(Y)), twin.one_hot(Y).astype(int)):
        found = LinearProbe(tol=1e-9).fit_soft(X, targets)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-8)
    assert found.rounds_[0].targets == "soft"


@pytest.mark.parametrize("loss", ["ce", "gce"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_soft_targets_of_any_precision(loss, dtype):
    # In float16 rows sum to one within 1e-3 only; what they miss cannot be fitted by any class.
    targets = problems.random_targets(len(X), 5).astype(dtype)
    probe = LinearProbe(loss=loss, tol=1e-8).fit_soft(X, targets)
    assert probe.rounds_[0].converged
    exact = targets.astype(np.float64)
    exact /= exact.sum(axis=1, keepdims=True)
    expected = LinearProbe(loss=loss, tol=1e-8).fit_soft(X, exact)
    atol = {np.float64: 1e-7, np.float32: 1e-4, np.float16: 0.02}[dtype]
    np.testing.assert_allclose(probe.coef_, expected.coef_, rtol=0, atol=atol)


def test_soft_targets_may_have_class_names():
    probe = LinearProbe().fit_soft(X, twin.one_hot(Y), classes=NAMES)
    np.testing.assert_array_equal(probe.predict(X), NAMES[LinearProbe().fit(X, Y).predict(X)])
    assert LinearProbe().fit_soft(X, twin.one_hot(Y)).classes_.tolist() == [0, 1, 2, 3, 4]
    # The columns of a data frame may be in any order. Default names are ignored.
    targets = pd.DataFrame(twin.one_hot(Y), columns=NAMES)
    named = LinearProbe().fit_soft(X, targets[NAMES[::-1]])
    assert named.classes_.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(named.predict(X), probe.predict(X))
    assert LinearProbe().fit_soft(X, pd.DataFrame(twin.one_hot(Y))).classes_.tolist() == [*range(5)]
    with pytest.raises(ValueError, match=r"targets has its columns in another order .* than cla"):
        LinearProbe().fit_soft(X, targets[NAMES[::-1]], classes=NAMES)


def test_class_of_soft_targets_may_have_no_mass():
    targets = np.hstack([twin.one_hot(Y), np.zeros((len(X), 1))])
    for class_weight in (None, "balanced"):
        # Its intercept has no finite optimum; the fit goes as far as the tolerance asks.
        probe = LinearProbe(class_weight=class_weight, fit_intercept=True).fit_soft(X, targets)
        assert probe.rounds_[0].converged
        assert probe.predict_proba(X)[:, 5].mean() < 1e-4


@pytest.mark.parametrize("kind", ["distilled", "partial"])
def test_rounds_on_soft_targets(kind):
    targets = problems.random_targets(len(X), 5)
    probe = KINDS[kind]().fit_soft(X, targets)
    assert probe.rounds_[0].targets == "soft"
    np.testing.assert_allclose(
        probe.rounds_[0].coef, LinearProbe(ridge=10).fit_soft(X, targets).coef_, atol=1e-10
    )
    assert all(entry.converged for entry in probe.rounds_)


# Threads, precision and progress ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_result_does_not_depend_on_threads(kind, dtype):
    # So wide that they are read in three blocks.
    rows = np.tile(np.pad(X, ((0, 0), (0, 500))), (7, 1)).astype(dtype)
    assert open_rows(rows).n_blocks == 3
    labels = np.tile(Y, 7)
    one, *others = (KINDS[kind](n_jobs=n, tol=1e-4).fit(rows, labels) for n in (1, 3, -1, None))
    for other in others:
        for entry, same in zip(one.rounds_, other.rounds_, strict=True):
            np.testing.assert_array_equal(same.coef, entry.coef)
            assert same.n_passes == entry.n_passes
            assert same.value == entry.value
        np.testing.assert_array_equal(other.predict_proba(rows), one.predict_proba(rows))


PRECISIONS = [
    *((stored, None, np.float32) for stored in (np.float16, np.float32)),
    *((stored, "float64", np.float64) for stored in (np.float16, np.float32)),
    *((np.float64, dtype, dtype or np.float64) for dtype in (None, np.float32)),
    (np.float16, np.dtype("float64"), np.float64),
]


@pytest.mark.parametrize(("stored", "dtype", "computed"), PRECISIONS)
def test_precision_of_computations(stored, dtype, computed):
    probe = LinearProbe(dtype=dtype).fit(X.astype(stored), Y)
    assert probe.predict_proba(X.astype(stored)).dtype == computed
    assert probe.decision_function(X.astype(stored)).dtype == computed
    assert probe.coef_.dtype == np.float64


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stored", ["dense", "csr"])
def test_fit_does_not_change_its_inputs(kind, stored):
    rows = sp.csr_array(X) if stored == "csr" else X.copy()
    targets, v = problems.random_targets(len(X), 5), problems.random_weights(len(X))
    start = np.random.default_rng(0).normal(size=(5, 12))
    classes = {0: 2.0}
    given = rows, targets, v, start, Y
    before = [each.copy() for each in given]
    probe = KINDS[kind](start=start, class_weight=classes)
    probe.fit(rows, Y, v)
    probe.fit_soft(rows, targets, sample_weight=v)
    probe.predict_proba(rows)
    assert [abs(now - then).max() for now, then in zip(given, before, strict=True)] == [0] * 5
    assert probe.get_params()["start"] is start
    assert classes == {0: 2.0}


def test_columns_may_be_constant_or_repeated():
    rows = np.hstack([X, np.ones((len(X), 1)), X[:, :1]])
    probe = PartialLabelProbe().fit(rows, Y)
    assert all(entry.converged for entry in probe.rounds_)
    np.testing.assert_allclose(probe.coef_[:, -2], 0, atol=1e-10)
    np.testing.assert_allclose(probe.coef_[:, -1], probe.coef_[:, 0], atol=1e-8)


def test_two_classes_have_one_candidate():
    # Two candidates would carry no information.
    labels = Y > 2
    probe = PartialLabelProbe(loss="ce", tol=1e-9).fit(X, labels)
    teacher = LinearProbe(ridge=10, tol=1e-9).fit(X, labels)
    student = LinearProbe(ridge=10, tol=1e-9).fit(X, teacher.predict(X))
    np.testing.assert_allclose(probe.coef_, student.coef_, rtol=0, atol=1e-6)


def test_verbose_prints_progress(capsys):
    LinearProbe().fit(X, Y)
    assert capsys.readouterr() == ("", "")
    DistilledProbe(n_rounds=2, verbose=1).fit(X, Y)
    out, err = capsys.readouterr()
    first, second = err.splitlines()
    assert out == ""
    assert first.startswith("DistilledProbe: round 1 (ce, labels): ")
    assert "relative gradient" in second
    probe = DistilledProbe(n_rounds=2, verbose=2).fit(X, Y)
    steps = [line for line in capsys.readouterr().err.splitlines() if ": step " in line]
    assert len(steps) == probe.n_iter_


@pytest.mark.parametrize("start", ["zero", "teacher"])
def test_start_does_not_matter_to_cross_entropy(start):
    np.testing.assert_array_equal(
        LinearProbe(start=start).fit(X, Y).coef_, LinearProbe().fit(X, Y).coef_
    )


def test_start_may_be_any_array_of_the_right_shape():
    start = LinearProbe().fit(X, Y).coef_
    expected = LinearProbe(loss="gce", tol=1e-9).fit(X, Y)
    for given in (start, start.tolist(), start.astype(np.float32)):
        probe = LinearProbe(loss="gce", start=given, tol=1e-9).fit(X, Y)
        np.testing.assert_allclose(probe.coef_, expected.coef_, rtol=0, atol=1e-6)
    # With an intercept, which starts from zero.
    assert LinearProbe(loss="gce", start=start, fit_intercept=True).fit(X, Y).rounds_[0].converged
