"""Matrices of all pairs of classes are sparse or left out if there are many classes."""

import numpy as np

from twohot import find_label_issues
from twohot.audit.report import review_summary
from twohot.judge.verdict import count_transitions


def test_the_memory_of_a_corruption_grows_with_rows_and_not_with_pairs():
    n_classes = 20_000  # 3.2 GB if it were dense
    found = count_transitions(np.arange(500), np.arange(500)[::-1], n_classes)
    assert found.nnz == 500 + n_classes - 500


def test_a_report_of_many_classes_has_no_matrices():
    labels = np.repeat(np.arange(401), 2)
    X = np.random.default_rng(0).normal(size=(802, 5))
    issues = find_label_issues(None, labels, probabilities=np.eye(401)[labels])
    summary = review_summary(X, issues, title="", details={})
    assert summary.corruption is summary.correlation is summary.class_order is None
    assert any("Matrices of 401 classes are left out" in line for line in summary.messages)
    few = find_label_issues(None, labels % 3, probabilities=np.eye(3)[labels % 3])
    assert review_summary(X, few, title="", details={}).corruption.shape == (3, 3)
