"""How far the runs of a plan are: a bar in a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from twohot.cli._terminal import say
from twohot.experiment.runner import Progress as RunProgress

# Seconds: the time left is estimated from what ended within the last of them.
LONGEST_RUN = 4 * 3600.0

# Seconds between two lines, so that a log of many short runs can be read.
BETWEEN_LINES = 10.0


@contextmanager
def show_progress(n_runs: int) -> Iterator[Callable[[RunProgress], None]]:
    """Show the progress of so many runs; yield what is to be called after each."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines()
        return
    with Progress(
        TextColumn("Runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=n_runs == 0,
        speed_estimate_period=LONGEST_RUN,
    ) as progress:
        task = progress.add_task("", total=n_runs)
        yield lambda _: progress.update(task, advance=1)


def _lines() -> Callable[[RunProgress], None]:
    """Return what prints a line after the first run and the last, and after others in between."""
    started = time.monotonic()
    last_line = float("-inf")

    def tell(progress: RunProgress) -> None:
        nonlocal last_line
        now = time.monotonic()
        if now - last_line < BETWEEN_LINES and progress.n_done < progress.n_runs:
            return
        last_line = now
        left = (now - started) / progress.n_done * (progress.n_runs - progress.n_done)
        so_far = f"{progress.n_done} of {progress.n_runs} runs done"
        say(f"{so_far}, about {left / 60:.1f} minutes left", stderr=True)

    return tell
