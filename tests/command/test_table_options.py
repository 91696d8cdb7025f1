"""The options of tables: one record for all commands, and what is said of labels."""

import inspect
from dataclasses import fields
from html import unescape
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
from label_tables import NAMES, blobs, column, done, write_table, wrong_every

from twohot.probes import load
from twohot.tables import csv_columns, read_features, read_table, write_features
from twohot_command.app import parser_of, with_option_records
from twohot_command.sources import TableOptions

READ_LABELS = ("audit", "corrupt", "describe", "fit", "forecast")


@pytest.mark.parametrize("name", READ_LABELS)
def test_commands_that_read_labels_have_the_options_of_the_record(name):
    parameters = parser_of(name).params
    arguments = [entry.name for entry in parameters if entry.param_type_name == "argument"]
    assert arguments == ["source", "others"]
    own = {entry.name for entry in fields(TableOptions)} - {"source", "others"}
    assert own <= {entry.name for entry in parameters}


def test_options_become_a_record():
    def command(
        probe: str, *, before: int = 0, options: TableOptions, after: Annotated[int, "x"] = 1
    ) -> None:
        """Say what came."""
        seen.append((probe, before, options, after))

    seen = []
    spread = with_option_records(command)
    names = list(inspect.signature(spread).parameters)
    own = ["label_column", "feature_column", "id_column", "item_column"]
    others = [*own, "labels", "classes", "missing", "merge_spellings", "split"]
    assert names == ["probe", "source", "others", "before", *others, "after"]
    given = dict.fromkeys([*others, "others"]) | {"split": "val", "source": Path("a.csv")}
    given["merge_spellings"] = False
    spread(probe="p", before=2, after=3, **given)
    assert seen == [("p", 2, TableOptions(source=Path("a.csv"), split="val"), 3)]
    assert spread.__doc__ == "Say what came."


@pytest.fixture
def odd(here):
    """Work in a folder with a table in which some labels look odd."""
    features, true = blobs()
    names = wrong_every(true, 7, ("cat", "dog", "fox"))
    names[4], names[7], names[9:14] = "Cat", "dog ", ["NaN", "n/a", "NaN", "NaN", "n/a"]
    write_table(here / "table.csv", features, label=names)
    return names


@pytest.mark.usefixtures("odd")
def test_prints_odd_labels_once():
    result = done("describe", "table.csv")
    spellings = (
        "Note: 2 rows have a label that may be another spelling of a class: 'cat' (47 rows) / "
        "'Cat' (1), 'dog' (48 rows) / 'dog␣' (1). If these spellings mean the same class, pass "
        "--merge-spellings."
    )
    assert spellings in result.stderr
    missing = "Note: 'NaN', 'n/a' are classes here: if such a text means that"
    assert missing in result.stderr
    assert "another spelling" not in result.stdout
    assert "`missing`" not in result.output
    quieter = done("describe", "table.csv", "--missing", "NaN", "--missing", "n/a")
    assert "another spelling" in quieter.stderr
    assert "--missing" not in quieter.stderr
    # Tables show blanks at the end of a class.
    described = done("describe", "table.csv", "--verbose").stdout
    assert "│ 'dog ' " in described
    assert "│ dog " in described
    done("fit", "table.csv", "-o", "p.safetensors", "--quiet")
    assert "│ 'dog ' " in done("evaluate", "p.safetensors", "table.csv", "-v").stdout


def test_merges_spellings(odd) -> None:
    said = "Spellings merged: 'Cat' as 'cat' (1 row), 'dog␣' as 'dog' (1 row)"
    asked = ("table.csv", "--merge-spellings", "--missing", "NaN", "--missing", "n/a")
    fitted = done("fit", *asked, "-o", "p.safetensors", "--quiet")
    assert said in fitted.stdout
    assert "another spelling" not in fitted.output
    assert load("p.safetensors").classes_.tolist() == ["cat", "dog", "fox"]
    forecast = done("forecast", *asked, "--quiet").stdout
    assert said in forecast
    steps = [line for line in forecast.splitlines() if " fit " in line or " audit " in line]
    assert steps
    assert all("--merge-spellings" in line for line in steps)
    done("audit", *asked, "-o", "audit", "--quiet")
    page = unescape(Path("audit/report.html").read_text("utf-8"))
    assert "'Cat' as 'cat', 'dog␣' as 'dog'" in page
    # The file itself is corrected: its spellings are known, and merged in it.
    accepted = ("--accept-all", "1", "--audit", "audit", "--to", "table.csv", "-o", "clean.csv")
    done("apply", *accepted)
    columns = csv_columns(Path("clean.csv"))
    assert columns["given_label"].tolist() == odd
    assert {*columns["label"].tolist()} == {"cat", "dog", "fox", "NaN", "n/a"}


def test_texts_that_mean_no_label_are_remembered(odd):
    asked = ("corrupt", "table.csv", "--rate", "0", "-o", "out.features", "--missing", "NaN")
    done(*asked)
    table = read_features("out.features")
    assert table.given_labels.tolist() == [None if name == "NaN" else name for name in odd]
    assert table.classes == ("Cat", "cat", "dog", "dog ", "fox", "n/a")
    assert read_table("out.features", labels=odd).classes == table.classes


@pytest.mark.parametrize("labels", [[], ["--labels", "table.csv"]])
@pytest.mark.parametrize("source", ["table.csv", "out.features"])
def test_warns_of_a_text_that_is_no_label(odd, source, labels):  # noqa: ARG001 - the folder
    done("corrupt", "table.csv", "--rate", "0", "-o", "out.features", "--missing", "NaN")
    asked = ("describe", source, *labels, "--missing", "NaN", "--missing", "N/A")
    with pytest.warns(UserWarning, match=r"^'N/A' occurs nowhere in the label column 'label': che"):
        done(*asked)


def test_does_not_warn_of_a_class_or_of_a_label_that_is_replaced(tmp_path):
    X, names = np.random.default_rng(0).normal(size=(6, 3)), ["dog", "cat", "unknown"]
    positions = pd.DataFrame(X).add_prefix("x").assign(label=[0, 1, 2, 0, 1, 2])
    table = read_table(positions, classes=names, missing=["unknown"])
    assert table.given_labels.tolist()[2] is None
    named = read_table(positions.assign(label=[*"aabbcx"]))
    write_features(tmp_path / "t.features", named)
    (tmp_path / "new.csv").write_text("id,label\n0,b\n1,a\n")
    found = read_table(tmp_path / "t.features", labels=tmp_path / "new.csv", missing=["x"])
    assert found.given_labels.tolist()[:2] == ["b", "a"]


@pytest.mark.usefixtures("here")
def test_extract_prints_odd_labels_of_a_list():
    Path("texts.csv").write_text("text,label\none,Bug\ntwo,bug\nthree,NaN\n")
    said = done("extract", "texts.csv", "--backbone", "minilm", "-o", "t.features").output
    assert "Note: 1 row has a label that may be another spelling of a class: 'Bug'" in said
    assert "pass --merge-spellings in the command that reads the feature file" in said
    assert "'NaN' is a class here: if such a text means" in said


def test_a_probe_lacks_classes_without_a_row_in_the_split(tmp_path):
    features, true = blobs()
    split = ["one", *np.where(true[1:] == 2, "test", "train").tolist()]
    labels = [NAMES[k] for k in true]
    source = write_table(tmp_path / "table.csv", features, label=labels, split=split)
    probe, output = tmp_path / "p.safetensors", tmp_path / "out.csv"
    said = done("fit", source, "-o", probe, "--quiet").output
    assert "Fitted on 99 rows of 2 classes" in said
    done("predict", probe, source, "-o", output)
    assert set(column(output, "predicted_label")) == {"2", "10"}
    said = done("predict", probe, source, "--split", "one", "-o", output, "--force").output
    assert "Predicted 1 row: " in said


def test_names_a_text_column_if_features_are_few(tmp_path) -> None:
    text = "the parcel is late and the phone is silent"
    numbers = np.random.default_rng(0).normal(size=40).round(3).tolist()
    rows = [f"{text} {i},{x},{'abc'[i % 3]}" for i, x in enumerate(numbers)]
    path = tmp_path / "tickets.csv"
    path.write_text("\n".join(["text,priority,label", *rows]))
    said = done("describe", path).stderr
    assert "only 1 feature for 3 classes: the column 'text' is not used as a feature" in said
