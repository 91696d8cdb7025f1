"""The store of finished batches returns the features that were added, and no others."""

import hashlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.extract.output import BatchStore


def key(number):
    return hashlib.sha256(str(number).encode()).digest()


def rows(numbers, n_features=3):
    return np.array([[number + place / 8 for place in range(n_features)] for number in numbers])


@given(
    batches=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True), max_size=5),
    asked=st.lists(st.integers(0, 9), max_size=12),
    dtype=st.sampled_from(["float16", "float32"]),
)
def test_store_behaves_like_a_dictionary(batches, asked, dtype):
    with tempfile.TemporaryDirectory() as folder:
        store = BatchStore(Path(folder) / "store")
        for batch in batches:
            store.add([key(number) for number in batch], rows(batch).astype(dtype))
        there = {number for batch in batches for number in batch}
        for opened in (store, BatchStore(Path(folder) / "store")):
            assert len(opened) == len(there)
            assert [number for number in range(10) if key(number) in opened] == sorted(there)
            wanted = [number for number in asked if number in there]
            found = list(opened.blocks([key(number) for number in wanted]))
            assert all(block.dtype == dtype for block in found)
            stacked = np.concatenate([np.empty((0, 3)), *found])
            np.testing.assert_array_equal(stacked, rows(wanted).reshape(-1, 3).astype(dtype))


def test_damaged_and_unfinished_parts_are_ignored(tmp_path):
    store = BatchStore(tmp_path)
    store.add([key(1)], rows([1]))
    store.add([key(2)], rows([2]))
    damaged = min(tmp_path.glob("*.part"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    (tmp_path / ".abc.part.x1y2").write_bytes(b"half")
    opened = BatchStore(tmp_path)
    assert len(opened) == 1
    opened.add([key(1)], rows([1]))
    opened.add([key(2)], rows([2]))
    blocks = BatchStore(tmp_path).blocks([key(1), key(2)])
    np.testing.assert_array_equal(np.concatenate(list(blocks)), rows([1, 2]))


def test_rejects_rows_of_another_length_and_parts_that_changed(tmp_path):
    store = BatchStore(tmp_path)
    store.add([key(1)], rows([1], 3))
    with pytest.raises(ValueError, match="3 features for some items and 4 for others: pass"):
        store.add([key(2)], rows([2], 4))
    next(tmp_path.glob("*.part")).write_bytes(b"")
    with pytest.raises(ValueError, match="was changed while in use: run the"):
        list(store.blocks([key(1)]))
