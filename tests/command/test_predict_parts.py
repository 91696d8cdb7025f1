"""`twohot predict` into Parquet: one part for each of the source, and resumed where stopped."""

import signal
import subprocess
import sys

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import column, everything, run, write_table
from parquet_source import FILES, GIVEN, IDS, N_ROWS, X, small_parts, write_source

import twohot
from twohot import LinearProbe
from twohot.probes import part_predictions
from twohot.probes.fitted import load
from twohot.tables import parquet_files


@pytest.fixture
def source(tmp_path, monkeypatch):
    small_parts(monkeypatch, 2)
    return write_source(tmp_path / "embeddings")


@pytest.fixture
def probe(tmp_path):
    path = tmp_path / "probe.safetensors"
    LinearProbe().fit(X, GIVEN).save(path)
    return path


def check_predictions(files, probe):
    """Compare with what the probe says of all rows in memory."""
    table = pa.concat_tables(map(pq.read_table, files))
    outputs = load(probe).predict_proba(X)
    order = np.argsort(-outputs, axis=1, kind="stable")
    names = np.array(["ant", "bee", "cow"])
    assert table["id"].to_pylist() == IDS.tolist()
    assert table["predicted_label"].to_pylist() == names[order[:, 0]].tolist()
    assert table["second_label"].to_pylist() == names[order[:, 1]].tolist()
    np.testing.assert_allclose(table["confidence"].to_numpy(), outputs.max(axis=1), rtol=1e-6)
    return table, outputs


def test_a_part_for_each_part_of_the_source(source, probe, tmp_path, monkeypatch):
    monkeypatch.setattr(part_predictions, "BLOCK_ROWS", 70)  # some blocks for each part
    folder = tmp_path / "predictions"
    result = run("predict", probe, source, "-o", folder, "--probabilities", "--quiet")
    assert result.exit_code == 0, result.output
    assert f"Predicted {N_ROWS} rows: {folder} (5 parts)" in result.output
    files = sorted(folder.glob("*.parquet"))
    # Two row groups of one file at the most: 250 are 200 and 50, 300 are 200 and 100.
    assert [pq.read_metadata(file).num_rows for file in files] == [200, 50, 50, 200, 100]
    table, outputs = check_predictions(files, probe)
    for place, name in enumerate(["ant", "bee", "cow"]):
        found = table[f"probability of {name}"].to_numpy()
        np.testing.assert_allclose(found, outputs[:, place], rtol=1e-5, atol=1e-9)


def test_one_file(source, probe, tmp_path):
    target = tmp_path / "all.parquet"
    assert run("predict", probe, source, "-o", target, "--quiet").exit_code == 0
    check_predictions([target], probe)
    csv = tmp_path / "all.csv"
    assert run("predict", probe, source, "-o", csv, "--quiet").exit_code == 0
    assert column(csv, "predicted_label") == pq.read_table(target)["predicted_label"].to_pylist()


def test_a_stopped_run_is_resumed(source, probe, tmp_path, monkeypatch):
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    assert run("predict", probe, source, "-o", whole, "--quiet").exit_code == 0
    outputs, n_calls = part_predictions.Predictor.outputs, []

    def dying(self, features):
        n_calls.append(len(features))
        if len(n_calls) == 4:  # in the middle of a file: the fourth row group
            raise KeyboardInterrupt
        return outputs(self, features)

    monkeypatch.setattr(part_predictions.Predictor, "outputs", dying)
    assert run("predict", probe, source, "-o", stopped, "--quiet").exit_code != 0
    names = sorted(path.name for path in stopped.iterdir())
    assert names == ["_twohot.json", "part-00000.parquet", "part-00001.parquet"]
    # Whoever reads it now is told.
    refused = run("predict", probe, stopped, "-o", tmp_path / "again")
    assert f"{stopped} has 2 of 5 parts: run the command that wrote it" in refused.output

    n_calls[:] = [0] * 10  # and nobody dies any more
    result = run("predict", probe, source, "-o", stopped, "--quiet")
    assert "(5 parts, 2 of them already there)" in result.output
    assert sum(n_calls) == N_ROWS - FILES[0]
    found, expected = everything(stopped), everything(whole)
    assert {path.name: content for path, content in found.items()} == {
        path.name: content for path, content in expected.items()
    }


def test_a_folder_of_another_run_is_refused(source, probe, tmp_path):
    folder = tmp_path / "predictions"
    assert run("predict", probe, source, "-o", folder, "--quiet").exit_code == 0
    before = everything(folder)
    other = tmp_path / "other.safetensors"
    LinearProbe(ridge=100.0).fit(X, GIVEN).save(other)
    refused = run("predict", other, source, "-o", folder, "--quiet")
    assert "holds parts of another run, which differs in probe: choose another" in refused.output
    some = run("predict", probe, source / "0.parquet", source / "2.parquet", "-o", folder)
    assert "which differs in source, ids, n_parts" in some.output
    assert everything(folder) == before
    assert run("predict", other, source, "-o", folder, "--quiet", "--force").exit_code == 0
    check_predictions(sorted(folder.glob("*.parquet")), other)


def in_another_order(source):
    """Write a file again, rows of a row group in another order; its footer says the same."""
    table = pq.read_table(source / "1.parquet")
    turned = table["vector"].take(np.arange(len(table))[::-1])
    pq.write_table(table.set_column(1, "vector", turned), source / "1.parquet")


def test_a_source_that_was_changed_is_another(source, probe, tmp_path, monkeypatch):
    def output_of(path):
        return run("predict", probe, path, "-o", tmp_path / f"of {path.stem}", "--quiet").output

    array, table = tmp_path / "array.npy", tmp_path / "table.csv"
    np.save(array, X)
    write_table(table, X, id=[f"a{row}" for row in IDS])
    for path in (source, array, table):
        assert f"Predicted {N_ROWS} rows" in output_of(path)
        assert "already there" in output_of(path)
    in_another_order(source)
    changed = X.copy()
    changed[333] = 0
    np.save(array, changed)
    write_table(table, X, id=[f"b{row}" for row in IDS])
    for path, what in {source: "source", array: "source", table: "ids"}.items():
        assert f"parts of another run, which differs in {what}:" in output_of(path)
    monkeypatch.setattr(twohot, "__version__", "0.0")
    np.save(array, X)
    assert "parts of another run, which differs in twohot:" in output_of(array)


@pytest.mark.parametrize("output", ["folder", "all.parquet", "all.csv"])
def test_a_row_that_is_not_finite_is_named_by_its_id(output, probe, tmp_path, monkeypatch):
    monkeypatch.setattr(part_predictions, "BLOCK_ROWS", 70)
    holed = X.copy()
    holed[333, 2] = np.nan
    table = write_table(tmp_path / "table.csv", holed, id=[f"a{row}" for row in IDS])
    result = run("predict", probe, table, "-o", tmp_path / output, "--quiet")
    assert f"contains NaN at row a{IDS[333]}, column 'x2': drop" in result.output


def test_what_is_refused(source, probe, tmp_path, monkeypatch):
    def refused(output, *more):
        result = run("predict", probe, source, "-o", output, "--quiet", *more)
        assert result.exit_code == 1
        return result.output

    for inside in (source, source / "predictions"):
        assert "and would be read as a part of it: choose a folder next to it" in refused(inside)
    assert "holds 'embeddings', which twohot did not write" in refused(tmp_path)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").touch()
    assert "holds 'notes.txt', which twohot did not write" in refused(mine)
    (tmp_path / "file").touch()
    assert "is a file: pass the name of a folder" in refused(tmp_path / "file")
    assert "does not end in .csv or .parquet" in refused(tmp_path / "all.txt")
    one = refused(tmp_path / "all.parquet", "--scheduler", "tcp://127.0.0.1:9")
    assert "is one file, but workers write one file per part" in one
    folder = tmp_path / "predictions"
    assert "--id-column='nr' is missing" in refused(folder, "--id-column", "nr")
    monkeypatch.setattr("twohot_command.parts.PATIENCE", 0.5)
    assert "does not answer" in refused(folder, "--scheduler", "tcp://127.0.0.1:9")
    assert not folder.exists()
    table = pq.read_table(source / "1.parquet").rename_columns(["id", "other", "kind"])
    pq.write_table(table, source / "1.parquet")
    assert "has files with two schemas" in refused(tmp_path / "predictions")


def test_any_file_system(probe):
    memory = fsspec.filesystem("memory")
    for name, rows in {"a": slice(0, 200), "b": slice(200, N_ROWS)}.items():
        lists = pa.FixedSizeListArray.from_arrays(pa.array(X[rows].ravel()), X.shape[1])
        with memory.open(f"/predicted/{name}.parquet", "wb") as file:
            pq.write_table(pa.table({"id": IDS[rows], "vector": lists}), file)
    result = run("predict", probe, "memory://predicted", "-o", "memory://said", "--quiet")
    assert result.exit_code == 0, result.output
    files = [memory.open(f"/said/part-0000{number}.parquet") for number in range(2)]
    check_predictions(files, probe)
    assert len(memory.ls("/said")) == 3


@pytest.mark.slow
def test_workers_write_the_parts(source, probe, tmp_path, cluster):
    here, there = tmp_path / "here", tmp_path / "there"
    assert run("predict", probe, source, "-o", here, "--quiet").exit_code == 0
    workers = ("--scheduler", cluster.scheduler_address)
    result = run("predict", probe, source, "-o", there, "--quiet", *workers)
    assert result.exit_code == 0, result.output
    check_predictions(sorted(there.glob("*.parquet")), probe)
    (there / "part-00002.parquet").unlink()
    result = run("predict", probe, source, "-o", there, "--quiet", *workers)
    assert "(5 parts, 4 of them already there)" in result.output
    for mine, theirs in zip(sorted(here.iterdir()), sorted(there.iterdir()), strict=True):
        assert mine.read_bytes() == theirs.read_bytes()


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
    for folder in (killed, whole):
        assert run(*arguments, folder).exit_code == 0
    found, expected = (
        {path.name: path.read_bytes() for path in folder.glob("[!.]*")}
        for folder in (killed, whole)
    )
    assert found == expected
