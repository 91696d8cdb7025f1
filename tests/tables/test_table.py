"""A table holds together, and its parts can be taken out."""

import numpy as np
import pytest

from twohot.tables import FeatureTable

GOOD = {
    "features": np.arange(8.0).reshape(4, 2),
    "labels": np.array([1, -1, 0, 1]),
    "classes": ("cat", "dog"),
    "superclass": np.array([0, 0]),
    "superclass_names": ("pet",),
    "split": np.array([0, 1, 0, 1]),
    "split_names": ("train", "test"),
    "items": ["a", "b", "c", "d"],
    "true_labels": np.array([1, 1, 0, 0]),
}


def test_labels_by_name_and_as_codes():
    table = FeatureTable(**GOOD)
    assert table.given_labels.tolist() == ["dog", None, "cat", "dog"]
    assert table.coded.codes.tolist() == [1, -1, 0, 1]
    assert table.coded.classes.tolist() == ["cat", "dog"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([2, 0], [2, 0]), ([True, False, False, True], [0, 3]), ([1, 2], [1, 2]), ([-1], [3])],
)
def test_taking_rows_takes_all_of_them(rows, expected):
    table = FeatureTable(**GOOD).take(rows)
    for name in ("features", "labels", "split", "true_labels"):
        np.testing.assert_array_equal(getattr(table, name), GOOD[name][expected])
    assert list(table.items) == [GOOD["items"][row] for row in expected]
    assert table.classes == GOOD["classes"]


def test_rows_that_follow_each_other_are_not_copied():
    table = FeatureTable(**GOOD)
    assert np.shares_memory(table.take([1, 2, 3]).features, table.features)
    assert table.take([1, 3]).features.X is table.features
    assert table.take([]).n_rows == 0


def test_rows_of_a_split():
    table = FeatureTable(**GOOD)
    assert table.rows_of_split("test").tolist() == [1, 3]
    with pytest.raises(ValueError, match="split='val' is not in this table, which has 'train'"):
        table.rows_of_split("val")
    # By default the rows to train on, and "all" is every row.
    assert table.rows_of_split().tolist() == [0, 2]
    assert table.rows_of_split("all").tolist() == [0, 1, 2, 3]
    odd = FeatureTable(**(GOOD | {"split_names": ("all", "test")}))
    assert odd.rows_of_split("all").tolist() == [0, 2]
    assert odd.rows_of_split().tolist() == [0, 1, 2, 3]
    bare = FeatureTable(features=GOOD["features"], labels=GOOD["labels"], classes=GOOD["classes"])
    with pytest.raises(ValueError, match="split='train' is not in this table, which has no splits"):
        bare.rows_of_split("train")
    assert bare.rows_of_split().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.zeros(4)}, r"features has shape \(4,\): pass one row of features per"),
        ({"labels": np.zeros(3, int)}, r"labels has shape \(3,\) .* pass 4 integers"),
        ({"labels": np.zeros(4)}, r"labels has shape \(4,\) and dtype float64: pass 4 integers"),
        ({"labels": np.array([0, 2, 0, 0])}, r"labels\[1\]=2 names nothing: there are 2 names"),
        ({"labels": np.array([0, 0, -2, 0])}, r"labels\[2\]=-2 .* integers from -1 to 1"),
        ({"true_labels": np.array([0, 0, 0, 5])}, r"true_labels\[3\]=5 names nothing"),
        ({"superclass": np.array([0, 1])}, r"superclass\[1\]=1 names nothing: there is 1 name"),
        ({"superclass": np.array([0])}, r"superclass has shape \(1,\) .* pass 2 integers"),
        ({"split": np.array([0, 0, 0, -1])}, r"split\[3\]=-1 names nothing"),
        ({"items": ["a"]}, r"items has 1 entry for 4 rows"),
        ({"classes": ("cat", "cat")}, r"classes holds 'cat' twice: pass each name once"),
        ({"classes": "ab"}, r"classes='ab' is not allowed: pass a tuple of strings"),
        ({"classes": (0, 1)}, r"classes=\(0, 1\) is not allowed: pass a tuple of strings"),
        ({"split_names": ("a", "a")}, r"split_names holds 'a' twice"),
        ({"superclass_names": (1,)}, r"superclass_names=\(1,\) is not allowed"),
    ],
)
def test_parts_that_do_not_fit_together(change, message):
    with pytest.raises(ValueError, match=message):
        FeatureTable(**(GOOD | change))
