"""Which rows are left out: sizes by default, and anything that names them."""

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneGroupOut, ShuffleSplit, StratifiedKFold

from twohot.select.splits import choose_splits

LABELS = np.arange(30) % 3


def split(cv, labels=LABELS, weights=None, random_state=0):
    return choose_splits(cv, labels, weights, random_state)


def assert_partition(fitted, left_out, rows):
    np.testing.assert_array_equal(np.sort(np.concatenate([fitted, left_out])), rows)


@pytest.mark.parametrize(
    ("n_rows", "n_splits", "left_out"),
    [
        (2, 2, 1),
        (4, 4, 1),
        (30, 5, 6),
        (1_000, 5, 200),
        (2_000, 5, 400),
        (5_000, 2, 1_000),
        # A third, where that is enough.
        (6_000, 1, 2_000),
        (12_000, 1, 4_000),
        (60_000, 1, 8_334),
    ],
)
def test_default_splits_leave_a_part_out_until_enough_rows_are_judged(n_rows, n_splits, left_out):
    splits = split(None, np.zeros(n_rows, dtype=int))
    assert [len(rows) for _, rows in splits] == [left_out] * n_splits
    for fitted, rows in splits:
        together = np.concatenate([fitted, rows])
        assert len(np.unique(together)) == len(together) == min(n_rows, 25_000)
        assert np.all(np.diff(fitted) > 0)
        assert np.all(np.diff(rows) > 0)
    judged = np.concatenate([rows for _, rows in splits])
    assert len(np.unique(judged)) == len(judged)


@pytest.mark.parametrize(("n_classes", "n_splits"), [(50, 1), (51, 2)])
def test_a_third_is_left_out_where_classes_have_rows_enough(n_classes, n_splits):
    splits = split(None, np.arange(6_000) % n_classes)
    assert len(splits) == n_splits


@pytest.mark.parametrize("cv", [None, 3])
def test_the_same_state_gives_the_same_splits(cv):
    one, same, other = (split(cv, random_state=state) for state in (7, 7, 8))
    np.testing.assert_array_equal(one[0][1], same[0][1])
    assert not np.array_equal(one[0][1], other[0][1])
    generator = np.random.default_rng(7)
    np.testing.assert_array_equal(split(cv, random_state=generator)[0][1], one[0][1])


def test_rows_without_weight_are_as_good_as_absent():
    weights = (np.arange(30) % 2).astype(float)
    present = np.flatnonzero(weights)
    expected = split(None, LABELS[present])
    for (fitted, rows), pair in zip(split(None, weights=weights), expected, strict=True):
        np.testing.assert_array_equal(fitted, present[pair[0]])
        np.testing.assert_array_equal(rows, present[pair[1]])


def test_a_number_of_folds():
    splits = split(3)
    assert len(splits) == 3
    for fitted, rows in splits:
        assert_partition(fitted, rows, np.arange(30))
    assert sorted(np.concatenate([rows for _, rows in splits]).tolist()) == list(range(30))
    assert len(split(np.int64(30))) == 30


@pytest.mark.parametrize("splitter", [StratifiedKFold(5), ShuffleSplit(2, random_state=0)])
def test_a_splitter_sees_the_labels(splitter):
    expected = list(splitter.split(np.zeros((30, 1)), LABELS))
    for found, pair in zip(split(splitter), expected, strict=True):
        np.testing.assert_array_equal(found[0], pair[0])
        np.testing.assert_array_equal(found[1], pair[1])


def test_pairs_may_be_numbers_masks_or_come_from_a_generator():
    out = np.arange(30) < 7
    numbers = (np.flatnonzero(~out).tolist(), np.flatnonzero(out))
    for cv in ([numbers], ((~out, out),), (pair for pair in [numbers]), [(numbers[0], range(7))]):
        ((fitted, rows),) = split(cv)
        np.testing.assert_array_equal(fitted, np.arange(7, 30))
        np.testing.assert_array_equal(rows, np.arange(7))
    ((_, rows),) = split([(np.arange(29), -1)])
    assert rows.tolist() == [29]


@pytest.mark.parametrize("cv", ["stratified", True, 2.5, object()])
def test_what_is_no_way_to_split_is_refused(cv):
    with pytest.raises(ValueError, match=r"cv=.* is not allowed: pass None, a number of folds, a"):
        split(cv)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, r"cv=1 is not allowed: pass an integer of at least 2"),
        (31, r"cv=31 is more than 30 rows: pass at most 30 folds"),
        ([], r"cv has no splits.*: pass at least one pair"),
        ([([0, 1], [30])], r"no pair of rows .*as numbers from 0 to 29 or as masks"),
        ([([0, 1], [2.5])], r"no pair of rows"),
        ([([0, 1], [2], [3])], r"no pair of rows"),
        ([3], r"no pair of rows"),
        ([([True, False], [2])], r"no pair of rows"),
        ([(np.arange(3), np.array([], int))], r"without rows, or without weight, on one side"),
        ([(np.zeros(30, bool), np.ones(30, bool))], r"without rows, or without weight"),
    ],
)
def test_bad_splits_are_refused_with_what_to_do(cv, message):
    with pytest.raises(ValueError, match=message):
        split(cv)


def test_a_side_without_weight_is_refused():
    weights = np.ones(30)
    weights[:5] = 0
    pairs = [(np.arange(5, 30), np.arange(5))]
    assert len(split(pairs)) == 1
    with pytest.raises(ValueError, match=r"without weight, on one side: .* rows that count"):
        split(pairs, weights=weights)
    with pytest.raises(ValueError, match="sample_weight leaves one row only: pass weights for"):
        split(None, weights=np.eye(30)[3])


def test_errors_of_a_splitter_are_its_own():
    with pytest.raises(ValueError, match="groups"):
        split(LeaveOneGroupOut())


def test_a_state_that_seeds_nothing_is_refused():
    with pytest.raises(ValueError, match="random_state='a' seeds nothing"):
        split(None, random_state="a")


def test_default_splits_have_every_label_in_every_part_alike():
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [500, 43, 7]))
    sizes = np.bincount(labels)
    for fitted, rows in split(None, labels):
        shares = np.bincount(labels[rows], minlength=3)
        assert np.all(np.abs(shares - sizes / 5) < 1.5)
        np.testing.assert_array_equal(np.bincount(labels[fitted]), sizes - shares)


def test_named_rows_without_weight_are_left_out():
    weights = (np.arange(30) % 3 > 0).astype(float)
    ((fitted, rows),) = split([(np.arange(20), np.arange(20, 30))], weights=weights)
    np.testing.assert_array_equal(fitted, [k for k in range(20) if k % 3])
    np.testing.assert_array_equal(rows, [k for k in range(20, 30) if k % 3])
