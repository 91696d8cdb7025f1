"""Outputs in parts: a folder of Parquet files that a stopped command goes on with."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer import Option

from twohot._checks.messages import ArgumentError
from twohot._files import as_url
from twohot.cli._terminal import PacedLines, shown

Scheduler: TypeAlias = Annotated[
    str | None,
    Option(help="Dask scheduler whose workers do it, tcp://…; they must reach all paths."),
]


def is_part_folder(output: Path) -> bool:
    """Return whether an output is a folder of parts, by its name or since it is there."""
    return output.is_dir() or not output.suffix


def check_apart(output: Path, sources: Iterable[Path | None]) -> None:
    """Raise if an output is in a source folder, whose rows it would become."""
    target = _absolute(output)
    for source in filter(None, sources):
        place = _absolute(source)
        if target == place or place in target.parents:
            problem = f"is in the source {source}, whose rows it would become"
            raise ArgumentError({"output": output}, problem, "choose a folder beside it.")


def _absolute(path: Path) -> Path:
    return path if "://" in as_url(path) else path.resolve()


@contextmanager
def writing_parts(n_parts: int, *, n_there: int, quiet: bool) -> Iterator[Callable[[], None]]:
    """Show how many parts are written; yield what is to be called after each."""
    bar = Progress(
        TextColumn("Writing parts"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with shown(bar, quiet=quiet):
        task, lines = bar.add_task("", total=n_parts, completed=n_there), PacedLines()

        def done() -> None:
            bar.update(task, advance=1)
            if not quiet:
                lines.say(f"{bar.tasks[0].completed:.0f} of {n_parts} parts written")

        yield done
