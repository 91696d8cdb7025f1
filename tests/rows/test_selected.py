"""Selected rows stand in the place of the rows themselves."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from twohot import LinearProbe
from twohot.rows.selected import RANGE, SelectedRows, is_sampled
from twohot.tables import FeatureTable, read_features, write_features

X = np.arange(24, dtype=np.float32).reshape(8, 3)
INDEX = np.array([6, 1, 1, 7, 0])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_selected_rows_are_read_as_an_array_is(store):
    rows, expected = SelectedRows(store(X), INDEX), X[INDEX]
    assert (len(rows), rows.shape, rows.ndim, rows.dtype) == (5, (5, 3), 2, np.float32)
    np.testing.assert_array_equal(np.asarray(rows), expected)
    assert np.asarray(rows, dtype=np.float64).dtype == np.float64
    for key in (slice(1, 4), slice(None, None, 2), np.array([4, 0]), expected[:, 0] > 4, [2, -1]):
        found = rows[key]
        found = found.toarray() if sp.issparse(found) else found
        np.testing.assert_array_equal(found, expected[key])
    sent = pickle.loads(pickle.dumps(rows))  # noqa: S301 - our own
    np.testing.assert_array_equal(np.asarray(sent), expected)


def test_rows_of_rows_are_rows_of_the_same_array():
    rows = SelectedRows(SelectedRows(X, INDEX), np.array([3, 0]))
    assert rows.X is X
    np.testing.assert_array_equal(np.asarray(rows), X[[7, 6]])


def test_a_mask_selects_too_and_any_sparse_matrix_is_read():
    mask = X[:, 0] > 9
    assert SelectedRows(X, mask).shape == X[mask].shape
    for kind in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        table = FeatureTable(features=kind(X), labels=np.arange(8) % 2, classes=("a", "b"))
        taken = table.take(np.array([0, 3, 5, 2]))
        np.testing.assert_array_equal(np.asarray(taken.features), X[[0, 3, 5, 2]])
        assert LinearProbe().fit(taken.features, taken.coded).n_features_in_ == 3


def test_they_are_a_copy_once_they_are_an_array():
    with pytest.raises(ValueError, match="always a copy"):
        np.asarray(SelectedRows(X, INDEX), copy=False)


def test_a_table_of_selected_rows_is_written_as_any(tmp_path):
    table = FeatureTable(features=X, labels=np.zeros(8, int), classes=("a",)).take(INDEX)
    assert table.features.X is X
    write_features(tmp_path / "some.features", table)
    np.testing.assert_array_equal(read_features(tmp_path / "some.features").features, X[INDEX])
    again = table.take([4, 0])
    assert again.features.X is X
    np.testing.assert_array_equal(again.features, X[[0, 6]])


# Rows that stand for all --------------------------------------------------------------------------


@pytest.mark.parametrize("every", [1, 2, 10, 100])
def test_no_order_of_the_rows_is_sampled_one_sidedly(every: int) -> None:
    sampled = is_sampled(np.arange(100_000), RANGE // 10)[::every]
    assert sampled.mean() == pytest.approx(0.1, rel=0.05)


def test_all_rows_are_below_the_end_and_none_below_the_start() -> None:
    assert is_sampled(np.arange(1000), RANGE).all()
    assert not is_sampled(np.arange(1000), 0).any()
