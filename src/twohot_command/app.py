"""Build the parser of a command from its function. A command imports this module when it runs."""

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, get_args

import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo, OptionInfo

from twohot.base import ArgumentError, as_url, in_python, load_extra, shown
from twohot_command import INTERRUPTED, NOTHING_LOST
from twohot_command.commands import OF_EXTRAS, PlainCommand
from twohot_command.terminal import say


def with_option_records(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command function, but with a parameter for each field of its option records.

    An option record is a parameter whose type is a dataclass, such as `options: TableOptions`.
    """
    parameters = inspect.signature(command).parameters
    types = {name: entry.annotation for name, entry in parameters.items()}
    records: dict[str, Any] = {name: kind for name, kind in types.items() if is_dataclass(kind)}

    @wraps(command)
    def wrapped(**given: Any) -> None:
        for name, record in records.items():
            given[name] = record(**{entry.name: given.pop(entry.name) for entry in fields(record)})
        command(**given)

    spread = [
        parameter
        for name, entry in parameters.items()
        for parameter in (map(_parameter, fields(records[name])) if name in records else [entry])
    ]
    spread.sort(key=lambda entry: entry.kind)  # arguments come before options
    wrapped.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]
    return wrapped


def _parameter(entry: "Field[Any]") -> inspect.Parameter:
    """Return a field of an option record as a parameter of the command."""
    declared: Any = entry.type
    is_argument = isinstance(declared.__metadata__[0], ArgumentInfo)
    return inspect.Parameter(
        entry.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD if is_argument else inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if entry.default is MISSING else entry.default,
        annotation=declared,
    )


# Error messages that name options of the command instead of arguments of Python functions ---------

# Errors that a user can fix. Other errors are bugs and are shown with a traceback.
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError)
# Names of arguments of Python functions, with the names of their options if these differ.
OTHER_NAMES = {
    "corruption": "matrix",
    "cv": "folds",
    "fdr": "draw_check",
    "groups": "group_column",
    "n_rounds": "rounds",
    "n_superclasses": "superclasses",
    "noise_rate": "rate",
    "random_state": "seed",
}


@contextmanager
def errors_in_words(write: Callable[[str, object], str] = in_python) -> Iterator[None]:
    """Print an error that the body of `with` raises as one sentence, and exit with code 1.

    `write(name, value)` formats an argument that the error names.
    """
    try:
        yield
    except USER_ERRORS as error:
        message = _message(error, write)
        if SHORT_URL.search(message):
            known = load_extra("fsspec", "parquet", "URLs").available_protocols()
            message = SHORT_URL.sub(lambda url: url[0] + "/" * (url[1] in known), message)
        say(f"Error: {message}", "red", stderr=True)
        raise typer.Exit(1) from error
    except KeyboardInterrupt as error:
        say(NOTHING_LOST, "red", stderr=True)
        raise typer.Exit(INTERRUPTED) from error


# The start of a URL that lost a slash because it was converted to a Path.
SHORT_URL = re.compile(r"(?<![\w.+-])([a-z][a-z0-9+]+):/(?=[^/\s])")


def _message(error: Exception, write: Callable[[str, object], str]) -> str:
    """Return the message of an error; an error of the operating system is written as a sentence."""
    if isinstance(error, ArgumentError):
        return error.worded(write)
    if isinstance(error, FileNotFoundError) and error.errno is not None:
        return f"{error.filename} does not exist: check the path."
    if isinstance(error, OSError) and error.errno is not None:
        what = "a file or the output" if error.filename is None else error.filename
        return f"{what} cannot be read or written: {error.strerror}."
    if isinstance(error, MemoryError):
        advice = "pass fewer rows or features, or use a machine with more memory."
        return f"out of memory ({error}): {advice}"
    return str(error)


def option_writer(command: Callable[..., Any]) -> Callable[[str, object], str]:
    """Return a function that formats an argument and its value as they are typed in a shell.

    An argument that is no option of the command is formatted in Python syntax.

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


# Commands that are defined in the module of another command, with the name of that module.
OTHER_MODULES = {"review": "certify", "verify": "certify"}
# What the help shows for a value of each type.
PLACEHOLDERS = {int: "<number>", float: "<number>", str: "<text>", Path: "<path>"}
# Arguments that must be local files or folders, not URLs.
LOCAL = ("probe", "audit", "certificate", "checked", "classes", "decisions", "matrix", "images")


def command_function(name: str) -> Callable[..., None]:
    """Return the function of a command, which prints its errors; its parameters are the options."""
    command = with_option_records(_function(name))
    for parameter in inspect.signature(command).parameters.values():
        value_type, declared = get_args(parameter.annotation)
        if isinstance(declared, OptionInfo) and declared.metavar is None:
            declared.metavar = _placeholder(value_type)

    @errors_in_words(option_writer(command))
    @wraps(command)
    def checked(**given: Any) -> None:
        for argument in LOCAL:
            url = as_url(given.get(argument) or "")
            if "://" in url:
                advice = "download the file or folder, and pass the path of the copy."
                raise ArgumentError({argument: url}, "is not a local path", advice)
        command(**given)

    return checked


def _placeholder(value_type: Any) -> str | None:
    """Return the placeholder for values of a type; None for flags and choices."""
    nested = map(_placeholder, get_args(value_type))
    return PLACEHOLDERS.get(value_type) or next(filter(None, nested), None)


def _function(name: str) -> Any:
    """Return the function that defines a command, from this package or an optional package."""
    if name not in OF_EXTRAS:
        return getattr(import_module(f"twohot_command.{OTHER_MODULES.get(name, name)}"), name)
    try:
        (entry,) = entry_points(group="twohot.commands", name=name)
        return entry.load()
    except (ModuleNotFoundError, ValueError) as error:
        needed = getattr(error, "name", None) or "a package that is not installed"
        advice = f'pip install "twohot[{OF_EXTRAS[name]}]"'
        raise ImportError(f"twohot {name} needs {needed}: {advice}") from error


def examples_of(name: str) -> tuple[str, ...]:
    """Return the examples of a command, which its help shows; they are EXAMPLES of its module.

    The tests run the examples of all commands one after another. In the examples, `tickets.csv` has
    the columns text and label, and `photos/` has one sub-folder of images per class.
    """
    module = import_module(_function(name).__module__)
    return tuple(line for line in module.EXAMPLES if line.startswith(f"twohot {name} "))


def parser_of(name: str) -> TyperCommand:
    """Return the parser of a command; it calls the command with the parsed options."""
    alone = typer.Typer(add_completion=False)
    with errors_in_words():
        function = command_function(name)
    # Empty lines keep the examples on separate lines of the help.
    examples = "\n\n".join(["Examples:", *examples_of(name)])
    alone.command(name, cls=PlainCommand, epilog=examples)(function)
    return typer.main.get_command(alone)  # type: ignore[return-value]
