"""What commands that extract features share: their cache, how far they are, what was left out."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

from rich import progress
from rich.console import Console
from rich.text import Text
from typer import Option

from twohot._checks.messages import counted
from twohot.cli._terminal import PacedLines, say, shown
from twohot.extract import Extraction, ExtractionProgress, LabelledItems
from twohot.extract.image_files import not_taken_notes

Cache: TypeAlias = Annotated[
    Path | None,
    Option(help="A folder that keeps finished batches: later runs extract what is new."),
]

# Items that could not be read and are listed.
N_LISTED = 20


class _RecentRate(progress.ProgressColumn):
    """Items per second of late, or since the clock was set where that is too short."""

    def render(self, task: progress.Task) -> Text:
        """Return the recent rate, once there is one."""
        speed = task.finished_speed or task.speed
        if not speed and task.elapsed:
            speed = (task.completed - task.fields["n_before"]) / task.elapsed
        return Text(f"{speed:.1f} items/s" if speed else "", style="progress.data.speed")


@contextmanager
def extracting(
    backbone: str, n_items: int, *, quiet: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[ExtractionProgress], None]]:
    """Show how far an extraction is; yield what is to be called with its progress."""
    bar = progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        _RecentRate(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        get_time=clock,
    )
    with shown(bar, quiet=quiet):
        task, lines = bar.add_task(backbone, total=n_items, start=False, n_before=0), PacedLines()

        def show(progress: ExtractionProgress) -> None:
            if progress.n_extracted:
                bar.update(task, completed=progress.n_done)
            else:
                # The clock starts with the model: neither loading its weights nor passing over what
                # an earlier run has stored says how long the rest will take.
                bar.reset(task, completed=progress.n_done, n_before=progress.n_done)
            if not quiet:
                lines.say(f"{progress.n_done} of {progress.n_items} items")

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
