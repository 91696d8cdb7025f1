"""The command `twohot`, which can be interrupted from its first moment on.

It stands beside the package and not in it: importing the package takes seconds, and what happens in
them has to be caught by something that is there before.
"""

import sys

INTERRUPTED = 130  # what a shell expects of a command that was stopped by the keyboard
NOTHING_LOST = "Interrupted. Nothing was half written: run it again."


def main() -> None:
    """Run the command line."""
    try:
        from twohot.cli import app  # noqa: PLC0415 (see above)

        app(prog_name="twohot")
    except KeyboardInterrupt:
        sys.stderr.write(NOTHING_LOST + "\n")
        raise SystemExit(INTERRUPTED) from None
