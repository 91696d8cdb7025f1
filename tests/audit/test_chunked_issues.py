"""An audit of Dask collections says what one of arrays says; its columns stay where they are."""

from dataclasses import replace
from pathlib import Path

import dask.array as da
import numpy as np
import pyarrow.parquet as pq
import pytest

import problems
from twohot import LinearProbe, find_label_issues
from twohot.audit.issue_table import COLUMNS

DATA = problems.digits(noise_rate=0.3, n_train=700)
X, Y = DATA.X.astype(np.float32), DATA.given_labels
CHUNKS = (300, 0, 150, 250)


def given_rows(labels):
    return sum(label not in (None, "unknown") for label in labels)


def chunked(values):
    return da.from_array(values, chunks=(CHUNKS, *((-1,) * (values.ndim - 1))))


def compare(found, expected):
    # Candidates are compared at coarse tolerances, within which the fits of both may differ.
    assert found.n_issues == pytest.approx(expected.n_issues, abs=2)
    assert found.noise_rate == pytest.approx(expected.noise_rate, abs=1e-3)
    assert found.noise_interval == pytest.approx(expected.noise_interval, abs=1e-3)
    assert found.messages == expected.messages
    np.testing.assert_allclose(found.corruption, expected.corruption, atol=0.03)
    for name in COLUMNS:
        values = found[name].compute()
        assert values.shape == (700,)
        if expected[name].dtype.kind == "f":
            assert np.corrcoef(values, expected[name])[0, 1] > 0.999
        else:
            assert np.mean(values == expected[name]) > 0.995


def test_the_verdicts_are_those_on_arrays(tmp_path):
    found = find_label_issues(chunked(X), chunked(Y))
    compare(found, find_label_issues(X, Y))
    assert isinstance(found["label_quality"], da.Array)
    assert found["label_quality"].chunks == ((300, 150, 250),)
    assert np.array_equal(found.given_label.compute(), Y)
    assert not hasattr(found, "quality")
    with pytest.raises(KeyError, match="'quality' is no column: take one of is_label_issue"):
        found["quality"]
    assert repr(found).startswith("700 rows: about ")

    # Files are whole or not there: what is there stays, and what is not is written.
    files = [Path(each.removeprefix("file://")) for each in found.to_parquet(tmp_path)]
    assert [file.name for file in files] == [f"part-0000{number}.parquet" for number in range(3)]
    table = pq.read_table(tmp_path)
    assert table["id"].to_pylist() == list(range(700))
    assert table["is_label_issue"].to_pylist() == found["is_label_issue"].compute().tolist()
    before = files[0].stat().st_mtime_ns
    files[1].unlink()
    found.to_parquet(tmp_path)
    assert files[0].stat().st_mtime_ns == before
    assert pq.read_table(tmp_path).num_rows == 700

    # Those of another audit are not taken for its own.
    other = replace(found, n_issues=found.n_issues + 1)
    with pytest.raises(FileExistsError, match=r"holds parts of another run.* differs in flagged"):
        other.to_parquet(tmp_path)
    assert files[0].stat().st_mtime_ns == before
    other.to_parquet(tmp_path, force=True)
    assert files[0].stat().st_mtime_ns > before


def test_rows_without_a_label_and_a_budget(tmp_path):
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
    quality = found["label_quality"].compute()
    assert np.array_equal(np.isnan(quality), np.isnan(expected.label_quality))
    assert np.mean(found["predicted_label"].compute() == expected.predicted_label) > 0.98
    # Files have one schema, also that of a chunk without labels.
    schemas = [pq.read_schema(each.removeprefix("file://")) for each in found.to_parquet(tmp_path)]
    assert all(schema.equals(schemas[0]) for schema in schemas)
    assert len(pq.read_table(tmp_path, filters=[("given_label", "!=", "")])) == given_rows(labels)


def test_a_precision_is_promised_as_on_arrays_where_noise_differs_between_classes():
    changed = np.random.default_rng(0).random(700) < 0.4
    given = np.where(changed, (DATA.true_labels + 1) % 10, DATA.true_labels)
    found = find_label_issues(chunked(X), chunked(given), precision=0.9)
    expected = find_label_issues(X, given, precision=0.9)
    assert expected.n_issues > 100
    assert np.mean(found.is_label_issue.compute() == expected.is_label_issue) > 0.99


def test_labels_of_pure_chance_are_not_flagged():
    chance = np.random.default_rng(0).integers(0, 4, 700)
    found = find_label_issues(chunked(X), chunked(chance))
    expected = find_label_issues(X, chance)
    assert (found.n_issues, found.noise_interval) == (expected.n_issues, expected.noise_interval)


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_workers_of_a_cluster_write_the_table(tmp_path):
    found = find_label_issues(chunked(X), chunked(Y))
    found.to_parquet(tmp_path)
    flagged = pq.read_table(tmp_path, columns=["is_label_issue"])["is_label_issue"].to_pylist()
    assert sum(flagged) == found.n_issues
    assert found["is_label_issue"].sum().compute() == found.n_issues


def test_what_chunks_cannot_have_yet():
    given = {
        "probe": LinearProbe().fit(X, Y),
        "probabilities": np.eye(10)[Y],
        "ids": np.arange(700),
    }
    for name, value in given.items():
        with pytest.raises(ValueError, match=f"{name} is given, and X is in chunks of Dask"):
            find_label_issues(chunked(X), chunked(Y), **{name: value})
