"""Input that is no table is refused: what came, what is allowed, what to do."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from whole_table import GOOD

from twohot import LinearProbe
from twohot.tables import FeatureBlocks, FeatureTable, RowIds, read_features, read_table
from twohot.tables.csv_file import csv_columns, read_csv
from twohot.tables.feature_file import write_features
from twohot.tables.table import code_by_name

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
WIDE = {f"f{column}": X[:, column] for column in range(3)}
ALL = WIDE | {
    "label": ["dog", "cat", None, "dog", "eel"],
    "split": ["train", "train", "test", "test", "train"],
    "path": [f"{row}.jpg" for row in range(5)],
}
TABLE = GOOD | {"ids": RowIds(["p", "q", "r", "s"], "column", "nr")}

# Each builder returns a function that is called with an empty folder -----------------------------


def frame(columns, **options):
    return lambda _: read_table(pd.DataFrame(columns), **options)


def table(**change):
    return lambda _: FeatureTable(**(TABLE | change))


def coded(labels, classes=None):
    return lambda _: code_by_name(labels, classes)


def ids(cells):
    return lambda _: RowIds.of_column("nr", cells)


def csv(content, read=read_table):
    """Read a CSV file of these characters or bytes."""

    def call(folder):
        (folder / "bad.csv").write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )
        read(folder / "bad.csv")

    return call


def archive(**arrays):
    def read(folder):
        np.savez(folder / "bad.npz", **{name: np.asarray(cells) for name, cells in arrays.items()})
        read_table(folder / "bad.npz")

    return read


def beside(text, *, option="labels", source=None):
    """Read features with a file of this text, of labels or of classes."""

    def read(folder):
        np.save(folder / "X.npy", X)
        (folder / "y.csv").write_text(text)
        given = folder / "X.npy" if source is None else pd.DataFrame(source)
        read_table(given, **{option: folder / "y.csv"})

    return read


def parquet(arrays, names):
    """Fit a probe to a folder of one Parquet file."""

    def read(folder):
        made = pa.Table.from_arrays(list(map(pa.array, arrays)), names=names)
        pq.write_table(made, folder / "x.parquet", row_group_size=100)
        found = read_table(folder)
        LinearProbe().fit(found.features, found.coded)

    return read


def written(features=None, **change):
    """Write a feature file."""
    given = {"features": np.eye(5) if features is None else features}
    made = {"labels": np.zeros(5, int), "classes": ("a",)} | given | change
    return lambda folder: write_features(folder / "t.features", FeatureTable(**made))


def blocks(*parts):
    return written(FeatureBlocks(parts, (5, 3), "float32"))


def changed(tensors=None, about=None, text=None):
    """Read a feature file with other tensors, or another description."""

    def read(folder):
        path = folder / "t.features"
        write_features(path, FeatureTable(**TABLE))
        with safe_open(path, framework="numpy") as file:
            header = json.loads(file.metadata()["twohot.features"]) | (about or {})
        header = {name: value for name, value in header.items() if value != "removed"}
        kept = load_file(path) | (tensors or {})
        kept = {name: tensor for name, tensor in kept.items() if tensor is not None}
        save_file(kept, path, {"twohot.features": text or json.dumps(header)})
        read_features(path)

    return read


LISTS = [row.tolist() for row in np.ones((300, 12))]
SHORT = [*LISTS[:250], [1.0] * 7, *LISTS[251:]]
NULL = [*LISTS[:250], None, *LISTS[251:]]
LETTERS = ["a", "b"] * 150
TWO_X = pa.Table.from_arrays([pa.array([0.0])] * 2, names=["x", "x"])
UTF8 = r"bad\.csv is not .*"
FIRST_LINE = "begins with the cells {}, …: add a first line"
MISSING = r"^.*is a feature file with a missing or invalid field \(.*"
RISE = "must rise from 0 to"
REFUSED = [
    # Frames
    (frame(WIDE), "no label column among 'f0', 'f1', 'f2': name the label col"),
    (frame(ALL, label_column="animal"), "label_column='animal' is missing: the columns are 'f0'"),
    (frame(ALL, feature_column=["f0", "z"]), "feature_column='z' is missing"),
    (
        frame(ALL | {"y": 0}),
        "'label' and 'y' could both be the label column: choose one by label_column",
    ),
    (frame(ALL | {"text": ""}), "'path' and 'text' could both be the item column: choose one by i"),
    (frame({"label": ["x"]}), r"no features among the columns 'label'.* `twohot extract FILE --b"),
    (frame(ALL, feature_column="path"), "column 'path' holds no numbers"),
    (frame({"a": list(X), "b": list(X)}), "'a' and 'b' could both be the feature column: c"),
    (frame({"a": [[1, 2, 3], [1, 2]], "y": 0}), "'a' holds 3 numbers in row 0, but not in row 1"),
    (frame({"a": [[1, 2], None], "y": 0}), "'a' holds 2 numbers in row 0, but not in row 1"),
    (frame({"a": [1, 2], "y": 0, "split": ["x", None]}), r"split\[1\] is empty: set the split"),
    (frame(ALL, classes=["cat", "eel"]), r"column 'label' has 1 label that is not among the 2"),
    (frame(ALL, group_column="f0", feature_column="f0"), "group_column='f0' is also chosen as a f"),
    (frame(WIDE, labels=["a"] * 4), "labels has 4 labels for 5 rows of features"),
    (lambda _: read_table({"a": [1]}), "source is a dict: pass a path, or a table of pandas"),
    (lambda _: read_table(TWO_X), r"source has equal column names .Expected"),
    # CSV files
    (csv(""), "is empty: a CSV file must begin with a line of column names"),
    (csv("a,label\n"), "has no rows after its header"),
    (csv("0.5,1.5\n1,2\n"), FIRST_LINE.format("0.5, 1.5")),
    (csv("1,-2.5e3,cat\n1,2,dog\n"), FIRST_LINE.format("1, -2.5e3, cat")),
    (csv("0,5;1;cat\n1;2;dog\n"), FIRST_LINE.format("0,5, 1, cat")),
    (csv("3,5,7\n1,2,4\n"), FIRST_LINE.format("3, 5, 7")),
    (csv("a,a,label\n1,2,x\n"), "has two columns named 'a': rename one"),
    (csv("a,label\n1,x\n2\n"), r"1 cell in row 1 \(the first .*, but 2 in its header: quote"),
    (csv("a,label\n1,x\ntwo,y\n"), r"'a' holds numbers, but the cell in row 1 .* is 'two': c"),
    (csv("a\tlabel\n1,234\tx\n"), "numbers like 1,234, which may be 1.234 or 1234: correct"),
    (csv("a,label\none,x\n"), r"no features among the columns 'a', 'label' \(in .*bad\.csv\)"),
    *(
        (csv(content, read), UTF8 + said)
        for read in (read_csv, csv_columns)
        for content, said in (
            (b'a,b\n1,"b', " in line 2.: close quotation marks, and double"),
            (b'a,b\n\n"a"b,c', " in line 3.: close"),
            ("a,b\n".encode("utf-16"), "save the file as UTF-8 .in a spreadsheet: CSV UTF-8"),
            ("a,ü\n".encode("latin-1"), "save the file as UTF-8"),
        )
    ),
    # Archives
    (archive(X=X, X_train=X, y=range(5)), "'X' and 'X_train' could both be the feature column"),
    (archive(X_train=X, features_train=X), "'X_train' and 'features_train' could both be"),
    (archive(X=X, features=X, y=range(5)), "'X' and 'features' could both be the feature column"),
    (archive(X_train=X, y_train=range(5), labels_train=range(5)), "'labels_train' and 'y_t"),
    (archive(X_train=X, X_test=X[:, :2]), "'X_train' has 3 columns and 'X_test' has 2 columns: e"),
    (archive(X_train=X, y_train=range(4)), r"'y_train' has shape \(4,\) for the 5 rows of split"),
    (archive(X=X[None], y=[0]), "no features among the columns 'X', 'y'"),
    (archive(X=X, y=range(4)), r"'y' has shape \(4,\) for 5 rows of features"),
    (archive(X=X, y=[0, 1, 2, 3, 9], classes=list("abcd")), "'y' holds 9 in row 4, which"),
    (archive(X=X, y=range(5), superclass=[0, 1]), r"superclass has shape \(2,\)"),
    # Separate labels and classes
    (beside("3\n1\n2\n0\n1\n"), r"y.csv begins with the cells 3, …: add a first line"),
    (beside("cat\ndog\ncat\ncat\ndog\n"), r"y.csv has 4 labels for 5 rows .* first line of a CSV"),
    (beside("fine,coarse\n" + "a,b\n" * 5), r"has the columns 'fine', 'coarse': choose the lab"),
    (beside("label,split\n" + "a,x\n" * 5, source=ALL), r"y.csv.* both have a column 'split'"),
    (beside("row,label\n0,a\n0,a\n"), r"y.csv, column 'row', has 1 id more than once \('0'\)"),
    (beside("row,label\n-1,a\nx,a\n"), r"2 ids that no row has \('-1', 'x'\); the row ids are pos"),
    (beside("row,label\n0,a\n1.5,a\n"), r"1 id that no row has \('1.5'\)"),
    (beside("kind,size\na,1\nb,2\n", source=WIDE), r"y\.csv"),
    (beside("cat\ncat\n", option="classes", source=ALL), r"y\.csv"),
    # Labels by the names of classes
    (coded(["a", "z"], ["a", "b"]), r"1 label that is not among the 2 classes \('z'\): list all"),
    (coded([0, 2], ["a", "b"]), r"labels holds 2 in row 1, .* among the 2 classes: .* from 0 to 1"),
    (coded([0, -2], ["a", "b"]), r"labels holds -2 in row 1, which is not a position"),
    (coded([0, 1], ["1", "2"]), r"labels has 1 label that is not among the 2 classes \('0'\)"),
    (coded([0, 1], [object(), object()]), r"classes holds <object object at .*> in row 0, which"),
    # Ids
    (ids(["a", "", "b", None]), r"column 'nr' has no id in 2 rows \(row 1, 3; .*\): name ano"),
    (ids(["a", "b", "a", "c", "c"]), r"holds 'a' more than once \(in rows 0, 2; .*; 1 oth"),
    (ids([object(), object()]), r"column 'nr' holds <object object at .*> in row 0, which is no"),
    (ids([1, 1.0]), r"holds '1' more than once"),
    (lambda _: RowIds(["a", "b", "a"]).places_of(["b"], "x"), r"1 id of the rows occur .* \('a'\)"),
    (lambda _: RowIds(["a"], "colour"), "kind='colour'"),
    # Tables whose parts do not fit together
    (table(features=np.zeros(4)), r"features has shape \(4,\): pass a two-dimensional array"),
    (table(labels=np.zeros(3, int)), r"labels has shape \(3,\) .* pass 4 integers"),
    (table(labels=np.array([0, 2, 0, 0])), r"labels\[1\]=2 is out of range: there are 2 names"),
    (table(labels=np.array([0, 0, -2, 0])), r"labels\[2\]=-2 .* integers from -1 to 1"),
    (table(true_labels=np.array([0, 0, 0, 5])), r"true_labels\[3\]=5 is out of range"),
    (table(superclass=np.array([0, 1])), r"superclass\[1\]=1 is out of range: there is 1 name"),
    (table(split=np.array([0, 0, 0, -1])), r"split\[3\]=-1 is out of range"),
    (table(items=["a"]), r"items has 1 entry for 4 rows: pass one entry per row"),
    (table(groups=np.zeros(3)), r"groups has 3 entries for 4 rows"),
    (table(ids=RowIds(["x", "y"])), "ids has 2 entries for 4 rows"),
    (table(classes=("cat", "cat")), r"classes holds 'cat' twice: pass each name once"),
    (table(classes="ab"), r"classes='ab' is not allowed: pass a tuple of strings"),
    (table(superclass_names=(1,)), r"superclass_names=\(1,\) is not allowed"),
    # Parquet files
    (
        parquet([SHORT, LETTERS], "ey"),
        "7 numbers at row 50 of row group 2 .* but 12 numbers in oth",
    ),
    (parquet([NULL, LETTERS], "ey"), "contains no list at row 50 of row group 2"),
    (parquet([pa.array([], pa.float32())], "e"), r"has no rows in .*x\.parquet"),
    (parquet([[[0.0]], ["a"], ["b"]], "xyy"), r"x\.parquet has 2 columns named 'y': rename one"),
    # Feature files to be written
    (blocks(np.ones((2, 3))), r"end after 2 of 5 rows: pass one row per label"),
    (blocks(np.ones((4, 3)), np.ones((2, 3))), r"at row 4 has shape \(2, 3\), which does not fit"),
    (blocks(np.ones((5, 2))), r"at row 0 has shape \(5, 2\), which does not fit .*\(5, 3\)"),
    (blocks(np.ones(3)), r"at row 0 has shape \(3,\), which does not fit"),
    (blocks(np.ones((1, 3)), np.full((4, 3), 1e39)), r"from row 1 on .* too large for float32"),
    (written(items=[*"abcd", 3]), r"items\[4\]=3 cannot be written as UTF-8 \('int' .* valid text"),
    (written(items=[*"abcd", "\ud800"]), r"items\[4\]=.* cannot be written as UTF-8 .*position 0"),
    (
        written(np.eye(5, dtype=int)),
        r"features is int64, but a feature file contains dense float16",
    ),
    (written(np.eye(5, dtype=complex)), r"features holds complex numbers .*complex128"),
    (written(sp.csr_array(np.eye(5))), r"features is sparse, .* convert them by .toarray\(\)"),
    (written(np.zeros((5, 0))), r"features has shape \(5, 0\): write at least one row and one fea"),
    (
        written(np.ma.masked_equal(np.eye(5), 1)),
        r"features has masked cells, first at index \(0",
    ),
    *(
        (written(provenance={"value": value}), "provenance cannot be written as JSON")
        for value in ({1, 2}, np.float32(1), float("nan"), object())
    ),
    # Feature files that were changed
    (changed(about={"format_version": 3, "classes": "removed"}), "upgrade twohot"),
    *(
        (changed(about={part: "removed"}), MISSING + part)
        for part in ("format_version", "classes", "superclass_names", "split_names", "item_kind")
    ),
    *(
        (changed(about={"format_version": version}), MISSING)
        for version in (float("inf"), float("nan"), 1.5, 0, "1", True, None)
    ),
    *((changed(about={part: 3}), MISSING) for part in ("classes", "provenance", "id_kind")),
    *((changed(text=text), MISSING) for text in ("{", "[]", "3", "null", "[" * 100_000)),
    *(
        (changed({name: tensor}), MISSING + words)
        for name, tensor, words in (
            ("features", None, "'features'"),
            ("features", np.zeros((4, 3), np.int32), "features is int32"),
            ("labels", None, "'labels'"),
            ("labels", np.full(4, 3, np.int32), r"labels\[0\]=3 is out of range: there are 2 nam"),
            ("item_bytes", None, "'item_bytes'"),
            ("item_offsets", np.zeros(4, np.int64), RISE),
            ("item_offsets", np.array([0, 2, 1, 3, 4]), RISE),
            ("item_offsets", np.zeros((2, 2), np.int64), RISE),
            ("id_bytes", None, "'id_bytes'"),
            ("id_offsets", np.arange(8), RISE),
        )
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_invalid_input_is_refused(call, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        call(tmp_path)
    assert not list(tmp_path.glob(".*"))  # no unfinished file


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("-", ValueError, r"- is standard input, which is not supported: pass a file that ends in"),
        ("t.xlsx", ValueError, r"t.xlsx ends in '.xlsx': pass a file that ends in"),
        ("none.csv", FileNotFoundError, r"none.csv does not exist: pass the path of a table"),
        (".", ValueError, "is a folder: extract features of its"),
        (["none.parquet"], FileNotFoundError, "does not exist: pass Parquet files or a folder"),
        ("none.features", FileNotFoundError, "does not exist: pass the path of a table"),
    ],
)
def test_source_that_is_no_table_is_refused(source, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        read_table(source)


def test_folder_is_no_feature_file(tmp_path):
    for missing in (tmp_path / "none.features", tmp_path):
        with pytest.raises(FileNotFoundError, match="pass the path of a feature file"):
            read_features(missing)
