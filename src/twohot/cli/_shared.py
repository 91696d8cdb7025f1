"""What the commands share: errors as one sentence, in the words of the command line.

The library writes an argument as `name=value`, or as `name=…` where any value may stand, and a
user of the command line knows it as `--name=value`. A switch, `name=True`, becomes `--name`.
"""

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import typer
from rich.console import Console

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# What a user can mend. Anything else is a fault of ours and keeps its traceback.
USER_ERRORS = (ValueError, OSError, ImportError)
INTERRUPTED = 130  # what a shell expects of a command that was stopped by the keyboard
# Arguments of the library whose option has another name.
OTHER_NAMES = {
    "cv": "folds",
    "n_rounds": "rounds",
    "n_superclasses": "superclasses",
    "noise_rate": "rate",
    "random_state": "seed",
}
# What repr makes of a string, from a user's data mostly. An apostrophe after a letter opens none.
QUOTED = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
# A value, and then the sentence goes on: split=train/1.png and seed=0.csv are files, no arguments.
NUMBER = r"-?(?:\d[\d.e+-]*|nan|inf)"
VALUE = rf"(?:{QUOTED}|{NUMBER}|\[.*?\]|None|…)(?=[,:;)]|\.?(?:\s|$))"


def friendly(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return the command with its errors printed as a sentence, and exit code 1."""

    @wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except USER_ERRORS as error:
            _complain(f"Error: {with_options(_in_words(error), command)}")
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            _complain("Interrupted. Nothing was half written: run the command again.")
            raise typer.Exit(INTERRUPTED) from error

    return wrapped


def _complain(message: str) -> None:
    # Text from a user's data may stand in the message: it is printed as it is.
    Console(stderr=True).print(message, style="red", markup=False, highlight=False, soft_wrap=True)


def _in_words(error: Exception) -> str:
    """Return the message of an error; that of the system for a missing file says too little."""
    if isinstance(error, FileNotFoundError) and error.errno is not None:
        return f"{error.filename} is not there: check the path."
    return str(error)


def with_options(message: str, command: Callable[..., Any]) -> str:
    """Return a message with arguments that the command has as options written as these.

    Examples
    --------
    >>> def fit(source, *, label_column=None, force=False): ...
    >>> with_options("label_column='y' is missing: the columns are 'a', 'force=True'.", fit)
    "--label-column='y' is missing: the columns are 'a', 'force=True'."
    >>> with_options("probe.npz is there: pass force=True to replace it.", fit)
    'probe.npz is there: pass --force to replace it.'
    """
    parameters = inspect.signature(command).parameters.values()
    options = [entry.name for entry in parameters if entry.kind is entry.KEYWORD_ONLY]
    named = {name: name for name in options}
    named |= {other: name for other, name in OTHER_NAMES.items() if name in options}
    if not named:
        return message

    def translated(match: re.Match[str]) -> str:
        name, switched_on = match.groups()
        if name is None:
            return match[0]
        return f"--{named[name].replace('_', '-')}" + ("" if switched_on else "=")

    argument = rf"(?<![\w/\\.=-])({'|'.join(named)})=(?:(True)\b|(?={VALUE}))"
    return re.sub(f"{QUOTED}|{argument}", translated, message)
