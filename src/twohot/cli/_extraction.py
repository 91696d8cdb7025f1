"""What commands that extract features share: their cache, how far they are, what was left out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

from rich import progress
from rich.console import Console
from rich.text import Text
from typer import Option

from twohot._checks.messages import counted
from twohot.cli._terminal import PacedLines, say
from twohot.extract import Extraction, LabelledItems
from twohot.extract.image_files import not_taken_notes

Cache: TypeAlias = Annotated[
    Path | None,
    Option(help="A folder that keeps finished batches: later runs extract what is new."),
]

# Items that could not be read and are listed.
N_LISTED = 20


class _RecentRate(progress.ProgressColumn):
    """Items per second of late, or over all where that is too short."""

    def render(self, task: progress.Task) -> Text:
        """Return the recent rate, once there is one."""
        speed = task.finished_speed or task.speed
        if not speed and task.elapsed:
            speed = task.completed / task.elapsed
        return Text(f"{speed:.1f} items/s" if speed else "", style="progress.data.speed")


@contextmanager
def extracting(backbone: str, n_items: int, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show how far an extraction is; yield what is to be called with items done, and all."""
    with progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        _RecentRate(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=quiet,
    ) as bar:
        # Its clock starts with the first item, not with loading the weights.
        task, lines = bar.add_task(backbone, total=n_items, start=False), PacedLines()

        def show(n_done: int, n_all: int) -> None:
            bar.start_task(task)
            bar.update(task, completed=n_done, total=n_all)
            if not quiet:
                lines.say(f"{n_done} of {n_all} items")

        yield show


def say_not_taken(items: LabelledItems) -> None:
    """Print which files of a folder are no items."""
    for note in not_taken_notes(items.not_taken):
        say(f"Note: {note}", stderr=True)


def say_skipped(items: LabelledItems, extraction: Extraction, others: str = "") -> None:
    """Print which items could not be read, and why; `others` says where the rest is listed."""
    if not extraction.skipped:
        return
    say(f"{counted(len(extraction.skipped), 'item')} skipped, which could not be read:")
    for skipped in extraction.skipped[:N_LISTED]:
        what = f"row {skipped.id}" if items.kind == "text" else skipped.item
        say(f"  {what}: {skipped.reason}")
    n_more = len(extraction.skipped) - N_LISTED
    if n_more > 0:
        say(f"  … and {n_more} more{others}.")
