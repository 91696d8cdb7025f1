"""`twohot fit` writes the probe that AutoProbe chooses, and continues after a stop."""

from pathlib import Path

import numpy as np
import pytest
from label_tables import NAMES, blobs, column, done, run, write_table, wrong_every

from twohot import AutoProbe, LinearProbe
from twohot.base.labels import code_labels
from twohot.judge import library
from twohot.probes.fitted import load


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


def test_fits_what_auto_probe_chooses_and_predicts_like_it(noisy) -> None:
    features, given, _ = noisy
    options = ("--quiet", "--seed", 3, "--figure")
    result = done("fit", "table.csv", "-o", "p.safetensors", *options, "tried.png")
    assert "Fitted on 119 rows of 3 classes: p.safetensors" in result.output
    assert b"PNG" in Path("tried.png").read_bytes()[:8]
    labelled = given != ""
    expected = AutoProbe(random_state=3).fit(features[labelled], code_labels(given[labelled]))
    assert f"Method: {expected.choice_.name}" in result.output
    np.testing.assert_array_equal(load("p.safetensors").coef_, expected.coef_)

    done("predict", "p.safetensors", "new.csv", "-o", "new_labels.csv")
    assert column("new_labels.csv", "id") == [str(row) for row in range(120)]
    assert column("new_labels.csv", "predicted_label") == expected.predict(features).tolist()
    outputs = expected.predict_proba(features)
    confidence = np.array(column("new_labels.csv", "confidence"), dtype=float)
    np.testing.assert_allclose(confidence, outputs.max(axis=1), atol=1e-6)
    second = expected.classes_[np.argsort(-outputs, axis=1)[:, 1]]
    assert column("new_labels.csv", "second_label") == second.tolist()


def test_fits_on_the_training_rows(noisy) -> None:
    features, given, split = noisy
    options = ("-o", "p.safetensors", "--quiet", "--figure", "tried.svg")
    done("fit", "split.csv", *options)
    rows = (split == "train") & (given != "")
    expected = AutoProbe(random_state=0).fit(features[rows], code_labels(given[rows]))
    np.testing.assert_array_equal(load("p.safetensors").coef_, expected.coef_)
    assert b"<?xml" in Path("tried.svg").read_bytes()[:8]


@pytest.mark.parametrize(
    ("options", "rows"),
    [([], range(120)), (["--split", "all"], range(120)), (["--split", "test"], range(0, 120, 5))],
    ids=["default", "all", "test"],
)
def test_predicts_all_rows_or_those_of_a_split(noisy, options, rows) -> None:
    classes = np.array([2.0, 10.0, 30.0])
    LinearProbe().fit(noisy[0], classes[np.arange(120) % 3]).save("p.safetensors")
    result = done("predict", "p.safetensors", "split.csv", "-o", "out.csv", *options)
    assert f"Predicted {len(rows)} rows" in result.output
    assert column("out.csv", "id") == [str(row) for row in rows]
    # Whole floats are the classes that a table names.
    assert column("out.csv", "predicted_label") == [NAMES[row % 3] for row in rows]


@pytest.fixture
def source(tmp_path):
    features, true = blobs(300)
    return write_table(tmp_path / "x.csv", features, label=wrong_every(true, 5))


def stop_after(number, monkeypatch):
    """Let a choice be interrupted; return a list with an entry for every fit in a fold."""
    made, fit = [], library.fit_round

    def fit_or_stop(*args):
        made.append(args)
        if len(made) == number:
            raise KeyboardInterrupt
        return fit(*args)

    monkeypatch.setattr(library, "fit_round", fit_or_stop)
    return made


def test_a_stopped_fit_continues_to_the_same_probe(source, tmp_path, monkeypatch):
    whole, output = tmp_path / "whole.safetensors", tmp_path / "p.safetensors"
    checkpoint = tmp_path / "p.safetensors.checkpoint"
    made = stop_after(0, monkeypatch)
    done("fit", source, "-o", whole, "--quiet")
    n_fits = len(made)
    made = stop_after(8, monkeypatch)
    assert run("fit", source, "-o", output, "--quiet").exit_code != 0
    assert checkpoint.exists()
    assert not output.exists()
    result = done("fit", source, "-o", output, "--quiet")
    assert f"Continued from the checkpoint {checkpoint}" in result.output
    # The fit that was stopped is made again, and none that was finished.
    assert len(made) == n_fits + 1
    assert output.read_bytes() == whole.read_bytes()
    assert not checkpoint.exists()


def test_replaces_the_checkpoint_of_another_fit(source, tmp_path, monkeypatch):
    output = tmp_path / "p.safetensors"
    stop_after(8, monkeypatch)
    assert run("fit", source, "-o", output, "--quiet").exit_code != 0
    result = done("fit", source, "-o", output, "--quiet", "--seed", 1)
    assert "p.safetensors.checkpoint belongs to another fit and is replaced" in result.output
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["p.safetensors", "x.csv"]
