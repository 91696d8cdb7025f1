"""CSV files, as columns: UTF-8, commas, and a first line that names the columns."""

import csv
from array import array
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            return _parsed(path, csv.reader(file), text_columns)
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a CSV file in UTF-8 ({error}).") from error


def _parsed(
    path: Path, lines: Iterator[list[str]], text_columns: Collection[str] | None
) -> dict[str, NDArray[Any]]:
    """Return columns from a header and lines, which must have as many cells."""
    header = _checked_header(path, next(lines, []))
    columns: list[array[float] | list[str]] = []
    for number, line in enumerate(lines, start=2):
        # A blank line is an empty cell where there is one column, and nothing where there are more.
        cells = line or [""] * (len(header) == 1)
        if not cells:
            continue
        if len(cells) != len(header):
            raise ValueError(
                f"{path} has {len(cells)} cells in row {number} and {len(header)} in its header: "
                "quote cells that hold a comma."
            )
        if not columns:
            columns = [
                []
                if text_columns is None or name in text_columns or not _is_number(cell)
                else array("d")
                for name, cell in zip(header, cells, strict=True)
            ]
        for name, column, cell in zip(header, columns, cells, strict=True):
            _append(f"{path}, row {number}, column {name!r}", column, cell)
    if not columns:
        raise ValueError(f"{path} has no rows after its header.")
    return {
        name: np.array(column, dtype=object if isinstance(column, list) else np.float64)
        for name, column in zip(header, columns, strict=True)
    }


def _append(place: str, column: "array[float] | list[str]", cell: str) -> None:
    """Append a cell to its column, as a number where the column holds numbers."""
    if isinstance(column, list):
        column.append(cell)
    elif _is_number(cell):
        column.append(float(cell))
    else:
        raise ValueError(
            f"{place}: {cell!r} is not a number as in the rows before; mend the cell, or choose "
            "the features by feature_column=…"
        )


def _checked_header(path: Path, header: list[str]) -> list[str]:
    """Return the names of the columns, or say why the first line does not name them."""
    if not header:
        raise ValueError(f"{path} is empty: a CSV file begins with a line that names its columns.")
    # Integers may be names, of classes for instance.
    if all(map(_is_number, header)) and not all(map(str.isdecimal, header)):
        raise ValueError(
            f"{path} begins with the numbers {', '.join(header[:3])}, …: a CSV file begins with a "
            "line that names its columns, so add one."
        )
    twice = [name for place, name in enumerate(header) if name in header[:place]]
    if twice:
        raise ValueError(f"{path} has two columns named {twice[0]!r}: rename one.")
    return header


def _is_number(cell: str) -> bool:
    """Return whether a cell reads as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
