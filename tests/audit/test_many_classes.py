"""What grows with pairs of classes is sparse or left out where these are many, and that is said."""

from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

import problems
from twohot import find_label_issues
from twohot.audit import report as review_content
from twohot.audit.report import review_summary
from twohot.judge import verdict
from twohot.judge.verdict import count_transitions
from twohot.tables import FeatureTable

DATA = problems.synthetic()


def test_a_sparse_corruption_is_the_dense_one(monkeypatch):
    generator = np.random.default_rng(0)
    true, given = generator.integers(0, 6, 200), generator.integers(0, 7, 200)
    dense = count_transitions(true, given, 7)  # the last has no row
    monkeypatch.setattr(verdict, "MOST_DENSE", 6)
    sparse = count_transitions(true, given, 7)
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), dense)
    np.testing.assert_allclose(sparse.sum(axis=1), 1)


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
    monkeypatch.setattr(review_content, "correlate", SimpleNamespace())  # is not asked
    summary = review_summary(table.features, issues, title="", details={})
    assert summary.corruption is summary.correlation is summary.class_order is None
    assert any("Matrices of 5 classes are left out" in line for line in summary.messages)
