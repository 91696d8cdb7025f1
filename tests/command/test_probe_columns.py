"""A probe takes the columns it was fitted on by name, and refuses a table that lacks some."""

import numpy as np
import pandas as pd
import pytest
from label_tables import NAMES, blobs, column, done, everything, refused, run, write_table

from twohot import load
from twohot.tables.csv_file import write_csv


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a table and a probe fitted on its columns x0, x1, …"""
    monkeypatch.chdir(tmp_path)
    features, true = blobs(90)
    write_table(tmp_path / "a.csv", features, label=[NAMES[label] for label in true])
    done("fit", "a.csv", "-o", "p.safetensors", "--quiet")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_columns_are_in_the_file_of_the_probe():
    assert load("p.safetensors").feature_names_in_.tolist() == [f"x{i}" for i in range(6)]
    done("predict", "p.safetensors", "a.csv", "-o", "out.csv", "--quiet")
    assert column("out.csv", "predicted_label") == column("a.csv", "label")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["age", *(f"x{i}" for i in range(5))], "other.csv has 'age' too and lacks 'x5'"),
        ([f"x{i}" for i in range(5)], "other.csv lacks 'x5'"),
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
    result = refused(*arguments[command])
    said = "p.safetensors was fitted on 6 columns 'x0', 'x1', 'x2' and 3 more, and "
    assert said + message in result
    assert "--feature-column" in result
    assert everything(folder) == before


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
@pytest.mark.parametrize("command", ["predict", "evaluate", "audit"])
def test_the_columns_of_a_probe_are_taken_by_name_from_a_table_with_others(folder, kind, command):
    features, true = blobs(90)
    labels = [NAMES[label] for label in true]
    # A number a row and words among numbers: both would stop a table without chosen features.
    others = {"age": np.arange(90), "height": ["?", *["180"] * 89]}
    turned = {f"x{i}": features[:, i] for i in range(5, -1, -1)}
    frame = pd.DataFrame({**others, **turned, "label": labels})
    source = folder / ("parts" if kind == "folder" else f"other.{kind}")
    if kind == "csv":
        frame.to_csv(source, index=False)
    else:
        (folder / "parts").mkdir()
        frame.to_parquet(source / "0.parquet" if kind == "folder" else source)
    arguments = {
        "predict": ("predict", "p.safetensors", source, "-o", "out.csv"),
        "evaluate": ("evaluate", "p.safetensors", source),
        "audit": ("audit", source, "--probe", "p.safetensors", "-o", "audit"),
    }
    result = done(*arguments[command])
    if kind != "folder":
        assert "features: 6 columns x0 … x5" in result.output
        assert "not used: age, height" in result.output
    found = {
        "predict": lambda: column("out.csv", "predicted_label"),
        "evaluate": lambda: labels if "Accuracy 100.0%" in result.output else [],
        "audit": lambda: column("audit/issues.csv", "predicted_label"),
    }
    assert found[command]() == labels


def test_columns_chosen_in_another_order_are_refused(folder):
    chosen = [part for i in (1, 0, 2, 3, 4, 5) for part in ("--feature-column", f"x{i}")]
    result = refused("predict", "p.safetensors", "a.csv", "-o", "out.csv", *chosen)
    assert "a.csv has them in another order" in result
    assert not (folder / "out.csv").exists()


def test_a_stray_column_is_named_with_the_option_that_leaves_it_out(folder):
    features, true = blobs(90)
    write_table(folder / "b.csv", features, label=[NAMES[label] for label in true])
    frame = pd.read_csv(folder / "b.csv").assign(amount=np.linspace(100, 50_000, 90))
    frame.to_csv(folder / "b.csv", index=False)
    result = run("describe", "b.csv")
    assert "features: 7 columns x0 … x5 and amount; label" in result.output
    assert "Note: features with unusual names: 'amount'; features with" in result.output
    assert (
        "dominate the others: 'amount'. To leave some out, name the others by --feat"
        in result.output
    )
    assert "Note: " not in run("describe", "b.csv", "--feature-column", "x*").output
