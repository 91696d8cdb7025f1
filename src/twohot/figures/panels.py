"""What figures of several panels share: the empty panels, the lines of rounds, their names."""

from collections.abc import Iterator, Mapping
from typing import Any

from twohot._types import FloatArray
from twohot.figures.file import new_figure
from twohot.figures.palette import round_colour, round_marker


def new_panels(
    width: float, height: float, n_rows: int, n_columns: int, *, share_y: bool = False
) -> tuple[Any, Any]:
    """Return an empty figure of so many inches and its panels, (n_rows, n_columns)."""
    figure = new_figure(width, height)
    panels = figure.subplots(n_rows, n_columns, sharey=share_y, squeeze=False)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, color="0.92", linewidth=0.6)
        axes.set_axisbelow(True)
    return figure, panels


def row_first(handles: Mapping[str, Any], n_columns: int) -> dict[str, Any]:
    """Return entries of a legend in the order that makes them read along its rows.

    A legend of several columns is filled column by column.

    Examples
    --------
    >>> list(row_first(dict.fromkeys("abcde"), 3))  # shown: a b c, and below d e
    ['a', 'd', 'b', 'e', 'c']
    """
    names = [name for column in range(n_columns) for name in [*handles][column::n_columns]]
    return {name: handles[name] for name in names}


def round_name(number: int) -> str:
    """Return how a legend calls a round."""
    return "teacher (t = 1)" if number == 1 else f"student (t = {number})"


def round_lines(rows: FloatArray) -> Iterator[tuple[int, FloatArray, dict[str, Any]]]:
    """Yield number, values and style of the line of every round, the first being the teacher."""
    for number, row in enumerate(rows, start=1):
        style = {"color": round_colour(number), "marker": round_marker(number), "markersize": 4}
        yield number, row, style
