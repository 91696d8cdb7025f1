"""Errors name options as the command line does, and leave all that is a user's as it is."""

import inspect
import string

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from label_tables import blobs, run, write_table

from twohot.cli import app
from twohot.cli._shared import OTHER_NAMES, friendly, with_options

COMMANDS = {entry.callback.__name__: entry.callback for entry in app.registered_commands}


def command(source, *, label_column=None, split=None, superclasses=None, seed=0, force=False):
    """Stand for any command."""


def options_of(function):
    parameters = inspect.signature(function).parameters.values()
    return {entry.name for entry in parameters if entry.kind is entry.KEYWORD_ONLY}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_names_are_those_of_the_options(name):
    """What is written for an option is what the parser takes, for every option of a command."""
    parser = typer.main.get_command(app).commands[name]
    taken = {entry.name: entry.opts for entry in parser.params if entry.param_type_name == "option"}
    assert set(taken) == options_of(COMMANDS[name])
    for argument, spellings in taken.items():
        written = with_options(f"pass {argument}=… or {argument}=True", COMMANDS[name])
        option = written.split(" ")[-1]
        assert option in spellings
        assert written == f"pass {option}=… or {option}"


@pytest.mark.parametrize("name", OTHER_NAMES.values())
def test_other_names_are_those_of_options(name):
    assert any(name in options_of(function) for function in COMMANDS.values())


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("n_superclasses=11 is more", "--superclasses=11 is more"),
        ("random_state=-1 is not allowed", "--seed=-1 is not allowed"),
        ("(seed=1.5e-3, split=None)", "(--seed=1.5e-3, --split=None)"),
        ("seed=nan: pass 1.", "--seed=nan: pass 1."),
        ('split="it\'s" is not there', '--split="it\'s" is not there'),
        ("label_column=['a'] is", "--label-column=['a'] is"),
        ("CIFAR's split='val' is", "CIFAR's --split='val' is"),
        ("pass force=True.", "pass --force."),
        # Nothing of these is an argument that the command has as an option.
        *[(message, message) for message in (
            "true_label_column='x' and n_split=3",
            "source='x' is a positional argument, classes='x' is none of this command",
            "a label_column, the split and its seed",
            "--split='val' is not in this table",
            "split=train/1.png is no image",
            "data/split='a'.png, seed=0.csv and seed=0/x.csv are not there",
            "the columns are 'split=1 ', \"force='True'\", 'it\\'s split=1 '.",
            "force=Truely",
        )],
    ],
)  # fmt: skip
def test_arguments_become_options_and_nothing_else_changes(message, expected):
    assert with_options(message, command) == expected


texts = st.one_of(
    st.text(), st.text(string.ascii_lowercase + "_='\"\\ ,."), st.sampled_from(["split=1 ", "'"])
)


@given(texts, texts)
def test_what_is_quoted_stays_as_it_is(chosen, other):
    """Column names and labels of a user are quoted by repr, and may be any text."""
    message = f"label_column={chosen!r} is missing: the columns are {other!r}, {chosen!r}."
    assert with_options(message, command) == message.replace("label_column", "--label-column", 1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with tables of features."""
    monkeypatch.chdir(tmp_path)
    features, true = blobs(30)
    labels = [str(label) for label in true]
    write_table(tmp_path / "split='a'.csv", features[:, :2])
    write_table(tmp_path / "two.csv", features, label=labels, y=labels)
    write_table(tmp_path / "apart.csv", features[:, :0], a=labels, b=labels)
    (tmp_path / "names.txt").write_text("0\n1\n")
    np.savez(tmp_path / "t.npz", X=features, y=true, embeddings=features)
    np.save(tmp_path / "X.npy", features)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["split='a'.csv"],
            "no label column among 'x0', 'x1': name it by --label-column=…, or pass --labels=…",
        ),
        (["split='b'.csv"], "split='b'.csv is not a file: pass the path of a table of features."),
        (["two.csv"], "'label' and 'y' could both be meant: choose one by --label-column=…"),
        (
            ["X.npy", "--labels", "apart.csv"],
            "apart.csv has the columns 'a', 'b': choose one by --label-column=…",
        ),
        (
            ["X.npy", "--labels", "apart.csv", "--label-column", "label_column='c'"],
            "--label-column=\"label_column='c'\" is missing: the columns are 'a', 'b'.",
        ),
        (
            ["X.npy", "--labels", "apart.csv", "--label-column", "a", "--classes", "names.txt"],
            "column 'a' has 1 label that is none of the 2 classes ('2'): name all classes in --cla",
        ),
        (
            ["two.csv", "--label-column", "y", "--feature-column", "label"],
            "column 'label' holds no numbers: choose others by --feature-column=…",
        ),
        (
            ["two.csv", "--label-column", "y", "--split", "test"],
            "--split='test' is not in this table, which has no splits.",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_of_readers_through_the_command_line(arguments, message):
    result = run("describe", *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {message}")


def test_a_command_without_options_leaves_messages_alone():
    def bare(source):
        """Have no option."""

    assert with_options("force=True and =True", bare) == "force=True and =True"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "Interrupted. Nothing was half written: run the command again."),
        (FileNotFoundError(2, "No such file", "a.csv"), 1, "Error: a.csv is not there: check"),
        (FileNotFoundError("b.csv is gone: look."), 1, "Error: b.csv is gone: look."),
    ],
)
def test_what_stops_a_command_is_said_in_words(error, code, said, capsys):
    @friendly
    def stopped():
        raise error

    with pytest.raises(typer.Exit) as raised:
        stopped()
    assert raised.value.exit_code == code
    assert said in capsys.readouterr().err


def test_a_folder_is_no_table(tmp_path):
    result = run("fit", tmp_path, "-o", "x.safetensors")
    assert result.exit_code == 1
    assert "is a folder: pass a table of features, which `twohot extract` makes" in result.output
