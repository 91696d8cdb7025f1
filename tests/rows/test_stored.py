"""Rows read in parts, selected rows: they equal the rows of an array, and few are held."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from prepared import peak_bytes
from stored import Sliced, frame, memory_map
from twohot import DiscriminantProbe, DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.rows.selected import RANGE, SelectedRows, is_sampled
from twohot.rows.stored import MOST_HELD, PART_BYTES, PartedRows, SlicedRows, in_parts, open_store
from twohot.tables import FeatureTable, read_features, write_features

NUMBERS = np.arange(60, dtype=np.float32).reshape(20, 3)
INDEX = np.array([6, 1, 1, 7, 0])


class CountedParts(PartedRows):
    """Rows of an array in parts of any size; `read` lists the parts that were read."""

    def __init__(self, X, bounds):
        super().__init__(bounds, X.shape[1], X.dtype)
        self.X = X
        self.read = []
        self.is_there = True

    def read_part(self, number):
        if not self.is_there:
            raise OSError("no answer")
        self.read.append(number)
        return self.X[self.bounds[number] : self.bounds[number + 1]].copy()


# Every kind of gathered rows, with the rows that it must equal.
GATHERED = {
    "parts": (CountedParts(NUMBERS, [0, 7, 7, 20]), NUMBERS),
    "slices": (SlicedRows(NUMBERS, 6), NUMBERS),
    "selected": (SelectedRows(NUMBERS, INDEX), NUMBERS[INDEX]),
    "selected by a mask": (SelectedRows(NUMBERS, NUMBERS[:, 0] > 9), NUMBERS[4:]),
    "selected twice": (SelectedRows(SelectedRows(NUMBERS, INDEX), [3, 0]), NUMBERS[[7, 6]]),
    **{
        kind.__name__: (SelectedRows(kind(NUMBERS), INDEX), NUMBERS[INDEX])
        for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array)
    },
}


@pytest.mark.parametrize("name", GATHERED)
def test_gathered_rows_are_read_like_an_array(name):
    rows, expected = GATHERED[name]
    assert (len(rows), rows.shape, rows.ndim) == (len(expected), expected.shape, 2)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(rows, dtype=np.float64), expected)
    for key in (slice(1, 2), slice(None, None, 2), [1, 0], [-1], expected[:, 0] > 4):
        found = rows[key]
        np.testing.assert_array_equal(
            found.toarray() if sp.issparse(found) else found, expected[key]
        )
    sent = pickle.loads(pickle.dumps(rows))  # noqa: S301 - our own
    np.testing.assert_array_equal(np.asarray(sent), expected)
    with pytest.raises(ValueError, match="is always a copy: pass copy=None"):
        np.asarray(rows, copy=False)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.coo_array])
def test_table_of_selected_rows_is_fitted_and_written(kind, tmp_path):
    whole = FeatureTable(features=kind(NUMBERS), labels=np.arange(20) % 2, classes=("a", "b"))
    table = whole.take(np.array([0, 3, 5, 2]))
    assert LinearProbe().fit(table.features, table.coded).n_features_in_ == 3
    again = table.take([3, 1])
    np.testing.assert_array_equal(again.features, NUMBERS[[2, 3]])
    if kind is np.asarray:
        assert again.features.X is NUMBERS
        write_features(tmp_path / "some.features", table)
        found = read_features(tmp_path / "some.features").features
        np.testing.assert_array_equal(found, NUMBERS[[0, 3, 5, 2]])


@pytest.mark.parametrize("every", [1, 2, 10, 100])
def test_sample_is_even_for_any_order_of_rows(every):
    sampled = is_sampled(np.arange(100_000), RANGE // 10)[::every]
    assert sampled.mean() == pytest.approx(0.1, rel=0.05)
    assert is_sampled(np.arange(1000), RANGE).all()
    assert not is_sampled(np.arange(1000), 0).any()


# Parts --------------------------------------------------------------------------------------------

bounds_of_twenty = st.lists(st.integers(0, 20), max_size=6).map(lambda cuts: [0, *sorted(cuts), 20])
indices = st.lists(st.integers(-20, 19)).map(lambda rows: np.array(rows, dtype=np.intp))


@settings(max_examples=80)
@given(bounds_of_twenty, st.slices(20) | indices)
def test_any_parts_give_the_rows_of_an_array(bounds, rows):
    assert np.array_equal(CountedParts(NUMBERS, bounds)[rows], NUMBERS[rows])


def test_next_part_is_read_ahead_and_few_are_held():
    parts = CountedParts(NUMBERS, range(0, 21, 2))
    for row in range(20):
        assert np.array_equal(parts[row : row + 1], NUMBERS[row : row + 1])
        assert len(parts._held) <= MOST_HELD
        parts._held[(row // 2 + 1) % 10].result()  # requested by now
    assert parts.read == [*range(10), 0]  # each once, and the first again for the next pass


def test_few_parts_are_read_once():
    parts = CountedParts(NUMBERS, [0, 10, 20])
    for _ in range(3):
        assert np.array_equal(parts[:], NUMBERS)
    assert sorted(parts.read) == [0, 1]


def test_unreadable_part_is_read_again():
    parts = CountedParts(NUMBERS, [0, 10, 20])
    parts.is_there = False
    for rows in (slice(5), slice(10, 15)):
        with pytest.raises(OSError, match="no answer"):
            parts[rows]
    parts.is_there = True
    assert np.array_equal(parts[:], NUMBERS)


# Stores -------------------------------------------------------------------------------------------


def test_store_with_other_dimensions_or_masked_cells_is_rejected():
    labels = np.arange(20) % 2
    with pytest.raises(ValueError, match=r"X is of type Sliced and shape \(20,\): pass a two-"):
        LinearProbe().fit(Sliced(NUMBERS[:, 0]), labels)
    masked = np.ma.masked_equal(NUMBERS, 5)
    with pytest.raises(ValueError, match=r"X has masked cells, first at index \(1, 2\): fill"):
        LinearProbe().fit(Sliced(masked), labels)


def tensor(rows):
    return pytest.importorskip("torch").tensor(rows)


@pytest.mark.parametrize("kind", [np.asarray, np.ma.asarray, sp.csr_array, tensor, frame])
def test_rows_in_memory_are_no_store(kind):
    X = kind(NUMBERS)
    assert open_store(X) is X


# Memory maps --------------------------------------------------------------------------------------


def problem(n_rows=1500, n_features=1024):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, n_features)).astype(np.float16)
    return X, (X[:, :3] + generator.normal(size=(n_rows, 3))).argmax(axis=1)


def test_large_file_is_read_in_parts(tmp_path):
    X, _ = problem()
    assert X.nbytes > PART_BYTES
    stored = memory_map(X, tmp_path)
    assert in_parts(X) is X
    assert in_parts(stored[:10])[:].base is not None
    assert isinstance(in_parts(np.asarray(stored)), SlicedRows)
    some = in_parts(SelectedRows(stored, np.arange(0, 1500, 2)))
    assert isinstance(some.X, SlicedRows)
    assert np.array_equal(some[3:9], X[6:18:2])


def test_copy_on_write_map_keeps_what_was_written(tmp_path):
    np.save(tmp_path / "rows.npy", problem()[0])
    stored = np.load(tmp_path / "rows.npy", mmap_mode="c")
    stored[:] = 7
    stored.flags.writeable = False
    parts = in_parts(stored)
    assert isinstance(parts, SlicedRows)
    for _ in range(2):
        assert (parts[:] == 7).all()
    assert (stored == 7).all()


@pytest.mark.parametrize(
    "work",
    [
        lambda X, y: LinearProbe(tol=0.1, n_jobs=1).fit(X, y),
        lambda X, y: DistilledProbe(n_rounds=2, tol=0.1, n_jobs=1).fit(X, y),
        lambda X, y: PartialLabelProbe(tol=0.1, n_jobs=1).fit(X, y),
        lambda X, y: DiscriminantProbe(n_jobs=1).fit(X, y),
        lambda X, y: LinearProbe(tol=0.1, n_jobs=1).fit(X, y).predict(X),
    ],
    ids=["one round", "rounds", "candidates", "discriminant", "predictions"],
)
def test_more_rows_take_little_more_memory(work, tmp_path, monkeypatch):
    monkeypatch.setattr("twohot.rows.rows.KEPT_BYTES", 0)
    X, y = problem(n_rows=15_000, n_features=256)
    stored = memory_map(X, tmp_path)
    # The first run warms up. Parts of 16 rows, so that few bytes are held.
    peaks = [
        peak_bytes(lambda n=n: work(SlicedRows(stored[:n], 16), y[:n]))
        for n in (500, 3_000, 15_000)
    ]
    # Values that belong to a row (code, norm, candidates, logits) take some bytes; the row itself
    # would take 512, or 1,024 in the precision of a pass. The number of blocks that wait for the
    # reader changes this by a megabyte, a sixth of the bytes of the added rows.
    assert peaks[2] - peaks[1] < 0.6 * X[3_000:].nbytes
