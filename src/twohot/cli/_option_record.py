"""A record of options as parameters of a command.

A command takes the record as one parameter, `options: TableOptions` for instance;
`with_option_record` makes every field of it an argument or an option, in the place of that
parameter.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from functools import partial, wraps
from typing import Any

from typer.models import ArgumentInfo


def with_option_record(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its record of options as parameters of their own."""
    parameters = list(inspect.signature(command).parameters.values())
    names = [entry.name for entry in parameters]
    if "options" not in names:
        return command
    place = names.index("options")
    record = parameters[place].annotation

    @wraps(command)
    def wrapped(**given: Any) -> None:
        options = record(**{entry.name: given.pop(entry.name) for entry in fields(record)})
        command(**given, options=options)

    parameters[place : place + 1] = map(_parameter, fields(record))
    parameters.sort(key=lambda entry: entry.kind)  # arguments stand before options
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return wrapped


def _parameter(entry: "Field[Any]") -> inspect.Parameter:
    """Return a field as a parameter: an argument if it is declared as one, else an option."""
    make = partial(inspect.Parameter, entry.name, annotation=entry.type)
    if entry.default is MISSING:
        return make(inspect.Parameter.POSITIONAL_OR_KEYWORD)
    declared: Any = entry.type
    is_argument = isinstance(declared.__metadata__[0], ArgumentInfo)
    kind = (
        inspect.Parameter.POSITIONAL_OR_KEYWORD if is_argument else inspect.Parameter.KEYWORD_ONLY
    )
    return make(kind, default=entry.default)
