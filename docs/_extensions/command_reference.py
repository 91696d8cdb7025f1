"""Every command with every option, and every word that is explained, from the command line."""

from collections.abc import Iterator
from typing import Any

from twohot_command.app import EXAMPLES, parser_of
from twohot_command.commands import COMMANDS
from twohot_command.explain import TOPICS


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
    yield from ("", "Examples:", "", "```", *EXAMPLES[str(parser.name)], "```")


def topic_table() -> Iterator[str]:
    """Yield the lines of a table of all that `twohot explain` knows, below its heading."""
    yield from ("", "## Words of the messages", "", "What `twohot explain WORD` says.", "")
    yield from ("| word | meaning | more |", "|---|---|---|")
    for name, topic in TOPICS.items():
        page = topic.page.replace("docs/", "../", 1)
        yield f"| {name} | {topic.meaning} | [page]({page}) |"


# Pages, and what is put behind the text of each.
MADE = {"reference/commands": command_sections, "reference/glossary": topic_table}


def add_made(_app: Any, page: str, source: list[str]) -> None:
    """Put what is made from the command line behind the text of a page."""
    if page in MADE:
        source[0] += "\n" + "\n".join(MADE[page]()) + "\n"


def setup(app: Any) -> dict[str, bool]:
    """Connect where a page is read."""
    app.connect("source-read", add_made)
    return {"parallel_read_safe": True}
