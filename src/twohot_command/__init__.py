"""The command `twohot`, which can be interrupted from its first moment on.

It stands beside the package and not in it: importing the package takes seconds. What happens in
them has to be caught by something that is there before, and what lists the commands needs none.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TextIO, cast

INTERRUPTED = 130  # what a shell expects of a command that was stopped by the keyboard
NOTHING_LOST = "Interrupted. Nothing was half written: run it again."


@contextmanager
def interruptible() -> Iterator[None]:
    """End the program with one sentence where the keyboard stops it, or it cannot be loaded."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(NOTHING_LOST + "\n")
        raise SystemExit(INTERRUPTED) from None
    except (ImportError, MemoryError) as error:
        why = f"twohot cannot be loaded ({str(error) or 'no memory is left'})"
        sys.stderr.write(f"Error: {why}: free memory, or install it again.\n")
        raise SystemExit(1) from None


class Notes:
    """A stream of progress and notes: where they cannot be written, the work goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, or nothing from the first failure on."""
        try:
            return self._stream.write(text)
        except OSError:
            self._lead_nowhere()
            return len(text)

    def flush(self) -> None:
        """Write what waits, or drop it."""
        try:
            self._stream.flush()
        except OSError:
            self._lead_nowhere()

    def _lead_nowhere(self) -> None:
        # The stream itself, not this object, is flushed when the program ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def _open_streams() -> None:
    """Let no character that a terminal or a locale lacks, and no full disk, end the program."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if sys.stderr is not None:
        sys.stderr = cast(TextIO, Notes(sys.stderr))


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning as a note, without the line of code that it is from."""
    _say_once(f"Note: {message}\n")


@cache
def _say_once(text: str) -> None:
    sys.stderr.write(text)


def main() -> None:
    """Run the command line."""
    _open_streams()
    warnings.showwarning = _show_warning
    with interruptible():
        from twohot_command.commands import app  # noqa: PLC0415 (see above)

        app(prog_name="twohot")
