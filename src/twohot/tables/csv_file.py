"""CSV files: UTF-8, commas, fields of any length, and a first line that names the columns.

What is written is read back exactly, whatever the text.
"""

import csv
import os
import re
import sys
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.messages import ArgumentError, counted
from twohot._files import whole_file
from twohot.tables.spreadsheet_cells import guard_lines, unguard_lines

# Characters that a field can hold only in quotes. A reader drops a byte order mark at the start.
QUOTED = re.compile('[",\r\n\ufeff]')


def csv_line(fields: Iterable[str]) -> str:
    r"""Return one line of a CSV file, with its end.

    The csv module leaves a lone carriage return without quotes in some versions of Python.

    Examples
    --------
    >>> csv_line(["7", 'so "old" a dog', "a, b"])
    '7,"so ""old"" a dog","a, b"\n'
    """
    line = ",".join(
        '"' + field.replace('"', '""') + '"' if QUOTED.search(field) else field for field in fields
    )
    # A line of one empty field would look like none.
    return (line or '""') + "\n"


def write_csv(
    path: str | os.PathLike[str],
    columns: Iterable[str],
    lines: Iterable[Iterable[str]],
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write a CSV file with a header; it is whole or not there at all.

    One that is safe for spreadsheets has its cells guarded, which reading undoes.

    Examples
    --------
    >>> write_csv("labels.csv", ["row", "label"], [["0", "cat"], ["1", "dog"]])
    >>> read_csv("labels.csv")
    [['row', 'label'], ['0', 'cat'], ['1', 'dog']]
    """
    with whole_file(path) as file:
        table = chain([columns], lines)
        for line in guard_lines(table) if spreadsheet_safe else table:
            file.write(csv_line(line).encode())


def read_csv(path: str | os.PathLike[str]) -> list[list[str]]:
    """Return the lines of a CSV file, the header first; blank lines are dropped."""
    with _opened(Path(path)) as lines:
        return [line for line in lines if line]


def csv_columns(path: Path, text_columns: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    r"""Return the columns of a CSV file, whose first line names them.

    A column is one of numbers if its first cell is, unless it is one of the text columns, which
    by default are all.

    Examples
    --------
    >>> _ = Path("pets.csv").write_text("size,label\n0.5,cat\n2,dog\n")
    >>> csv_columns(Path("pets.csv"), text_columns=["label"])
    {'size': array([0.5, 2. ]), 'label': array(['cat', 'dog'], dtype=object)}
    """
    with _opened(path) as lines:
        header = _checked_header(path, next(lines, []))
        texts = set(header) if text_columns is None else text_columns
        columns: list[array[float] | list[str]] = []
        for number, cells in _rows(path, header, lines):
            columns = columns or [
                [] if name in texts or not _is_number(cell) else array("d")
                for name, cell in zip(header, cells, strict=True)
            ]
            for name, column, cell in zip(header, columns, cells, strict=True):
                try:
                    column.append(cell if isinstance(column, list) else float(cell))  # type: ignore[arg-type]
                except ValueError as error:
                    place = f"{path}, row {number}, column {name!r}"
                    problem = f"{place}: {cell!r} is not a number as in the rows before"
                    advice = "mend the cell, or choose the features by {feature_column}."
                    raise ArgumentError("", problem, advice, feature_column=...) from error
    if not columns:
        raise ValueError(f"{path} has no rows after its header.")
    return {
        name: np.array(column, dtype=object if isinstance(column, list) else np.float64)
        for name, column in zip(header, columns, strict=True)
    }


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[list[str]]]:
    """Open a CSV file for reading line by line, or say that it is none."""
    # A long text exceeds the csv module's limit, which is one of the process.
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        # A spreadsheet may have put a byte order mark in front.
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield unguard_lines(csv.reader(file, strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a CSV file in UTF-8 ({error}).") from error
    finally:
        csv.field_size_limit(limit)


def _rows(
    path: Path, header: Sequence[str], lines: Iterable[list[str]]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with its number in the file, the header being the first."""
    for number, line in enumerate(lines, start=2):
        # A blank line is an empty cell where there is one column, and nothing where there are more.
        cells = line or [""] * (len(header) == 1)
        if cells and len(cells) != len(header):
            found = f"{counted(len(cells), 'cell')} in row {number} and {len(header)} in its header"
            raise ValueError(f"{path} has {found}: quote cells that hold a comma.")
        if cells:
            yield number, cells


def _checked_header(path: Path, header: list[str]) -> list[str]:
    """Return the names of the columns, or say why the first line does not name them."""
    if not header:
        raise ValueError(f"{path} is empty: a CSV file begins with a line that names its columns.")
    # Integers may be names, of classes for instance.
    if all(map(_is_number, header)) and not all(map(str.isdecimal, header)):
        numbers = f"the numbers {', '.join(header[:3])}, …"
        raise ValueError(f"{path} begins with {numbers}: no line names the columns, so add one.")
    twice, n_times = Counter(header).most_common(1)[0]
    if n_times > 1:
        raise ValueError(f"{path} has two columns named {twice!r}: rename one.")
    return header


def _is_number(cell: str) -> bool:
    """Return whether a cell reads as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
