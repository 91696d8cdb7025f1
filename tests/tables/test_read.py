"""The same table from every format, and a clear word where there is none."""

import sys
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twohot.tables import FeatureTable, read_table, write_features

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
LABELS = ["dog", "cat", None, "dog", "eel"]
SPLIT = ["train", "train", "test", "test", "train"]
PATHS = [f"{row}.jpg" for row in range(5)]
WIDE = {f"f{column}": X[:, column] for column in range(3)}
REST = {"label": LABELS, "split": SPLIT, "path": PATHS}


def arrow_table(features):
    return pa.table({"embedding": features, **REST})


def polars_lists():
    schema = {"embedding": pl.List(pl.Float32)}
    return pl.DataFrame({"embedding": X.tolist()}, schema=schema).with_columns(
        *(pl.Series(name, values) for name, values in REST.items())
    )


FRAMES = {
    "pandas, columns": lambda: pd.DataFrame(WIDE | REST),
    "pandas, arrays": lambda: pd.DataFrame({"embedding": list(X), **REST}),
    "pandas, lists": lambda: pd.DataFrame({"embedding": X.tolist(), **REST}),
    "pandas, categories": lambda: pd.DataFrame(WIDE | REST).astype({"label": "category"}),
    "pandas, another index": lambda: pd.DataFrame(WIDE | REST, index=[9, 9, 7, 1, 0]),
    "polars, columns": lambda: pl.DataFrame(WIDE | REST),
    "polars, lists": polars_lists,
    "polars, arrays": lambda: pl.DataFrame({"embedding": X, **REST}),
    "arrow, lists": lambda: arrow_table(pa.array(X.tolist(), pa.list_(pa.float32()))),
    "arrow, large lists": lambda: arrow_table(pa.array(X.tolist(), pa.large_list(pa.float32()))),
    "arrow, fixed size": lambda: arrow_table(pa.FixedSizeListArray.from_arrays(X.ravel(), 3)),
}


def assert_the_table(table):
    np.testing.assert_array_equal(table.features, X)
    assert table.features.dtype.kind == "f"
    assert table.classes == ("cat", "dog", "eel")
    assert table.labels.tolist() == [1, 0, -1, 1, 2]
    assert table.split_names == ("train", "test")
    assert table.split.tolist() == [0, 0, 1, 1, 0]
    assert list(table.items) == PATHS
    assert table.item_kind == "image"


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_frames(frame, tmp_path):
    table = read_table(frame())
    assert_the_table(table)
    write_features(tmp_path / "t.features", table)
    assert_the_table(read_table(tmp_path / "t.features"))


def test_float32_lists_stay_float32():
    for kind in ("polars, lists", "arrow, lists", "arrow, fixed size", "pandas, arrays"):
        assert read_table(FRAMES[kind]()).features.dtype == np.float32


def test_lists_of_integers_and_of_fractions_are_fractions():
    frame = pd.DataFrame({"features": [[1, 2], [0.5, 1.5]], "label": ["cat", "dog"]})
    assert read_table(frame).features.tolist() == [[1, 2], [0.5, 1.5]]


@pytest.mark.parametrize("kind", [name for name in FRAMES if name.startswith(("arrow", "polars"))])
def test_parquet(kind, tmp_path):
    frame = FRAMES[kind]()
    path = tmp_path / "table.parquet"
    pq.write_table(frame if isinstance(frame, pa.Table) else frame.to_arrow(), path)
    table = read_table(path)
    assert_the_table(table)
    assert table.provenance["read_from"] == "table.parquet"


def test_csv(tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame(WIDE | REST).to_csv(path, index=False)
    table = read_table(str(path))
    # The shortest decimals that are these float32, read as float64.
    assert_the_table(replace(table, features=table.features.astype(np.float32)))


def test_csv_with_quotes_a_mark_of_order_and_a_blank_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes('\ufeffa,label\r\n1,"x, y"\r\n\r\n2,01\r\n'.encode())
    table = read_table(path)
    assert table.features.tolist() == [[1], [2]]
    assert table.given_labels.tolist() == ["x, y", "01"]


def test_years_may_be_names(tmp_path):
    (tmp_path / "t.csv").write_text("2019,2020,label\n1,2,x\n3,4,y\n")
    assert read_table(tmp_path / "t.csv").features.tolist() == [[1, 2], [3, 4]]


def test_npy_with_separate_labels(tmp_path):
    np.save(tmp_path / "X.npy", X)
    frame = pd.DataFrame(REST)
    frame.to_csv(tmp_path / "rest.csv", index=False)
    assert_the_table(read_table(tmp_path / "X.npy", labels=tmp_path / "rest.csv"))
    frame[["label"]].rename(columns={"label": "animal"}).to_csv(tmp_path / "one.csv", index=False)
    np.save(tmp_path / "y.npy", np.array(["" if x is None else x for x in LABELS]))
    for labels in (tmp_path / "one.csv", tmp_path / "y.npy", LABELS, pd.Series(LABELS)):
        table = read_table(tmp_path / "X.npy", labels=labels)
        assert table.labels.tolist() == [1, 0, -1, 1, 2]
        np.testing.assert_array_equal(table.features, X)


def test_a_blank_line_of_one_column_is_a_missing_label(tmp_path):
    np.save(tmp_path / "X.npy", X)
    (tmp_path / "y.csv").write_text("label\ndog\ncat\n\ndog\neel\n")
    table = read_table(tmp_path / "X.npy", labels=tmp_path / "y.csv")
    assert table.labels.tolist() == [1, 0, -1, 1, 2]


def test_npy_features_are_mapped(tmp_path):
    np.save(tmp_path / "X.npy", X)
    features = read_table(tmp_path / "X.npy", labels=LABELS).features
    assert isinstance(features, np.memmap)
    assert not features.flags.writeable


def test_splits_go_by_name():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": 0, "split": [1, 2, 1]})
    table = read_table(frame)
    assert table.split_names == ("1", "2")
    assert table.split.tolist() == [0, 1, 0]
    odd = read_table(frame.assign(split=["zoo", "test", "train"]))
    assert odd.split_names == ("train", "test", "zoo")
    assert odd.split.tolist() == [2, 1, 0]


def test_a_column_of_labels_chosen_by_name(tmp_path):
    np.save(tmp_path / "X.npy", X)
    (tmp_path / "y.csv").write_text(
        "fine,coarse\n" + "\n".join(f"{row},{row % 2}" for row in range(5))
    )
    table = read_table(tmp_path / "X.npy", labels=tmp_path / "y.csv", label_column="coarse")
    assert table.given_labels.tolist() == ["0", "1", "0", "1", "0"]
    with pytest.raises(ValueError, match=r"y.csv has the columns 'fine', 'coarse': choose one by"):
        read_table(tmp_path / "X.npy", labels=tmp_path / "y.csv")


def test_separate_labels_replace_those_inside():
    frame = pd.DataFrame(WIDE | {"y": [0] * 5})
    table = read_table(frame, labels=["a", "b", "a", "b", "a"])
    assert table.given_labels.tolist() == ["a", "b", "a", "b", "a"]
    np.testing.assert_array_equal(table.features, X)


def test_npz(tmp_path):
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


def test_npz_by_splits(split_archive):
    table = read_table(split_archive)
    assert table.split_names == ("train", "test")
    train, test = (table.take(table.rows_of_split(name)) for name in ("train", "test"))
    np.testing.assert_array_equal(train.features, X[:3])
    np.testing.assert_array_equal(test.features, X[3:].astype(np.float16))
    assert (train.labels.tolist(), test.labels.tolist()) == ([0, 1, 2], [0, 1])
    assert table.true_labels is None


def test_other_labels_of_one_split(split_archive):
    table = read_table(
        split_archive,
        label_column="y_train_human",
        true_label_column="y_train",
        item_column="test_files",
    )
    train, test = (table.take(table.rows_of_split(name)) for name in ("train", "test"))
    assert (train.labels.tolist(), train.true_labels.tolist()) == ([0, 2, 2], [0, 1, 2])
    assert (test.labels.tolist(), test.true_labels.tolist()) == ([0, 1], [0, 1])
    assert list(train.items) + list(test.items) == ["", "", "", "d.jpg", "e.jpg"]


def test_separate_labels_of_all_splits(split_archive, tmp_path):
    (tmp_path / "y.csv").write_text("name,file\nc,p\nc,q\nb,r\na,s\na,t\n")
    table = read_table(
        split_archive, labels=tmp_path / "y.csv", label_column="name", item_column="file"
    )
    assert table.labels.tolist() == [2, 2, 1, 0, 0]
    assert list(table.items) == ["p", "q", "r", "s", "t"]
    assert table.split.tolist() == [1, 1, 0, 0, 0]


@pytest.mark.parametrize("option", ["label_column", "true_label_column", "split_column"])
def test_an_array_of_a_split_that_is_not_there(split_archive, option):
    with pytest.raises(ValueError, match=f"{option}='z' is missing .*: the columns are"):
        read_table(split_archive, **{option: "z"})


def test_features_chosen_in_an_archive(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=X, X_train=X + 1, a=X[:, 0], b=X[:, 1], y=range(5))
    np.testing.assert_array_equal(read_table(path, feature_column="X").features, X)
    np.testing.assert_array_equal(read_table(path, feature_column="X_train").features, X + 1)
    np.testing.assert_array_equal(read_table(path, feature_column=["b", "a"]).features, X[:, 1::-1])


def test_a_split_without_labels_has_none(tmp_path):
    np.savez(tmp_path / "a.npz", emb_train=X[:3], emb_val=X[3:], y_train=["a", "b", "a"])
    table = read_table(tmp_path / "a.npz", feature_column="emb")
    assert table.given_labels.tolist() == ["a", "b", "a", None, None]
    assert table.split_names == ("train", "val")


def test_true_labels_are_kept_beside():
    frame = pd.DataFrame(WIDE | {"label": ["a"] * 5, "true_label": ["a", "b", "c", None, "a"]})
    table = read_table(frame)
    assert table.classes == ("a", "b", "c")
    assert table.labels.tolist() == [0] * 5
    assert table.true_labels.tolist() == [0, 1, 2, -1, 0]
    np.testing.assert_array_equal(table.features, X)


def test_features_chosen_by_name():
    frame = pd.DataFrame(WIDE | REST | {"id": range(5)})
    assert read_table(frame).n_features == 3
    table = read_table(frame, feature_column=["f2", "f0"])
    np.testing.assert_array_equal(table.features, X[:, [2, 0]])
    one = read_table(frame, feature_column="f1")
    np.testing.assert_array_equal(one.features, X[:, [1]])


def test_integers_become_floats_that_hold_them():
    for dtype, expected in ((np.uint8, np.float32), (np.int16, np.float32), (np.int64, float)):
        frame = pd.DataFrame({"a": np.arange(3, dtype=dtype), "y": [0, 1, 0]})
        assert read_table(frame).features.dtype == expected


def test_classes_given(tmp_path):
    names = tmp_path / "classes.txt"
    names.write_text("eel\ncat\ndog\nfox\n")
    for classes in (names, ["eel", "cat", "dog", "fox"]):
        table = read_table(pd.DataFrame(WIDE | REST), classes=classes)
        assert table.classes == ("eel", "cat", "dog", "fox")
        assert table.labels.tolist() == [2, 1, -1, 2, 0]


# Bad input ---------------------------------------------------------------------------------------


ALL = WIDE | REST
BAD_FRAMES = [
    (WIDE, {}, "no label column among 'f0', 'f1', 'f2': name it by label_column"),
    (ALL, {"label_column": "animal"}, "label_column='animal' is missing: the columns are 'f0'"),
    (ALL, {"feature_column": "z"}, "feature_column='z' is missing"),
    (ALL, {"feature_column": ["f0", "z"]}, "feature_column='z' is missing"),
    (ALL, {"split_column": "z"}, "split_column='z' is missing"),
    (ALL | {"y": 0}, {}, "'label' and 'y' could both be meant: choose one by label_column"),
    (ALL | {"text": ""}, {}, "'path' and 'text' could both be meant: choose one by item_column"),
    (REST, {}, r"no features among 'label', 'split', 'path'.*: `twohot extract FILE --backbone"),
    (ALL, {"feature_column": "path"}, "column 'path' holds no numbers"),
    ({"a": list(X), "b": list(X)}, {}, "'a' and 'b' could both be meant: choose one by feature"),
    ({"a": [[1, 2, 3], [1, 2]], "y": 0}, {}, "'a' holds 3 numbers in row 0 and not in row 1"),
    ({"a": [[1, 2], None], "y": 0}, {}, "'a' holds 2 numbers in row 0 and not in row 1"),
    ({"a": [1, 2], "y": 0, "split": ["x", None]}, {}, r"split\[1\] is empty: name the split"),
    (ALL, {"classes": ["cat", "eel"]}, r"column 'label' has 1 label that is none of the 2"),
    (WIDE, {"labels": ["a"] * 4}, "labels has 4 labels for 5 rows of features"),
]


@pytest.mark.parametrize(("columns", "options", "message"), BAD_FRAMES)
def test_frames_that_make_no_table(columns, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(pd.DataFrame(columns), **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: a CSV file begins with a line that names its columns"),
        ("a,label\n", "has no rows after its header"),
        ("0.5,1.5\n1,2\n", "begins with the cells 0.5, 1.5, …: .* so add one"),
        ("1,-2.5e3,cat\n1,2,dog\n", "begins with the cells 1, -2.5e3, cat, …: .* so add one"),
        ("0,5;1;cat\n1;2;dog\n", "begins with the cells 0,5, 1, cat, …: .* so add one"),
        ("a,a,label\n1,2,x\n", "has two columns named 'a': rename one"),
        ("3,5,7\n1,2,4\n", "begins with the cells 3, 5, 7, …: .* so add one"),
        (
            "a,label\n1,x\n2\n",
            r"has 1 cell in row 1 \(from 0, without .* and 2 in its header: quote",
        ),
        ("a,label\n1,x\ntwo,y\n", "column 'a' holds numbers, but 'two' in row 1, from 0: mend"),
        ("a\tlabel\n1,234\tx\n", "numbers like 1,234, which may be 1.234 or 1234: mend"),
        ("a,label\none,x\n", "no features among 'a', 'label'"),
        ("a,label\n1,caf\udce9\n", "is not a CSV file in UTF-8"),
    ],
)
def test_csv_files_that_make_no_table(text, message, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=rf"bad.csv.*{message}|^{message}"):
        read_table(path)


def test_separate_labels_of_the_wrong_length(tmp_path):
    np.save(tmp_path / "X.npy", X)
    (tmp_path / "y.csv").write_text("3\n1\n2\n0\n1\n")
    with pytest.raises(ValueError, match=r"y.csv begins with the cells 3, …: no line names"):
        read_table(tmp_path / "X.npy", labels=tmp_path / "y.csv")
    (tmp_path / "y.csv").write_text("cat\ndog\ncat\ncat\ndog\n")
    with pytest.raises(ValueError, match=r"y.csv has 4 labels for 5 rows .* first line of a CSV"):
        read_table(tmp_path / "X.npy", labels=tmp_path / "y.csv")
    with pytest.raises(ValueError, match=r"no label column among 'X' .*: .* or pass labels"):
        read_table(tmp_path / "X.npy")


def test_a_column_in_both_files(tmp_path):
    (tmp_path / "y.csv").write_text("label,split\n" + "a,train\n" * 5)
    with pytest.raises(ValueError, match=r"y.csv.* and the features both have a column 'split'"):
        read_table(pd.DataFrame(WIDE | REST), labels=tmp_path / "y.csv")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X, "X_train": X, "y": range(5)}, "'X' and 'X_train' could both be meant"),
        ({"X_train": X, "features_train": X}, "'X_train' and 'features_train' could both be"),
        ({"X": X, "features": X, "y": range(5)}, "'X' and 'features' could both be meant"),
        ({"X_train": X, "y_train": range(5), "labels_train": range(5)}, "'labels_train' and 'y_t"),
        ({"X_train": X, "y_train": range(4)}, r"'y_train' has shape \(4,\) for the 5 rows of 'tr"),
        ({"X": X[None], "y": [0]}, "no features among 'X', 'y'"),
        ({"X": X, "y": range(4)}, r"'y' has shape \(4,\) for 5 rows of features"),
        (
            {"X": X, "y": [0, 1, 2, 3, 9], "classes": list("abcd")},
            "'y' holds 9 in row 4, which",
        ),
        ({"X": X, "y": range(5), "superclass": [0, 1]}, r"superclass has shape \(2,\)"),
    ],
)
def test_archives_that_make_no_table(arrays, message, tmp_path):
    np.savez(tmp_path / "bad.npz", **{name: np.asarray(value) for name, value in arrays.items()})
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "bad.npz")


def test_an_archive_with_two_files_of_one_name(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=range(5))
    with (
        zipfile.ZipFile(tmp_path / "a.npz", "a") as archive,
        pytest.warns(match="Duplicate name"),
    ):
        archive.writestr("X.npy", archive.read("X.npy"))
    with pytest.raises(ValueError, match=r"a.npz is .* \(two arrays are named 'X'\)"):
        read_table(tmp_path / "a.npz")


def test_arrays_of_python_objects_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=np.array(LABELS, dtype=object))
    with pytest.raises(ValueError, match=r"a.npz is cut short, or not of plain arrays"):
        read_table(tmp_path / "a.npz")
    np.save(tmp_path / "a.npy", np.array(LABELS, dtype=object))
    with pytest.raises(ValueError, match=r"a.npy is cut short, or not of plain arrays"):
        read_table(tmp_path / "a.npy", labels=range(5))


@pytest.mark.parametrize("suffix", ["npz", "npy", "parquet", "features"])
def test_files_cut_short(suffix, tmp_path):
    path = tmp_path / f"table.{suffix}"
    if suffix == "npz":
        np.savez(path, X=X, y=range(5))
    elif suffix == "npy":
        np.save(path, X)
    elif suffix == "features":
        write_features(path, read_table(pd.DataFrame(WIDE | REST)))
    else:
        pl.DataFrame(WIDE | REST).write_parquet(path)
    content = path.read_bytes()
    options = {"labels": range(5)} if suffix == "npy" else {}
    for length in np.linspace(0, len(content) - 1, 25).astype(int):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"is cut short"):
            read_table(path, **options)


def test_sources_of_no_known_kind(tmp_path):
    with pytest.raises(ValueError, match=r"- is standard input, which is not read: pass a file th"):
        read_table("-")
    with pytest.raises(ValueError, match=r"table.xlsx ends in '.xlsx': pass a file that ends in"):
        read_table(tmp_path / "table.xlsx")
    with pytest.raises(FileNotFoundError, match=r"none.csv is not a file: pass the path of a"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(ValueError, match=r"source is a dict: pass a path, or a table of pandas"):
        read_table({"a": [1]})


def test_a_feature_file_takes_no_columns(tmp_path):
    path = tmp_path / "t.features"
    write_features(path, read_table(pd.DataFrame(WIDE | REST)))
    for options in ({"feature_column": "x"}, {"classes": ["a"]}):
        with pytest.raises(ValueError, match="is a feature file, which says itself what its col"):
            read_table(path, **options)
    with pytest.raises(ValueError, match=r"label_column='y' is for .* whose label is 'label'"):
        read_table(path, label_column="y")
    assert read_table(path, label_column="label").classes == read_table(path).classes


def test_separate_labels_replace_those_of_a_feature_file(tmp_path):
    path = tmp_path / "t.features"
    table = read_table(pd.DataFrame(WIDE | REST))
    write_features(path, table)
    names = [table.classes[0]] * (table.n_rows - 1) + [None]
    again = read_table(path, labels=names)
    assert again.labels.tolist() == [0] * (table.n_rows - 1) + [-1]
    assert again.classes == table.classes
    pd.DataFrame({"row": range(table.n_rows), "label": names}).to_csv(
        tmp_path / "reviewed.csv", index=False
    )
    from_file = read_table(path, labels=tmp_path / "reviewed.csv")
    np.testing.assert_array_equal(from_file.labels, again.labels)
    with pytest.raises(ValueError, match="labels for"):
        read_table(path, labels=names[1:])
    with pytest.raises(ValueError, match="unheard-of"):
        read_table(path, labels=["unheard-of"] * table.n_rows)


def test_parquet_without_its_extra(tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    pl.DataFrame(WIDE | REST).write_parquet(path)

    class Missing:
        def find_spec(self, name, *_):
            if name.split(".")[0] == "pyarrow":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    with pytest.raises(ImportError, match=r'Parquet files need pyarrow: pip install "twohot\[par'):
        read_table(path)


def test_labels_need_not_be_there_if_nobody_asks_for_them(tmp_path) -> None:
    np.save(tmp_path / "x.npy", np.eye(3))
    (tmp_path / "x.csv").write_text("a,b,split\n1,0,train\n0,1,test\n")
    for name, n_rows in (("x.npy", 3), ("x.csv", 2)):
        table = read_table(tmp_path / name, labelled=False)
        assert (table.n_rows, table.classes) == (n_rows, ())
        assert table.labels.tolist() == [-1] * n_rows
        with pytest.raises(ValueError, match="no label column among"):
            read_table(tmp_path / name)
    # Those that are there are read all the same, and are no features.
    (tmp_path / "y.csv").write_text("a,label\n1,7\n0,5\n")
    table = read_table(tmp_path / "y.csv", labelled=False)
    assert (table.classes, table.n_features) == (("5", "7"), 1)


def test_separate_labels_give_a_feature_file_without_labels_its_classes(tmp_path):
    path = tmp_path / "t.features"
    write_features(path, read_table(pd.DataFrame(WIDE), labelled=False))
    table = read_table(path, labels=["b", "a", "", "b", "a"])
    assert table.classes == ("a", "b")
    assert table.labels.tolist() == [1, 0, -1, 1, 0]


def test_integers_with_a_null_stay_integers():
    for frame in (
        pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": pd.array([10, None, 2], dtype="Int64")}),
        pl.DataFrame({"a": [1.0, 2.0, 3.0], "y": [10, None, 2]}),
        pa.table({"a": [1.0, 2.0, 3.0], "y": [10, None, 2]}),
    ):
        table = read_table(frame)
        assert (table.classes, table.labels.tolist()) == (("2", "10"), [1, -1, 0])


def test_a_null_among_features_is_not_lost():
    for frame in (
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "y": [0, 1]}),
        pl.DataFrame({"a": [1, None], "y": [0, 1]}),
        pl.DataFrame({"a": [1.0, None], "y": [0, 1]}),
        pa.table({"a": [1, None], "y": [0, 1]}),
    ):
        np.testing.assert_array_equal(read_table(frame).features, [[1.0], [np.nan]])


def test_texts_that_mean_no_label(tmp_path):
    table = read_table(
        pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": ["x", "?", "y"], "true_label": ["x", "y", "?"]}),
        missing=["?"],
    )
    assert table.classes == ("x", "y")
    assert (table.labels.tolist(), table.true_labels.tolist()) == ([0, -1, 1], [0, 1, -1])
    # A feature file loses the class, and its superclass with it.
    stored = replace(
        read_table(pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": ["x", "?", "y"]})),
        superclass=np.array([1, 0, 0]),
        superclass_names=("s", "t"),
        true_labels=np.array([1, 1, 0]),
    )
    assert stored.classes == ("?", "x", "y")
    write_features(tmp_path / "t.features", stored)
    again = read_table(tmp_path / "t.features", missing=["?"])
    assert again.given_labels.tolist() == ["x", None, "y"]
    assert again.superclass.tolist() == [0, 0]
    assert again.true_labels.tolist() == [0, 0, -1]
    relabelled = read_table(tmp_path / "t.features", labels=["y", "NA", "x"], missing=["NA"])
    assert relabelled.given_labels.tolist() == ["y", None, "x"]


def test_classes_of_a_plain_feature_file_that_mean_no_label_are_dropped(tmp_path):
    table = FeatureTable(features=np.eye(3), labels=np.arange(3), classes=("NA", "x", "y"))
    write_features(tmp_path / "plain.features", table)
    found = read_table(tmp_path / "plain.features", missing=["NA"])
    assert (found.classes, found.labels.tolist()) == (("x", "y"), [-1, 0, 1])
    assert found.true_labels is None
    assert found.superclass is None
