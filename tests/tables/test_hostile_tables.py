"""Any bytes give a table, or an error that names the file, within bounded memory."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from whole_table import GOOD

from mutations import JSON_VALUES, changed_bytes, changed_json, read_or_refused
from twohot.tables import FeatureTable, read_features, read_table, write_features

TABLE = FeatureTable(**GOOD)
CSV = 'path,x,y,label,split\n"a, b.jpg",1.5,-2e3,cat,train\nü.jpg,2,3,,test\n'.encode()
WRITERS = {
    "a.features": lambda path: write_features(path, TABLE),
    "a.csv": lambda path: path.write_bytes(CSV),
    "a.npz": lambda path: np.savez(path, X=np.eye(3), y=["a", "b", "a"], classes=["a", "b"]),
    "small.npz": lambda path: np.savez_compressed(path, X_train=np.eye(3), y_train=[0, 1, 0]),
    "a.npy": lambda path: np.save(path, np.eye(3)),
    "a.parquet": lambda path: pd.DataFrame({"x": [0.5, 1], "label": ["a", None]}).to_parquet(path),
}
# Numbers, text and separators of all kinds.
CELLS = st.sampled_from([*"012,;\t\n\r\"'", "label", "x", "y", "row", "nan", "-1", "1e999", "ü"])


@pytest.fixture(scope="module", params=WRITERS)
def file(request, tmp_path_factory):
    """Return a file and its content."""
    path = tmp_path_factory.mktemp("tables") / request.param
    WRITERS[request.param](path)
    return path, path.read_bytes()


def check(path, read=read_table, **options):
    """Fail unless a file is a table, or an error names the file."""
    with read_or_refused(path):
        table = read(path, **options)
        assert len(table.given_labels) == table.n_rows
        assert list(table.items or ()) is not None  # items are decoded


@given(data=st.data())
def test_changed_bytes_give_a_table_or_an_error(file, data):
    path, content = file
    path.write_bytes(data.draw(changed_bytes(content)))
    check(path, labels=["a", "b", "a"] if path.suffix == ".npy" else None)


@given(text=st.lists(CELLS, max_size=60).map("".join))
def test_any_text_gives_a_table_or_an_error(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text(text, newline="")
    check(path)


@given(header=st.data())
def test_any_header_gives_a_table_or_an_error(tmp_path_factory, header):
    path = tmp_path_factory.getbasetemp() / "header.features"
    write_features(path, TABLE)
    with safe_open(path, framework="numpy") as file:
        before = json.loads(file.metadata()["twohot.features"])
    text = json.dumps(header.draw(changed_json(before)))
    save_file(load_file(path), path, {"twohot.features": text})
    check(path, read_features)


SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = hnp.arrays(
    hnp.scalar_dtypes().filter(lambda dtype: dtype.kind != "V"),
    SHAPES | st.sampled_from([(3,), (3, 2)]),
)
ROWS = ["X", "y", "label", "labels", "split", "path", "X_train", "y_train"]
NAMES = st.sampled_from([*ROWS, "classes", "superclass", "superclass_names"])


@example(arrays=dict.fromkeys("Xy", np.zeros(0)))
@example(arrays={"X_train": np.eye(3), "classes": np.array(1.5)})
@given(arrays=st.dictionaries(NAMES, ARRAYS, min_size=1, max_size=4))
def test_any_arrays_give_a_table_or_an_error(tmp_path_factory, arrays):
    path = tmp_path_factory.getbasetemp() / "arrays.npz"
    np.savez(path, **arrays)
    check(path)


@given(value=JSON_VALUES)
def test_any_labels_give_a_table_or_an_error(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "labels.npy"
    np.save(path, np.eye(3))
    check(path, labels=[value] * 3)
