"""A command with its options, imported when it is asked for."""

from collections.abc import Callable
from importlib import import_module

import typer
from typer.core import TyperCommand

from twohot.cli._errors import friendly
from twohot.cli._examples import EXAMPLES
from twohot.cli._table_options import with_table_options
from twohot_command.commands import PlainCommand


def command_function(name: str) -> Callable[..., None]:
    """Return what a command calls, with all its options as parameters and its errors in words."""
    return friendly(with_table_options(getattr(import_module(f"twohot.cli.{name}"), name)))


def parser_of(name: str) -> TyperCommand:
    """Return what parses the arguments of a command and calls it."""
    alone = typer.Typer(add_completion=False)
    # An empty line between two, or the help would write them as one paragraph.
    examples = "\n\n".join(["Examples:", *EXAMPLES[name]])
    alone.command(name, cls=PlainCommand, epilog=examples)(command_function(name))
    return typer.main.get_command(alone)  # type: ignore[return-value]
