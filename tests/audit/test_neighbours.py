"""Nearest rows of all classes, and of the given and suggested class, equal plain searches."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from audits import prepared_once
from twohot import find_label_issues
from twohot.audit.data_issues import audited_rows, search_neighbourhood
from twohot.audit.report import label_evidence
from twohot.base.labels import NO_LABEL
from twohot.describe import products_at
from twohot.review.records import NO_ROW


def prepared(X):
    rows = X - X.mean(axis=0)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cosines(X):
    return prepared(X) @ prepared(X).T


@pytest.fixture(scope="module")
def audited():
    true = np.arange(120) % 3
    X = 3 * np.eye(3, 6)[true] + np.random.default_rng(0).normal(0, 0.6, (120, 6))
    given = np.where(np.arange(120) % 8 == 0, (true + 1) % 3, true)
    issues = find_label_issues(X, given)
    return X, audited_rows(X, issues), issues


def test_products_are_the_same_in_chunks() -> None:
    X = np.random.default_rng(1).normal(size=(2400, 3))
    asked = np.arange(2000)  # two chunks
    found = np.array(list(products_at(prepared_once(X).open(), asked)))
    np.testing.assert_allclose(found, cosines(X)[asked], atol=1e-12)


def test_evidence_leaves_out_flagged_rows(audited) -> None:
    X, rows, issues = audited
    evidence = label_evidence(rows, issues)
    assert evidence.rows.tolist() == issues.rows.tolist()
    assert issues.n_issues >= 15
    codes = np.where(issues.is_label_issue, NO_LABEL, issues.given)
    for found, classes in ((evidence.suggested, issues.predicted), (evidence.given, issues.given)):
        for place, row in enumerate(evidence.rows):
            alike = np.where(codes == classes[row], cosines(X)[row], -2)
            assert found.rows[place].tolist() == np.argsort(-alike)[:3].tolist()
    # A row with a wrong label is nearer to the suggested class than to the given class.
    assert np.mean(evidence.suggested.alike[:, 0] > evidence.given.alike[:, 0]) > 0.9


def test_evidence_covers_the_most_suspicious_rows(audited) -> None:
    _, rows, issues = audited
    assert label_evidence(rows, issues, n_rows=4).rows.tolist() == issues.rows[:4].tolist()
    none = replace(issues, is_label_issue=np.zeros(120, dtype=bool))
    assert label_evidence(rows, none).suggested.rows.shape == (0, 3)
    # With two rows of every class that are not flagged, the third nearest row is missing.
    most = replace(issues, is_label_issue=np.arange(120) >= 6, given=np.arange(120) % 3)
    found = label_evidence(rows, most).given
    assert (found.rows == NO_ROW).tolist() == [[False, False, True]] * 114
    assert (np.isnan(found.alike) == (found.rows == NO_ROW)).all()


# Neighbours of all rows, and of a sample of many ------------------------------------------------


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(1, 2, size=(70, 6))


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("most_rows", [70, 30])
def test_neighbours_equal_an_exact_search_of_all_rows_or_of_a_sample(rows, store, most_rows):
    found, again = (
        search_neighbourhood(prepared_once(store(rows)), most_rows=most_rows, random_state=1)
        for _ in range(2)
    )
    np.testing.assert_array_equal(found.rows, again.rows)
    assert len(np.unique(found.rows)) == most_rows
    sample = prepared(rows)[found.rows]
    distances, places = NearestNeighbors(n_neighbors=11).fit(sample).kneighbors(sample)
    np.testing.assert_array_equal(found.neighbours, found.rows[places[:, 1:]])
    np.testing.assert_allclose(found.distances, distances[:, 1:], rtol=1e-5)


def test_copies_are_at_distance_zero_and_the_earlier_comes_first(rows) -> None:
    rows[[9, 40]] = rows[20]
    found = search_neighbourhood(prepared_once(rows))
    assert found.neighbours[[9, 20, 40], :2].tolist() == [[20, 40], [9, 40], [9, 20]]
    np.testing.assert_array_equal(found.distances[[9, 20, 40], :2], 0)


def test_searches_fewer_rows_of_wide_features(rows) -> None:
    assert len(search_neighbourhood(prepared_once(rows), most_entries=60).rows) == 10
    assert search_neighbourhood(prepared_once(rows[:3])).neighbours.shape == (3, 2)
