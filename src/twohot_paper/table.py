"""Tables of results, written as CSV and Markdown."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np


@dataclass(frozen=True)
class Mean:
    """Mean and standard deviation over draws; tables show one digit after the point."""

    mean: float
    std: float
    n: int  # number of draws


Cell: TypeAlias = str | int | float | Mean | None

NOT_RUN = "–"
SIGNIFICANT = ".4g"


def mean_of(values: Sequence[float], factor: float = 1.0) -> Mean | None:
    """Return the mean and the (population) standard deviation of `values`; None if it is empty.

    All values are multiplied by `factor`.

    Examples
    --------
    >>> mean_of([0.70, 0.72], factor=100)
    Mean(mean=71.0, std=1.0, n=2)
    """
    if not values:
        return None
    scaled = factor * np.asarray(values, dtype=np.float64)
    return Mean(round(float(scaled.mean()), 10), round(float(scaled.std()), 10), len(values))


@dataclass(frozen=True)
class Table:
    """A table: a title, columns, and rows with one cell per column.

    Examples
    --------
    >>> rows = ((0.5, Mean(71.0, 1.0, 2)), (0.9, None))
    >>> table = Table("Test accuracy (%)", ("η", "teacher"), rows)
    >>> print(table.to_markdown())
    | η | teacher |
    |---|---|
    | 0.5 | 71.0 ± 1.0 |
    | 0.9 | – |
    <BLANKLINE>
    >>> print(table.to_csv())
    η,teacher,teacher std,teacher n
    0.5,71.0,1.0,2
    0.9,,,
    <BLANKLINE>
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def texts(self) -> list[list[str]]:
        """Return the cells of every row as text."""
        return [[_text(cell) for cell in row] for row in self.rows]

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        head, *rows = (
            f"| {' | '.join(map(markdown_cell, line))} |" for line in (self.columns, *self.texts())
        )
        return "\n".join([head, "|" + "---|" * len(self.columns), *rows]) + "\n"

    def to_csv(self) -> str:
        """Return the table as CSV: a mean takes three columns (mean, std, number of draws)."""
        columns = [*zip(*self.rows, strict=True)] or [()] * len(self.columns)
        cells: list[list[Cell]] = []  # by column
        for name, column in zip(self.columns, columns, strict=True):
            if any(isinstance(cell, Mean) for cell in column):
                parts = zip(*map(_parts, column), strict=True)
                names = (name, f"{name} std", f"{name} n")
                cells += [[head, *part] for head, part in zip(names, parts, strict=True)]
            else:
                cells.append([name, *column])
        text = io.StringIO()
        # The writer writes None as an empty cell.
        csv.writer(text, lineterminator="\n").writerows(zip(*cells, strict=True))
        return text.getvalue()


def markdown_cell(text: str) -> str:
    """Return a text as a cell of a Markdown table: on one line, with escaped `|`."""
    return " ".join(text.split()).replace("|", r"\|")


def _parts(cell: Cell) -> list[Cell]:
    if not isinstance(cell, Mean):
        return [cell, None, None]
    return [cell.mean, cell.std if cell.n > 1 else None, cell.n]  # one draw: no deviation


def _text(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return NOT_RUN
    if isinstance(cell, Mean):
        return f"{cell.mean:.1f} ± {cell.std:.1f}" if cell.n > 1 else f"{cell.mean:.1f}"
    return f"{cell:{SIGNIFICANT}}" if isinstance(cell, float) else str(cell)
