"""Labels of a separate file find their rows, whatever their order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.tables import FeatureTable, read_features, read_table, write_features

X = np.eye(4)


def write_csv(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@given(st.permutations(range(4)))
def test_labels_that_name_their_rows_come_in_any_order(tmp_path_factory, order):
    folder = tmp_path_factory.mktemp("labels")
    np.savez(folder / "x.npz", X=X)
    names = ("ant", "bee", "cat", "dog")
    path = write_csv(folder / "l.csv", "row,item,label", *(f"{k},,{names[k]}" for k in order))
    assert read_table(folder / "x.npz", labels=path).given_labels.tolist() == list(names)


def test_rows_that_are_not_named_keep_their_own_label(tmp_path):
    path = write_csv(tmp_path / "l.csv", "row,label", "2,dog", "0,")
    # Numbers beside words are positions among the classes.
    np.savez(tmp_path / "x.npz", X=X, y=[0, 1, 0, -1], classes=["cat", "dog"])
    expected = [None, "dog", "dog", None]
    assert read_table(tmp_path / "x.npz", labels=path).given_labels.tolist() == expected
    table = FeatureTable(features=X, labels=np.array([0, 1, 0, -1]), classes=("cat", "dog"))
    write_features(tmp_path / "x.features", table)
    found = read_table(tmp_path / "x.features", labels=path)
    assert found.given_labels.tolist() == expected
    assert found.classes == read_features(tmp_path / "x.features").classes


def test_an_own_label_may_mean_that_there_is_none(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, y=["cat", "NA", "dog", "dog"], classes=["cat", "dog"])
    path = write_csv(tmp_path / "l.csv", "row,label", "2,cat", "3,NA")
    found = read_table(tmp_path / "x.npz", labels=path, missing=["NA"])
    assert found.given_labels.tolist() == ["cat", None, "cat", None]


def test_rows_that_are_not_named_have_no_label_where_there_is_none(tmp_path):
    np.save(tmp_path / "x.npy", X)
    path = write_csv(tmp_path / "l.csv", "row,label", "3,b", "1,a")
    assert read_table(tmp_path / "x.npy", labels=path).labels.tolist() == [-1, 0, -1, 1]


def test_own_labels_are_not_read_where_none_is_kept(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, y=[0.5, 1, 2, 3])  # half a label is none
    path = write_csv(tmp_path / "l.csv", "row,label", "3,b", "1,a", "0,a", "2,a")
    assert read_table(tmp_path / "x.npz", labels=path).labels.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("rows", [("0", "0"), ("0", "4"), ("0", "-1"), ("0", "x"), ("0", "1.5")])
def test_rows_that_are_none_are_refused(rows, tmp_path):
    np.save(tmp_path / "x.npy", X)
    path = write_csv(tmp_path / "l.csv", "row,label", *(f"{row},a" for row in rows))
    with pytest.raises(ValueError, match=r"'row' of .*l.csv must hold numbers from 0 to 3, each"):
        read_table(tmp_path / "x.npy", labels=path)
