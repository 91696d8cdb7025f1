"""What the commands print: lines as they are, tables, and the progress of a choice."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from twohot.select.grid import MOST_TRIALS


def say(text: str, style: str = "", *, stderr: bool = False) -> None:
    """Print a text as it is: names in it come from a user's data and are no markup."""
    console = Console(stderr=stderr)
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def print_table(
    headings: Sequence[str],
    rows: Iterable[Iterable[object]],
    *,
    names: Collection[str],
    title: str | None = None,
    caption: str | None = None,
    bold: Collection[int] = (),
) -> None:
    """Print a table, its cells as they are; columns of names stand left, numbers right."""
    table = Table(title=title, title_justify="left", caption=caption)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in names else "right")
    for number, row in enumerate(rows):
        cells = (Text(str(cell)) for cell in row)
        table.add_row(*cells, style="bold" if number in bold else "")
    Console().print(table)


@contextmanager
def choosing(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show the choice of a probe; yield what is to be called with a line for every candidate."""
    with Progress(
        TextColumn("Choosing a probe"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        disable=quiet,
        transient=True,
    ) as progress:
        task = progress.add_task("…", total=MOST_TRIALS)
        yield lambda line: progress.update(task, advance=1, description=line)
