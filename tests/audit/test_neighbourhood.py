"""Neighbours of all rows against scikit-learn's exact search, and of a sample of many."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from twohot.audit import neighbours as neighbourhood
from twohot.audit.neighbours import search_neighbourhood
from twohot.judge import nearest


def prepared(X):
    rows = X - X.mean(axis=0)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(1, 2, size=(70, 6))


@pytest.mark.parametrize("block_rows", [16, 256])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_neighbours_are_those_of_an_exact_search(rows, monkeypatch, block_rows, store) -> None:
    monkeypatch.setattr(nearest, "BLOCK_ROWS", block_rows)
    found = search_neighbourhood(store(rows), n_neighbours=5)
    search = NearestNeighbors(n_neighbors=6).fit(prepared(rows))
    distances, places = search.kneighbors(prepared(rows))
    np.testing.assert_array_equal(found.neighbours, places[:, 1:])
    np.testing.assert_allclose(found.distances, distances[:, 1:], rtol=1e-5)
    np.testing.assert_allclose(found.cosines[:, 0], 1 - distances[:, 1] ** 2 / 2, rtol=1e-5)
    np.testing.assert_array_equal(found.rows, np.arange(70))


def test_copies_are_at_distance_zero_and_the_earlier_comes_first(rows) -> None:
    rows[[9, 40]] = rows[20]
    found = search_neighbourhood(rows, n_neighbours=2)
    assert found.neighbours[[9, 20, 40]].tolist() == [[20, 40], [9, 40], [9, 20]]
    np.testing.assert_array_equal(found.distances[[9, 20, 40]], 0)


def test_of_many_rows_a_sample_is_searched_by_itself(rows) -> None:
    found = search_neighbourhood(rows, n_neighbours=3, most_rows=30, random_state=1)
    assert len(np.unique(found.rows)) == 30
    assert set(found.neighbours.ravel().tolist()) <= set(found.rows.tolist())
    again = search_neighbourhood(rows, n_neighbours=3, most_rows=30, random_state=1)
    np.testing.assert_array_equal(found.rows, again.rows)
    for place, row in enumerate(found.rows):
        gaps = np.linalg.norm(prepared(rows)[found.rows] - prepared(rows)[row], axis=1)
        np.testing.assert_allclose(found.distances[place], np.sort(gaps)[1:4], rtol=1e-5)


def test_wide_features_are_searched_in_rows_that_fit_in_memory(rows, monkeypatch) -> None:
    monkeypatch.setattr(neighbourhood, "MOST_ENTRIES", 60)
    assert len(search_neighbourhood(rows).rows) == 10


def test_few_rows_have_few_neighbours(rows) -> None:
    assert search_neighbourhood(rows[:3]).neighbours.shape == (3, 2)
