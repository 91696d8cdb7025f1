"""Nearest rows against a plain twin: every cosine, sorted class by class."""

from dataclasses import replace

import numpy as np
import pytest

from twohot import find_label_issues
from twohot.audit import neighbours as averaging_weights
from twohot.audit.neighbours import label_evidence, nearest_of_classes
from twohot.base.labels import NO_LABEL
from twohot.review.records import NO_ROW


def cosines(X):
    rows = X - X.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def plain_nearest(X, codes, row, k, n_nearest):
    others = [j for j in range(len(X)) if codes[j] == k and j != row]
    return sorted(others, key=lambda j: -cosines(X)[row, j])[:n_nearest]


@pytest.fixture(scope="module")
def audited():
    true = np.arange(120) % 3
    X = 3 * np.eye(3, 6)[true] + np.random.default_rng(0).normal(0, 0.6, (120, 6))
    given = np.where(np.arange(120) % 8 == 0, (true + 1) % 3, true)
    return X, find_label_issues(X, given)


@pytest.mark.parametrize("chunk", [1, 2**22])
def test_the_nearest_rows_are_those_of_a_plain_search(monkeypatch, chunk) -> None:
    monkeypatch.setattr(averaging_weights, "CHUNK_WEIGHTS", chunk)
    X = np.random.default_rng(1).normal(size=(40, 5))
    codes = np.arange(40) % 4
    codes[::9] = NO_LABEL
    asked, wanted = np.array([3, 0, 17]), np.array([[3, 1], [2, 2], [0, 1]])
    nearest, alike = nearest_of_classes(X, codes, asked, wanted, n_nearest=4)
    for place, row in enumerate(asked):
        for column, k in enumerate(wanted[place]):
            expected = plain_nearest(X, codes, row, k, 4)
            assert nearest[place, column].tolist() == expected
            np.testing.assert_allclose(alike[place, column], cosines(X)[row, expected])


def test_a_class_with_too_few_rows_leaves_gaps() -> None:
    codes = np.array([0, 0, 1, 1, 1])
    X = np.random.default_rng(2).normal(size=(5, 3))
    nearest, alike = nearest_of_classes(X, codes, np.array([0]), np.array([[0, 7]]), n_nearest=2)
    assert nearest.tolist() == [[[1, NO_ROW], [NO_ROW, NO_ROW]]]
    assert np.isnan(alike).tolist() == [[[False, True], [True, True]]]


def test_rows_whose_label_is_flagged_are_no_evidence(audited) -> None:
    X, issues = audited
    evidence = label_evidence(X, issues)
    assert evidence.rows.tolist() == issues.rows.tolist()
    assert issues.n_issues >= 15
    codes = np.where(issues.is_label_issue, NO_LABEL, issues.given)
    for place, row in enumerate(evidence.rows):
        suggested, given = issues.predicted[row], issues.given[row]
        expected = plain_nearest(X, codes, row, suggested, 3)
        assert evidence.suggested.rows[place].tolist() == expected
        assert evidence.given.rows[place].tolist() == plain_nearest(X, codes, row, given, 3)
    # A wrong label is farther from its own class than from the one that it should be.
    assert np.mean(evidence.suggested.alike[:, 0] > evidence.given.alike[:, 0]) > 0.9


def test_the_most_doubtful_rows_are_explained_and_none_where_none_is_flagged(audited) -> None:
    X, issues = audited
    assert label_evidence(X, issues, n_rows=4).rows.tolist() == issues.rows[:4].tolist()
    none = replace(issues, is_label_issue=np.zeros(120, dtype=bool))
    assert label_evidence(X, none).suggested.rows.shape == (0, 3)
    # Where every label is doubted nothing is left to compare with.
    every = replace(issues, is_label_issue=np.ones(120, dtype=bool))
    assert (label_evidence(X, every).given.rows == NO_ROW).all()
