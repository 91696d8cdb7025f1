"""Rows that are read in parts are the rows, whatever the parts are, and few of them are held."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prepared import peak_bytes
from stored import memory_map
from twohot import DiscriminantProbe, DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.rows import stored as parted
from twohot.rows.selected import SelectedRows
from twohot.rows.stored import MOST_HELD, PartedRows, SlicedRows, in_parts

NUMBERS = np.arange(60, dtype=np.float32).reshape(20, 3)


class CountedParts(PartedRows):
    """Rows of an array in parts of any size; which were read is noted."""

    def __init__(self, X, bounds):
        super().__init__(bounds, X.shape[1], X.dtype)
        self.X = X
        self.read = []

    def read_part(self, number):
        self.read.append(number)
        return self.X[self.bounds[number] : self.bounds[number + 1]].copy()


bounds_of_twenty = st.lists(st.integers(0, 20), max_size=6).map(lambda cuts: [0, *sorted(cuts), 20])
few_examples = settings(max_examples=40)


@few_examples
@given(bounds_of_twenty, st.slices(20))
def test_a_slice_is_that_of_an_array(bounds, rows):
    assert np.array_equal(CountedParts(NUMBERS, bounds)[rows], NUMBERS[rows])


@few_examples
@given(bounds_of_twenty, st.lists(st.integers(-20, 19)))
def test_rows_in_any_order_are_those_of_an_array(bounds, rows):
    index = np.array(rows, dtype=np.intp)
    assert np.array_equal(CountedParts(NUMBERS, bounds)[index], NUMBERS[index])


def test_a_mask_and_all_rows():
    parts = CountedParts(NUMBERS, [0, 7, 7, 20])
    assert np.array_equal(parts[NUMBERS[:, 0] > 30], NUMBERS[NUMBERS[:, 0] > 30])
    assert np.array_equal(np.asarray(parts, dtype=float), NUMBERS)
    with pytest.raises(ValueError, match="pass copy=None"):
        np.asarray(parts, copy=False)


def test_the_next_part_is_read_ahead_and_few_are_held():
    parts = CountedParts(NUMBERS, range(0, 21, 2))
    for row in range(20):
        assert np.array_equal(parts[row : row + 1], NUMBERS[row : row + 1])
        assert len(parts._held) <= MOST_HELD
        parts._held[(row // 2 + 1) % 10].result()  # is asked for by then
    assert parts.read == [*range(10), 0]  # each once, and the first again for the next pass


def test_parts_that_fit_are_read_once():
    parts = CountedParts(NUMBERS, [0, 10, 20])
    for _ in range(3):
        assert np.array_equal(parts[:], NUMBERS)
    assert sorted(parts.read) == [0, 1]


def test_a_copy_elsewhere_reads_for_itself():
    parts = CountedParts(NUMBERS, [0, 10, 20])
    parts[:1]
    assert np.array_equal(pickle.loads(pickle.dumps(parts))[5:15], NUMBERS[5:15])  # noqa: S301


# Memory maps -------------------------------------------------------------------------------------


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of 8 kB, so that small files have many of them; and no rows are kept."""
    monkeypatch.setattr(parted, "PART_BYTES", 2**13)
    monkeypatch.setattr("twohot.rows.rows.KEPT_BYTES", 0)


def problem(n_rows=1500, n_features=40, n_classes=5):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, n_features)).astype(np.float16)
    y = (X[:, :n_classes] + generator.normal(size=(n_rows, n_classes))).argmax(axis=1)
    return X, y


@pytest.mark.usefixtures("small_parts")
def test_a_file_is_read_in_parts_and_an_array_is_not(tmp_path):
    X, _ = problem()
    stored = memory_map(X, tmp_path)
    assert in_parts(X) is X
    assert in_parts(stored[:10])[:].base is not None
    assert isinstance(in_parts(np.asarray(stored)), SlicedRows)
    some = in_parts(SelectedRows(stored, np.arange(0, 1500, 2)))
    assert isinstance(some.X, SlicedRows)
    assert np.array_equal(some[3:9], X[6:18:2])


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
@pytest.mark.usefixtures("small_parts")
def test_more_rows_take_hardly_more_memory(work, tmp_path):
    X, y = problem(n_rows=15_000, n_features=256, n_classes=3)
    stored = memory_map(X, tmp_path)
    # The first warms up.
    peaks = [peak_bytes(lambda n=n: work(stored[:n], y[:n])) for n in (500, 3_000, 15_000)]
    # What belongs to a row (its code, norm, candidates and logits) takes some bytes, and the row
    # itself would take 512, or 1,024 in the precision of a pass. How many blocks wait for the
    # thread that reads ahead is worth a megabyte either way, a sixth of the rows that were added.
    assert peaks[2] - peaks[1] < 0.6 * X[3_000:].nbytes
