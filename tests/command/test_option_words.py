"""Errors name options as the command line does, and leave all that is a user's as it is."""

import inspect

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from twohot.base.messages import ArgumentError
from twohot_command.app import (
    OTHER_NAMES,
    command_function,
    errors_in_words,
    option_writer,
    parser_of,
)
from twohot_command.commands import COMMANDS as LISTED

COMMANDS = {name: command_function(name) for name in LISTED}


def command(source, *, label_column=None, split=None, superclasses=None, seed=0, force=False):
    """Stand for any command."""


def options_of(function):
    parameters = inspect.signature(function).parameters.values()
    return {entry.name for entry in parameters if entry.kind is entry.KEYWORD_ONLY}


@pytest.mark.parametrize("name", COMMANDS)
def test_writes_every_option_as_the_parser_takes_it(name):
    """What is written for an option is what the parser takes, for every option of a command."""
    params = parser_of(name).params
    taken = {entry.name: entry.opts for entry in params if entry.param_type_name == "option"}
    assert set(taken) == options_of(COMMANDS[name])
    write = option_writer(COMMANDS[name])
    for argument, spellings in taken.items():
        option = write(argument, True)
        assert option in spellings
        assert write(argument, ...) == f"{option}=…"


@pytest.mark.parametrize("name", OTHER_NAMES.values())
def test_other_names_are_names_of_options(name):
    assert any(name in options_of(function) for function in COMMANDS.values())


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("n_superclasses", 11, "--superclasses=11"),
        ("random_state", -1, "--seed=-1"),
        ("seed", 1.5e-3, "--seed=0.0015"),
        ("split", None, "--split=None"),
        ("split", "it's", '--split="it\'s"'),
        ("label_column", ["a", "b"], "--label-column='a' --label-column='b'"),
        ("label_column", ..., "--label-column=…"),
        ("force", True, "--force"),
        # Nothing of these is an argument that the command has as an option.
        ("true_label_column", "x", "true_label_column='x'"),
        ("source", "x", "source='x'"),
        ("noise_rate", 0.2, "noise_rate=0.2"),
        ("labels[2]", "c", "labels[2]='c'"),
        ("", 1, "=1"),
    ],
)
def test_writes_arguments_as_options_of_the_command(name, value, expected):
    assert option_writer(command)(name, value) == expected


# A user's text that looks like an argument, a place to fill or markup.
TEXTS = ["label_column='c'", "force=True", "{label_column}", "{force}", "{", "[red]", "'", "a=…"]
texts = st.one_of(st.text(), st.sampled_from(TEXTS))


@given(texts, texts)
def test_keeps_the_text_of_a_user(chosen, other):
    """Column names and labels may be any text, quoted or not."""
    error = ArgumentError(
        {"label_column": chosen},
        f"is missing beside {other}",
        "pass {label_column} or {force}.",
        label_column=other,
        force=True,
    )
    assert error.worded(option_writer(command)) == (
        f"--label-column={chosen!r} is missing beside {other}: "
        f"pass --label-column={other!r} or --force."
    )


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "Interrupted. No file is incomplete: run the command again."),
        (FileNotFoundError(2, "No such file", "a.csv"), 1, "Error: a.csv does not exist: check"),
        (FileNotFoundError("b.csv is gone: look."), 1, "Error: b.csv is gone: look."),
        (PermissionError(13, "Permission denied", "a.csv"), 1, "Error: a.csv cannot be read or"),
        (OSError(28, "No space left on device"), 1, "Error: a file or the output cannot be"),
        (MemoryError("9 GB"), 1, "Error: out of memory (9 GB): pass fewer rows or features"),
    ],
)
def test_reports_errors_of_the_system(error, code, said, capsys):
    @errors_in_words()
    def stopped():
        raise error

    with pytest.raises(typer.Exit) as raised:
        stopped()
    assert raised.value.exit_code == code
    assert said in capsys.readouterr().err
