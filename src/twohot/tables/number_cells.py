"""A column of numbers, from cells of text that arrive one by one.

A cell that is empty or says "NA" is a missing number. What is no number makes a column one of
words, which is no feature; unless most of its cells are numbers: then somebody has to say.
"""

import re
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.labels import LOOKS_MISSING
from twohot._checks.messages import ArgumentError

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
        self.n_thousands = 0  # cells with a comma that may separate thousands

    def number(self, cell: str) -> float:
        """Return a cell as a number, NaN for none, and keep count of what is none."""
        try:
            return float(cell)
        except ValueError:
            pass
        said = cell.strip().casefold()
        if not said or said in LOOKS_MISSING:
            return np.nan
        if said in TRUTH:
            return TRUTH[said]
        if self.decimal_comma and WITH_COMMA.fullmatch(cell):
            self.n_commas += 1
            self.n_thousands += THOUSANDS.fullmatch(cell) is not None
            return float(cell.replace(",", "."))
        self.first_word = self.first_word or f"{cell!r} in row {len(self.numbers)}, from 0"
        self.n_words += 1
        self.is_words = self.n_words == WORDS and bool(np.isnan(self.numbers).all())
        return np.nan

    def column(self) -> NDArray[Any]:
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
        return numbers if n_numbers > self.n_words else np.full(len(numbers), None, dtype=object)


def append_numbers(columns: dict[int, NumberCells], cells: Sequence[str]) -> None:
    """Add the cells of a row to the columns at their places."""
    try:
        # Nearly always all of them are numbers.
        row = [float(cells[place]) for place in columns]
    except ValueError:
        row = [
            np.nan if column.is_words else column.number(cells[place])
            for place, column in columns.items()
        ]
    for column, number in zip(columns.values(), row, strict=True):
        column.numbers.append(number)


def reads_as_number(cell: str) -> bool:
    """Return whether a cell reads as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
