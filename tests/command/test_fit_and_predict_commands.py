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
def noisy(here):
    """Work in a folder with a table that has wrong labels; return its features and labels."""
    features, true = blobs(120)
    given = wrong_every(true, 7)
    given[3] = ""
    split = ["test" if row % 5 == 0 else "train" for row in range(120)]
    write_table(here / "table.csv", features, label=given)
    write_table(here / "split.csv", features, label=given, split=split)
    write_table(here / "new.csv", features)
    return features, np.array(given), np.array(split)


@pytest.mark.parametrize(
    ("table", "figure", "start"),
    [("table.csv", "tried.png", b"\x89PNG"), ("split.csv", "tried.svg", b"<?xml")],
)
def test_fits_the_training_rows_and_predicts_like_auto_probe(noisy, table, figure, start):
    features, given, split = noisy
    rows = (given != "") & ((split == "train") | (table == "table.csv"))
    options = ("-o", "p.safetensors", "--quiet", "--seed", 3, "--figure", figure)
    result = done("fit", table, *options)
    assert f"Fitted on {rows.sum()} rows of 3 classes: p.safetensors" in result.output
    assert Path(figure).read_bytes().startswith(start)
    expected = AutoProbe(random_state=3).fit(features[rows], code_labels(given[rows]))
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


def test_a_stopped_fit_continues_to_the_same_probe_unless_it_is_another_fit(tmp_path, monkeypatch):
    features, true = blobs(300)
    source = write_table(tmp_path / "x.csv", features, label=wrong_every(true, 5))
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
    stop_after(8, monkeypatch)
    assert run("fit", source, "-o", output, "--quiet", "--force").exit_code != 0
    result = done("fit", source, "-o", output, "--quiet", "--force", "--seed", 1)
    assert "p.safetensors.checkpoint belongs to another fit and is replaced" in result.output
    assert not checkpoint.exists()
