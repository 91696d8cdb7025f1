"""Start the command `twohot`; an interruption prints one sentence, even during the start.

This package is separate from `twohot`, because importing `twohot` takes a second. `twohot --help`
does without this import, and this module handles an interruption during the import.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, TextIO, cast

INTERRUPTED = 130  # the exit code that shells use for an interrupted command
NOTHING_LOST = "Interrupted. No file is incomplete: run the command again."


@contextmanager
def interruptible() -> Iterator[None]:
    """Exit with one sentence if the user interrupts the body of `with`, or if an import fails."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(NOTHING_LOST + "\n")
        raise SystemExit(INTERRUPTED) from None
    except (ImportError, MemoryError) as error:
        why = f"twohot cannot be loaded ({str(error) or 'no memory is left'})"
        sys.stderr.write(f"Error: {why}: free memory, or install twohot again.\n")
        raise SystemExit(1) from None


# With less address space than this (in bytes), OpenBLAS may end the process while it is loaded.
# numpy and scipy map half of this space, and each BLAS thread reserves 40 MB.
LEAST_SPACE = 2**30
# With less address space than this (in bytes), one thread is used.
SMALL_SPACE = 2**32
THREADS = ("OPENBLAS_NUM_THREADS", "LOKY_MAX_CPU_COUNT")  # environment variables


def fit_address_space() -> None:
    """Exit if the address space is too small for the imports; use one thread if it is small."""
    try:
        resource: Any = import_module("resource")
    except ImportError:  # Windows has no such module
        return
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if space == resource.RLIM_INFINITY or space >= SMALL_SPACE:
        return
    if space < LEAST_SPACE:
        problem = f"twohot needs {LEAST_SPACE >> 20} MB of address space"
        problem += f", but the limit is {space >> 20} MB"
        advice = f"raise the limit by `ulimit -v {LEAST_SPACE >> 10}`."
        sys.stderr.write(f"Error: {problem}: {advice}\n")
        raise SystemExit(1)
    for name in THREADS:
        os.environ.setdefault(name, "1")


class Notes:
    """A stream for progress and notes; after a write error, nothing more is written.

    A full disk is an example of such an error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        return self._tried(self._stream.write, text) or len(text)

    def flush(self) -> None:
        """Write the buffer."""
        self._tried(self._stream.flush)

    def _tried(self, call: Callable[..., Any], *arguments: str) -> Any:
        """Call a function of the stream; after an error, redirect the stream to the null device."""
        try:
            return call(*arguments)
        except OSError:
            # At exit, Python flushes the original stream, not this object.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


def _open_streams() -> None:
    """Prevent errors while text is printed.

    Characters that the terminal cannot show are replaced. Notes that cannot be written are ignored.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if sys.stderr is not None:
        sys.stderr = cast(TextIO, Notes(sys.stderr))


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a note, without the line of code that raised it."""
    _say_once(f"Note: {message}\n")


@cache  # the same text is printed once
def _say_once(text: str) -> None:
    sys.stderr.write(text)


def main() -> None:
    """Run the command line."""
    _open_streams()
    warnings.showwarning = _show_warning
    with interruptible():
        from twohot_command.commands import app  # noqa: PLC0415 (see above)

        app(prog_name="twohot")
