"""Feature files return the table that was written, and are copied in blocks."""

import json
import os
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from twohot.tables import FeatureBlocks, FeatureTable, read_features, write_features
from twohot.tables.feature_file import BLOCK_BYTES, Items
from twohot.tables.row_ids import RowIds

CODES = ("labels", "true_labels", "split", "superclass")
FIELDS = ("classes", "superclass_names", "split_names", "item_kind", "provenance")


def assert_same(again, table):
    """Fail unless all fields are equal, and the features have the same bytes."""
    assert again.features.dtype == table.features.dtype
    assert again.features.tobytes() == np.ascontiguousarray(table.features).tobytes()
    for name in CODES:
        assert np.array_equal(getattr(again, name), getattr(table, name))
    for name in FIELDS:
        assert getattr(again, name) == getattr(table, name)
    assert (again.items is None) == (table.items is None)
    assert list(again.items or []) == list(table.items or [])
    assert list(again.ids) == list(table.ids)
    assert (again.ids.kind, again.ids.column) == (table.ids.kind, table.ids.column)


def full_table(n_rows=7, dtype=np.float32):
    """Return a table with all fields; rows of three numbers are not aligned by chance."""
    generator = np.random.default_rng(0)
    return FeatureTable(
        features=generator.normal(size=(n_rows, 3)).astype(dtype),
        labels=generator.integers(-1, 3, n_rows),
        classes=("größe", "", "日本"),
        superclass=np.array([0, 1, 0]),
        superclass_names=("a", "b"),
        split=generator.integers(0, 2, n_rows),
        split_names=("train", "test"),
        items=[f"bild {row}.jpg" * (row % 3) for row in range(n_rows)],
        item_kind="image",
        true_labels=generator.integers(-1, 3, n_rows),
        ids=RowIds([f"größe/{n_rows - row}" for row in range(n_rows)], "column", "nummer"),
        provenance={"model": "é", "sizes": [1, 2.5], "nested": {"none": None}},
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.features"


@pytest.fixture
def written(path):
    write_features(path, full_table())
    return path


names = st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True).map(tuple)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
json_values = st.recursive(scalars | st.text(max_size=5), st.lists, max_leaves=5)


@st.composite
def tables(draw):
    dtype = draw(st.sampled_from([np.float16, np.float32, np.float64]))
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 4)))
    classes, superclasses, splits = draw(names), draw(names), draw(names)

    def codes(n_codes, n_names, low=-1):
        return draw(hnp.arrays(np.int32, n_codes, elements=st.integers(low, n_names - 1)))

    n_rows = shape[0]
    texts = st.lists(st.text(max_size=6), min_size=n_rows, max_size=n_rows)
    return FeatureTable(
        features=draw(hnp.arrays(dtype, shape)),
        labels=codes(n_rows, len(classes)),
        classes=classes,
        superclass=codes(len(classes), len(superclasses), 0) if draw(st.booleans()) else None,
        superclass_names=superclasses,
        split=codes(n_rows, len(splits), 0) if draw(st.booleans()) else None,
        split_names=splits,
        items=draw(st.none() | texts),
        item_kind=draw(st.sampled_from(["", "image", "text"])),
        true_labels=codes(n_rows, len(classes)) if draw(st.booleans()) else None,
        provenance=draw(st.dictionaries(st.text(max_size=4), json_values, max_size=3)),
    )


@given(table=tables())
def test_any_table_is_read_as_written(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "table.features"
    write_features(path, table)
    again = read_features(path)
    assert_same(again, table)
    # The same content gives the same bytes.
    write_features(path.with_name("again.features"), again)
    assert path.with_name("again.features").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("n_rows", range(1, 9))
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_features_are_an_aligned_read_only_map(path, n_rows, dtype):
    write_features(path, full_table(n_rows, dtype))
    table = read_features(path)
    assert isinstance(table.features, np.memmap)
    assert not table.features.flags.writeable
    assert not table.labels.flags.writeable
    for array in (table.features, table.labels, table.split, table.superclass, table.items.offsets):
        assert array.flags.aligned


def test_safetensors_reads_the_file(written):
    table, tensors = full_table(), load_file(written)
    np.testing.assert_array_equal(tensors["features"], table.features)
    np.testing.assert_array_equal(tensors["labels"], table.labels)
    text, offsets = tensors["item_bytes"].tobytes(), tensors["item_offsets"]
    assert [text[a:b].decode() for a, b in pairwise(offsets)] == table.items
    with safe_open(written, framework="numpy") as file:
        about = json.loads(file.metadata()["twohot.features"])
    assert about == {
        "format_version": 2,
        "id_column": "nummer",
        "id_kind": "column",
        "classes": ["größe", "", "日本"],
        "superclass_names": ["a", "b"],
        "split_names": ["train", "test"],
        "item_kind": "image",
        "provenance": full_table().provenance,
    }


def test_file_written_by_safetensors_is_read(written):
    with safe_open(written, framework="numpy") as file:
        metadata = file.metadata()
    save_file(load_file(written) | {"unknown": np.zeros(2, np.uint16)}, written, metadata)
    assert_same(read_features(written), full_table())


def test_layout_in_memory_does_not_change_the_file(path, written):
    table = full_table()
    before = written.read_bytes()
    features = table.features
    for other in (np.asfortranarray(features), features.astype(">f4"), features.repeat(2, 0)[::2]):
        write_features(path, FeatureTable(**(vars(table) | {"features": other})))
        assert path.read_bytes() == before


# Blocks ------------------------------------------------------------------------------------------


def block_table(parts, shape, dtype="float32"):
    blocks = FeatureBlocks(parts, shape, dtype)
    return FeatureTable(features=blocks, labels=np.zeros(shape[0], int), classes=("a",))


def test_copying_a_file_holds_one_block(path):
    n_rows = 2 * BLOCK_BYTES // 4000  # 32 MiB of features
    rows = np.ones((1, 1000), np.float32)
    write_features(path, block_table((rows for _ in range(n_rows)), (n_rows, 1000)))
    tracemalloc.start()
    write_features(path.with_name("copy.features"), read_features(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Labels, their checks and the header are small.
    assert peak < BLOCK_BYTES + 2**20
    assert path.with_name("copy.features").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("sizes", [[5], [1, 4], [2, 0, 3], [1, 1, 1, 1, 1]])
def test_size_of_blocks_does_not_change_the_file(path, sizes):
    rows = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    write_features(path, block_table(iter(parts), (5, 3)))
    np.testing.assert_array_equal(read_features(path).features, rows)
    write_features(path.with_name("whole.features"), block_table([rows], (5, 3)))
    assert path.read_bytes() == path.with_name("whole.features").read_bytes()


def test_infinity_is_stored(path):
    write_features(path, block_table([np.array([[np.inf, -np.inf, np.nan]])], (1, 3), "float16"))
    np.testing.assert_array_equal(read_features(path).features, [[np.inf, -np.inf, np.nan]])


# Items -------------------------------------------------------------------------------------------


@given(strings=st.lists(st.text(max_size=5)))
def test_items_are_a_sequence(strings):
    items = Items.encode(strings)
    assert list(items) == strings
    assert list(items[::-2]) == strings[::-2]
    assert Items.encode(items) is items
    with pytest.raises(IndexError):
        items[len(strings)]
    if strings:
        assert items[-1] == strings[-1]


def test_path_that_is_not_utf8_is_stored():
    name = b"caf\xe9.jpg".decode(errors="surrogateescape")
    items = Items.encode([name])
    assert items[0] == name
    assert items.text.tobytes() == b"caf\xe9.jpg"


# Errors -----------------------------------------------------------------------------------------


def test_failed_write_keeps_the_old_file(written):
    before = written.read_bytes()
    with pytest.raises(ValueError, match="end after 1 of 5 rows"):
        write_features(written, block_table([np.ones((1, 3))], (5, 3)))
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_truncated_file_is_refused(written):
    content = written.read_bytes()
    short = written.with_name("short.features")
    for length in range(len(content)):
        short.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"short.features is not a feature file, or is tru"):
            read_features(short)
    short.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match=r"is not a feature file"):
        read_features(short)


def test_unreadable_file_is_named(written):
    written.chmod(0)
    if os.access(written, os.R_OK):
        pytest.skip("this user may read every file")
    with pytest.raises(PermissionError, match=r"table\.features"):
        read_features(written)


def test_other_safetensors_file_is_refused(path):
    for metadata in (None, {"format": "pt"}):
        save_file({"weight": np.zeros((2, 2))}, path, metadata)
        with pytest.raises(ValueError, match=r"is a safetensors file without a feature table"):
            read_features(path)


def test_metadata_may_have_any_names(written):
    with safe_open(written, framework="numpy") as file:
        about = file.metadata()
    save_file(load_file(written), written, about | {"dtype": "F32", "data_offsets": "0"})
    assert read_features(written).n_rows == 7
