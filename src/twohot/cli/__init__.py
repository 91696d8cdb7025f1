"""The command line: parse, call, print. One module per command; `_…` is what several share."""

from twohot_command.commands import app

__all__ = ["app"]
