"""The command `twohot`, which can be interrupted from its first moment on.

It stands beside the package and not in it: importing the package takes seconds. What happens in
them has to be caught by something that is there before, and what lists the commands needs none.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # what a shell expects of a command that was stopped by the keyboard
NOTHING_LOST = "Interrupted. Nothing was half written: run it again."


@contextmanager
def interruptible() -> Iterator[None]:
    """End the program with one sentence where the keyboard stops it."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(NOTHING_LOST + "\n")
        raise SystemExit(INTERRUPTED) from None


def main() -> None:
    """Run the command line."""
    with interruptible():
        from twohot_command.commands import app  # noqa: PLC0415 (see above)

        app(prog_name="twohot")
