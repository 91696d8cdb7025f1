"""The name of the file in every error about what it holds, added once, where it is read."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from twohot._checks.messages import ArgumentError

# Arguments of a reader that may be files too.
OTHER_FILES = ("labels", "classes")
Reader = TypeVar("Reader", bound=Callable[..., Any])


def naming_source(read: Reader) -> Reader:
    """Return a reader whose errors name its source, or another file that it was given."""

    @wraps(read)
    def wrapped(source: Any, *args: Any, **kwargs: Any) -> Any:
        given = (source, *(kwargs.get(name) for name in OTHER_FILES))
        files = [Path(entry) for entry in given if isinstance(entry, str | os.PathLike)]
        if not files:
            return read(source, *args, **kwargs)
        with errors_named(*files):
            return read(source, *args, **kwargs)

    return cast(Reader, wrapped)


@contextmanager
def errors_named(*paths: Path) -> Iterator[None]:
    """Name the files that are read in an error about their content, unless it names one itself.

    Examples
    --------
    >>> with errors_named(Path("pets.csv")):
    ...     raise ArgumentError({"label_column": "y"}, "is missing", "the columns are 'x'.")
    Traceback (most recent call last):
    twohot._checks.messages.ArgumentError: label_column='y' is missing (in pets.csv): the columns...
    """
    files = " and ".join(map(str, paths))
    try:
        yield
    except ArgumentError as error:
        if any(file.name in str(error) for file in paths):
            raise
        problem = f"{error.problem} (in {files})"
        raise type(error)(error.arguments, problem, error.advice, **error.mentions) from error
    except ValueError as error:
        if any(file.name in str(error) for file in paths):
            raise
        raise ValueError(f"{files}: {error}") from error
