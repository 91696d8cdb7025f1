"""Every command with every option, from the command line."""

from collections.abc import Iterator
from typing import Any

from twohot_command.app import examples_of, parser_of
from twohot_command.commands import COMMANDS


def command_sections() -> Iterator[str]:
    """Yield a section of Markdown for every command."""
    for name in COMMANDS:
        parser = parser_of(name)
        context = parser.make_context(f"twohot {name}", [], resilient_parsing=True)
        yield "\n".join([f"## twohot {name}", "", *_about(parser, context), ""])


def _about(parser: Any, context: Any) -> Iterator[str]:
    yield parser.help or ""
    yield from ("", "```", context.get_usage().removeprefix("Usage:").strip(), "```", "")
    yield from ("| argument or option | what it is for |", "|---|---|")
    for parameter in parser.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            names, about = (" ".join(text.split()).replace("|", "\\|") for text in record)
            yield f"| `{names}` | {about} |"
    yield from ("", "Examples:", "", "```", *examples_of(str(parser.name)), "```")


def add_commands(_app: Any, page: str, source: list[str]) -> None:
    """Put the sections of the commands behind the text of their page."""
    if page == "reference/commands":
        source[0] += "\n" + "\n".join(command_sections()) + "\n"


def setup(app: Any) -> dict[str, bool]:
    """Connect where a page is read."""
    app.connect("source-read", add_commands)
    return {"parallel_read_safe": True}
