"""`twohot fit --scheduler`: the workers of a cluster fit; a table as chunks for them."""

import numpy as np
import pytest
from label_tables import done, refused

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


def test_rejects_a_scheduler_that_does_not_answer(source, tmp_path, monkeypatch):
    monkeypatch.setattr("twohot_command.parts.PATIENCE", 0.5)
    output = tmp_path / "p.safetensors"
    asked = ("fit", source, "-o", output, "--scheduler", "tcp://127.0.0.1:9")
    assert "--scheduler='tcp://127.0.0.1:9' does not answer" in refused(*asked)
    assert "--method='plain' does not use the workers of a scheduler" in refused(
        *asked, "--method", "plain"
    )


def opened(path):
    return read_table(path, labels=Y if path.suffix == ".npy" else None).features


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("stored", ["x.features", "x.npy", "by column.npy", "rows in memory"])
@pytest.mark.parametrize("rows", [Y != 1, slice(0, 40), slice(37, 90), slice(60, None)])
def test_chunks_have_the_rows_of_the_table(stored, rows, tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "by column.npy", np.asfortranarray(X))
    features = X if stored == "rows in memory" else opened(tmp_path / stored)
    table = FeatureTable(features=features, labels=Y, classes=("ant", "bee", "cow"))
    array = as_dask(table.take(np.arange(len(X))[rows]).features, n_workers=4)
    assert np.array_equal(array.compute(), X[rows])
    if stored != "rows in memory" and isinstance(rows, slice):
        sent = [part for part in array.dask.values() if isinstance(part, np.ndarray)]
        assert not sent  # workers read them from the file
    if not isinstance(rows, slice):
        assert len(array.chunks[0]) == 4
