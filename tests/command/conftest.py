"""What several files of these tests read, made once."""

import shutil

import pytest
from label_tables import NAMES, blobs, done, write_table, wrong_every
from parquet_source import little_memory

from twohot import LinearProbe
from twohot.base.labels import code_labels


@pytest.fixture
def tiny_memory(monkeypatch):
    """Let any table be larger than memory, and its parts two row groups."""
    little_memory(monkeypatch)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def noisy(tmp_path_factory):
    """Return a folder with a table whose every seventh label is wrong, a probe, and an audit."""
    folder = tmp_path_factory.mktemp("noisy")
    features, true = blobs()
    given = wrong_every(true, 7)
    table = write_table(folder / "table.csv", features, label=given)
    write_table(folder / "new.csv", features)
    write_table(folder / "trusted.csv", features, label=[NAMES[k] for k in true])
    LinearProbe().fit(features, code_labels(given)).save(folder / "probe.safetensors")
    result = done("audit", table, "-o", folder / "audit", "--quiet")
    (folder / "said.txt").write_text(result.output)
    return folder


@pytest.fixture
def work(noisy, here):
    """Work in a copy of that folder."""
    return shutil.copytree(noisy, here, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def true(noisy):  # noqa: ARG001 - of this table
    """Return the right labels of that table."""
    return [NAMES[k] for k in blobs()[1]]
