"""`twohot explain`: what a word of the messages means, in a few sentences."""

from difflib import get_close_matches
from typing import Annotated

from typer import Argument

from twohot._checks.messages import ArgumentError
from twohot.cli._terminal import print_table, say
from twohot.cli._topics import TOPICS

# How alike two words are that are one, misspelt or in the plural; "class" and "passes" are less.
SPELLING = 0.8


def explain(
    topic: Annotated[str | None, Argument(help="A word; without one all are listed.")] = None,
) -> None:
    """Explain a word of the messages, and say which page has more."""
    if topic is None:
        rows = ((name, entry.meaning.partition(". ")[0]) for name, entry in TOPICS.items())
        print_table(("topic", "in short"), rows, names=("topic", "in short"))
        return
    found = TOPICS.get(topic.lower().replace(" ", "-"))
    if found is None:
        near = get_close_matches(topic.lower(), TOPICS, n=1, cutoff=SPELLING)
        ways = f"ask for {near[0]!r}" if near else f"the topics are {', '.join(TOPICS)}"
        raise ArgumentError({"topic": topic}, "is no topic", f"{ways}.")
    say(found.meaning)
    say(f"More: {found.page}")
