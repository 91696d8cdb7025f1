"""`twohot fit` writes the probe that AutoProbe chooses; `twohot predict` asks a probe."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from label_tables import NAMES, blobs, column, everything, run, write_table, wrong_every

from twohot import AutoProbe, LinearProbe
from twohot.base.labels import code_labels
from twohot.probes.fitted import load
from twohot.tables import read_features, write_features


@pytest.fixture
def noisy(tmp_path, monkeypatch):
    """Work in a folder with a table that has wrong labels; return its features and labels."""
    monkeypatch.chdir(tmp_path)
    features, true = blobs(120)
    given = wrong_every(true, 7)
    given[3] = ""
    split = ["test" if row % 5 == 0 else "train" for row in range(120)]
    write_table(tmp_path / "table.csv", features, label=given)
    write_table(tmp_path / "split.csv", features, label=given, split=split)
    write_table(tmp_path / "new.csv", features)
    return features, np.array(given), np.array(split)


def test_what_is_fitted_is_what_auto_probe_chooses(noisy) -> None:
    features, given, _ = noisy
    result = run("fit", "table.csv", "-o", "p.safetensors", "--quiet", "--seed", 3)
    assert result.exit_code == 0, result.output
    assert "Fitted on 119 rows of 3 classes: p.safetensors" in result.output
    labelled = given != ""
    expected = AutoProbe(random_state=3).fit(features[labelled], code_labels(given[labelled]))
    assert str(expected.choice_) in result.output
    np.testing.assert_array_equal(load("p.safetensors").coef_, expected.coef_)

    # And it predicts as it does in memory, rows without labels too.
    assert run("predict", "p.safetensors", "new.csv", "-o", "new_labels.csv").exit_code == 0
    assert column("new_labels.csv", "id") == [str(row) for row in range(120)]
    assert column("new_labels.csv", "predicted_label") == expected.predict(features).tolist()
    outputs = np.sort(expected.predict_proba(features), axis=1)
    confidence = np.array(column("new_labels.csv", "confidence"), dtype=float)
    np.testing.assert_allclose(confidence, outputs[:, -1], atol=1e-6)
    second = expected.classes_[np.argsort(-expected.predict_proba(features), axis=1)[:, 1]]
    assert column("new_labels.csv", "second_label") == second.tolist()


def test_a_probe_is_fitted_on_the_training_rows(noisy) -> None:
    features, given, split = noisy
    assert run("fit", "split.csv", "-o", "p.safetensors", "--quiet").exit_code == 0
    rows = (split == "train") & (given != "")
    expected = AutoProbe(random_state=0).fit(features[rows], code_labels(given[rows]))
    np.testing.assert_array_equal(load("p.safetensors").coef_, expected.coef_)


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        ([], range(120)),
        (["--split", "all"], range(120)),
        (["--split", "test"], range(0, 120, 5)),
    ],
    ids=["default", "all", "test"],
)
def test_all_rows_are_predicted_unless_a_split_is_asked_for(noisy, arguments, rows) -> None:
    features, _, _ = noisy
    probe = LinearProbe().fit(features, np.array([2.0, 10.0, 30.0])[np.arange(120) % 3])
    probe.save("p.safetensors")
    result = run("predict", "p.safetensors", "split.csv", "-o", "out.csv", *arguments)
    assert result.exit_code == 0, result.output
    assert f"Predicted {len(rows)} rows" in result.output
    assert column("out.csv", "id") == [str(row) for row in rows]
    # Whole floats are the classes that a table names.
    assert column("out.csv", "predicted_label") == [NAMES[row % 3] for row in rows]


@pytest.mark.usefixtures("noisy")
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_picture_shows_what_was_tried(kind) -> None:
    result = run("fit", "table.csv", "-o", "p.safetensors", "--figure", f"tried.{kind}", "--quiet")
    assert result.exit_code == 0, result.output
    assert (b"PNG" if kind == "png" else b"<?xml") in Path(f"tried.{kind}").read_bytes()[:8]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "new.csv", "-o", "x"], "no label column among"),
        (
            ["fit", "table.csv", "-o", "x", "--feature-column", "z"],
            "--feature-column='z' is missing",
        ),
        (["fit", "one.csv", "-o", "x", "--quiet"], "y has one class only ('2')"),
        (["fit", "none.csv", "-o", "x"], "none.csv has no label in any of its 120 rows"),
        (
            ["fit", "later.csv", "-o", "x"],
            "later.csv has no label in any of the 60 rows of its split 'train'",
        ),
        (["fit", "table.csv", "-o", "table.csv", "--force"], "is the input itself"),
        (["fit", "table.csv", "-o", "old"], "old is there already: pass --force"),
        (["fit", "table.csv", "-o", "."], "is a folder: pass the name of a file"),
        (["fit", "table.csv", "-o", "no/x"], "is in a folder that is not there"),
        (
            ["fit", "table.csv", "-o", "x", "--figure", "x.doc"],
            "does not end in .png or .svg",
        ),
        (["fit", "table.csv", "-o", "x", "--figure", "table.csv"], "is the input itself"),
        (["predict", "p.safetensors", "narrow.csv", "-o", "x.csv"], "same backbone"),
        (["predict", "p.safetensors", "new.csv", "-o", "one.csv"], "one.csv is there already"),
        (
            ["predict", "p.safetensors", "new.csv", "-o", "x.npz"],
            "x.npz does not end in .csv",
        ),
        (["predict", "p.safetensors", "new.csv", "-o", "new.csv", "--force"], "the input itself"),
        (["predict", "table.csv", "new.csv", "-o", "x.csv"], "table.csv"),
        (["predict", "gone", "new.csv", "-o", "x.csv"], "gone is not a file"),
        (["predict", "p.safetensors", "new.csv", "-o", "x.csv", "--split", "val"], "--split='val'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_refused_and_nothing_is_written(noisy, tmp_path, arguments, message) -> None:
    features, _, _ = noisy
    labels = [NAMES[row % 3] for row in range(120)]
    LinearProbe().fit(features, code_labels(labels)).save(tmp_path / "p.safetensors")
    write_table(tmp_path / "narrow.csv", features[:, :2])
    write_table(tmp_path / "one.csv", features, label=["2"] * 120)
    write_table(tmp_path / "none.csv", features, label=[""] * 120)
    split = ["train"] * 60 + ["test"] * 60
    write_table(tmp_path / "later.csv", features, label=[""] * 60 + labels[60:], split=split)
    (tmp_path / "old").write_text("mine")
    before = everything(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert message in result.output
    assert everything(tmp_path) == before


@pytest.mark.parametrize("command", ["predict", "evaluate", "audit"])
def test_features_of_another_backbone_are_refused_by_name(tmp_path, monkeypatch, command) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("extract", "digits", "--backbone", "pixels", "-o", "d.features").exit_code == 0
    assert run("fit", "d.features", "-o", "p.safetensors", "--quiet").exit_code == 0
    table = read_features("d.features")
    other = {**table.provenance, "backbone": "resnet50"}
    write_features("other.features", replace(table, provenance=other))
    arguments = {
        "predict": ["p.safetensors", "other.features", "-o", "x.csv"],
        "evaluate": ["p.safetensors", "other.features"],
        "audit": ["other.features", "--probe", "p.safetensors", "-o", "audit"],
    }
    result = run(command, *arguments[command])
    assert result.exit_code == 1
    assert (
        "other.features holds features of 'resnet50', and p.safetensors was fitted on those of "
        "'pixels': extract both with the same backbone."
    ) in result.output


def test_a_picture_does_not_replace_the_probe(tmp_path):
    features, true = blobs()
    table = write_table(tmp_path / "t.csv", features, label=wrong_every(true, 7))
    result = run("fit", table, "-o", tmp_path / "x.png", "--figure", tmp_path / "x.png")
    assert result.exit_code == 1
    assert "are one file: choose two names" in result.output
    assert not (tmp_path / "x.png").exists()
