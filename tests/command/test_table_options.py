"""The options of tables: one record for all commands, and what is said of labels."""

import inspect
from html import unescape
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from label_tables import NAMES, blobs, column, done, run, write_table, wrong_every

from twohot.probes import load
from twohot.tables import csv_columns, read_features, read_table
from twohot_command.app import command_function, parser_of, with_option_record
from twohot_command.sources import TableOptions

READ_LABELS = ("audit", "corrupt", "describe", "fit", "forecast")


def help_of(name):
    """Return the help of every option of a command, and the names of its arguments."""
    parser = parser_of(name)
    options = {entry.opts[0]: entry.help for entry in parser.params if "-" in entry.opts[0]}
    arguments = [entry.name for entry in parser.params if entry.param_type_name == "argument"]
    return options, arguments


@pytest.mark.parametrize("name", READ_LABELS)
def test_commands_that_read_labels_have_the_same_options(name):
    options, arguments = help_of(name)
    assert arguments == ["source", "others"]
    assert {
        "--label-column": "Column or array that holds the labels.",
        "--feature-column": "Column that holds features, or a pattern such as 'e*'; repeat it for "
        "more.",
        "--id-column": "Column of row ids; by default id, else the position.",
        "--item-column": "Column of the texts or image paths of the rows.",
        "--labels": "Separate label file: .csv, .parquet or .npy.",
        "--classes": "Text file that names one class per line.",
        "--missing": "Text that means no label; repeat it for more.",
        "--merge-spellings": "Merge labels that differ only in case, blanks or the encoding of "
        "accents; the most frequent spelling is used.",
        "--split": "Split to use, or all; by default train, if any.",
    }.items() <= options.items()
    assert "options" not in inspect.signature(command_function(name)).parameters


def test_the_record_is_made_of_its_options():
    def command(
        probe: str, *, before: int = 0, options: TableOptions, after: Annotated[int, "x"] = 1
    ) -> None:
        """Say what came."""
        seen.append((probe, before, options, after))

    seen = []
    spread = with_option_record(command)
    names = list(inspect.signature(spread).parameters)
    own = ["label_column", "feature_column", "id_column", "item_column"]
    fields = [*own, "labels", "classes", "missing", "merge_spellings", "split"]
    assert names == ["probe", "source", "others", "before", *fields, "after"]
    given = dict.fromkeys([*fields, "others"]) | {"split": "val", "source": Path("a.csv")}
    given["merge_spellings"] = False
    spread(probe="p", before=2, after=3, **given)
    assert seen == [("p", 2, TableOptions(source=Path("a.csv"), split="val"), 3)]
    assert spread.__doc__ == "Say what came."


def test_a_command_without_a_table_stays_as_it_is():
    def command(*, n: int = 0) -> None:
        """Take no table."""

    assert with_option_record(command) is command


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """Work in a folder with a table in which some labels look odd."""
    monkeypatch.chdir(tmp_path)
    features, true = blobs()
    names = wrong_every(true, 7, ("cat", "dog", "fox"))
    names[4], names[7], names[9:14] = "Cat", "dog ", ["NaN", "n/a", "NaN", "NaN", "n/a"]
    write_table(tmp_path / "table.csv", features, label=names)
    return names


@pytest.mark.usefixtures("odd")
def test_odd_labels_are_said():
    result = done("describe", "table.csv")
    assert (
        "Note: 2 rows have a label that may be another spelling of a class: 'cat' (47 rows) / "
        "'Cat' (1), 'dog' (48 rows) / 'dog␣' (1). They are different classes here: pass "
        "--merge-spellings if they are one." in result.stderr
    )
    assert (
        "Note: 'NaN', 'n/a' are classes here: name such a text by --missing if it means that there "
        "is no label." in result.stderr
    )
    # Once, and in no other words.
    assert "another spelling" not in result.stdout
    assert "`missing`" not in result.output
    quieter = done("describe", "table.csv", "--missing", "NaN", "--missing", "n/a")
    assert "another spelling" in quieter.stderr
    assert "--missing" not in quieter.stderr


def test_spellings_are_merged_where_somebody_asks_for_it(odd) -> None:
    said = "Spellings merged: 'Cat' as 'cat' (1 row), 'dog␣' as 'dog' (1 row)"
    asked = ("table.csv", "--merge-spellings", "--missing", "NaN", "--missing", "n/a")
    fitted = done("fit", *asked, "-o", "p.safetensors", "--quiet")
    assert said in fitted.stdout
    assert "another spelling" not in fitted.output
    assert load("p.safetensors").classes_.tolist() == ["cat", "dog", "fox"]
    forecast = run("forecast", *asked, "--quiet")
    assert said in forecast.stdout
    nexts = [line for line in forecast.stdout.splitlines() if "twohot" in line]
    assert all(
        "--merge-spellings" in line for line in nexts if " fit " in line or " audit " in line
    )
    done("audit", *asked, "-o", "audit", "--quiet")
    assert "'Cat' as 'cat', 'dog␣' as 'dog'" in unescape(
        Path("audit/report.html").read_text("utf-8")
    )
    # The file itself is corrected: its spellings are known, and merged in it.
    accepted = ("--accept-all", "1", "--audit", "audit", "--to", "table.csv", "-o", "clean.csv")
    done("apply", *accepted)
    columns = csv_columns(Path("clean.csv"))
    assert columns["given_label"].tolist() == odd
    assert {*columns["label"].tolist()} == {"cat", "dog", "fox", "NaN", "n/a"}


@pytest.mark.usefixtures("odd")
def test_blanks_at_the_end_of_a_class_are_seen_in_tables():
    described = run("describe", "table.csv", "--verbose").stdout
    assert "│ 'dog ' " in described
    assert "│ dog " in described
    done("fit", "table.csv", "-o", "p.safetensors", "--quiet")
    assert "│ 'dog ' " in run("evaluate", "p.safetensors", "table.csv", "-v").stdout


def test_texts_that_mean_no_label(odd):
    arguments = ["corrupt", "table.csv", "--rate", "0", "-o", "out.features", "--missing", "NaN"]
    done(*arguments)
    table = read_features("out.features")
    assert table.given_labels.tolist() == [None if name == "NaN" else name for name in odd]
    assert table.classes == ("Cat", "cat", "dog", "dog ", "fox", "n/a")
    # The file remembers it where other labels are read next to it.
    assert read_table("out.features", labels=odd).classes == table.classes


def test_labels_of_a_list_are_looked_at_when_extracted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("texts.csv").write_text("text,label\none,Bug\ntwo,bug\nthree,NaN\n")
    # Refused: pixels take no texts. What is odd about the labels was said before.
    result = run("extract", "texts.csv", "--backbone", "pixels", "-o", "t.features")
    assert "Note: 1 row has a label that may be another spelling of a class: 'Bug'" in result.stderr
    assert "pass --merge-spellings where the feature file is read" in result.stderr
    assert "'NaN' is a class here: name such a text by --missing if it means" in result.stderr


def test_classes_without_a_row_in_the_split_are_left_out_of_the_probe(tmp_path):
    features, true = blobs()
    split = np.where(true == 2, "test", "train").tolist()
    labels = [NAMES[k] for k in true]
    source = write_table(tmp_path / "table.csv", features, label=labels, split=split)
    probe = tmp_path / "p.safetensors"
    result = run("fit", source, "-o", probe, "--quiet")
    assert "Fitted on 100 rows of 2 classes" in result.output, result.output
    done("predict", probe, source, "-o", tmp_path / "out.csv")
    assert set(column(tmp_path / "out.csv", "predicted_label")) == {"2", "10"}


def test_one_row_is_no_plural(tmp_path):
    features, true = blobs()
    split = ["one", *["train"] * (len(true) - 1)]
    labels = [NAMES[k] for k in true]
    source = write_table(tmp_path / "table.csv", features, label=labels, split=split)
    probe = tmp_path / "p.safetensors"
    done("fit", source, "-o", probe, "--quiet")
    result = run("predict", probe, source, "--split", "one", "-o", tmp_path / "out.csv")
    assert "Predicted 1 row: " in result.output
    corrupted = run("corrupt", source, "--rate", "0.1", "-o", tmp_path / "noisy.features")
    assert "1 other row keeps its label." in corrupted.output


def test_text_that_is_no_feature_is_named_if_features_are_few(tmp_path) -> None:
    numbers = np.random.default_rng(0).normal(size=40).round(3)
    rows = [
        f"the parcel is late and the phone is silent {i},{x},{'abc'[i % 3]}"
        for i, x in enumerate(numbers)
    ]
    path = tmp_path / "tickets.csv"
    path.write_text("\n".join(["text,priority,label", *rows]))
    result = done("describe", path)
    assert "1 feature for 3 classes; column 'text' is shown and is not a feature" in result.stderr
