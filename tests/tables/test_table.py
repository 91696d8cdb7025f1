"""A table holds together, and its parts can be taken out."""

import numpy as np
import pytest
from whole_table import GOOD

from twohot.tables import FeatureTable


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
