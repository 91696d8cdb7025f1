"""A probe takes the columns it was fitted on by name, and rejects a table that lacks some."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from label_tables import NAMES, blobs, column, done, everything, refused, write_table

from twohot.tables import read_features, write_features
from twohot.tables.csv_file import write_csv

# Commands that take a probe, on a table in `{}`.
COMMANDS = {
    "predict": "predict p.safetensors {} -o out.csv",
    "evaluate": "evaluate p.safetensors {}",
    "audit": "audit {} --probe p.safetensors -o audit",
}


def words(command, source):
    return COMMANDS[command].format(source).split()


@pytest.fixture
def labels():
    return [NAMES[row % 3] for row in range(90)]


@pytest.fixture
def folder(here, labels):
    """Work in a folder with a table and a probe fitted on its columns x0, x1, …"""
    write_table(here / "a.csv", blobs(90)[0], label=labels)
    done("fit", "a.csv", "-o", "p.safetensors", "--quiet")
    return here


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["age", *(f"x{i}" for i in range(5))], "other.csv also has 'age' and lacks 'x5'"),
        ([f"x{i}" for i in range(5)], "other.csv lacks 'x5'"),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_rejects_other_columns(folder, labels, names, message, command):
    rows = np.random.default_rng(0).normal(size=(12, len(names))).tolist()
    lines = ([*map(repr, row), label] for row, label in zip(rows, labels[:12], strict=True))
    write_csv(folder / "other.csv", [*names, "label"], lines)
    before = everything(folder)
    said = refused(*words(command, "other.csv"))
    fitted = "p.safetensors was fitted on 6 columns 'x0', 'x1', 'x2' and 3 more, but "
    assert fitted + message in said
    assert "--feature-column" in said
    assert everything(folder) == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_rejects_features_of_another_backbone(command):
    done("extract", "digits", "--backbone", "pixels", "-o", "d.features", "--quiet")
    table = read_features("d.features")
    some = table.take(np.arange(100))
    write_features("some.features", some)
    done("fit", "some.features", "-o", "p.safetensors", "--quiet", "--force")
    other = {**table.provenance, "backbone": "resnet50"}
    write_features("other.features", replace(some, provenance=other))
    assert (
        "other.features has features of 'resnet50', but p.safetensors was fitted on features of "
        "'pixels': use the same backbone for both."
    ) in refused(*words(command, "other.features"))


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
@pytest.mark.parametrize("command", COMMANDS)
def test_takes_the_columns_of_the_probe_from_a_table_with_others(folder, labels, kind, command):
    features = blobs(90)[0]
    # A number per row and words among numbers: neither could be a feature.
    others = {"age": np.arange(90), "height": ["?", *["180"] * 89]}
    turned = {f"x{i}": features[:, i] for i in range(5, -1, -1)}
    frame = pd.DataFrame({**others, **turned, "label": labels})
    source = folder / ("parts" if kind == "folder" else f"other.{kind}")
    if kind == "csv":
        frame.to_csv(source, index=False)
    else:
        (folder / "parts").mkdir()
        frame.to_parquet(source / "0.parquet" if kind == "folder" else source)
    said = done(*words(command, source)).output
    if kind != "folder":
        assert "features: 6 columns x0 … x5" in said
        assert "not used: age, height" in said
    found = {
        "predict": lambda: column("out.csv", "predicted_label"),
        "evaluate": lambda: labels if "Accuracy 100.0%" in said else [],
        "audit": lambda: column("audit/issues.csv", "predicted_label"),
    }
    assert found[command]() == labels


def test_rejects_another_order_and_notes_name_stray_columns(folder):
    chosen = [part for i in (1, 0, 2, 3, 4, 5) for part in ("--feature-column", f"x{i}")]
    said = refused(*words("predict", "a.csv"), *chosen)
    assert "a.csv has these columns in another order" in said
    frame = pd.read_csv(folder / "a.csv").assign(amount=np.linspace(100, 50_000, 90))
    frame.to_csv(folder / "b.csv", index=False)
    said = done("describe", "b.csv").output
    assert "features: 7 columns x0 … x5 and amount; label" in said
    assert "Note: features with unusual names: 'amount'; features with" in said
    advice = "To choose the features, name their columns by feature_column (--feature-column)."
    assert f"dominate the others: 'amount'. {advice}" in said
    assert "Note: " not in done("describe", "b.csv", "--feature-column", "x*").output
