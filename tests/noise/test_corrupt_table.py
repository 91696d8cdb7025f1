"""Noise on tables follows the matrix, keeps the true labels and records what was done."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.noise import (
    asymmetric,
    corrupt_labels,
    corrupt_table,
    corruption_for,
    pair_flip,
    superclass_noise,
    symmetric,
)
from twohot.noise.corrupted_table import KINDS, read_matrix
from twohot.tables import FeatureTable

N_ROWS = 60
TABLE = FeatureTable(
    features=np.arange(N_ROWS * 2.0).reshape(N_ROWS, 2),
    labels=np.arange(N_ROWS) % 4,
    classes=("a", "b", "c", "d"),
    superclass=np.array([0, 0, 2, 2]),
    superclass_names=("s", "unused", "t"),
    split=np.arange(N_ROWS) // 40,
    split_names=("train", "test"),
    provenance={"made": "here"},
)
WHOLE = replace(TABLE, split=None, split_names=())


@given(
    kind=st.sampled_from(KINDS), rate=st.floats(0, 1), seed=st.integers(0, 99), exact=st.booleans()
)
def test_record_agrees_with_the_labels(kind, rate, seed, exact):
    corruption = corruption_for(TABLE, kind, rate)
    noisy = corrupt_table(TABLE, corruption, seed=seed, exact=exact, kind=kind, rate=rate)
    np.testing.assert_array_equal(noisy.true_labels, TABLE.labels)
    record = noisy.provenance["corruption"]
    changed = noisy.labels != noisy.true_labels
    assert not changed[40:].any()
    counts = np.zeros((4, 4))
    np.add.at(counts, (noisy.true_labels[:40], noisy.labels[:40]), 1)
    np.testing.assert_allclose(record["matrix"], counts / 10, atol=1e-15)
    assert not counts[corruption == 0].any()
    known = {"kind": kind, "rate": rate, "seed": seed, "exact": exact, "split": "train"}
    known |= {"n_rows": 40, "n_changed": changed.sum(), "matrix": record["matrix"]}
    assert json.loads(json.dumps(record)) == record == known
    assert noisy.provenance["made"] == "here"
    assert noisy.features is TABLE.features


def test_labels_are_those_of_corrupt_labels():
    corruption = symmetric(4, 0.5)
    expected = corrupt_labels(WHOLE.labels, corruption, random_state=3).given_labels
    np.testing.assert_array_equal(corrupt_table(WHOLE, corruption, seed=3).labels, expected)
    assert (corrupt_table(WHOLE, corruption, seed=4).labels != expected).any()


@pytest.mark.parametrize("make", [symmetric, asymmetric, pair_flip, superclass_noise])
def test_matrix_of_each_kind(make):
    # A superclass without classes does not count.
    expected = make([0, 0, 1, 1] if make is superclass_noise else 4, 0.2)
    kind = make.__name__.removesuffix("_noise")
    np.testing.assert_array_equal(corruption_for(TABLE, kind, 0.2), expected)


@pytest.mark.parametrize(
    ("table", "split", "first", "end", "name"),
    [
        (TABLE, "test", 40, 60, "test"),
        (TABLE, "all", 0, 60, "all"),
        (TABLE, None, 0, 40, "train"),
        (WHOLE, None, 0, 60, "all"),
    ],
)
def test_only_rows_of_the_split_change(table, split, first, end, name):
    noisy = corrupt_table(table, pair_flip(4, 1.0), seed=0, split=split)
    assert np.flatnonzero(noisy.labels != table.labels).tolist() == [*range(first, end)]
    assert noisy.provenance["corruption"]["split"] == name


def test_unlabelled_rows_stay_unlabelled():
    labels = np.where(np.arange(N_ROWS) % 3 == 0, -1, TABLE.labels)
    noisy = corrupt_table(replace(TABLE, labels=labels), pair_flip(4, 1.0), seed=0)
    assert (noisy.labels[::3] == -1).all()
    assert (noisy.true_labels == labels).all()
    assert noisy.provenance["corruption"]["n_rows"] == (labels[:40] >= 0).sum()


def test_rate_is_computed_from_the_matrix():
    matrix = np.eye(4)
    matrix[0] = [0.5, 0.5, 0, 0]
    record = corrupt_table(TABLE, matrix, seed=0, exact=True).provenance["corruption"]
    assert (record["kind"], record["n_changed"]) == ("matrix", 5)
    assert record["rate"] == pytest.approx(5 / 40)


def test_matrices_of_files(tmp_path):
    matrix = np.arange(9.0).reshape(3, 3)
    np.save(tmp_path / "m.npy", matrix)
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.npy", ("a", "b", "c")), matrix)
    # The first line names rows and columns: c, a, b.
    for header, classes in (("c,a,b", ("a", "b", "c")), ("10,2,5", ("2", "5", "10"))):
        (tmp_path / "m.csv").write_text(f"{header}\n8,6,7\n2,0,1\n5,3,4\n")
        np.testing.assert_array_equal(read_matrix(tmp_path / "m.csv", classes), matrix)
