"""What grows with pairs of classes is sparse or left out where these are many, and that is said."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from twohot.audit.verdict import count_transitions
from twohot.select import unseen

import problems
from twohot import DiscriminantProbe, find_label_issues
from twohot.audit import judged_rows, noise_fit, opinions, review_content, row_judge, verdict
from twohot.audit.audited_classes import OfferedClasses
from twohot.audit.review_content import review_summary
from twohot.tables import FeatureTable

DATA = problems.synthetic()


def test_a_sparse_corruption_is_the_dense_one(monkeypatch):
    generator = np.random.default_rng(0)
    true, given = generator.integers(0, 6, 200), generator.integers(0, 7, 200)
    offered = OfferedClasses(np.arange(9), np.array([8, 0, 3, 2, 5, 1, 7]))
    dense = count_transitions(true, given, 7)  # the last has no row
    monkeypatch.setattr(verdict, "MOST_DENSE", 6)
    sparse = count_transitions(true, given, 7)
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), dense)
    whole = offered.corruption(sparse)
    np.testing.assert_allclose(whole.toarray(), offered.corruption(dense))
    np.testing.assert_allclose(whole.sum(axis=1), 1)


def test_the_memory_of_a_corruption_grows_with_rows_and_not_with_pairs():
    n_classes = 20_000  # 3.2 GB if it were dense
    found = count_transitions(np.arange(500), np.arange(500)[::-1], n_classes)
    assert found.nnz == 500 + n_classes - 500


def test_matrices_of_many_classes_are_left_out_and_that_is_said(monkeypatch):
    table = FeatureTable(
        features=DATA.X, labels=DATA.given_labels, classes=tuple(f"class {k}" for k in range(5))
    )
    issues = find_label_issues(table.features, table.coded)
    assert review_summary(table.features, issues, title="", details={}).corruption.shape == (5, 5)
    monkeypatch.setattr(review_content, "MOST_CLASSES", 4)
    monkeypatch.setattr(review_content, "class_correlation", SimpleNamespace())  # is not asked
    summary = review_summary(table.features, issues, title="", details={})
    assert summary.corruption is summary.correlation is summary.class_order is None
    assert any("Matrices of 5 classes are left out" in line for line in summary.messages)


@pytest.mark.parametrize("n_unlabelled", [0, 20])
def test_block_by_block_labels_are_judged_as_they_are_at_once(monkeypatch, n_unlabelled):
    labels = DATA.given_labels.astype(float)
    labels[:n_unlabelled] = np.nan
    at_once = find_label_issues(DATA.X, labels)
    monkeypatch.setattr(judged_rows, "HELD_CELLS", 0)
    in_blocks = find_label_issues(DATA.X, labels)
    labelled = ~np.isnan(labels)
    # Rows without a label have no weight in the one, and are not there in the other, so that folds
    # are drawn from others, and four in ten labels are wrong: what is close may be told otherwise.
    share = 0.95 if n_unlabelled else 1.0
    for name in ("is_label_issue", "predicted_label", "second_label"):
        same = np.asarray(at_once[name] == in_blocks[name])[labelled]
        assert same.mean() >= share, name
    difference = np.abs(at_once["label_quality"] - in_blocks["label_quality"])[labelled]
    assert np.quantile(difference, share) < (0.03 if n_unlabelled else 1e-3)
    assert abs(at_once.noise_rate - in_blocks.noise_rate) < 0.005
    assert np.isnan(in_blocks["label_quality"][~labelled]).all()
    assert not in_blocks["is_label_issue"][~labelled].any()


def test_no_opinion_on_all_rows_is_held_where_they_are_too_many(monkeypatch):
    monkeypatch.setattr(judged_rows, "HELD_CELLS", 0)
    monkeypatch.setattr(opinions, "Opinions", None)  # is not made
    assert len(find_label_issues(DATA.X, DATA.given_labels)) == len(DATA.X)


def test_where_fits_are_dear_the_discriminant_judges_alone(monkeypatch):
    monkeypatch.setattr(judged_rows, "HELD_CELLS", 0)
    monkeypatch.setattr(unseen, "DEAR_CELLS", 0)
    monkeypatch.setattr(row_judge, "fit_again", None)  # is not asked
    unlike = DATA.X * np.linspace(1, 6, DATA.X.shape[1])  # so that they are half-whitened by both
    issues = find_label_issues(unlike, DATA.given_labels, random_state=0)
    wrong = DATA.given_labels != DATA.true_labels
    assert wrong[issues["is_label_issue"]].mean() > 0.85
    probe = DiscriminantProbe(normalize=False)  # which predicts more of these labels
    density = probe.fit_leave_one_out(unlike, DATA.given_labels)
    np.testing.assert_array_equal(issues["predicted_label"], density.argmax(axis=1))


def test_noise_is_fitted_on_fewer_rows_of_many_classes():
    assert [noise_fit.most_rows(k) for k in (10, 2_000, 4_000, 100_000)] == [
        10_000,
        10_000,
        5_000,
        2_000,
    ]


def test_a_class_is_rare_by_all_rows_and_not_by_those_drawn(monkeypatch):
    X = np.concatenate([DATA.X, DATA.X[:2] + 1e-3])
    labels = np.append(DATA.given_labels, [5, 5])  # a class of two rows, misspelt
    monkeypatch.setattr(judged_rows, "HELD_CELLS", 0)
    monkeypatch.setattr(judged_rows, "SEARCH_ROWS", 100)
    issues = find_label_issues(X, labels)
    assert any("Classes that hardly occur: 1 (5)" in line for line in issues.messages)
    others = labels != 5
    assert not (issues["predicted_label"][others] == 5).any()
    assert not (issues["second_label"][others] == 5).any()
