"""Class correlations and statistics of pairs are those of the N × N correlations of rows."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given
from hypothesis import strategies as st

from prepared import peak_bytes
from stored import memory_map
from twohot.describe import class_correlation, pair_statistics, row_pairs
from twohot.rows.open import LOOK_ROWS
from twohot.rows.selected import SelectedRows
from twohot.rows.stored import SlicedRows

CASES = ("same_class", "same_superclass", "elsewhere")


@st.composite
def labelled_rows(draw):
    """Draw features, labels (some -1) of classes that all have a row, and superclasses."""
    n_classes = draw(st.integers(2, 6))
    sizes = draw(st.lists(st.integers(1, 5), min_size=n_classes, max_size=n_classes))
    n_unlabelled = draw(st.integers(0, 3))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = np.concatenate([np.repeat(np.arange(n_classes), sizes), np.full(n_unlabelled, -1)])
    generator.shuffle(labels)
    X = generator.normal(size=(len(labels), draw(st.integers(3, 6)))) + 0.5 * labels[:, np.newaxis]
    superclass = generator.integers(0, draw(st.integers(1, n_classes)), n_classes)
    return X, labels, np.unique(superclass, return_inverse=True)[1]


def in_two(values):
    """Return values in two chunks of Dask, the first of which has one row."""
    return da.from_array(values, chunks=((1, len(values) - 1), *((-1,) * (values.ndim - 1))))


def pairs_of(X, labels, superclass):
    """Return the correlations of all pairs of rows with a label, and masks of the three cases."""
    rows = X[labels >= 0].astype(np.float64)
    rows = rows - rows.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = labels[labels >= 0]
    groups = np.asarray(superclass)[labels]
    same_class = labels[:, np.newaxis] == labels
    near = groups[:, np.newaxis] == groups
    masks = (same_class & ~np.eye(len(labels), dtype=bool), near & ~same_class, ~near)
    return rows @ rows.T, labels, masks


def mean(values):
    return values.mean() if values.size else np.nan


def check_correlation(found, X, labels):
    correlations, labels, (same, other, _) = pairs_of(X, labels, np.zeros(labels.max() + 1, int))
    expected = np.empty(found.means.shape)
    for a, b in np.ndindex(expected.shape):
        rows = (labels[:, np.newaxis] == a) & (labels == b) & ~np.eye(len(labels), dtype=bool)
        expected[a, b] = mean(correlations[rows])
    np.testing.assert_allclose(found.means, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.class_sizes, np.bincount(labels))
    between = ~np.eye(found.n_classes, dtype=bool)
    products = found.class_means @ found.class_means.T
    np.testing.assert_allclose(products[between], found.means[between], atol=1e-12)
    # The overall means are over pairs of rows, not over classes.
    overall = pytest.approx((mean(correlations[same]), correlations[other].mean()), nan_ok=True)
    assert (found.same_class, found.other_class) == overall


def check_pairs(found, X, labels, superclass):
    assert found.n_sampled is None
    correlations, _, masks = pairs_of(X, labels, superclass)
    for case, mask in zip(CASES, masks, strict=True):
        group, values = getattr(found, case), correlations[mask]
        assert group.n_pairs == values.size // 2
        # A variance is rounded at 1e-16 times some of the pairs of other cases, a std at its root.
        known = mean(values), values.var() if values.size else np.nan
        assert (group.mean, group.std**2) == pytest.approx(known, abs=1e-9, nan_ok=True)


@given(labelled_rows())
def test_statistics_are_those_of_all_pairs_of_rows(drawn):
    X, labels, superclass = drawn
    check_correlation(class_correlation(X, labels, n_jobs=1), X, labels)
    check_correlation(class_correlation(in_two(X), in_two(labels)), X, labels)
    check_pairs(pair_statistics(*drawn), *drawn)
    # Of so few rows in chunks none is left out.
    check_pairs(pair_statistics(in_two(X), in_two(labels), superclass), *drawn)


STORES = {
    "float16": lambda X, _: X.astype(np.float16),
    "float32": lambda X, _: X.astype(np.float32),
    "int64": lambda X, _: X,
    "memory map": lambda X, folder: memory_map(X.astype(np.float32), folder),
    "csr": lambda X, _: sp.csr_array(X.astype(float)),
}


@pytest.mark.parametrize("kind", STORES)
def test_result_does_not_depend_on_the_store(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(row_pairs, "CHUNK_ENTRIES", 1)  # 64 rows, so some classes take two
    generator = np.random.default_rng(0)
    labels = generator.choice([-1, 0, 1, 2, 3], 300, p=[0.1, 0.1, 0.2, 0.3, 0.3])
    # Small integers are the same in every precision. Wide rows come in several blocks.
    X = generator.integers(-9, 9, (300, 4096)) + labels[:, np.newaxis]
    check_correlation(class_correlation(STORES[kind](X, tmp_path), labels), X, labels)
    few = X[:, :7]
    found = pair_statistics(STORES[kind](few, tmp_path), labels, [0, 1, 0, 1])
    check_pairs(found, few, labels, [0, 1, 0, 1])


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
    pairs = pair_statistics(X[:4], [0, 0, 1, 1], [0, 1])
    assert (pairs.same_class.mean, pairs.same_class.std) == (0, 0)
    assert (pairs.elsewhere.mean, pairs.elsewhere.std) == pytest.approx((-0.25, 3**0.5 / 4))


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


def test_few_pairs_next_to_very_many_keep_their_statistics():
    # The pairs of two rows in a thousand are the difference of two nearly equal sums.
    labels = np.array([0] * 500 + [1] * 500 + [2, 2])
    X = np.random.default_rng(0).normal(size=(1002, 20)) + 3 * np.eye(20)[labels]
    for superclass in ([0, 0, 1], [0, 1, 0]):
        check_pairs(pair_statistics(X, labels, superclass), X, labels, superclass)


def test_rows_in_parts_have_exact_means_and_the_spread_of_a_sample(tmp_path):
    generator = np.random.default_rng(0)
    labels, superclass = generator.integers(-1, 12, 60_000), np.arange(12) % 3
    X = (generator.normal(size=(13, 5))[labels] + generator.normal(size=(60_000, 5))).astype("f4")
    exact = pair_statistics(memory_map(X, tmp_path), labels, superclass)
    assert exact.n_sampled is None
    found = pair_statistics(in_two(X), in_two(labels), superclass)
    stored = zarr.create_array(tmp_path / "rows.zarr", data=X, chunks=(10_000, 5))
    in_parts = pair_statistics(stored, labels, superclass)
    assert found.n_sampled == in_parts.n_sampled == row_pairs.PAIR_ROWS
    for case in CASES:
        one, other = getattr(found, case), getattr(exact, case)
        assert one.n_pairs == other.n_pairs
        assert one.mean == pytest.approx(other.mean, abs=1e-12)
        assert one.std != other.std
        assert one.std == pytest.approx(other.std, rel=0.01)
        assert one.std == pytest.approx(getattr(in_parts, case).std)  # the same sample


def test_memory_holds_three_moments_and_a_chunk():
    n_rows, n_features = 60_000, 256
    X = np.random.default_rng(0).normal(size=(n_rows, n_features)).astype(np.float32)
    moments = 3 * 8 * n_features**2  # 1.6 MB
    # The blocks of the first pass, and some chunks of 16 MB; X in float64 would take 123 MB.
    labels, superclass = np.arange(n_rows) % 10, np.arange(10) % 3
    peak = peak_bytes(lambda: pair_statistics(X, labels, superclass))
    assert moments < peak < moments + 6e7
