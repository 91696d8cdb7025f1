"""Labels of any kind become positions among class names."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twohot.base.labels import order_key
from twohot.tables.table import code_by_name, code_given_and_true


@given(labels=st.lists(st.none() | st.text(max_size=3), min_size=1))
def test_text_comes_back_by_name(labels):
    coded = code_by_name(np.array(labels, dtype=object))
    expected = [label if label and label.strip() else None for label in labels]
    assert coded.values.tolist() == expected
    assert coded.classes.tolist() == sorted({x for x in expected if x}, key=order_key)


@given(labels=st.lists(st.integers(-50, 50), min_size=1))
def test_integers_are_sorted_as_numbers(labels):
    coded = code_by_name(labels)
    assert [int(name) for name in coded.classes] == sorted(set(labels))
    assert [int(name) for name in coded.values] == labels
    for other in (np.array(labels, float), np.array(labels).astype(str), np.array(labels, object)):
        again = code_by_name(other)
        assert again.classes.tolist() == coded.classes.tolist()
        np.testing.assert_array_equal(again.codes, coded.codes)


def test_numbers_stand_before_words_and_equal_texts_are_one_class():
    coded = code_by_name(np.array(["b", 10, 2, "10", 2.0], dtype=object))
    assert coded.classes.tolist() == ["2", "10", "b"]
    assert coded.codes.tolist() == [2, 1, 0, 1, 0]
    assert code_by_name([True, False]).classes.tolist() == ["False", "True"]


def test_classes_keep_their_order_and_may_be_more():
    coded = code_by_name(["a", "c"], ["c", "b", "a"])
    assert coded.codes.tolist() == [2, 0]
    assert coded.classes.tolist() == ["c", "b", "a"]


def test_integers_are_positions_among_words_and_names_among_integers():
    assert code_by_name([1, 0, -1], ["x", "y"]).codes.tolist() == [1, 0, -1]
    assert code_by_name([2.0, np.nan], ["x", "y", "z"]).codes.tolist() == [2, -1]
    assert code_by_name([2, None], ["x", "y", "z"]).codes.tolist() == [2, -1]
    assert code_by_name([10, 20], [20, 10]).codes.tolist() == [1, 0]
    # Whether 0 occurs does not change what 1 means.
    assert code_by_name([1, 2], ["1", "2", "3"]).codes.tolist() == [0, 1]
    # A number that means no label is no position.
    assert code_by_name([1, 99], ["x", "y"], missing=["99"]).codes.tolist() == [1, -1]
    # So is the position of a class that means none.
    named = code_by_name([0, 1, 2], ["cat", "NA", "dog"], missing=["NA"])
    assert named.values.tolist() == ["cat", None, "dog"]
    # Where a class is a number, numbers are names.
    assert code_by_name([1, 2, 1], ["1", "2", "other"]).values.tolist() == ["1", "2", "1"]


def test_given_and_true_labels_have_the_same_classes():
    columns = {"y": ["b", "NA", "b"], "t": [10, "b", None]}
    given, true = code_given_and_true(columns, "y", "t", missing=["NA"])
    assert given.classes.tolist() == true.classes.tolist() == ["10", "b"]
    assert (given.codes.tolist(), true.codes.tolist()) == ([1, -1, 1], [0, 1, -1])
    assert code_given_and_true(columns, "y", None)[1] is None
