"""Folds depend only on the content of rows; groups of duplicates match a plain search."""

from collections import Counter

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from twohot.judge import folds as judge_folds
from twohot.judge.folds import assign_folds, distance_from_mean, duplicate_groups
from twohot.judge.nearest import ABSENT, COPY_DISTANCE
from twohot.rows.dask_chunks import open_chunks

seeds = st.integers(0, 2**32)
few = settings(max_examples=30, deadline=None)


def rows_and_codes(seed, n_rows=60, n_classes=4):
    """Return rows, and classes of very different sizes; some rows have no label."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 3)) + generator.normal(size=3)
    codes = (generator.uniform(size=n_rows) ** 2 * (n_classes + 1)).astype(int) - 1
    return X, codes, generator


def folds_of(X, codes, n_folds=5, **options):
    key = distance_from_mean(X, codes, n_jobs=1)
    return assign_folds(key, codes, n_folds, random_state=0, **options)


# Distances


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_distances_match_plain_sums_in_every_container(dtype, tmp_path) -> None:
    X = (np.random.default_rng(0).normal(2, 1, (700, 6)) * (np.arange(6) != 3)).astype(dtype)
    wide = X.astype(np.float64)
    expected = ((wide - wide.mean(axis=0)) ** 2).sum(axis=1)
    path = tmp_path / "rows.npy"
    np.save(path, X)
    stored = [X, np.load(path, mmap_mode="r"), open_chunks(da.from_array(X, chunks=(300, -1)))]
    if dtype != np.float16:
        stored.append(sp.csr_array(X))
    for container in stored:
        np.testing.assert_allclose(distance_from_mean(container, n_jobs=2), expected, rtol=1e-12)


@few
@given(seeds, st.integers(-40, 40), st.floats(-1e6, 1e6))
def test_distances_ignore_order_unit_and_constant_columns(seed, exponent, constant) -> None:
    X, _, generator = rows_and_codes(seed)
    distances = distance_from_mean(X, n_jobs=1)
    moved = generator.permutation(len(X))
    np.testing.assert_allclose(distance_from_mean(X[moved], n_jobs=1), distances[moved], rtol=1e-9)
    wider = np.insert(X, 1, constant, axis=1)
    np.testing.assert_allclose(distance_from_mean(wider, n_jobs=1), distances, rtol=1e-9)
    scaled = distance_from_mean(np.ldexp(X, exponent), n_jobs=1)
    np.testing.assert_array_equal(scaled, np.ldexp(distances, 2 * exponent))


# Folds


@few
@given(seeds, st.integers(2, 7), st.integers(-40, 40))
def test_folds_depend_only_on_content(seed, n_folds, exponent) -> None:
    X, codes, generator = rows_and_codes(seed)
    groups = generator.integers(0, 50, len(codes))
    for chosen in (None, groups):
        folds = folds_of(X, codes, n_folds, groups=chosen)
        moved, renamed = generator.permutation(len(codes)), np.append(generator.permutation(9), -1)
        moved_groups = None if chosen is None else chosen[moved]
        again = folds_of(X[moved], renamed[codes[moved]], n_folds, groups=moved_groups)
        np.testing.assert_array_equal(again, folds[moved])
        scaled = folds_of(np.ldexp(X, exponent), codes, n_folds, groups=chosen)
        np.testing.assert_array_equal(scaled, folds)
        wider = folds_of(np.insert(X, 0, 3.7, axis=1), codes, n_folds, groups=chosen)
        np.testing.assert_array_equal(wider, folds)
        # More rows without a label: one is in a group of other rows, two are not.
        more = np.vstack([X, 9 * X[:3]])
        more_groups = None if chosen is None else np.append(chosen, [chosen[0], 98, 99])
        unlabelled = folds_of(more, np.append(codes, [-1] * 3), n_folds, groups=more_groups)
        np.testing.assert_array_equal(unlabelled, np.append(folds, [ABSENT] * 3))


@few
@given(seeds, st.integers(2, 7), st.integers(1, 40))
def test_folds_of_single_rows_have_equal_sizes(seed, n_folds, n_classes) -> None:
    X, codes, _ = rows_and_codes(seed, n_classes=n_classes)
    folds = folds_of(X, codes, n_folds)
    np.testing.assert_array_equal(folds == ABSENT, codes < 0)
    for of_class in (*(codes == k for k in range(n_classes)), codes >= 0):
        sizes = np.bincount(folds[of_class], minlength=n_folds)
        assert np.ptp(sizes) <= 1


def test_each_fold_has_near_and_far_rows() -> None:
    order, codes = np.random.default_rng(1).uniform(size=1000), np.zeros(1000, int)
    folds = assign_folds(order, codes, 5, random_state=3)
    by_order = folds[np.argsort(order)].reshape(200, 5)
    np.testing.assert_array_equal(np.sort(by_order, axis=1), np.tile(np.arange(5), (200, 1)))
    assert len(np.unique(by_order, axis=0)) > 60  # of 120 orders
    again = assign_folds(order, codes, 5, random_state=4)
    assert (again != folds).any()


@few
@given(seeds, st.integers(2, 6), st.integers(1, 60))
def test_groups_stay_in_one_fold_and_classes_do_not(seed, n_folds, n_groups) -> None:
    X, codes, generator = rows_and_codes(seed)
    groups = generator.integers(0, n_groups, len(codes))
    folds = folds_of(X, codes, n_folds, groups=groups)
    labelled = codes >= 0
    for group in range(n_groups):
        assert len(np.unique(folds[labelled & (groups == group)])) <= 1
    order = ((X - X[labelled].mean(axis=0)) ** 2).sum(axis=1)
    usual = Counter()
    for group in np.unique(groups[labelled]):
        rows = sorted(np.flatnonzero(labelled & (groups == group)), key=lambda i: order[i])
        # Of equally frequent classes, the first one counts.
        usual[Counter(codes[rows].tolist()).most_common(1)[0][0]] += 1
    for k, n_units in usual.items():
        assert n_units < 2 or len(np.unique(folds[codes == k])) > 1


def test_large_groups_are_balanced_by_single_rows() -> None:
    codes = np.zeros(20, int)
    groups = np.array([0] * 6 + [1] * 5 + [2] * 3 + list(range(3, 9)))
    folds = assign_folds(np.arange(1.0, 21.0), codes, 3, groups=groups, random_state=0)
    assert sorted(np.bincount(folds).tolist()) == [5, 7, 8]
    assert len({folds[0], folds[6], folds[11]}) == 3


@pytest.mark.parametrize(
    ("key", "codes", "sizes"),
    [
        (np.random.default_rng(0).uniform(size=40), np.arange(40), [8] * 5),
        (np.zeros(10), np.zeros(10, int), [2] * 5),
        (np.zeros(3), np.full(3, -1), []),
        (np.zeros(0), np.zeros(0, int), []),
    ],
    ids=["classes with one row", "identical rows", "no labels", "no rows"],
)
def test_special_rows_are_spread_evenly(key, codes, sizes) -> None:
    folds = assign_folds(key, codes, 5, random_state=0)
    assert np.bincount(folds[codes >= 0]).tolist() == sizes
    assert (folds[codes < 0] == ABSENT).all()


@pytest.mark.parametrize("n_groups", [2, 3, 7])
def test_few_groups_leave_no_fold_empty(n_groups):
    groups = np.arange(60) % n_groups
    key = np.random.default_rng(0).random(60)
    folds = assign_folds(key, groups % 2, 5, groups=groups, random_state=0)
    assert np.unique(folds).tolist() == list(range(min(5, n_groups)))
    assert all(len(np.unique(folds[groups == group])) == 1 for group in range(n_groups))


@few
@given(seeds)
def test_keys_equal_up_to_rounding_share_a_rank(seed) -> None:
    generator = np.random.default_rng(seed)
    codes, key = generator.integers(0, 3, 50), generator.integers(1, 4, 50).astype(float)
    # Another order of the same sums changes the last digits.
    rounded = key * (1 + 1e-14 * generator.normal(size=50))
    folds, again = (assign_folds(each, codes, 4, random_state=0) for each in (key, rounded))
    np.testing.assert_array_equal(again, folds)


def test_copies_with_different_labels_share_a_fold() -> None:
    generator = np.random.default_rng(0)
    order, codes = generator.uniform(size=40), np.arange(40) % 2
    order[1::2] = order[::2]  # pairs of copies, one label each
    groups = np.arange(40) // 2
    folds = assign_folds(order, codes, 5, groups=groups, random_state=0)
    moved = generator.permutation(40)
    again = assign_folds(order[moved], codes[moved], 5, groups=groups[moved], random_state=0)
    np.testing.assert_array_equal(again, folds[moved])
    assert np.bincount(folds).tolist() == [8] * 5


# Duplicates


def unit(X):
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def partition(groups):
    return {frozenset(np.flatnonzero(groups == g).tolist()) for g in np.unique(groups)}


def slow_groups(points):
    """Return groups of near rows, merged pair by pair."""
    distinct = np.unique(points, axis=0).astype(float)
    gaps = np.linalg.norm(distinct[:, None] - distinct, axis=2)
    near = COPY_DISTANCE * np.median(np.sort(gaps, axis=1)[:, 10])  # the first is the row itself
    label = np.arange(len(points))
    gaps = np.linalg.norm(points[:, None].astype(float) - points, axis=2)
    for i, j in np.argwhere(gaps <= near):
        label[label == label[j]] = label[i]
    return label


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_duplicates_match_a_plain_loop(seed) -> None:
    generator = np.random.default_rng(seed)
    points = unit(generator.normal(size=(80, 20)))
    points[generator.integers(0, 80, 10)] = points[0]
    points[1:4] = unit(points[[5]] + 1e-3 * generator.normal(size=(3, 20)))
    groups, _ = duplicate_groups(points, n_jobs=1)
    assert partition(groups) == partition(slow_groups(points))
    assert groups.max() + 1 == len(np.unique(groups)) < 80
    moved = generator.permutation(80)
    again, _ = duplicate_groups(points[moved], n_jobs=1)
    assert partition(again[np.argsort(moved)]) == partition(groups)


def test_many_copies_of_one_row_do_not_affect_other_rows(monkeypatch) -> None:
    points = unit(np.random.default_rng(0).normal(size=(300, 12)))
    many = np.vstack([points, np.tile(points[3], (5000, 1))])
    searched = []

    def counted(rows, k, **options):
        searched.append(len(rows))
        return nearest_rows(rows, k, **options)

    nearest_rows = judge_folds.nearest_rows
    monkeypatch.setattr(judge_folds, "nearest_rows", counted)
    groups, _ = duplicate_groups(many, n_jobs=1)
    expected = np.append(np.arange(300), np.full(5000, 3))
    np.testing.assert_array_equal(groups, expected)
    assert searched == [300]


@pytest.mark.parametrize("n_rows", [0, 1, 2, 3])
def test_few_rows_are_copies_only_if_equal(n_rows) -> None:
    points = np.eye(3, dtype=np.float32)[:n_rows]
    assert duplicate_groups(points, n_jobs=1)[0].tolist() == list(range(n_rows))
    negative = np.where(points == 0, np.float32(-0.0), points)
    twice = np.concatenate([points, negative])
    assert duplicate_groups(twice, n_jobs=1)[0].tolist() == [*range(n_rows)] * 2
