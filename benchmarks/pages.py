"""What the pages of all benchmarks are made of: tables, what is required and what was measured."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from twohot.base.files import whole_file
from twohot_paper import Progress

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Target:
    """One thing asked for, beside what was measured."""

    what: str
    asked: str
    measured: str
    met: bool | None  # None where nothing was measured


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def target_table(targets: Iterable[Target], nothing: str = NOT_MEASURED) -> str:
    """Return all that was asked for; `nothing` stands where it cannot be said whether it is met."""
    verdicts = {True: "yes", False: "**no**", None: nothing}
    rows = [[each.what, each.asked, each.measured, verdicts[each.met]] for each in targets]
    return table(["what", "required", "measured", "met"], rows)


def write_page(text: str, path: Path | None) -> None:
    """Write a page, complete or not at all; without a path, to standard output."""
    if path is None:
        print(text, end="")
        return
    with whole_file(path) as file:
        file.write(text.encode())


def say(progress: Progress) -> None:
    """Say which run has ended, and how."""
    record = progress.record
    ended = (
        f"{record.cpu_seconds:.1f} s of CPU" if record.error is None else f"failed, {record.error}"
    )
    print(
        f"{progress.n_done} of {progress.n_runs}: {record.run}: {ended}",
        file=sys.stderr,
        flush=True,
    )
