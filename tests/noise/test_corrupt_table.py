"""Noise on tables follows the matrix, keeps the right labels apart, and says what it did."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.noise import (
    corrupt_labels,
    corrupt_table,
    corruption_for,
    pair_flip,
    superclass_noise,
    symmetric,
)
from twohot.noise.corrupted_table import KINDS, read_matrix
from twohot.tables import FeatureTable

N_ROWS, CLASSES = 60, ("a", "b", "c", "d")


def clean_table(*, splits=True):
    return FeatureTable(
        features=np.arange(N_ROWS * 2.0).reshape(N_ROWS, 2),
        labels=np.arange(N_ROWS) % 4,
        classes=CLASSES,
        superclass=np.array([0, 0, 2, 2]),
        superclass_names=("s", "unused", "t"),
        split=np.arange(N_ROWS) // 40 if splits else None,
        split_names=("train", "test") if splits else (),
        provenance={"made": "here"},
    )


@given(
    kind=st.sampled_from(KINDS), rate=st.floats(0, 1), seed=st.integers(0, 99), exact=st.booleans()
)
def test_what_the_record_says_is_what_happened(kind, rate, seed, exact):
    table = clean_table()
    corruption = corruption_for(table, kind, rate)
    noisy = corrupt_table(table, corruption, seed=seed, exact=exact, kind=kind, rate=rate)
    np.testing.assert_array_equal(noisy.true_labels, table.labels)
    record = noisy.provenance["corruption"]
    changed = noisy.labels != noisy.true_labels
    assert not changed[40:].any()
    assert record["n_changed"] == changed.sum()
    assert record["n_rows"] == 40
    assert record["split"] == "train"
    assert (record["kind"], record["rate"], record["seed"]) == (kind, rate, seed)
    counts = np.zeros((4, 4))
    np.add.at(counts, (noisy.true_labels[:40], noisy.labels[:40]), 1)
    np.testing.assert_allclose(record["matrix"], counts / 10, atol=1e-15)
    # Nothing falls where the matrix has nothing.
    assert not counts[corruption == 0].any()
    assert json.loads(json.dumps(record)) == record
    assert noisy.provenance["made"] == "here"
    assert noisy.features is table.features


def test_the_labels_are_those_of_corrupt_labels():
    table, corruption = clean_table(splits=False), symmetric(4, 0.5)
    expected = corrupt_labels(table.labels, corruption, random_state=3).given_labels
    np.testing.assert_array_equal(corrupt_table(table, corruption, seed=3).labels, expected)
    assert (corrupt_table(table, corruption, seed=4).labels != expected).any()


def test_kinds_have_their_matrix():
    table = clean_table()
    np.testing.assert_array_equal(corruption_for(table, "pair_flip", 0.2), pair_flip(4, 0.2))
    # The superclass that no class belongs to does not matter.
    expected = superclass_noise([0, 0, 1, 1], 0.2)
    np.testing.assert_array_equal(corruption_for(table, "superclass", 0.2), expected)


def test_which_split():
    table, corruption = clean_table(), pair_flip(4, 1.0)
    for split, changed in (("test", slice(40, 60)), ("all", slice(0, 60)), (None, slice(0, 40))):
        noisy = corrupt_table(table, corruption, seed=0, split=split)
        expected = np.zeros(N_ROWS, bool)
        expected[changed] = True
        np.testing.assert_array_equal(noisy.labels != table.labels, expected)
    assert (
        corrupt_table(clean_table(splits=False), corruption, seed=0).provenance["corruption"][
            "split"
        ]
        == "all"
    )


def test_rows_without_a_label_stay_without():
    labels = clean_table().labels.copy()
    labels[::3] = -1
    noisy = corrupt_table(replace(clean_table(), labels=labels), pair_flip(4, 1.0), seed=0)
    assert (noisy.labels[::3] == -1).all()
    assert (noisy.true_labels == labels).all()
    assert noisy.provenance["corruption"]["n_rows"] == (labels[:40] >= 0).sum()


def test_the_rate_of_a_matrix():
    matrix = np.eye(4)
    matrix[0] = [0.5, 0.5, 0, 0]
    noisy = corrupt_table(clean_table(), matrix, seed=0, exact=True)
    record = noisy.provenance["corruption"]
    assert (record["kind"], record["n_changed"]) == ("matrix", 5)
    assert record["rate"] == pytest.approx(5 / 40)


def test_matrices_from_files(tmp_path):
    matrix = np.arange(9.0).reshape(3, 3)
    np.save(tmp_path / "m.npy", matrix)
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.npy", ("a", "b", "c")), matrix)
    # Rows and columns go by the names in the first line: c, a, b here.
    (tmp_path / "m.csv").write_text("c,a,b\n8,6,7\n2,0,1\n5,3,4\n")
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.csv", ("a", "b", "c")), matrix)
    (tmp_path / "m.csv").write_text("10,2,5\n8,6,7\n2,0,1\n5,3,4\n")
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.csv", ("2", "5", "10")), matrix)
