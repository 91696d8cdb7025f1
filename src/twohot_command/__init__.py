"""The command `twohot`, which handles interruptions from its first moment.

It is a package of its own because importing `twohot` takes a second. An interruption during the
import is handled here, and listing the commands needs no import.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

INTERRUPTED = 130  # the exit code that shells use for an interrupted command
NOTHING_LOST = "Interrupted. No file is incomplete: run the command again."


@contextmanager
def interruptible() -> Iterator[None]:
    """Exit with one sentence if the user interrupts the program, or it cannot be imported."""
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
    """A stream for progress and notes that ignores failures to write."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; after the first failure, write nothing."""
        try:
            return self._stream.write(text)
        except OSError:
            self._lead_nowhere()
            return len(text)

    def flush(self) -> None:
        """Write the buffer, or drop it."""
        try:
            self._stream.flush()
        except OSError:
            self._lead_nowhere()

    def _lead_nowhere(self) -> None:
        # At exit, Python flushes the stream itself and not this object.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def _open_streams() -> None:
    """Prevent errors of the terminal: unknown characters are replaced, a full disk is ignored."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if sys.stderr is not None:
        sys.stderr = cast(TextIO, Notes(sys.stderr))


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning as a note, without its line of code."""
    sys.stderr.write(f"Note: {message}\n")


def main() -> None:
    """Run the command line."""
    _open_streams()
    warnings.showwarning = _show_warning
    with interruptible():
        from twohot_command.commands import app  # noqa: PLC0415 (see above)

        app(prog_name="twohot")
