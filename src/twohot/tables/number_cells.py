"""Columns of numbers: as frames hold them, or from cells of text that arrive one by one.

A cell of text that is empty or says "NA" is a missing number. What is no number makes a column one
of words, which is no feature; unless most of its cells are numbers: then somebody has to say.
"""

import re
from array import array
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import LOOKS_MISSING, ArgumentError, is_missing

# What counts as a number in a frame.
NUMBERS = (Real, Decimal, np.bool_)
TRUTH = {"true": 1.0, "false": 0.0}  # as data frames write them
WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
# A column that holds so many words and no number is not looked at any more.
WORDS = 100


class NumberCells:
    """The cells of one column, as far as they are read."""

    def __init__(self, place: str, *, decimal_comma: bool) -> None:
        self.place = place  # for errors
        self.decimal_comma = decimal_comma
        self.numbers = array("d")
        self.n_words = 0
        self.is_words = False  # for sure: what follows is not looked at
        self.first_word = ""  # with its row
        self.n_commas = 0
        self.n_thousands = 0  # cells whose comma may separate thousands, up to one that does not

    def number(self, cell: str) -> float:
        """Return a cell as a number, NaN for none, and keep count of what is none."""
        if self.decimal_comma and "," in cell and WITH_COMMA.fullmatch(cell):
            if self.n_thousands == self.n_commas and THOUSANDS.fullmatch(cell):
                self.n_thousands += 1
            self.n_commas += 1
            return float(cell.replace(",", "."))
        found = as_numbers([cell])
        if found is not None:
            return found[0]
        said = cell.strip().casefold()
        if not said or said in LOOKS_MISSING:
            return np.nan
        if said in TRUTH:
            return TRUTH[said]
        self.first_word = self.first_word or f"{cell!r} in row {len(self.numbers)}, from 0"
        self.n_words += 1
        self.is_words = self.n_words == WORDS and bool(np.isnan(self.numbers).all())
        return np.nan

    def column(self, n_rows: int) -> NDArray[Any]:
        """Return the numbers; None in every row if they are words, or nothing at all."""
        numbers = np.array(self.numbers)
        n_numbers = np.count_nonzero(~np.isnan(numbers))
        advice = "mend the cells, or choose the features by {feature_column}."
        if n_numbers and n_numbers >= self.n_words > 0:
            problem = f"{self.place} holds numbers, but {self.first_word}"
            raise ArgumentError("", problem, advice, feature_column=...)
        if self.n_commas and self.n_commas == self.n_thousands:
            problem = f"{self.place} holds numbers like 1,234, which may be 1.234 or 1234"
            raise ArgumentError("", problem, advice, feature_column=...)
        return numbers if n_numbers > self.n_words else np.full(n_rows, None, dtype=object)


def append_numbers(columns: dict[int, NumberCells], cells: Sequence[str]) -> None:
    """Add the cells of a row to the columns at their places; those of words are dropped."""
    # Nearly always all of them are numbers.
    row = as_numbers([cells[place] for place in columns])
    if row is None:
        row = [column.number(cells[place]) for place, column in columns.items()]
        for place in [place for place, column in columns.items() if column.is_words]:
            row.pop(list(columns).index(place))
            del columns[place]
    for column, number in zip(columns.values(), row, strict=True):
        column.numbers.append(number)


def holds_features(cells: NDArray[Any]) -> bool:
    """Return whether a column is one of numbers, some of which may be missing.

    Examples
    --------
    >>> holds_features(np.array([Decimal("0.5"), None, True], dtype=object))
    True
    >>> holds_features(np.array(["0.5"]))
    False
    """
    if cells.dtype != object:
        return cells.ndim == 1 and cells.dtype.kind in "fiub"
    listed = cells.tolist() if cells.ndim == 1 else []
    there = [cell for cell in listed if not is_missing(cell)]
    return bool(there) and all(isinstance(cell, NUMBERS) for cell in there)


def reads_as_number(cell: str) -> bool:
    """Return whether a cell reads as a number."""
    return as_numbers([cell]) is not None


def as_numbers(cells: Sequence[str]) -> list[float] | None:
    """Return cells as numbers, None if one of them is none.

    Examples
    --------
    >>> as_numbers(["1", "2.5e3"]), as_numbers(["1", "2010_01"])
    ([1.0, 2500.0], None)
    """
    if "_" in "".join(cells):  # which float() takes among digits, as code has it
        return None
    try:
        return list(map(float, cells))
    except ValueError:
        return None
