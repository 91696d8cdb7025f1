"""What an audit has found, as it is printed."""

from collections import Counter
from collections.abc import Sequence

from twohot.cli._terminal import print_table, say

# The most frequent confusions that are printed.
SHOWN_CONFUSIONS = 5


def print_findings(confusions: Counter[tuple[str, str]], messages: Sequence[str]) -> None:
    """Print what was found, and which labels are most often given for which."""
    for message in messages:
        say(message)
    frequent = confusions.most_common(SHOWN_CONFUSIONS)
    if frequent:
        names, title = ("given", "suggested"), "Most frequent corrections"
        rows = ((*pair, count) for pair, count in frequent)
        print_table((*names, "rows"), rows, names=names, title=title)
