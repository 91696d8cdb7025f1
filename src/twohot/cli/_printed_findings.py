"""What an audit has found, as it is printed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote

from twohot.cli._terminal import print_table, say

# The most frequent confusions that are printed.
SHOWN_CONFUSIONS = 5
# Files that `twohot apply` writes again.
CORRECTED_SUFFIXES = (".csv", ".tsv", ".parquet")
# Least probability of the suggestions that are taken without a review, in the line that is printed.
TAKEN_UNSEEN = 0.9


def print_findings(confusions: Counter[tuple[str, str]], messages: Sequence[str]) -> None:
    """Print what was found, and which labels are most often given for which."""
    for message in messages:
        say(message)
    frequent = confusions.most_common(SHOWN_CONFUSIONS)
    if frequent:
        names, title = ("given", "suggested"), "Most frequent corrections"
        rows = ((*pair, count) for pair, count in frequent)
        print_table((*names, "rows"), rows, names=names, title=title)


def say_next(report: str, audit: Path, sources: Iterable[Path | None]) -> None:
    """Print how labels are corrected in the first of the sources that is a user's own data."""
    known = filter(None, sources)
    own = next((path for path in known if path.is_dir() or _is_corrected(path)), None)
    to = ""
    if own is not None:
        clean = own.with_name(f"{own.stem}_clean{own.suffix}")
        to = f" --to {quote(str(own))} -o {quote(str(clean))}"
    where = f"--audit {quote(str(audit))}{to}"
    say("Next: decide in the report, export the decisions, then")
    say(f"  twohot apply decisions-{report}.csv {where}")
    say("or take what is probable enough without a review:")
    say(f"  twohot apply --accept-all {TAKEN_UNSEEN} {where}")


def _is_corrected(path: Path) -> bool:
    return path.suffix in CORRECTED_SUFFIXES and path.is_file()
