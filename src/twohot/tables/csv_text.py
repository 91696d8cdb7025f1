"""CSV files that give back exactly what was written, whatever the text."""

import csv
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from twohot._files import whole_file

# Characters that a field can hold only in quotes.
QUOTED = re.compile(r'[",\r\n]')
# Fields that a spreadsheet would compute or refuse: a review's decisions carry an apostrophe in
# front of them, and one more if they had some, so that taking one away gives the text back.
GUARDED = re.compile(r"'+[=+\-@\t\r\n]")


def csv_line(fields: Iterable[str]) -> str:
    r"""Return one line of a CSV file, with its end.

    The csv module leaves a lone carriage return without quotes in some versions of Python.

    Examples
    --------
    >>> csv_line(["7", 'so "old" a dog', "a, b"])
    '7,"so ""old"" a dog","a, b"\n'
    """
    cells = (
        '"' + field.replace('"', '""') + '"' if QUOTED.search(field) else field for field in fields
    )
    return ",".join(cells) + "\n"


def write_csv(
    path: str | os.PathLike[str], columns: Iterable[str], lines: Iterable[Iterable[str]]
) -> None:
    """Write a CSV file with a header; it is whole or not there at all.

    Examples
    --------
    >>> write_csv("labels.csv", ["row", "label"], [["0", "cat"], ["1", "dog"]])
    >>> read_csv("labels.csv")
    [['row', 'label'], ['0', 'cat'], ['1', 'dog']]
    """
    with whole_file(path) as file:
        file.write(csv_line(columns).encode())
        for line in lines:
            file.write(csv_line(line).encode())


def read_csv(path: str | os.PathLike[str]) -> list[list[str]]:
    """Return the lines of a CSV file, the header first; blank lines are left out."""
    try:
        # A spreadsheet may have put a byte order mark in front.
        with Path(path).open(encoding="utf-8-sig", newline="") as file, _fields_of_any_length():
            return [line for line in csv.reader(file, strict=True) if line]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no CSV file in UTF-8: {error}.") from error


def unguarded(field: str) -> str:
    """Return a field of a review's decisions without the guard against spreadsheets.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("'tis"), unguarded("-1")
    ('=1+1', "'tis", '-1')
    """
    return field[1:] if GUARDED.match(field) else field


@contextmanager
def _fields_of_any_length() -> Iterator[None]:
    """Lift the csv module's limit, which a long text exceeds, and put it back."""
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(limit)
