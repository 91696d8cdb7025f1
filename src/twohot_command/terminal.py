"""Output of the commands: lines, tables, progress, and folders of figures."""

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from shlex import join
from typing import Annotated, Any, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from typer import Option

from twohot.base import as_url, check_writable, counted, load_extra, write_figure, write_json
from twohot.judge import HEADINGS, MOST_TRIED, Choice

# Seconds between two lines of progress in a log.
BETWEEN_LINES = 30.0

# A command prints at most 25 lines, and more with --verbose.
Verbose: TypeAlias = Annotated[
    bool, Option("--verbose", "-v", help="Print all tables and details.")
]
Quiet: TypeAlias = Annotated[bool, Option("--quiet", help="Do not show the progress.")]
Force: TypeAlias = Annotated[bool, Option("--force", help="Replace an existing output.")]
ReportFolder: TypeAlias = Annotated[
    Path | None, Option("--output", "-o", help="Folder for figures and for the result as JSON.")
]


def fraction(words: str) -> Any:
    """Return an option that takes a number from 0 to 1, with its help text."""
    return Option(min=0, max=1, help=words)


def say(text: str, style: str = "", *, stderr: bool = False) -> None:
    """Print a text as it is; brackets, for instance in a class name, are not read as markup."""
    console = Console(stderr=stderr)
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a note to standard error, because the result is printed to standard output."""
    say(f"Note: {text}", stderr=True)


def say_next(*words: object, first: str = "Next: ") -> None:
    """Print the next command, ready to be pasted into a shell."""
    say(f"{first}twohot {join(map(as_url, words))}")


def say_more(what: str) -> None:
    """Print a hint that the option --verbose prints `what`."""
    say(f"Add --verbose for {what}.")


def print_table(
    headings: Sequence[str],
    rows: Iterable[Iterable[object]],
    *,
    names: Collection[str],
    title: str | None = None,
    caption: str | None = None,
    bold: Collection[int] = (),
) -> None:
    """Print a table, with names left-aligned and numbers right-aligned.

    Blanks in cells are made visible, except in cells that are a `Text` of rich.
    """
    if title is not None:
        say(title, "italic")  # rich would wrap the title at the width of the table
    table = Table(caption=caption)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in names else "right")
    for number, row in enumerate(rows):
        cells = (cell if isinstance(cell, Text) else Text(seen(str(cell))) for cell in row)
        table.add_row(*cells, style="bold" if number in bold else "")
    Console().print(table)


def number(value: float, form: str = ".3g") -> str:
    """Return a number as text, "–" for NaN."""
    return "–" if math.isnan(value) else f"{value:{form}}"


def print_choice(choice: Choice) -> None:
    """Print a table of the classifiers that were tried; the chosen ones are bold."""
    chosen = [number for number, entry in enumerate(choice.tried) if entry.chosen]
    rows, folds = counted(choice.n_rows, "row"), counted(choice.n_folds, "fold")
    title = f"Classifiers that were tried, on {rows} in {folds}"
    cells = [(mark.strip(), *rest) for mark, *rest in choice.cells()]
    print_table(HEADINGS, cells, names=HEADINGS[:2], title=title, bold=chosen)


def seen(name: str) -> str:
    """Return a name as text, in quotes if it has blanks that would be invisible without quotes.

    Examples
    --------
    >>> seen("log in"), seen("login ")
    ('log in', "'login '")
    """
    return name if " ".join(name.split()) == name else repr(name)


class PacedLines:
    """Progress as lines of a log, which cannot show a bar; at most one line per half minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()
        self._is_needed = not Console(stderr=True).is_terminal

    def say(self, text: str) -> None:
        """Print a text to a log, unless a text was printed less than half a minute ago."""
        if self._is_needed and self._clock() - self._last >= BETWEEN_LINES:
            self._last = self._clock()
            say(text, stderr=True)


def progress_bar(first: str, *columns: Any, **how: Any) -> Progress:
    """Return a progress bar: a column of the format `first`, the bar, a count, other columns."""
    start = (TextColumn(first, markup=False), BarColumn(), MofNCompleteColumn())
    return Progress(*start, *columns, console=Console(stderr=True), **how)


def shown(bar: Progress, *, quiet: bool) -> AbstractContextManager[object]:
    """Return the bar; if quiet, an empty context, because a disabled bar prints an empty line."""
    return nullcontext() if quiet else bar


@contextmanager
def counting(
    what: str,
    total: int,
    *,
    quiet: bool,
    n_done: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[..., None]]:
    """Show how many steps of a task are done; yield a function to call after each step.

    The argument of this function is a description of the step.
    """
    columns = (
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    bar = progress_bar(what, *columns, transient=True)
    with shown(bar, quiet=quiet):
        task, lines = bar.add_task("", total=total, completed=n_done), PacedLines(clock)

        def done(line: str = "") -> None:
            bar.update(task, advance=1, description=line)
            if not quiet:
                lines.say(f"{what}, {bar.tasks[0].completed:.0f} of {total}: {line}".rstrip(": "))

        yield done


def choosing(*, quiet: bool) -> AbstractContextManager[Callable[[str], None]]:
    """Show the progress of choosing a probe; yield a function to call after each classifier.

    The argument of this function is a line of text on the classifier.
    """
    return counting("Choosing a probe", MOST_TRIED, quiet=quiet)


# Folders with a result as JSON and its figures ----------------------------------------------------


def check_report(folder: Path | None) -> None:
    """Raise an error if `write_report` could not write to a folder."""
    if folder is not None:
        check_writable(folder, {"output": folder})
        load_extra("matplotlib.figure", "plot", "figures")


def write_report(
    folder: Path | None,
    name: str,
    record: Mapping[str, Any],
    draw: Callable[[], Mapping[str, Any]],
) -> None:
    """Write a record as the JSON file `name`, and the figures that `draw` returns by file name."""
    if folder is None:
        return
    figures = draw()
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / name, record)
    for picture, figure in figures.items():
        write_figure(folder / picture, figure)
    say(f"Wrote {', '.join((name, *figures))} to {folder}")
