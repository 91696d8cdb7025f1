"""The parts of a table belong together, and labels are coded by the names of classes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from whole_table import GOOD

from twohot.base.labels import order_key
from twohot.tables import FeatureTable
from twohot.tables.label_file import with_used_classes
from twohot.tables.table import code_by_name, code_given_and_true

TABLE = FeatureTable(**GOOD)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([2, 0], [2, 0]), ([True, False, False, True], [0, 3]), ([1, 2], [1, 2]), ([-1], [3])],
)
def test_taking_rows_takes_all_parts(rows, expected):
    taken = TABLE.take(rows)
    for name in ("features", "labels", "split", "true_labels"):
        np.testing.assert_array_equal(getattr(taken, name), GOOD[name][expected])
    assert list(taken.items) == [GOOD["items"][row] for row in expected]
    assert taken.classes == GOOD["classes"]


def test_consecutive_rows_are_not_copied():
    assert np.shares_memory(TABLE.take([1, 2, 3]).features, TABLE.features)
    assert TABLE.take([1, 3]).features.X is TABLE.features
    assert TABLE.take([]).n_rows == 0


def test_rows_of_a_split():
    # By default the rows for training; "all" means every row, unless a split has this name.
    odd = replace(TABLE, split_names=("all", "test"))
    bare = replace(TABLE, split=None, split_names=())
    for table, split, rows in (
        (TABLE, "test", [1, 3]),
        (TABLE, None, [0, 2]),
        (TABLE, "all", [0, 1, 2, 3]),
        (odd, "all", [0, 2]),
        (odd, None, [0, 1, 2, 3]),
        (bare, None, [0, 1, 2, 3]),
    ):
        assert table.rows_of_split(split).tolist() == rows
    for table, known in ((TABLE, "the splits 'train'"), (bare, "no splits")):
        with pytest.raises(
            ValueError, match=f"split='val' is not in this table, which has {known}"
        ):
            table.rows_of_split("val")


def test_classes_without_labels_are_left_out():
    table = FeatureTable(
        features=np.eye(4),
        labels=np.array([1, 4, -1, 1]),
        true_labels=np.array([1, 4, 5, -1]),
        classes=tuple("abcdef"),
        superclass=np.array([0, 0, 0, 1, 1, 1]),
        superclass_names=("early", "late"),
    )
    found = with_used_classes(table)
    assert found.classes == ("b", "e", "f")
    assert found.labels.tolist() == [0, 1, -1, 0]
    assert found.true_labels.tolist() == [0, 1, 2, -1]
    assert found.superclass.tolist() == [0, 1, 1]
    assert with_used_classes(found) is found
    assert with_used_classes(replace(table, true_labels=None)).classes == ("b", "e")


# Labels by the names of classes ------------------------------------------------------------------


@given(labels=st.lists(st.none() | st.text(max_size=3), min_size=1))
def test_text_is_coded_by_name(labels):
    coded = code_by_name(np.array(labels, dtype=object))
    expected = [label if label and label.strip() else None for label in labels]
    assert coded.values.tolist() == expected
    assert coded.classes.tolist() == sorted({x for x in expected if x}, key=order_key)


@given(labels=st.lists(st.integers(-50, 50), min_size=1))
def test_integers_of_any_type_are_sorted_as_numbers(labels):
    coded = code_by_name(labels)
    assert [int(name) for name in coded.classes] == sorted(set(labels))
    assert [int(name) for name in coded.values] == labels
    for other in (np.array(labels, float), np.array(labels).astype(str), np.array(labels, object)):
        again = code_by_name(other)
        assert again.classes.tolist() == coded.classes.tolist()
        np.testing.assert_array_equal(again.codes, coded.codes)


def test_numbers_come_before_words():
    coded = code_by_name(np.array(["b", 10, 2, "10", 2.0], dtype=object))
    assert coded.classes.tolist() == ["2", "10", "b"]
    assert coded.codes.tolist() == [2, 1, 0, 1, 0]
    assert code_by_name([True, False]).classes.tolist() == ["False", "True"]


@pytest.mark.parametrize(
    ("labels", "classes", "missing", "values"),
    [
        (["a", "c"], ["c", "b", "a"], (), ["a", "c"]),
        # Numbers are positions among words, and names among numbers.
        ([1, 0, -1], ["x", "y"], (), ["y", "x", None]),
        ([2.0, np.nan], ["x", "y", "z"], (), ["z", None]),
        ([2, None], ["x", "y", "z"], (), ["z", None]),
        ([10, 20], [20, 10], (), ["10", "20"]),
        ([1, 2], ["1", "2", "3"], (), ["1", "2"]),
        ([1, 2, 1], ["1", "2", "other"], (), ["1", "2", "1"]),
        # A number that means no label is no position, nor is the position of a class of this name.
        ([1, 99], ["x", "y"], ["99"], ["y", None]),
        ([0, 1, 2], ["cat", "NA", "dog"], ["NA"], ["cat", None, "dog"]),
    ],
)
def test_labels_among_given_classes(labels, classes, missing, values):
    coded = code_by_name(labels, classes, missing=missing)
    assert coded.values.tolist() == values
    kept = [str(name) for name in classes if name not in missing]
    assert coded.classes.tolist() == kept


def test_given_and_true_labels_have_the_same_classes():
    columns = {"y": ["b", "NA", "b"], "t": [10, "b", None]}
    given, true = code_given_and_true(columns, "y", "t", missing=["NA"])
    assert given.classes.tolist() == true.classes.tolist() == ["10", "b"]
    assert (given.codes.tolist(), true.codes.tolist()) == ([1, -1, 1], [0, 1, -1])
    assert code_given_and_true(columns, "y", None)[1] is None
