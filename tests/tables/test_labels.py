"""Labels of any kind become positions among class names."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.tables.labels import as_text, encode_labels


@given(labels=st.lists(st.none() | st.text(max_size=3), min_size=1))
def test_strings_come_back_by_name(labels):
    codes, classes = encode_labels(np.array(labels, dtype=object))
    assert [classes[code] if code >= 0 else "" for code in codes] == [x or "" for x in labels]
    assert sorted(classes) == sorted({x for x in labels if x})


@given(labels=st.lists(st.integers(-50, 50), min_size=1))
def test_integers_are_sorted_as_numbers(labels):
    codes, classes = encode_labels(labels)
    assert [int(name) for name in classes] == sorted(set(labels))
    assert [int(classes[code]) for code in codes] == labels
    for other in (np.array(labels, float), np.array(labels).astype(str), np.array(labels, object)):
        again, same = encode_labels(other)
        assert same == classes
        np.testing.assert_array_equal(again, codes)


@pytest.mark.parametrize(
    "labels",
    [
        [1.0, np.nan, 2.0],
        np.array(["1", "", "2"]),
        np.array([b"1", b"", b"2"]),
        np.array([1, None, 2], dtype=object),
        np.array([np.int64(1), np.float64("nan"), np.float32(2)], dtype=object),
        pd.Series([1, None, 2]),
    ],
)
def test_missing_labels_have_no_class(labels):
    codes, classes = encode_labels(labels)
    assert codes.tolist() == [0, -1, 1]
    assert classes == ("1", "2")


def test_words_and_numbers_together_sort_as_strings():
    assert encode_labels(np.array(["b", 10, 2], dtype=object))[1] == ("10", "2", "b")
    assert encode_labels([True, False])[1] == ("False", "True")


def test_classes_keep_their_order_and_may_be_more():
    codes, classes = encode_labels(["a", "c"], ["c", "b", "a"])
    assert codes.tolist() == [2, 0]
    assert classes == ("c", "b", "a")


def test_integers_are_positions_among_words_and_names_among_integers():
    assert encode_labels([1, 0, -1], ["x", "y"])[0].tolist() == [1, 0, -1]
    assert encode_labels([2.0, np.nan], ["x", "y", "z"])[0].tolist() == [2, -1]
    assert encode_labels([10, 20], [20, 10])[0].tolist() == [1, 0]
    # Whether 0 occurs does not change what 1 means.
    assert encode_labels([1, 2], ["1", "2", "3"])[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        (["a", "z"], ["a", "b"], r"labels\[1\]='z' is none of the 2 classes: add it to classes"),
        ([0, 2], ["a", "b"], r"labels\[1\]=2 is no position among the 2 classes: .* from 0 to 1"),
        ([0, -2], ["a", "b"], r"labels\[1\]=-2 is no position"),
        ([0, 1], ["1", "2"], r"labels\[0\]='0' is none of the 2 classes"),
        ([1, 0.5], None, r"labels\[1\]=0.5 is no class: pass integers or strings"),
        ([np.inf], None, r"labels\[0\]=inf is no class"),
        ([["a"]], None, r"labels has shape \(1, 1\): pass one label per row"),
    ],
)
def test_labels_that_are_none(labels, classes, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(labels, classes)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (float("nan"), ""), (2.0, "2"), (0.5, "0.5"), (b"x", "x"), (np.str_("a"), "a")],
)
def test_cells_as_text(value, text):
    assert as_text(value) == text
