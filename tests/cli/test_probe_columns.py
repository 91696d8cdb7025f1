"""A probe remembers the columns it was fitted on, and refuses others by name."""

import numpy as np
import pytest
from label_tables import NAMES, blobs, column, everything, run, write_table

from twohot import load
from twohot.tables.csv_file import write_csv


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a table and a probe fitted on its columns x0, x1, …"""
    monkeypatch.chdir(tmp_path)
    features, true = blobs(90)
    write_table(tmp_path / "a.csv", features, label=[NAMES[label] for label in true])
    result = run("fit", "a.csv", "-o", "p.safetensors", "--quiet")
    assert result.exit_code == 0, result.output
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_columns_are_in_the_file_of_the_probe():
    assert load("p.safetensors").feature_names_in_.tolist() == [f"x{i}" for i in range(6)]
    result = run("predict", "p.safetensors", "a.csv", "-o", "out.csv", "--quiet")
    assert result.exit_code == 0, result.output
    assert column("out.csv", "predicted_label") == column("a.csv", "label")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["age", *(f"x{i}" for i in range(6))], "other.csv has 'age' too"),
        (["age", *(f"x{i}" for i in range(5))], "other.csv has 'age' too and lacks 'x5'"),
        ([f"x{i}" for i in (1, 0, 2, 3, 4, 5)], "other.csv has them in another order"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "evaluate", "audit"])
def test_other_columns_are_refused_by_name(folder, names, message, command):
    labels = [NAMES[row % 3] for row in range(12)]
    rows = np.random.default_rng(0).normal(size=(12, len(names))).tolist()
    lines = ([*map(repr, row), label] for row, label in zip(rows, labels, strict=True))
    write_csv(folder / "other.csv", [*names, "label"], lines)
    before = everything(folder)
    arguments = {
        "predict": ("predict", "p.safetensors", "other.csv", "-o", "out.csv"),
        "evaluate": ("evaluate", "p.safetensors", "other.csv"),
        "audit": ("audit", "other.csv", "--probe", "p.safetensors", "-o", "audit"),
    }
    result = run(*arguments[command])
    assert result.exit_code == 1, result.output
    said = "p.safetensors was fitted on 6 columns 'x0', 'x1', 'x2' and 3 more, and "
    assert said + message in result.output
    assert "--feature-column" in result.output
    assert everything(folder) == before


def test_columns_named_in_order_are_taken(folder):
    features, true = blobs(90)
    names = [f"x{i}" for i in (5, 4, 3, 2, 1, 0)]
    lines = (list(map(repr, row)) for row in features[:, ::-1].tolist())
    write_csv(folder / "turned.csv", names, lines)
    chosen = (part for i in range(6) for part in ("--feature-column", f"x{i}"))
    result = run("predict", "p.safetensors", "turned.csv", "-o", "out.csv", "--quiet", *chosen)
    assert result.exit_code == 0, result.output
    assert column("out.csv", "predicted_label") == [NAMES[label] for label in true]
