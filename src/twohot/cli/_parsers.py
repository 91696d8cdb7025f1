"""A command with its options, imported when it is asked for."""

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import typer
from typer.core import TyperCommand
from typer.models import OptionInfo

from twohot.cli._errors import friendly
from twohot.cli._examples import EXAMPLES
from twohot.cli._option_record import with_option_record
from twohot_command.commands import PlainCommand

# What stands behind an option in the help, by what it takes.
WORDS = {int: "<number>", float: "<number>", str: "<text>", Path: "<path>"}


def command_function(name: str) -> Callable[..., None]:
    """Return what a command calls, with all its options as parameters and its errors in words."""
    command = with_option_record(getattr(import_module(f"twohot.cli.{name}"), name))
    for parameter in inspect.signature(command).parameters.values():
        _name_value(parameter.annotation)
    return friendly(command)


def _name_value(declared: Any) -> None:
    """Let the help say in words what an option takes, and not by the name of a type."""
    taken, *others = get_args(declared)
    kinds = [*get_args(taken), *(kind for entry in get_args(taken) for kind in get_args(entry))]
    words = [WORDS[kind] for kind in (taken, *kinds) if kind in WORDS]
    for option in others:
        if isinstance(option, OptionInfo) and option.metavar is None and words:
            option.metavar = words[0]


def parser_of(name: str) -> TyperCommand:
    """Return what parses the arguments of a command and calls it."""
    alone = typer.Typer(add_completion=False)
    # An empty line between two, or the help would write them as one paragraph.
    examples = "\n\n".join(["Examples:", *EXAMPLES[name]])
    alone.command(name, cls=PlainCommand, epilog=examples)(command_function(name))
    return typer.main.get_command(alone)  # type: ignore[return-value]
