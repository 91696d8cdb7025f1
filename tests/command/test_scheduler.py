"""`twohot fit --scheduler`: the workers of a cluster fit; a table as chunks for them."""

import numpy as np
import pytest
from label_tables import done, run

from twohot.probes.fitted import load
from twohot.tables import FeatureTable, read_table, write_features
from twohot.tables.parts import as_dask

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(600, 8)).astype(np.float16)
Y = (X[:, :3] + GENERATOR.normal(size=(600, 3))).argmax(axis=1)


@pytest.fixture
def source(tmp_path):
    labels = np.where(np.arange(600) % 9 == 0, -1, Y)
    table = FeatureTable(features=X, labels=labels, classes=("ant", "bee", "cow"))
    write_features(tmp_path / "x.features", table)
    return tmp_path / "x.features"


def test_workers_fit_what_is_fitted_here(source, tmp_path, cluster):
    here, there = tmp_path / "here.safetensors", tmp_path / "there.safetensors"
    done("fit", source, "-o", here, "--quiet")
    done("fit", source, "-o", there, "--quiet", "--scheduler", cluster.scheduler_address)
    found, expected = load(there), load(here)
    recipes = [[entry.recipe for entry in each.choice_.chosen] for each in (found, expected)]
    assert recipes[0] == recipes[1]
    assert np.linalg.norm(found.coef_ - expected.coef_) < 1e-4 * np.linalg.norm(expected.coef_)


def test_a_scheduler_that_is_not_there(source, tmp_path, monkeypatch):
    monkeypatch.setattr("twohot_command.parts.PATIENCE", 0.5)
    output = tmp_path / "p.safetensors"
    result = run("fit", source, "-o", output, "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code != 0
    assert "--scheduler='tcp://127.0.0.1:9' does not answer" in result.output
    refused = run("fit", source, "-o", output, "--method", "plain", "--scheduler", "tcp://x:1")
    assert "--method='plain' does not use workers" in refused.output


def opened(path):
    return read_table(path, labels=Y if path.suffix == ".npy" else None).features


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("stored", ["x.features", "x.npy", "rows in memory"])
def test_chunks_are_the_rows_of_the_table(stored, tmp_path):
    np.save(tmp_path / "x.npy", X)
    features = X if stored == "rows in memory" else opened(tmp_path / stored)
    table = FeatureTable(features=features, labels=Y, classes=("ant", "bee", "cow"))
    some = table.take(np.flatnonzero(Y != 1)).features
    array = as_dask(some, tmp_path / stored, n_workers=4)
    assert len(array.chunks[0]) == 4
    assert np.array_equal(array.compute(), X[Y != 1])


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("stored", ["x.features", "x.npy"])
@pytest.mark.parametrize("rows", [slice(0, 40), slice(37, 90), slice(60, None)])
def test_chunks_of_rows_that_follow_each_other_are_these_rows(stored, rows, tmp_path):
    np.save(tmp_path / "x.npy", X)
    features = opened(tmp_path / stored)
    table = FeatureTable(features=features, labels=Y, classes=("ant", "bee", "cow"))
    some = table.take(np.arange(len(X))[rows]).features
    array = as_dask(some, tmp_path / stored, n_workers=2)
    assert np.array_equal(array.compute(), X[rows])
    sent = [part for part in array.dask.values() if isinstance(part, np.ndarray)]
    assert not sent  # workers read them from the file
