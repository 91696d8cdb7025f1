"""What the commands share: errors as one sentence, and progress on standard error."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import typer
from rich.console import Console

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# What a user can mend. Anything else is a fault of ours and keeps its traceback.
USER_ERRORS = (ValueError, OSError, ImportError)


def friendly(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return the command with its errors printed as a sentence, and exit code 1."""

    @wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except USER_ERRORS as error:
            # Text from a user's data may stand in the message: it is printed as it is.
            Console(stderr=True).print(
                f"Error: {error}", style="red", markup=False, highlight=False, soft_wrap=True
            )
            raise typer.Exit(1) from error

    return wrapped
