"""Folders of Parquet files give the same fits as arrays, and are written in complete parts."""

import pickle
import shutil

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem

from twohot import AutoProbe, DistilledProbe, LinearProbe
from twohot.tables import read_table
from twohot.tables.parquet_files import ParquetFeatures, open_files
from twohot.tables.parts import begin_parts, write_part

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(600, 12)).astype(np.float32)
Y = np.array(["ant", "bee", "cow"])[(X[:, :3] + GENERATOR.normal(size=(600, 3))).argmax(axis=1)]
IDS = np.array([f"row {row}" for row in range(600)])


def as_lists(rows):
    offsets = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    return {"embedding": pa.ListArray.from_arrays(pa.array(offsets), pa.array(rows.ravel()))}


def as_fixed_lists(rows):
    return {"embedding": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])}


def as_columns(rows):
    return {f"e{place}": column for place, column in enumerate(rows.T)}


def write_folder(folder, *, rows=X, stored=as_fixed_lists):
    """Write files of different sizes, one of them empty, in row groups of 64."""
    folder.mkdir(exist_ok=True)
    for number, part in enumerate(np.split(np.arange(len(rows)), (250, 250, 400))):
        columns = {"id": IDS[part], **stored(rows[part]), "y": pa.array(Y[part], pa.string())}
        pq.write_table(pa.table(columns), folder / f"part-{number}.parquet", row_group_size=64)
    (folder / "_SUCCESS").touch()
    return folder


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "t")


STORED = {
    "lists": as_lists,
    "fixed lists": as_fixed_lists,
    "half precision": lambda rows: as_fixed_lists(rows.astype(np.float16)),
    "double": lambda rows: as_lists(rows.astype(np.float64)),
    "columns": as_columns,
}


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_folder_is_read_as_one_table(stored, tmp_path):
    table = read_table(write_folder(tmp_path / "t", stored=stored))
    expected = X.astype(table.features.dtype)
    assert isinstance(table.features, ParquetFeatures)
    assert np.array_equal(np.asarray(table.features), expected)
    assert np.array_equal(table.features[np.array([599, 3, 250])], expected[[599, 3, 250]])
    assert list(table.ids) == IDS.tolist()
    assert table.given_labels.tolist() == Y.tolist()


def test_fits_are_those_in_memory(folder):
    table = read_table(folder)
    for probe in (DistilledProbe(n_rounds=2, tol=1e-6), AutoProbe(cv=2)):
        expected = probe.fit(X, Y).coef_
        found = probe.fit(table.features, table.coded).coef_
        assert np.array_equal(found, expected)
        assert np.array_equal(probe.predict(table.features), probe.predict(X))


def test_row_groups_are_decoded_once(folder):
    features = read_table(folder).features
    for number in range(3):
        for first in range(0, 600, 50):
            assert np.array_equal(features[first : first + 50], X[first : first + 50])
        if number == 0:
            shutil.rmtree(folder)  # later passes read the scratch file


def test_rows_are_decoded_again_without_space_for_a_scratch_file(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    features = read_table(folder).features
    for _ in range(2):
        assert np.array_equal(np.asarray(features), X)


def test_pickled_features_are_the_same(folder):
    features = read_table(folder).features
    assert np.array_equal(features[:70], X[:70])  # some row groups are decoded
    sent = pickle.loads(pickle.dumps(features))  # noqa: S301 (our own)
    for _ in range(2):
        assert np.array_equal(np.asarray(sent), X)


def test_taken_rows_are_not_read(folder):
    table = read_table(folder)
    for rows in (np.arange(600), np.arange(100, 500), np.flatnonzero(Y == "ant")):
        taken = table.take(rows)
        assert table.features.n_reads == 0
        assert np.array_equal(np.asarray(taken.take(np.arange(len(rows))).features), X[rows])
        table.features.n_reads = 0


def test_list_of_files_is_one_table(folder):
    files = sorted(folder.glob("*.parquet"))
    table = read_table([files[2], files[0]])
    assert list(table.ids) == [*IDS[250:400], *IDS[:250]]


def test_labels_of_another_parquet_file_are_joined_by_id(folder, tmp_path):
    order = GENERATOR.permutation(600)
    other = np.where(Y == "ant", "fly", Y)
    pq.write_table(pa.table({"id": IDS[order], "label": other[order]}), tmp_path / "l.parquet")
    table = read_table(folder, labels=tmp_path / "l.parquet")
    assert table.given_labels.tolist() == other.tolist()


class NoCredentialsError(Exception):
    """The error of an object store's client, which is no OSError."""


@pytest.mark.parametrize("error", [FileNotFoundError, PermissionError, NoCredentialsError])
@pytest.mark.parametrize("operation", ["isdir", "open"])
def test_unreachable_store_is_named(operation, error, folder, monkeypatch):
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/embeddings", recursive=True)
    table = read_table("memory://embeddings")
    assert np.array_equal(np.asarray(table.features), X)
    table = read_table("memory://embeddings")

    def fail(*_, **__):
        raise error("words of its own")

    monkeypatch.setattr(type(memory), operation, fail)
    message = rf"embeddings.* cannot be reached \({error.__name__}: words of its own\): check"
    with pytest.raises(OSError, match=message):
        read_table("memory://embeddings")
    if operation == "open":  # the footers were read before
        with pytest.raises(OSError, match=message):
            LinearProbe().fit(table.features, table.coded)
    monkeypatch.undo()
    memory.rm("/embeddings", recursive=True)


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stored", "column"), [(as_fixed_lists, "3"), (as_columns, "'e3'")])
def test_nan_is_named_by_file_and_row_group(stored, column, tmp_path):
    rows = X.copy()
    rows[250 + 64 + 5, 3] = np.nan
    table = read_table(write_folder(tmp_path / "t", rows=rows, stored=stored))
    message = rf"X contains NaN at row 5, column {column} of row group 1 of .*part-2\.parquet: drop"
    with pytest.raises(ValueError, match=message):
        LinearProbe().fit(table.features, table.coded)


def test_two_schemas_are_refused(folder):
    other = {"id": IDS[:5], **as_fixed_lists(X[:5].astype(np.float64)), "y": Y[:5]}
    pq.write_table(pa.table(other), folder / "z.parquet")
    message = r"two schemas, .*part-0\.parquet and .*z\.parquet, which differ in .embed"
    with pytest.raises(ValueError, match=message):
        read_table(folder)


def test_damaged_file_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": [[0.0, 1.0]] * 40, "label": ["a", "b"] * 20}), path)
    content = bytearray(path.read_bytes())
    content[4:12] = [255] * 8  # the header of the first page
    path.write_bytes(content)
    for source in (path, [path]):  # as a whole, and in parts
        with pytest.raises(ValueError, match=r"x\.parquet is damaged \(.+\): write it again"):
            read_table(source)
    path.write_bytes(content[:-9] + b"\xff" + content[-8:])  # the end of the footer
    with pytest.raises(ValueError, match=r"x\.parquet is not a Parquet file, or is truncated \("):
        read_table(path)


# Folders of parts --------------------------------------------------------------------------------


def test_removal_that_stops_leaves_a_folder_known_to_be_incomplete(tmp_path, monkeypatch):
    folder = begin_parts(tmp_path / "parts", {"run": 1}, 3, force=False)
    for number in range(3):
        write_part(folder.path_of(number), [pa.table({"x": [number]})])
    remove = LocalFileSystem.rm_file
    with monkeypatch.context() as patched:

        def stopped(files, path):
            if not path.endswith("part-00000.parquet"):
                raise KeyboardInterrupt
            remove(files, path)

        patched.setattr(LocalFileSystem, "rm_file", stopped)
        with pytest.raises(KeyboardInterrupt):
            begin_parts(tmp_path / "parts", {"run": 2}, 3, force=True)
    with pytest.raises(ValueError, match="has 2 of 3 parts: run the command"):
        open_files([tmp_path / "parts"])
    assert begin_parts(tmp_path / "parts", {"run": 2}, 3, force=True).missing() == [0, 1, 2]


def test_failed_part_leaves_no_file(tmp_path):
    def tables():
        yield pa.table({"x": [1]})
        raise KeyError("x")

    # A writer that is not closed warns when it is collected, and a warning is an error.
    with pytest.raises(KeyError):
        write_part(str(tmp_path / "part-00000.parquet"), tables())
    assert not list(tmp_path.iterdir())
