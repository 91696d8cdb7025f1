"""Statistics of pairs from moments are those of the N × N correlations."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from labelled_rows import dense_correlations, labelled_rows

from prepared import peak_bytes
from twohot.describe import pair_statistics
from twohot.describe import row_pairs as pairs

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


def check(X, labels, superclass, *, tolerance=1e-9):
    found = pair_statistics(X, labels, superclass)
    for case, known in zip(CASES, dense_statistics(X, labels, superclass), strict=True):
        group = getattr(found, case)
        assert group.n_pairs == known[0]
        # A variance is rounded at 1e-16 times some of the pairs of other cases, a std at its root.
        assert (group.mean, group.std**2) == pytest.approx(
            (known[1], known[2] ** 2), abs=tolerance, nan_ok=True
        )


@given(labelled_rows())
def test_statistics_are_those_of_all_pairs_of_rows(drawn):
    check(*drawn)


@pytest.mark.parametrize("kind", ["float16", "float32", "memory map", "csr"])
def test_features_are_read_in_chunks_however_they_are_stored(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "CHUNK_ENTRIES", 1)  # 64 rows, so some classes take two
    generator = np.random.default_rng(0)
    labels = generator.choice([-1, 0, 1, 2, 3], 300, p=[0.1, 0.1, 0.2, 0.3, 0.3])
    # Small integers are the same in every precision.
    rows = generator.integers(-9, 9, (300, 7)) + labels[:, np.newaxis]
    if kind == "memory map":
        np.save(tmp_path / "rows.npy", rows.astype(np.float32))
        X = np.load(tmp_path / "rows.npy", mmap_mode="r")
    else:
        X = sp.csr_array(rows.astype(float)) if kind == "csr" else rows.astype(kind)
    check(X, labels, [0, 1, 0, 1])


def test_few_pairs_beside_very_many_keep_their_statistics():
    # Two rows stand against a thousand: their pairs are what is left of two nearly equal sums.
    generator = np.random.default_rng(0)
    labels = np.array([0] * 500 + [1] * 500 + [2, 2])
    X = generator.normal(size=(1002, 20)) + 3 * np.eye(20)[labels]
    check(X, labels, [0, 0, 1])
    check(X, labels, [0, 1, 0])


def test_rows_at_the_mean_correlate_with_nothing():
    X = np.array([[2.0, 0], [0, 0], [-2, 0], [0, 0]])
    found = pair_statistics(X, [0, 0, 1, 1], [0, 1])
    assert (found.same_class.mean, found.same_class.std) == (0, 0)
    assert found.elsewhere.mean == pytest.approx(-0.25)
    assert found.elsewhere.std == pytest.approx(3**0.5 / 4)


def test_what_is_held_is_three_moments_and_a_chunk():
    n_rows, n_features = 60_000, 256
    X = np.random.default_rng(0).normal(size=(n_rows, n_features)).astype(np.float32)
    moments = 3 * 8 * n_features**2  # 1.6 MB
    # The blocks of the first pass, and some chunks of 16 MB; X in float64 would take 123 MB.
    labels, superclass = np.arange(n_rows) % 10, np.arange(10) % 3
    peak = peak_bytes(lambda: pair_statistics(X, labels, superclass))
    assert moments < peak < moments + 6e7


@pytest.mark.parametrize(
    ("superclass", "message"),
    [
        ([0, 2], "numbers 2 superclasses from 0 to 2"),
        ([0, 0, 1], "no row of class 2"),
        ([0], "is out of range: there is 1 name"),
    ],
)
def test_superclasses_that_cannot_be_used(superclass, message):
    with pytest.raises(ValueError, match=message):
        pair_statistics(np.eye(4), [0, 1, 0, 1], superclass)


def test_too_many_features_are_refused_before_they_are_read():
    with pytest.raises(ValueError, match=r"X has 8193 features.*pass at most 8192.*TruncatedSVD"):
        pair_statistics(np.full((4, 8193), np.nan), [0, 1, 0, 1], [0, 1])
