"""`twohot predict` into Parquet: one part for each of the source, and resumed after a stop."""

import signal
import subprocess
import sys

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import column, done, everything, refused, run, write_table
from parquet_source import GIVEN, IDS, N_ROWS, X, small_parts, write_source

from twohot import LinearProbe
from twohot.probes import part_predictions
from twohot.probes.fitted import load
from twohot.tables import parquet_files

NAMES = np.array(["ant", "bee", "cow"])


@pytest.fixture
def source(tmp_path, monkeypatch):
    small_parts(monkeypatch, 2)
    return write_source(tmp_path / "embeddings")


@pytest.fixture
def probe(tmp_path):
    path = tmp_path / "probe.safetensors"
    LinearProbe().fit(X, GIVEN).save(path)
    return path


def check_predictions(files, probe, rows=slice(None)):
    """Compare with the predictions of the probe in memory; return the table."""
    table = pa.concat_tables(map(pq.read_table, files))
    outputs = load(probe).predict_proba(X[rows])
    order = np.argsort(-outputs, axis=1, kind="stable")
    assert table["id"].to_pylist() == IDS[rows].tolist()
    assert table["predicted_label"].to_pylist() == NAMES[order[:, 0]].tolist()
    assert table["second_label"].to_pylist() == NAMES[order[:, 1]].tolist()
    np.testing.assert_allclose(table["confidence"].to_numpy(), outputs.max(axis=1), rtol=1e-6)
    for place, name in enumerate(NAMES):
        if f"probability of {name}" in table.column_names:
            found = table[f"probability of {name}"].to_numpy()
            np.testing.assert_allclose(found, outputs[:, place], rtol=1e-5, atol=1e-9)
    return table


@pytest.mark.parametrize("output", ["folder", "all.parquet", "all.csv"])
def test_predicts_in_blocks_and_names_a_row_that_is_not_finite(
    output, source, probe, tmp_path, monkeypatch
):
    monkeypatch.setattr(part_predictions, "BLOCK_ROWS", 70)  # some blocks for each part
    target = tmp_path / output
    result = done("predict", probe, source, "-o", target, "--probabilities", "--quiet")
    assert f"Predicted {N_ROWS} rows: {target}" in result.output
    if output == "all.csv":
        assert column(target, "predicted_label") == load(probe).predict(X).tolist()
    else:
        files = sorted(target.glob("*.parquet")) or [target]
        assert "probability of cow" in check_predictions(files, probe).column_names
    if output == "folder":
        assert "(5 parts)" in result.output
        # Two row groups of one file at the most: 250 are 200 and 50, 300 are 200 and 100.
        assert [pq.read_metadata(file).num_rows for file in files] == [200, 50, 50, 200, 100]
    holed = X.copy()
    holed[333, 2] = np.nan
    table = write_table(tmp_path / "table.csv", holed, id=[f"a{row}" for row in IDS])
    said = refused("predict", probe, table, "-o", target.with_stem("holed"), "--quiet")
    assert f"contains NaN at row a{IDS[333]}, column 'x2': drop" in said


def test_several_sources_are_one_table(source, probe, tmp_path):
    files, target = [source / "2.parquet", source / "0.parquet"], tmp_path / "some.parquet"
    done("predict", probe, *files, "-o", target, "--quiet")
    check_predictions([target], probe, [*range(300, 600), *range(250)])


def test_rejects_the_folder_of_another_run_or_of_changed_data(source, probe, tmp_path):
    other = tmp_path / "other.safetensors"
    LinearProbe(ridge=100.0).fit(X, GIVEN).save(other)
    array, table = tmp_path / "array.npy", tmp_path / "table.csv"
    np.save(array, X)
    write_table(table, X, id=[f"a{row}" for row in IDS])
    folders = {path: tmp_path / f"of {path.stem}" for path in (source, array, table)}

    def output_of(path, *more, probe=probe):
        return run("predict", probe, path, *more, "-o", folders[path], "--quiet").output

    for path in folders:
        assert f"Predicted {N_ROWS} rows" in output_of(path)
        assert "already there" in output_of(path)
    before = everything(folders[source])
    said = output_of(source, probe=other)
    assert "holds parts of another run, which differs in probe: choose another" in said
    some = [source / "0.parquet", source / "2.parquet"]
    said = refused("predict", probe, *some, "-o", folders[source])
    assert "which differs in source, ids, n_parts" in said
    assert everything(folders[source]) == before
    # Rows of a row group in another order, of which the footer of the file says the same.
    rows = pq.read_table(source / "1.parquet")
    turned = rows["vector"].take(np.arange(len(rows))[::-1])
    pq.write_table(rows.set_column(1, "vector", turned), source / "1.parquet")
    np.save(array, np.where(np.arange(N_ROWS)[:, np.newaxis] == 333, 0, X))
    write_table(table, X, id=[f"b{row}" for row in IDS])
    for path, what in {source: "source", array: "source", table: "ids"}.items():
        assert f"parts of another run, which differs in {what}:" in output_of(path)
    write_source(tmp_path / "again")
    done("predict", other, tmp_path / "again", "-o", folders[source], "--quiet", "--force")
    check_predictions(sorted(folders[source].glob("*.parquet")), other)


def test_rejects_outputs_that_are_no_place_for_parts(source, probe, tmp_path):
    def said(output, *more):
        return refused("predict", probe, source, "-o", output, "--quiet", *more)

    for inside in (source, source / "predictions"):
        assert "and would be read as data of this source: choose a path outside of" in said(inside)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    assert "holds 'notes.txt', which twohot did not write" in said(tmp_path / "mine")
    (tmp_path / "file").touch()
    assert "is a file: pass the name of a folder" in said(tmp_path / "file")
    assert "does not end in .csv or .parquet" in said(tmp_path / "all.txt")
    one = said(tmp_path / "all.parquet", "--scheduler", "tcp://127.0.0.1:9")
    assert "is one file, but the workers of a scheduler write several files" in one
    folder = tmp_path / "predictions"
    assert "--id-column='nr' is missing" in said(folder, "--id-column", "nr")
    assert not folder.exists()
    table = pq.read_table(source / "1.parquet").rename_columns(["id", "other", "kind"])
    pq.write_table(table, source / "1.parquet")
    assert "has files with two schemas" in said(tmp_path / "predictions")


def test_reads_and_writes_any_file_system(probe):
    memory = fsspec.filesystem("memory")
    for name, rows in {"a": slice(0, 200), "b": slice(200, N_ROWS)}.items():
        lists = pa.FixedSizeListArray.from_arrays(pa.array(X[rows].ravel()), X.shape[1])
        with memory.open(f"/predicted/{name}.parquet", "wb") as file:
            pq.write_table(pa.table({"id": IDS[rows], "vector": lists}), file)
    done("predict", probe, "memory://predicted", "-o", "memory://said", "--quiet")
    files = [memory.open(f"/said/part-0000{number}.parquet") for number in range(2)]
    check_predictions(files, probe)
    assert len(memory.ls("/said")) == 3


@pytest.mark.slow
def test_workers_write_the_parts(source, probe, tmp_path, cluster):
    here, there = tmp_path / "here", tmp_path / "there"
    done("predict", probe, source, "-o", here, "--quiet")
    workers = ("--scheduler", cluster.scheduler_address)
    done("predict", probe, source, "-o", there, "--quiet", *workers)
    check_predictions(sorted(there.glob("*.parquet")), probe)
    (there / "part-00002.parquet").unlink()
    result = done("predict", probe, source, "-o", there, "--quiet", *workers)
    assert "(5 parts, 4 of them already there)" in result.output
    for mine, theirs in zip(sorted(here.iterdir()), sorted(there.iterdir()), strict=True):
        assert mine.read_bytes() == theirs.read_bytes()


# The command in a process that kills itself in the middle of a file: at the fourth row group.
KILLED = """
import os, signal, sys
from twohot_command.commands import app
from twohot.probes.part_predictions import Predictor
from twohot.tables import parquet_files

parquet_files.PART_BYTES = int(sys.argv.pop(1))
outputs, n_blocks = Predictor.outputs, 0

def dying(self, features):
    global n_blocks
    n_blocks += 1
    if n_blocks == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return outputs(self, features)

Predictor.outputs = dying
app(sys.argv[1:])
"""


def test_a_killed_run_is_resumed(source, probe, tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    arguments = ["predict", probe, source, "--quiet", "-o"]
    child = [sys.executable, "-c", KILLED, str(parquet_files.PART_BYTES), *map(str, arguments)]
    died = subprocess.run([*child, str(killed)], check=False)  # noqa: S603 - our own command
    assert died.returncode == -signal.SIGKILL
    left = sorted(path.name for path in killed.iterdir())
    assert left[0].endswith(".unfinished")
    assert left[1:] == ["_twohot.json", "part-00000.parquet", "part-00001.parquet"]
    said = refused("predict", probe, killed, "-o", tmp_path / "again")
    assert f"{killed} has 2 of 5 parts: run the command that wrote the folder" in said
    assert "(5 parts, 2 of them already there)" in done(*arguments, killed).output
    done(*arguments, whole)
    found, expected = (
        {path.name: path.read_bytes() for path in folder.glob("[!.]*")}
        for folder in (killed, whole)
    )
    assert found == expected
