"""Class correlations, against all pairs of rows."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from labelled_rows import CountedRows, dense_correlations, labelled_rows

from twohot.describe import class_correlation
from twohot.rows.open import LOOK_ROWS
from twohot.rows.selected import SelectedRows
from twohot.rows.stored import SlicedRows


def dense_means(X, labels):
    """Return the mean correlation of every two classes from all pairs of rows."""
    correlations, labels = dense_correlations(X, labels)
    np.fill_diagonal(correlations, np.nan)
    names = np.unique(labels)
    blocks = [[correlations[labels == k][:, labels == other] for other in names] for k in names]
    return np.array(
        [[np.nanmean(b) if np.isfinite(b).any() else np.nan for b in row] for row in blocks]
    )


@given(labelled_rows())
def test_means_are_those_of_all_pairs_of_rows(drawn):
    X, labels, _ = drawn
    found = class_correlation(X, labels, n_jobs=1)
    np.testing.assert_allclose(found.means, dense_means(X, labels), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.class_sizes, np.bincount(labels[labels >= 0]))
    between = ~np.eye(found.n_classes, dtype=bool)
    products = found.class_means @ found.class_means.T
    np.testing.assert_allclose(products[between], found.means[between], atol=1e-12)


@given(labelled_rows(min_size=2))
def test_the_two_means_are_over_pairs_not_over_classes(drawn):
    X, labels, _ = drawn
    found = class_correlation(X, labels, n_jobs=1)
    correlations, labels = dense_correlations(X, labels)
    same = labels[:, np.newaxis] == labels
    assert found.other_class == pytest.approx(correlations[~same].mean(), abs=1e-12)
    np.fill_diagonal(same, False)
    assert found.same_class == pytest.approx(correlations[same].mean(), abs=1e-12)


def test_a_class_of_one_row_has_no_pair():
    X = np.random.default_rng(0).normal(size=(4, 3))
    found = class_correlation(X, [0, 1, 1, 2])
    np.testing.assert_array_equal(np.isnan(found.means), np.diag([True, False, True]))
    assert found.same_class == found.means[1, 1]
    assert np.isnan(class_correlation(X[:2], [0, 1]).same_class)


def test_a_row_that_is_the_mean_correlates_with_nothing():
    X = np.array([[2.0, 0], [0, 0], [-2, 0], [0, 0], [0, 1], [0, -1]])
    found = class_correlation(X, [0, 0, 1, 1, 2, 2])
    np.testing.assert_allclose(found.means, [[0, -0.25, 0], [-0.25, 0, 0], [0, 0, -1]])


def stored(X, kind, folder):
    if kind == "memory map":
        np.save(folder / "rows.npy", X)
        return np.load(folder / "rows.npy", mmap_mode="r")
    return sp.csr_array(X) if kind == "csr" else np.asarray(X, dtype=kind)


@pytest.mark.parametrize("kind", ["float16", "float32", "int64", "memory map", "csr"])
def test_features_may_be_stored_in_any_way(kind, tmp_path):
    generator = np.random.default_rng(0)
    labels = generator.integers(-1, 5, 250)
    # Small integers are the same in every precision. So wide, rows come in four blocks.
    X = generator.integers(-9, 9, (250, 4096)) + labels[:, np.newaxis]
    found = class_correlation(stored(X, kind, tmp_path), labels)
    np.testing.assert_allclose(found.means, dense_means(X, labels), rtol=0, atol=1e-12)


def test_selected_rows_are_measured_where_they_are():
    generator = np.random.default_rng(0)
    X, labels, index = generator.normal(size=(60, 4)), np.arange(60) % 3, np.arange(59, 0, -2)
    found = class_correlation(SelectedRows(X, index), labels[index]).means
    np.testing.assert_array_equal(found, class_correlation(X[index], labels[index]).means)


def test_threads_change_nothing():
    X = np.random.default_rng(0).normal(size=(500, 4096))  # eight blocks
    one, three = (class_correlation(X, np.arange(500) % 3, n_jobs=n).means for n in (1, 3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("unlabelled", [0, 10])
def test_every_row_is_read_twice_and_no_more(unlabelled):
    labels = np.arange(1000) % 10
    labels[:unlabelled] = -1
    stored = CountedRows(np.random.default_rng(0).normal(size=(1000, 5)))
    class_correlation(SlicedRows(stored, 1), labels, n_jobs=1)
    # And a few rows once more, with those between them, to see how large they are.
    assert 2 * len(labels) <= stored.n_read < 2 * len(labels) + 2 * LOOK_ROWS


@pytest.mark.parametrize(
    ("labels", "n_classes", "message"),
    [
        ([0, 1, 1], None, r"labels has shape \(3,\) and dtype int64: pass 4 integers"),
        ([0, 1, 1, 3], 3, r"labels\[3\]=3 is out of range: there are 3 names"),
        ([0, 1, -2, 1], None, r"labels\[2\]=-2 is out of range: there are 2 names"),
        ([0, 0, 2, 2], None, "no row of class 1 .1 of 3 classes are empty"),
        ([0, 1, 0, 1], 3, "no row of class 2"),
        ([0, 0, 0, -1], None, "labels has rows of 1 class"),
        ([-1, -1, -1, -1], None, "labels has rows of 0 class"),
        ([0, 1, 1, 0], 2.5, "n_classes=2.5 is not allowed"),
        (["a", "b", "a", "b"], None, "labels has shape .4,. and dtype <U1: pass 4 integers"),
        ([[0], [1], [1], [0]], None, "labels has shape .4, 1."),
    ],
)
def test_labels_that_cannot_be_used(labels, n_classes, message):
    in_chunks = da.eye(4, chunks=2), da.from_array(np.array(labels), chunks=1)
    for rows, given_labels in ((np.eye(4), labels), in_chunks):
        with pytest.raises(ValueError, match=message):
            class_correlation(rows, given_labels, n_classes)


def test_too_many_classes_for_a_matrix_of_pairs_are_refused():
    for rows in (np.ones((20_001, 1)), da.ones((20_001, 1))):
        with pytest.raises(ValueError, match=r"has 20001 classes, too many for a matrix"):
            class_correlation(rows, np.arange(20_001))


def test_features_that_cannot_be_used():
    X = np.eye(4)
    X[2, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN at row 2, column 1"):
        class_correlation(X, [0, 1, 0, 1])
    for bad, reason in (
        (X[0], "Expected 2D array"),
        ([[{}]] * 4, "must be a string or a real number"),
    ):
        with pytest.raises(ValueError, match=f"(?s)X cannot be read as features .*{reason}"):
            class_correlation(bad, [0, 1, 0, 1])
    for bad, reason in (
        ([["0.5"]] * 4, "text"),
        (X * 1j, "complex numbers"),
        (np.eye(4).astype("M8[D]"), "dates"),
    ):
        with pytest.raises(ValueError, match=f"X holds {reason}.* pass"):
            class_correlation(bad, [0, 1, 0, 1])
