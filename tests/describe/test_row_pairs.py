"""Statistics of pairs from moments are those of the N × N correlations."""

import numpy as np
import pytest
import zarr
from hypothesis import given
from labelled_rows import STORES, dense_correlations, in_two, labelled_rows, stored_as

from prepared import peak_bytes
from stored import memory_map
from twohot.describe import pair_statistics, row_pairs

CASES = ("same_class", "same_superclass", "elsewhere")


def dense_statistics(X, labels, superclass):
    """Return (number of pairs, mean, std) of the three cases, from all pairs of rows."""
    correlations, labels = dense_correlations(X, labels)
    groups = np.asarray(superclass)[labels]
    same_class = labels[:, np.newaxis] == labels
    same_superclass = groups[:, np.newaxis] == groups
    once = np.triu(np.ones_like(same_class), 1)
    masks = (same_class, same_superclass & ~same_class, ~same_superclass)
    chosen = [correlations[mask & once] for mask in masks]
    return [(c.size, c.mean() if c.size else np.nan, c.std() if c.size else np.nan) for c in chosen]


def check(found, X, labels, superclass):
    assert found.n_sampled is None
    for case, known in zip(CASES, dense_statistics(X, labels, superclass), strict=True):
        group = getattr(found, case)
        assert group.n_pairs == known[0]
        # A variance is rounded at 1e-16 times some of the pairs of other cases, a std at its root.
        expected = pytest.approx((known[1], known[2] ** 2), abs=1e-9, nan_ok=True)
        assert (group.mean, group.std**2) == expected


@given(labelled_rows())
def test_statistics_are_those_of_all_pairs_of_rows(drawn):
    X, labels, superclass = drawn
    check(pair_statistics(*drawn), *drawn)
    # Of so few rows in chunks none is left out.
    check(pair_statistics(in_two(X), in_two(labels), superclass), *drawn)


@pytest.mark.parametrize("kind", STORES)
def test_result_does_not_depend_on_the_store(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(row_pairs, "CHUNK_ENTRIES", 1)  # 64 rows, so some classes take two
    generator = np.random.default_rng(0)
    labels = generator.choice([-1, 0, 1, 2, 3], 300, p=[0.1, 0.1, 0.2, 0.3, 0.3])
    rows = generator.integers(-9, 9, (300, 7)) + labels[:, np.newaxis]
    superclass = [0, 1, 0, 1]
    found = pair_statistics(stored_as(kind, rows, tmp_path), labels, superclass)
    check(found, rows, labels, superclass)


def test_few_pairs_next_to_very_many_keep_their_statistics():
    # The pairs of two rows in a thousand are the difference of two nearly equal sums.
    generator = np.random.default_rng(0)
    labels = np.array([0] * 500 + [1] * 500 + [2, 2])
    X = generator.normal(size=(1002, 20)) + 3 * np.eye(20)[labels]
    for superclass in ([0, 0, 1], [0, 1, 0]):
        check(pair_statistics(X, labels, superclass), X, labels, superclass)


def test_row_equal_to_the_mean_has_correlation_zero():
    X = np.array([[2.0, 0], [0, 0], [-2, 0], [0, 0]])
    found = pair_statistics(X, [0, 0, 1, 1], [0, 1])
    assert (found.same_class.mean, found.same_class.std) == (0, 0)
    assert found.elsewhere.mean == pytest.approx(-0.25)
    assert found.elsewhere.std == pytest.approx(3**0.5 / 4)


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


@pytest.mark.parametrize(
    ("X", "superclass", "message"),
    [
        (np.eye(4), [0, 2], "numbers 2 superclasses from 0 to 2"),
        (np.eye(4), [0, 0, 1], "no row of class 2"),
        (np.eye(4), [0], "is out of range: there is 1 name"),
        # Refused before it is read.
        (np.full((4, 8193), np.nan), [0, 1], r"has 8193 features.*pass at most 8192.*TruncatedSVD"),
    ],
)
def test_rejects_superclasses_and_too_many_features(X, superclass, message):
    with pytest.raises(ValueError, match=message):
        pair_statistics(X, [0, 1, 0, 1], superclass)
