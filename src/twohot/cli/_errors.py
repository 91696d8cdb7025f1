"""Errors as one sentence, in the words of the command line.

What the library calls `label_column='y'` is `--label-column='y'` here, and `force=True` is
`--force`. An error knows the arguments that it speaks of: no text is searched for them.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from twohot._checks.messages import ArgumentError, in_python, shown
from twohot.cli._terminal import say
from twohot_command import INTERRUPTED, NOTHING_LOST

# What a user can mend. Anything else is a fault of ours and keeps its traceback.
USER_ERRORS = (ValueError, OSError, ImportError)
# Arguments of the library whose option has another name.
OTHER_NAMES = {
    "corruption": "matrix",
    "cv": "folds",
    "groups": "group_column",
    "n_rounds": "rounds",
    "n_superclasses": "superclasses",
    "noise_rate": "rate",
    "random_state": "seed",
}


def friendly(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with its errors printed as a sentence, and exit code 1."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except USER_ERRORS as error:
            say(f"Error: {_in_words(error, command)}", "red", stderr=True)
            raise typer.Exit(1) from error
        except MemoryError as error:
            advice = "pass fewer rows or features, or run this where there is more."
            say(f"Error: memory is used up ({error}): {advice}", "red", stderr=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            say(NOTHING_LOST, "red", stderr=True)
            raise typer.Exit(INTERRUPTED) from error

    return wrapped


def _in_words(error: Exception, command: Callable[..., Any]) -> str:
    """Return the message of an error; that of the system for a file says too little."""
    if isinstance(error, ArgumentError):
        return error.worded(option_writer(command))
    if isinstance(error, FileNotFoundError) and error.errno is not None:
        return f"{error.filename} is not there: check the path."
    if isinstance(error, OSError) and error.errno is not None:
        what = "a file or the output" if error.filename is None else error.filename
        return f"{what} cannot be read or written: {error.strerror}."
    return str(error)


def option_writer(command: Callable[..., Any]) -> Callable[[str, object], str]:
    """Return what writes an argument as the option of a command, or as Python does without one.

    Examples
    --------
    >>> def fit(source, *, label_column=None, force=False): ...
    >>> write = option_writer(fit)
    >>> write("label_column", "y"), write("label_column", ...), write("force", True)
    ("--label-column='y'", '--label-column=…', '--force')
    >>> write("budget", 3), write("label_column", ["y", "z"])
    ('budget=3', "--label-column='y' --label-column='z'")
    """
    parameters = inspect.signature(command).parameters.values()
    options = {entry.name for entry in parameters if entry.kind is entry.KEYWORD_ONLY}

    def write(name: str, value: object) -> str:
        option = name if name in options else OTHER_NAMES.get(name, "")
        if option not in options:
            return in_python(name, value)
        if isinstance(value, list):  # an option that is repeated
            return " ".join(write(name, entry) for entry in value)
        written = f"--{option.replace('_', '-')}"
        return written if value is True else f"{written}={shown(value)}"

    return write
