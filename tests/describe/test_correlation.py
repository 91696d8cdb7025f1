"""Class correlations agree with those of all pairs of rows."""

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from labelled_rows import STORES, dense_correlations, in_two, labelled_rows, stored_as

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
    for found in (
        class_correlation(X, labels, n_jobs=1),
        class_correlation(in_two(X), in_two(labels)),
    ):
        np.testing.assert_allclose(found.means, dense_means(X, labels), rtol=0, atol=1e-12)
        np.testing.assert_array_equal(found.class_sizes, np.bincount(labels[labels >= 0]))
        between = ~np.eye(found.n_classes, dtype=bool)
        products = found.class_means @ found.class_means.T
        np.testing.assert_allclose(products[between], found.means[between], atol=1e-12)


@given(labelled_rows(min_size=2))
def test_overall_means_are_over_pairs_of_rows_not_over_classes(drawn):
    X, labels, _ = drawn
    found = class_correlation(X, labels, n_jobs=1)
    correlations, labels = dense_correlations(X, labels)
    same = labels[:, np.newaxis] == labels
    assert found.other_class == pytest.approx(correlations[~same].mean(), abs=1e-12)
    np.fill_diagonal(same, False)
    assert found.same_class == pytest.approx(correlations[same].mean(), abs=1e-12)


def test_class_of_one_row_has_no_pair():
    X = np.random.default_rng(0).normal(size=(4, 3))
    found = class_correlation(X, [0, 1, 1, 2])
    np.testing.assert_array_equal(np.isnan(found.means), np.diag([True, False, True]))
    assert found.same_class == found.means[1, 1]
    assert np.isnan(class_correlation(X[:2], [0, 1]).same_class)


def test_row_equal_to_the_mean_has_correlation_zero():
    X = np.array([[2.0, 0], [0, 0], [-2, 0], [0, 0], [0, 1], [0, -1]])
    found = class_correlation(X, [0, 0, 1, 1, 2, 2])
    np.testing.assert_allclose(found.means, [[0, -0.25, 0], [-0.25, 0, 0], [0, 0, -1]])


@pytest.mark.parametrize("kind", STORES)
def test_result_does_not_depend_on_the_store(kind, tmp_path):
    generator = np.random.default_rng(0)
    labels = generator.integers(-1, 5, 250)
    # So wide that rows come in four blocks.
    X = generator.integers(-9, 9, (250, 4096)) + labels[:, np.newaxis]
    found = class_correlation(stored_as(kind, X, tmp_path), labels)
    np.testing.assert_allclose(found.means, dense_means(X, labels), rtol=0, atol=1e-12)


def test_result_does_not_depend_on_selection_or_threads():
    X, labels = np.random.default_rng(0).normal(size=(500, 4096)), np.arange(500) % 3
    one, three = (class_correlation(X, labels, n_jobs=n).means for n in (1, 3))
    np.testing.assert_array_equal(one, three)
    index = np.arange(499, 0, -2)
    found = class_correlation(SelectedRows(X, index), labels[index]).means
    np.testing.assert_array_equal(found, class_correlation(X[index], labels[index]).means)


class CountedRows:
    """A store that counts how many of its rows were read."""

    def __init__(self, rows):
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype
        self.n_read = 0

    def __getitem__(self, part):
        self.n_read += len(self.rows[part])
        return self.rows[part]


@pytest.mark.parametrize("unlabelled", [0, 10])
def test_every_row_is_read_twice(unlabelled):
    labels = np.arange(1000) % 10
    labels[:unlabelled] = -1
    stored = CountedRows(np.random.default_rng(0).normal(size=(1000, 5)))
    class_correlation(SlicedRows(stored, 1), labels, n_jobs=1)
    # A few rows are read once more, to measure their size.
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
def test_rejects_labels(labels, n_classes, message):
    in_chunks = da.eye(4, chunks=2), da.from_array(np.array(labels), chunks=1)
    for rows, given_labels in ((np.eye(4), labels), in_chunks):
        with pytest.raises(ValueError, match=message):
            class_correlation(rows, given_labels, n_classes)


def test_rejects_too_many_classes_for_a_matrix_of_pairs():
    for rows in (np.ones((20_001, 1)), da.ones((20_001, 1))):
        with pytest.raises(ValueError, match=r"has 20001 classes, too many for a matrix"):
            class_correlation(rows, np.arange(20_001))


WITH_NAN = np.where(np.arange(16).reshape(4, 4) == 9, np.nan, np.eye(4))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (WITH_NAN, "X contains NaN at row 2, column 1"),
        (in_two(WITH_NAN), "X contains NaN at row 2, column 1"),
        (np.ones(4), r"X has shape \(4,\): pass rows of features"),
        (in_two(np.ones(4)), "X has 1 dimension"),
        ([[{}]] * 4, "X cannot be read as features .*must be a string or a real number"),
        ([["0.5"]] * 4, "X holds text.* pass"),
        (np.eye(4) * 1j, "X holds complex numbers.* pass"),
        (in_two(np.eye(4) * 1j), "X has dtype complex128: pass real numbers"),
        (np.eye(4).astype("M8[D]"), "X holds dates.* pass"),
    ],
)
def test_rejects_features(X, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        class_correlation(X, [0, 1, 0, 1])
