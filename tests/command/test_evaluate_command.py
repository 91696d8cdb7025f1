"""`twohot evaluate` prints and writes what a probe gets right on trusted labels."""

import json
from pathlib import Path

import numpy as np
import pytest
from label_tables import NAMES, blobs, done, write_table, wrong_every

from twohot import LinearProbe
from twohot.base.labels import code_labels


@pytest.fixture
def folder(here):
    """Work in a folder with a probe, and with trusted labels of which it gets every tenth wrong."""
    features, true = blobs(120)
    labels = [NAMES[label] for label in true]
    LinearProbe(ridge=1).fit(features, code_labels(labels)).save("p.safetensors")
    trusted = wrong_every(true, 10)
    write_table(here / "trusted.csv", features, label=trusted)
    split = ["test" if row % 10 == 0 else "train" for row in range(120)]
    write_table(here / "split.csv", features, label=trusted, split=split)
    return here


@pytest.mark.usefixtures("folder")
def test_prints_and_writes_accuracy_classes_and_confusions():
    result = done("evaluate", "p.safetensors", "trusted.csv", "-o", "found")
    assert "Accuracy 90.0% (95% confidence interval 83.3% to 94.2%), on 120 rows" in result.output
    lines = [line.replace("│", " ").split() for line in result.output.splitlines()]
    assert ["2", "40", "90.0%", "90.0%", "90.0%"] in lines
    # Every tenth label is that of the next class: four rows for each class.
    assert ["10", "2", "4"] in lines
    found = json.loads(Path("found/evaluation.json").read_text())
    assert found["accuracy"] == 0.9
    assert np.array(found["confusion"]).sum(axis=1).tolist() == [40, 40, 40]
    assert b"PNG" in Path("found/confusion.png").read_bytes()[:8]


def test_names_labels_that_the_probe_does_not_know(folder):
    features, true = blobs(120)
    labels = [*["[yak]"] * 3, *(NAMES[label] for label in true[3:])]
    write_table(folder / "more.csv", features, label=labels)
    result = done("evaluate", "p.safetensors", "more.csv")
    assert "on 117 rows" in result.output
    assert "Not counted: 3 rows of 1 class that the probe does not know ('[yak]')" in result.output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Accuracy 0.0% (95% confidence interval 0.0% to 24.2%), on 12 rows"),
        (["--split", "all"], "Accuracy 90.0%"),
        (["--split", "train"], "Accuracy 100.0%"),
    ],
    ids=["default", "all", "train"],
)
def test_evaluates_the_test_split_if_there_is_one(arguments, said):
    result = done("evaluate", "p.safetensors", "split.csv", *arguments)
    assert said in result.output
