"""`twohot fit` writes the probe that AutoProbe chooses; `twohot predict` asks a probe."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from label_tables import NAMES, blobs, column, done, refused, write_table, wrong_every

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
    result = done("fit", "table.csv", "-o", "p.safetensors", "--quiet", "--seed", 3)
    assert "Fitted on 119 rows of 3 classes: p.safetensors" in result.output
    labelled = given != ""
    expected = AutoProbe(random_state=3).fit(features[labelled], code_labels(given[labelled]))
    assert f"Method: {expected.choice_.name}" in result.output
    np.testing.assert_array_equal(load("p.safetensors").coef_, expected.coef_)

    # And it predicts as it does in memory, rows without labels too.
    done("predict", "p.safetensors", "new.csv", "-o", "new_labels.csv")
    assert column("new_labels.csv", "id") == [str(row) for row in range(120)]
    assert column("new_labels.csv", "predicted_label") == expected.predict(features).tolist()
    outputs = np.sort(expected.predict_proba(features), axis=1)
    confidence = np.array(column("new_labels.csv", "confidence"), dtype=float)
    np.testing.assert_allclose(confidence, outputs[:, -1], atol=1e-6)
    second = expected.classes_[np.argsort(-expected.predict_proba(features), axis=1)[:, 1]]
    assert column("new_labels.csv", "second_label") == second.tolist()


def test_a_probe_is_fitted_on_the_training_rows(noisy) -> None:
    features, given, split = noisy
    done("fit", "split.csv", "-o", "p.safetensors", "--quiet")
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
    result = done("predict", "p.safetensors", "split.csv", "-o", "out.csv", *arguments)
    assert f"Predicted {len(rows)} rows" in result.output
    assert column("out.csv", "id") == [str(row) for row in rows]
    # Whole floats are the classes that a table names.
    assert column("out.csv", "predicted_label") == [NAMES[row % 3] for row in rows]


@pytest.mark.usefixtures("noisy")
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_picture_shows_what_was_tried(kind) -> None:
    done("fit", "table.csv", "-o", "p.safetensors", "--figure", f"tried.{kind}", "--quiet")
    assert (b"PNG" if kind == "png" else b"<?xml") in Path(f"tried.{kind}").read_bytes()[:8]


@pytest.mark.parametrize("command", ["predict", "evaluate", "audit"])
def test_features_of_another_backbone_are_refused_by_name(tmp_path, monkeypatch, command) -> None:
    monkeypatch.chdir(tmp_path)
    done("extract", "digits", "--backbone", "pixels", "-o", "d.features")
    done("fit", "d.features", "-o", "p.safetensors", "--quiet")
    table = read_features("d.features")
    other = {**table.provenance, "backbone": "resnet50"}
    write_features("other.features", replace(table, provenance=other))
    arguments = {
        "predict": ["p.safetensors", "other.features", "-o", "x.csv"],
        "evaluate": ["p.safetensors", "other.features"],
        "audit": ["other.features", "--probe", "p.safetensors", "-o", "audit"],
    }
    result = refused(command, *arguments[command])
    assert (
        "other.features has features of 'resnet50', and p.safetensors was fitted on features of "
        "'pixels': extract both with the same backbone."
    ) in result
