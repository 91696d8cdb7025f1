"""Every format gives the same table."""

import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twohot.tables import read_table, table_header, write_features

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
LABELS = ["dog", "cat", None, "dog", "eel"]
SPLIT = ["train", "train", "test", "test", "train"]
PATHS = [f"{row}.jpg" for row in range(5)]
WIDE = {f"f{column}": X[:, column] for column in range(3)}
REST = {"label": LABELS, "split": SPLIT, "path": PATHS}
FRAME = pd.DataFrame(WIDE | REST)
BLANK = FRAME.fillna("")


def arrow_table(features):
    return pa.table({"embedding": features, **REST})


FRAMES = {
    "pandas, columns": lambda: FRAME,
    "pandas, arrays": lambda: pd.DataFrame({"embedding": list(X), **REST}),
    "pandas, lists": lambda: pd.DataFrame({"embedding": X.tolist(), **REST}),
    "pandas, categories": lambda: FRAME.astype({"label": "category"}),
    "pandas, another index": lambda: FRAME.set_axis([9, 9, 7, 1, 0]),
    "polars, columns": lambda: pl.DataFrame(WIDE | REST),
    "polars, lists": lambda: pl.DataFrame(
        {"embedding": X.tolist(), **REST}, schema_overrides={"embedding": pl.List(pl.Float32)}
    ),
    "polars, arrays": lambda: pl.DataFrame({"embedding": X, **REST}),
    "arrow, lists": lambda: arrow_table(pa.array(X.tolist(), pa.list_(pa.float32()))),
    "arrow, large lists": lambda: arrow_table(pa.array(X.tolist(), pa.large_list(pa.float32()))),
    "arrow, fixed size": lambda: arrow_table(pa.FixedSizeListArray.from_arrays(X.ravel(), 3)),
}


def stored_parquet(folder, frame):
    path = folder / "t.parquet"
    pq.write_table(frame if isinstance(frame, pa.Table) else frame.to_arrow(), path)
    return path


def stored_array(path):
    np.save(path, X)
    FRAME[[*REST]].to_csv(path.with_suffix(".csv"), index=False)
    return {"labels": path.with_suffix(".csv")}


# Writers of the same table in every format; they return options of the reader.
FILES = {
    "a.csv": lambda path: FRAME.to_csv(path, index=False),
    "a.tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "a.npz": lambda path: np.savez(path, X=X, **{name: BLANK[name].to_list() for name in REST}),
    "a.npy": stored_array,
    "a.features": lambda path: write_features(path, read_table(FRAME)),
}
SOURCES = (
    {name: lambda _, frame=frame: frame() for name, frame in FRAMES.items()}
    | {
        f"parquet, {name}": lambda folder, frame=frame: stored_parquet(folder, frame())
        for name, frame in FRAMES.items()
        if not name.startswith("pandas")
    }
    | FILES
)


@pytest.mark.parametrize("name", SOURCES)
def test_every_format_gives_the_same_table(name, tmp_path):
    options, source = {}, tmp_path / name
    if name in FILES:
        options = FILES[name](source) or {}
    else:
        source = SOURCES[name](tmp_path)
    table = read_table(source, **options)
    write_features(tmp_path / "again.features", table)
    for found in (table, read_table(tmp_path / "again.features")):
        # A CSV file has the shortest decimals of these float32, which are read as float64.
        np.testing.assert_array_equal(np.asarray(found.features, np.float32), X)
        assert found.features.dtype.kind == "f"
        assert found.classes == ("cat", "dog", "eel")
        assert found.labels.tolist() == [1, 0, -1, 1, 2]
        assert found.split_names == ("train", "test")
        assert found.split.tolist() == [0, 0, 1, 1, 0]
        assert list(found.items) == PATHS
        assert found.item_kind == "image"
    if "csv" not in name and "tsv" not in name and name != "pandas, lists":
        assert table.features.dtype == np.float32
    if name in ("a.npy", "a.features"):
        assert isinstance(table.features, np.memmap)
        assert not table.features.flags.writeable
    if isinstance(source, Path) and name != "a.features":
        assert table.provenance["read_from"] == source.name


@pytest.mark.parametrize("name", [*FILES, "t.parquet"])
def test_header_names_the_columns_if_the_format_has_one(name, tmp_path):
    if name == "t.parquet":
        stored_parquet(tmp_path, FRAMES["arrow, fixed size"]())
        assert table_header([tmp_path / name]) == {"embedding": True} | dict.fromkeys(REST, False)
        return
    FILES[name](tmp_path / name)
    has_header = name in ("a.csv", "a.tsv")
    expected = dict.fromkeys(WIDE | REST, False) if has_header else {}
    assert table_header([tmp_path / name]) == expected


def table_of(**columns):
    return read_table(pd.DataFrame(columns))


def test_separate_labels_of_any_kind(tmp_path):
    np.save(tmp_path / "X.npy", X)
    (tmp_path / "one.csv").write_text("animal\ndog\ncat\n\ndog\neel\n")  # a blank line is missing
    np.save(tmp_path / "y.npy", BLANK["label"].to_numpy(str))
    for labels in (tmp_path / "one.csv", tmp_path / "y.npy", LABELS, pd.Series(LABELS)):
        table = read_table(tmp_path / "X.npy", labels=labels)
        assert table.labels.tolist() == [1, 0, -1, 1, 2]
        np.testing.assert_array_equal(table.features, X)
    replaced = read_table(pd.DataFrame(WIDE | {"y": 0}), labels=[*"ababa"])
    assert replaced.given_labels.tolist() == [*"ababa"]


def test_chosen_features_and_classes(tmp_path):
    frame = FRAME.assign(id=range(5))
    assert read_table(frame).n_features == 3
    for chosen, columns in ((["f2", "f0"], [2, 0]), ("f1", [1])):
        found = read_table(frame, feature_column=chosen).features
        np.testing.assert_array_equal(found, X[:, columns])
    names = tmp_path / "classes.txt"
    names.write_text("eel\ncat\ndog\nfox\n")
    for classes in (names, ["eel", "cat", "dog", "fox"]):
        table = read_table(frame, classes=classes)
        assert table.classes == ("eel", "cat", "dog", "fox")
        assert table.labels.tolist() == [2, 1, -1, 2, 0]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_nulls_are_missing(make):
    nulls = [10, None, 2] if make is not pd.DataFrame else pd.array([10, None, 2], dtype="Int64")
    table = read_table(make({"a": [1.0, 2.0, 3.0], "y": nulls}))
    assert (table.classes, table.labels.tolist()) == (("2", "10"), [1, -1, 0])
    features = read_table(make({"a": nulls, "y": [0, 1, 0]})).features
    np.testing.assert_array_equal(features, [[10], [np.nan], [2]])


def test_parquet_needs_its_extra(tmp_path, monkeypatch):
    pl.DataFrame(WIDE | REST).write_parquet(tmp_path / "table.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(
        ImportError, match=r'Parquet files need pyarrow.*: pip install "twohot\[par'
    ):
        read_table(tmp_path / "table.parquet")


def test_types_of_features():
    lists = table_of(features=[[1, 2], [0.5, 1.5]], label=["cat", "dog"])
    assert lists.features.tolist() == [[1, 2], [0.5, 1.5]]
    for dtype, expected in ((np.uint8, np.float32), (np.int16, np.float32), (np.int64, float)):
        assert table_of(a=np.arange(3, dtype=dtype), y=[0, 1, 0]).features.dtype == expected


def test_names_of_columns_may_be_years(tmp_path):
    (tmp_path / "t.csv").write_text("2019,2020,label\n1,2,x\n3,4,y\n")
    assert read_table(tmp_path / "t.csv").features.tolist() == [[1, 2], [3, 4]]


def test_splits_are_coded_by_name():
    table = table_of(a=[1.0, 2.0, 3.0], y=0, split=[1, 2, 1])
    assert (table.split_names, table.split.tolist()) == (("1", "2"), [0, 1, 0])
    odd = table_of(a=[1.0, 2.0, 3.0], y=0, split=["zoo", "test", "train"])
    assert (odd.split_names, odd.split.tolist()) == (("train", "test", "zoo"), [2, 1, 0])


def test_labels_are_optional_on_request(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    (tmp_path / "x.csv").write_text("a,b,split\n1,0,train\n0,1,test\n")
    for name, n_rows in (("x.npy", 3), ("x.csv", 2)):
        table = read_table(tmp_path / name, labelled=False)
        assert (table.n_rows, table.classes) == (n_rows, ())
        assert table.labels.tolist() == [-1] * n_rows
        with pytest.raises(ValueError, match="no label column among"):
            read_table(tmp_path / name)
    # Labels of the table are read, and are no features.
    (tmp_path / "y.csv").write_text("a,label\n1,7\n0,5\n")
    table = read_table(tmp_path / "y.csv", labelled=False)
    assert (table.classes, table.n_features) == (("5", "7"), 1)


# Archives ----------------------------------------------------------------------------------------


def test_archive_describes_classes(tmp_path):
    np.savez(
        tmp_path / "a.npz", X=X, y=[2, 0, -1, 1, 2], classes=["x", "y", "z"],
        superclass=[0, 1, 0], superclass_names=["s", "t"], index=np.arange(5),
        probs=np.ones((5, 2)),
    )  # fmt: skip
    table = read_table(tmp_path / "a.npz")
    np.testing.assert_array_equal(table.features, X)
    assert table.given_labels.tolist() == ["z", "x", None, "y", "z"]
    assert table.superclass.tolist() == [0, 1, 0]
    assert table.superclass_names == ("s", "t")
    assert table.split is None


@pytest.fixture
def split_archive(tmp_path):
    path = tmp_path / "split.npz"
    np.savez(
        path, X_test=X[3:].astype(np.float16), y_test=[0, 1], X_train=X[:3], y_train=[0, 1, 2],
        y_train_human=[0, 2, 2], train_index=np.arange(3), test_files=["d.jpg", "e.jpg"],
        classes=["a", "b", "c"],
    )  # fmt: skip
    return path


def splits_of(table):
    return [table.take(table.rows_of_split(name)) for name in ("train", "test")]


def test_archive_of_splits(split_archive):
    table = read_table(split_archive)
    assert table.split_names == ("train", "test")
    train, test = splits_of(table)
    np.testing.assert_array_equal(train.features, X[:3])
    np.testing.assert_array_equal(test.features, X[3:].astype(np.float16))
    assert (train.labels.tolist(), test.labels.tolist()) == ([0, 1, 2], [0, 1])
    assert (list(train.ids), list(test.ids)) == (["2", "3", "4"], ["0", "1"])
    assert table.true_labels is None


def test_array_of_one_split_stands_for_all(split_archive):
    chosen = {"label_column": "y_train_human", "true_label_column": "y_train"}
    train, test = splits_of(read_table(split_archive, **chosen, item_column="test_files"))
    assert (train.labels.tolist(), train.true_labels.tolist()) == ([0, 2, 2], [0, 1, 2])
    assert (test.labels.tolist(), test.true_labels.tolist()) == ([0, 1], [0, 1])
    assert list(train.items) + list(test.items) == ["", "", "", "d.jpg", "e.jpg"]


def test_separate_labels_of_all_splits(split_archive, tmp_path):
    (tmp_path / "y.csv").write_text("name,file\nc,p\nc,q\nb,r\na,s\na,t\n")
    named = {"label_column": "name", "item_column": "file"}
    table = read_table(split_archive, labels=tmp_path / "y.csv", **named)
    assert table.labels.tolist() == [2, 2, 1, 0, 0]
    assert list(table.items) == ["p", "q", "r", "s", "t"]
    assert table.split.tolist() == [1, 1, 0, 0, 0]


@pytest.mark.parametrize("option", ["label_column", "true_label_column", "split_column"])
def test_missing_array_of_a_split_is_refused(split_archive, option):
    with pytest.raises(ValueError, match=f"{option}='z' is missing .*: the columns are"):
        read_table(split_archive, **{option: "z"})


def test_chosen_features_of_an_archive(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=X, X_train=X + 1, a=X[:, 0], b=X[:, 1], y=range(5))
    for chosen, expected in (("X", X), ("X_train", X + 1), (["b", "a"], X[:, 1::-1])):
        np.testing.assert_array_equal(read_table(path, feature_column=chosen).features, expected)


def test_split_without_labels(tmp_path):
    np.savez(tmp_path / "a.npz", emb_train=X[:3], emb_val=X[3:], y_train=["a", "b", "a"])
    table = read_table(tmp_path / "a.npz", feature_column="emb")
    assert table.given_labels.tolist() == ["a", "b", "a", None, None]
    assert table.split_names == ("train", "val")


def test_two_arrays_of_one_name_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=range(5))
    with (
        zipfile.ZipFile(tmp_path / "a.npz", "a") as archive,
        pytest.warns(match="Duplicate name"),
    ):
        archive.writestr("X.npy", archive.read("X.npy"))
    with pytest.raises(ValueError, match=r"a.npz cannot .* \(two arrays are named 'X'\)"):
        read_table(tmp_path / "a.npz")


# Feature files -----------------------------------------------------------------------------------


@pytest.fixture
def feature_file(tmp_path):
    write_features(tmp_path / "t.features", read_table(FRAME))
    return tmp_path / "t.features"


def test_feature_file_takes_no_columns(feature_file):
    for options in ({"feature_column": "x"}, {"classes": ["a"]}):
        with pytest.raises(ValueError, match="source is a feature file, which contains the roles"):
            read_table(feature_file, **options)
    with pytest.raises(ValueError, match=r"label_column='y' is for .* the label column 'label'"):
        read_table(feature_file, label_column="y")
    assert read_table(feature_file, label_column="label").classes == ("cat", "dog", "eel")


def test_separate_labels_replace_those_of_a_feature_file(feature_file):
    again = read_table(feature_file, labels=["cat"] * 4 + [None])
    assert again.labels.tolist() == [0, 0, 0, 0, -1]
    assert again.classes == ("cat", "dog", "eel")


def test_separate_labels_give_an_unlabelled_feature_file_its_classes(tmp_path):
    path = tmp_path / "t.features"
    write_features(path, read_table(pd.DataFrame(WIDE), labelled=False))
    table = read_table(path, labels=["b", "a", "", "b", "a"])
    assert table.classes == ("a", "b")
    assert table.labels.tolist() == [1, 0, -1, 1, 0]


def test_texts_that_mean_no_label(tmp_path):
    columns = {"a": [1.0, 2.0, 3.0], "y": ["x", "?", "y"]}
    frame = pd.DataFrame(columns | {"true_label": ["x", "y", "?"]})
    table = read_table(frame, missing=["?"])
    assert table.classes == ("x", "y")
    assert (table.labels.tolist(), table.true_labels.tolist()) == ([0, -1, 1], [0, 1, -1])
    # A feature file loses the class, and its superclass with it.
    groups = {"superclass": np.array([1, 0, 0]), "superclass_names": ("s", "t")}
    stored = replace(table_of(**columns), **groups, true_labels=np.array([1, 1, 0]))
    assert stored.classes == ("?", "x", "y")
    write_features(tmp_path / "t.features", stored)
    again = read_table(tmp_path / "t.features", missing=["?"])
    assert again.given_labels.tolist() == ["x", None, "y"]
    assert again.superclass.tolist() == [0, 0]
    assert again.true_labels.tolist() == [0, 0, -1]
    relabelled = read_table(tmp_path / "t.features", labels=["y", "NA", "x"], missing=["NA"])
    assert relabelled.given_labels.tolist() == ["y", None, "x"]
