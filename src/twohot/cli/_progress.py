"""A progress bar on standard error for the choice of a probe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from twohot.select.grid import MOST_TRIALS


@contextmanager
def choosing(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Yield what is to be called with a line for every candidate that was tried."""
    progress = Progress(
        TextColumn("Choosing a probe"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        disable=quiet,
        transient=True,
    )
    with progress:
        task = progress.add_task("…", total=MOST_TRIALS)
        yield lambda line: progress.update(task, advance=1, description=line)
