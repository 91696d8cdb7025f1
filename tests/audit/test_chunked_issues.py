"""An audit gives the same table whatever container the features are in."""

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import problems
from twohot import LinearProbe, find_label_issues
from twohot.audit.issues import COLUMNS, ROW_FIELDS, LabelIssues
from twohot.tables import read_table

DATA = problems.digits(noise_rate=0.3, n_train=700)
X, Y = DATA.X.astype(np.float32), DATA.given_labels
CHUNKS = (300, 0, 150, 250)
# What a row of the table holds in memory, whatever the container.
ROW_BYTES = 26


def chunked(values):
    return da.from_array(values, chunks=(CHUNKS, *((-1,) * (values.ndim - 1))))


def as_memory_map(folder):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def as_parquet_parts(folder):
    source = folder / "parts"
    source.mkdir()
    for number, (first, end) in enumerate([(0, 300), (300, 700)]):
        lists = pa.FixedSizeListArray.from_arrays(pa.array(X[first:end].ravel()), X.shape[1])
        labels = Y[first:end].astype(str)
        pq.write_table(pa.table({"vector": lists, "kind": labels}), source / f"{number}.parquet")
    return read_table(source, label_column="kind").features


CONTAINERS = {
    "array": lambda _: X,
    "memory map": as_memory_map,
    "Parquet parts": as_parquet_parts,
    "Dask": lambda _: chunked(X),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_table_is_the_same_for_every_container(container, tmp_path):
    rows = CONTAINERS[container](tmp_path)
    assert rows.shape == (700, 64)
    names = np.array([f"row {number}" for number in range(700)])
    found = find_label_issues(rows, Y, ids=names)
    assert isinstance(found, LabelIssues)
    assert found.columns == COLUMNS
    assert list(found.ids) == names.tolist()
    assert sum(getattr(found, name).nbytes for name in ROW_FIELDS) == 700 * ROW_BYTES
    for name in COLUMNS:
        assert isinstance(found[name], np.ndarray)
        assert found[name].shape == (700,)
    for name in ("given", "predicted", "second"):
        assert getattr(found, name).dtype == np.int32
    for name in ("label_quality", "confidence", "second_confidence"):
        assert found[name].dtype == np.float32
    assert np.array_equal(found.given_label, Y)
    assert found.classes.tolist() == list(range(10))
    assert found.corruption.shape == (10, 10)
    assert found.n_issues > 100
    assert len(found[found.rows[:5]]) == 5


def test_rows_without_a_label_and_a_budget():
    labels = Y.astype(str).astype(object)
    labels[::50], labels[1::100] = None, "unknown"
    labels[300:450] = None  # a whole chunk
    found = find_label_issues(chunked(X), chunked(labels), budget=20, missing="unknown")
    expected = find_label_issues(X, labels, budget=20, missing=["unknown"])
    assert found.n_issues == expected.n_issues == 20
    # Fits on chunks and in memory are others, and so are a few of the rows that are unclear.
    unclear = "it cannot be told whether they are wrong or their classes overlap"
    said, expected_to_be_said = (
        [message for message in issues.messages if unclear not in message]
        for issues in (found, expected)
    )
    assert said == expected_to_be_said
    assert any("Rows without a label" in message for message in said)
    assert np.array_equal(np.isnan(found.label_quality), np.isnan(expected.label_quality))
    assert np.mean(found.predicted_label == expected.predicted_label) > 0.98


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_workers_of_a_cluster_judge_rows():
    found, expected = find_label_issues(chunked(X), chunked(Y)), find_label_issues(X, Y)
    assert np.mean(found.is_label_issue == expected.is_label_issue) > 0.995
    assert np.corrcoef(found.label_quality, expected.label_quality)[0, 1] > 0.999


def test_rejects_arguments_that_chunks_do_not_support():
    given = {"probe": LinearProbe().fit(X, Y), "probabilities": np.eye(10)[Y]}
    for name, value in given.items():
        with pytest.raises(ValueError, match=f"{name} is given, and X is in chunks of Dask"):
            find_label_issues(chunked(X), chunked(Y), **{name: value})
    with pytest.raises(ValueError, match="ids has 3 ids for 700 rows"):
        find_label_issues(chunked(X), chunked(Y), ids=["a", "b", "c"])
