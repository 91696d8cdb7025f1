"""Probabilities and fitted classifiers of the user; classifiers that were fitted on the labels."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import problems
from twohot import AutoProbe, LinearProbe, find_label_issues
from twohot.base.labels import Labels
from twohot.judge import given as given_module
from twohot.judge import sample as sample_module
from twohot.judge.folds import assign_folds, distance_from_mean
from twohot.judge.given import (
    compare_with_clone,
    equal_rows,
    judge_by_probe,
    judge_given,
    out_of_fold,
    out_of_fold_probabilities,
)
from twohot.noise import corrupt_labels, pair_flip, symmetric
from twohot.rows.selected import SelectedRows

DATA = problems.digits(0.3, 500)
X, Y, WRONG = DATA.X / 16, DATA.given_labels, DATA.given_labels != DATA.true_labels
NAMES = np.array([*"abcdefghij"])
REGRESSION = LogisticRegression(C=0.3, max_iter=1000)


def f1(flagged, wrong):
    return 2 * (flagged & wrong).sum() / (flagged.sum() + wrong.sum())


# Probabilities -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "corruption", [symmetric(10, 0.3), pair_flip(10, 0.3)], ids=["even", "pair"]
)
@pytest.mark.parametrize(
    "classifier", [REGRESSION, GaussianNB(var_smoothing=0.01), KNeighborsClassifier(10)]
)
def test_held_out_probabilities_find_wrong_labels(classifier, corruption):
    given = corrupt_labels(DATA.true_labels, corruption, exact=True, random_state=0).given_labels
    p = cross_val_predict(classifier, X, given, method="predict_proba")
    verdict = judge_given(p, given)
    assert f1(verdict.flag(), given != DATA.true_labels) > 0.75
    low, high = verdict.interval
    assert low <= verdict.share <= high
    assert low < 0.3 < high


def test_zero_probability_is_not_certainty():
    codes = np.arange(40) % 2
    wrong = np.arange(40) < 4
    verdict = judge_given(np.eye(2)[np.where(wrong, 1 - codes, codes)], codes)
    assert np.isfinite(verdict.doubt).all()
    np.testing.assert_array_equal(verdict.flag(), wrong)


def test_temperature_of_probabilities_does_not_change_the_verdict():
    p = cross_val_predict(REGRESSION, X, Y, method="predict_proba")
    power = np.sqrt(p)
    plain, flatter = (judge_given(each, Y) for each in (p, power / power.sum(axis=1)[:, None]))
    np.testing.assert_allclose(flatter.doubt, plain.doubt, atol=0.03)
    assert (flatter.flag() != plain.flag()).sum() <= 3


def test_unlabelled_rows_are_predicted_and_not_counted():
    p = cross_val_predict(REGRESSION, X, Y, method="predict_proba")
    codes = np.where(np.arange(500) % 5 == 0, -1, Y)
    found = judge_given(p, codes)
    alone = judge_given(p[codes >= 0], codes[codes >= 0])
    np.testing.assert_allclose(found.doubt[codes >= 0], alone.doubt, atol=1e-6)
    assert np.isnan(found.doubt[codes < 0]).all()
    assert not found.flag()[codes < 0].any()
    np.testing.assert_array_equal(found.first, p.argmax(axis=1))


def test_uninformative_probabilities_are_reported():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 300)
    verdict = judge_given(rng.dirichlet(np.ones(3), 300), codes)
    assert not verdict.learnt
    issues = find_label_issues(None, codes, probabilities=np.full((300, 3), 1 / 3))
    assert any("no better than the class frequencies" in text for text in issues.messages)
    assert "the fraction of wrong labels cannot be estimated" in issues.answer()


# Classifiers that were fitted on the labels ------------------------------------------------------

MEMORISING = {
    "neighbour": KNeighborsClassifier(1),
    "probe": LinearProbe(ridge=1e-2, n_jobs=1),
}


@pytest.mark.parametrize("kind", MEMORISING)
def test_classifier_fitted_on_these_rows_is_replaced_by_clones(kind):
    probe = MEMORISING[kind].fit(X, NAMES[Y])
    coef = np.copy(getattr(probe, "coef_", 0))
    issues = find_label_issues(X, NAMES[Y], probe=probe)
    (note,) = (text for text in issues.messages if "was fitted on these rows" in text)
    assert note.startswith("The probe predicts ")
    # The memorised labels would confirm themselves: none would be flagged.
    assert f1(issues.is_label_issue, WRONG) > 0.6
    assert issues.probe is probe
    np.testing.assert_array_equal(getattr(probe, "coef_", 0), coef)


def test_auto_probe_fitted_on_these_rows_gives_similar_flags():
    probe = AutoProbe(n_jobs=1).fit(X, Y)
    issues = find_label_issues(X, Y, probe=probe, n_jobs=1)
    assert f1(issues.is_label_issue, WRONG) > 0.85


@pytest.mark.parametrize("kind", MEMORISING)
@pytest.mark.parametrize("seed", range(3))
def test_classifier_fitted_on_other_rows_is_used_itself(kind, seed):
    rows = np.random.default_rng(seed).permutation(500)
    fitted_on, judged = rows[:250], rows[250:]
    probe = MEMORISING[kind].fit(X[fitted_on], Y[fitted_on])
    _, notes = judge_by_probe(probe, X[judged], Labels(Y[judged], probe.classes_))
    assert notes == ()
    if not seed:
        issues = find_label_issues(X[judged], Y[judged], probe=probe)
        np.testing.assert_array_equal(issues.predicted_label, probe.predict(X[judged]))
        expected = find_label_issues(
            None, Y[judged], probabilities=probe.predict_proba(X[judged]), classes=range(10)
        )
        np.testing.assert_array_equal(issues.is_label_issue, expected.is_label_issue)


def test_clone_predicts_fewer_labels():
    probe = KNeighborsClassifier(1).fit(X, NAMES[Y])
    folds = assign_folds(distance_from_mean(X, n_jobs=1), Y, 5, random_state=0)
    by_probe, by_clone = compare_with_clone(probe, X, Y, folds)
    assert len(by_probe) == len(by_clone) == np.sum(folds == 0)
    assert by_probe.all()
    assert 0.4 < by_clone.mean() < 0.85


class Oracle:
    """A classifier that knows the labels and cannot be cloned."""

    classes_ = np.arange(10)

    def __init__(self, labels):
        self.labels = labels

    def predict_proba(self, rows):
        return np.eye(10)[self.labels[: len(rows)]]


def test_rejects_a_classifier_that_predicts_all_labels_and_cannot_be_cloned():
    with pytest.raises(ValueError, match=r"probe predicts every label, as if .*: pass held-out"):
        find_label_issues(X, Y, probe=Oracle(Y))
    # A classifier that disagrees with some labels is accepted.
    issues = find_label_issues(X, Y, probe=Oracle(DATA.true_labels))
    assert f1(issues.is_label_issue, WRONG) > 0.95


def test_unlabelled_rows_do_not_change_the_verdicts_of_clones():
    probe = KNeighborsClassifier(1).fit(X, Y)
    alone = find_label_issues(X[:400], Y[:400], probe=probe)
    labels = np.append(Y[:400].astype(float), np.full(100, np.nan))
    issues = find_label_issues(X, labels, probe=probe)
    np.testing.assert_array_equal(issues.is_label_issue[:400], alone.is_label_issue)
    np.testing.assert_array_equal(issues.probability_wrong[:400], alone.probability_wrong)
    assert any("was fitted on these rows" in text for text in issues.messages)
    assert f1(issues.is_label_issue[:400], WRONG[:400]) > 0.6
    assert np.mean(issues.predicted[400:] == DATA.true_labels[400:]) > 0.5


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(150), 5)], ids=["copies", "groups"])
def test_clones_are_fitted_without_the_group_of_a_row(groups):
    # Each row has five copies with one label. A clone fitted on a copy would confirm a wrong label.
    rows = np.repeat(X[:150], 5, axis=0)
    labels, wrong = np.repeat(Y[:150], 5), np.repeat(WRONG[:150], 5)
    probe = KNeighborsClassifier(1).fit(rows, labels)
    issues = find_label_issues(rows, labels, probe=probe, groups=groups)
    assert f1(issues.is_label_issue, wrong) > 0.5


ZEROS_AND_ONES = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)
CONTAINERS = [np.asarray, np.negative, sp.csr_array, sp.csc_matrix, sp.coo_array, pd.DataFrame]
CONTAINERS += [pl.DataFrame, list, lambda rows: SelectedRows(rows, np.arange(30))]
CONTAINERS += [lambda rows: [" ".join(map(str, row)) for row in rows], lambda rows: rows > 0]


@pytest.mark.parametrize("container", CONTAINERS)
def test_equal_rows_are_found_in_every_container(container):
    _, expected = np.unique(ZEROS_AND_ONES, axis=0, return_inverse=True)
    found = equal_rows(container(ZEROS_AND_ONES), 30)
    np.testing.assert_array_equal(found == found[:, None], expected == expected[:, None])
    shapes = [np.ones(3), np.ones(2), np.ones((3, 1)), np.ones(3)]
    assert equal_rows(shapes, 4).tolist() == [0, 1, 2, 0]


# Cross-validated probabilities -------------------------------------------------------------------


def test_held_out_class_with_one_row_has_probability_zero():
    labels = np.where(FEW_LABELS == 3, 2, FEW_LABELS)
    labels[7] = 3
    found = out_of_fold_probabilities(LinearProbe(), FEW, labels, random_state=0)
    assert found[7, 3] == 0
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_out_of_fold_probabilities_match_clones():
    fold = np.arange(500) % 3
    codes = np.where(Y == 9, 8, Y)
    codes[7] = 9  # a class with one row
    found = out_of_fold(REGRESSION, X, codes, fold, 10)
    assert found[7, 9] == 0
    np.testing.assert_allclose(found.sum(axis=1), 1)
    alone = REGRESSION.fit(X[fold != 1], codes[fold != 1])
    rows = fold == 1
    np.testing.assert_allclose(found[rows][:, alone.classes_], alone.predict_proba(X[rows]))


FEW, FEW_LABELS = DATA.X[:200], DATA.true_labels[:200]


def test_each_row_is_predicted_by_a_held_out_probe():
    probe = LinearProbe(ridge=4)
    found = out_of_fold_probabilities(probe, FEW, FEW_LABELS, n_folds=3, random_state=1)
    fold = assign_folds(distance_from_mean(FEW, n_jobs=1), FEW_LABELS, 3, random_state=1)
    for number in range(3):
        alone = LinearProbe(ridge=4).fit(FEW[fold != number], FEW_LABELS[fold != number])
        held_out = fold == number
        np.testing.assert_array_equal(found[held_out], alone.predict_proba(FEW[held_out]))


def test_containers_names_and_order_do_not_change_probabilities():
    def probabilities(rows, labels):
        return out_of_fold_probabilities(LinearProbe(), rows, labels, random_state=0)

    expected = probabilities(FEW, FEW_LABELS)
    found = probabilities(sp.csr_array(FEW), NAMES[FEW_LABELS])
    np.testing.assert_allclose(found, expected, atol=1e-4)
    order = np.random.default_rng(0).permutation(200)
    found = probabilities(FEW[order], FEW_LABELS[order])
    np.testing.assert_allclose(found, expected[order], atol=1e-3)


@pytest.mark.parametrize(
    ("labels", "n_folds", "message"),
    [
        (FEW_LABELS[1:], 5, "y has 199 labels and X has 200 rows"),
        ([None, *FEW_LABELS[1:]], 5, "y has no label in 1 row"),
        (FEW_LABELS, 1, "n_folds=1 is not allowed: pass an integer of at least 2"),
        (FEW_LABELS, 201, "n_folds=201 is more than the 200 rows of X: pass at most 200"),
    ],
)
def test_rejects_invalid_labels_and_folds(labels, n_folds, message):
    with pytest.raises(ValueError, match=message):
        out_of_fold_probabilities(LinearProbe(), FEW, labels, n_folds=n_folds)


def test_row_order_does_not_change_verdicts_by_probabilities() -> None:
    """There are more rows than the weights are fitted on. Their choice does not depend on order."""
    generator = np.random.default_rng(0)
    codes = np.arange(8_000) % 5
    logits = 2.0 * np.eye(5)[codes] + generator.normal(size=(8_000, 5))
    given = np.where(generator.random(8_000) < 0.2, generator.integers(5, size=8_000), codes)
    order = np.argsort(given, kind="stable")
    one = judge_given(softmax(logits, axis=1), given)
    other = judge_given(softmax(logits, axis=1)[order], given[order])
    np.testing.assert_allclose(other.doubt, one.doubt[order], atol=1e-5)


def test_probabilities_of_many_classes_are_judged_in_blocks(monkeypatch) -> None:
    """No array except the probabilities has an entry for every row and class."""
    for module in (sample_module, given_module):
        monkeypatch.setattr(module, "SAMPLE_CELLS", 100_000)
    made = np.random.default_rng(0)
    true, wrong = np.arange(20_000) % 200, made.random(20_000) < 0.2
    codes = np.where(wrong, made.integers(0, 200, 20_000), true)
    logits = made.normal(size=(20_000, 200))
    logits[np.arange(20_000), true] += 10
    probabilities = softmax(logits, axis=1)
    tracemalloc.start()
    verdict = judge_given(probabilities, codes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < probabilities.nbytes
    assert np.mean(verdict.flag() == (codes != true)) > 0.99
    assert verdict.share == pytest.approx(np.mean(codes != true), abs=0.05)
