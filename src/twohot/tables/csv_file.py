"""CSV files: UTF-8, cells of any length, and a first line with the column names.

Cells are separated by commas, semicolons or tabs. Files are written with commas. Any text that was
written is read back exactly.
"""

import csv
import os
import re
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import LOOKS_MISSING, ArgumentError, check_regular, counted, whole_file

# Guards: an apostrophe before cells that a spreadsheet would execute ------------------------------
# Spreadsheets execute any cell that looks like a formula, for instance `=cmd…`. A guard is an
# apostrophe at the start of such a cell. `read_csv` removes guards. The last column of a guarded
# file is SAFE_COLUMN. In other files, apostrophes belong to the text.


SAFE_COLUMN = "spreadsheet_safe"
NEEDS_GUARD = re.compile(r"'*[=+\-@\t\r\n]")
HAS_GUARD = re.compile(r"'+[=+\-@\t\r\n]")
# Numbers that a spreadsheet shows unchanged.
PLAIN_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def guarded(cell: str) -> str:
    """Return the cell with a guard if a spreadsheet might execute it.

    Examples
    --------
    >>> guarded("=cmd|' /C calc'!A0"), guarded("-1.5"), guarded("'tis")
    ("'=cmd|' /C calc'!A0", '-1.5', "'tis")
    """
    needs_guard = NEEDS_GUARD.match(cell) and not PLAIN_NUMBER.fullmatch(cell)
    return f"'{cell}" if needs_guard else cell


def unguarded(cell: str) -> str:
    """Return a cell without its guard, if it has one."""
    return cell[1:] if HAS_GUARD.match(cell) else cell


# Cells with these characters are quoted. One of them is the byte order mark, which a reader would
# remove at the start of a file.
QUOTED = re.compile('[",\r\n\ufeff]')

# If two delimiters fit equally well, the first of them is chosen.
DELIMITERS = (",", ";", "\t")
DECIMAL = re.compile(r"[+-]?\d*[.,]\d+([eE][+-]?\d+)?")  # a number, which is not a column name
LOOK_LINES = 50  # number of lines that are read to find the delimiter


def csv_line(fields: Iterable[str]) -> str:
    """Return one line of a CSV file, including its line end.

    Python's csv module is not used, because some versions do not quote a lone carriage return.
    """
    line = ",".join(
        '"' + field.replace('"', '""') + '"' if QUOTED.search(field) else field for field in fields
    )
    # A line with a single empty field is quoted, because readers skip blank lines.
    return (line or '""') + "\n"


def write_csv(
    path: str | os.PathLike[str],
    columns: Iterable[str],
    lines: Iterable[Iterable[str]],
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write a CSV file with a header atomically: completely or not at all.

    If `spreadsheet_safe`, cells that a spreadsheet might execute get a guard, which `read_csv`
    removes.
    """
    header = [*columns, SAFE_COLUMN] if spreadsheet_safe else columns
    with whole_file(path) as file:
        file.write(csv_line(header).encode())
        for line in lines:
            cells = [*map(guarded, line), "true"] if spreadsheet_safe else line
            file.write(csv_line(cells).encode())


def read_csv(
    path: str | os.PathLike[str], delimiter: str = ",", *, is_guarded: bool = False
) -> list[list[str]]:
    """Return the lines of a CSV file, the header first, without blank lines.

    Pass `is_guarded` if cells have guards but SAFE_COLUMN is missing, as in files that a review
    page exports.
    """
    with _opened(Path(path), delimiter, is_guarded=is_guarded) as lines:
        return [line for line in lines if line]


def csv_columns(
    path: Path, is_text: Callable[[str], bool] | None = None, *, has_header: bool = False
) -> dict[str, NDArray[Any]]:
    r"""Return the columns of a CSV file by name.

    Columns for which `is_text(name)` is true are text; by default, all columns are text. Other
    columns are numbers, and an empty cell or "NA" is NaN. Unless commas separate cells, decimal
    commas are allowed. A column of numbers and words becomes None in every row. If `has_header`,
    column names may be numbers.

    Examples
    --------
    >>> _ = Path("pets.csv").write_text("size;label\n0,5;cat\n2;dog\n")
    >>> csv_columns(Path("pets.csv"), is_text=lambda name: name == "label")
    {'size': array([0.5, 2. ]), 'label': array(['cat', 'dog'], dtype=object)}
    """
    delimiter = find_delimiter(path)
    with _opened(path, delimiter) as lines:
        header = _checked_header(path, next(lines, []), has_header=has_header)
        texts: dict[int, list[str]] = {}
        numbers: dict[int, NumberCells] = {}
        for place, name in enumerate(header):
            if is_text is None or is_text(name):
                texts[place] = []
            else:
                where = f"{path}, column {name!r}"
                numbers[place] = NumberCells(where, decimal_comma=delimiter != ",")
        n_rows, unfinished = 0, dict(numbers)
        for cells in _rows(path, header, lines):
            n_rows += 1
            for place, text in texts.items():
                text.append(cells[place])
            append_numbers(unfinished, cells)
    if not n_rows:
        raise ValueError(f"{path} has no rows after its header: add rows.")
    return {
        name: np.array(texts[place], dtype=object)
        if place in texts
        else numbers[place].column(n_rows)
        for place, name in enumerate(header)
    }


def csv_header(path: Path) -> list[str]:
    """Return the column names in the first line of a CSV file."""
    with _opened(path, find_delimiter(path)) as lines:
        return next(lines, [])


def find_delimiter(path: Path) -> str:
    """Return the delimiter of a CSV file: a comma, a semicolon or a tab.

    The delimiter occurs in the header. If several delimiters do, the tab is chosen for a `.tsv`
    file. For other files, the first lines must have as many cells as the header.
    """
    ranks = {}
    for delimiter in DELIMITERS:
        try:
            with _opened(path, delimiter) as lines:
                widths = [len(line) for line in islice(lines, LOOK_LINES) if line]
        except ValueError:  # try the next delimiter
            continue
        if widths and widths[0] > 1:
            is_tsv = path.suffix == ".tsv" and delimiter == "\t"
            ranks[delimiter] = (is_tsv, len(set(widths)) == 1, widths[0])
    return max(ranks, key=lambda delimiter: ranks[delimiter], default=DELIMITERS[0])


@contextmanager
def _opened(
    path: Path, delimiter: str = ",", *, is_guarded: bool = False
) -> Iterator[Iterator[list[str]]]:
    """Open a CSV file and yield its lines as lists of cells; raise if it is not a CSV file."""
    check_regular(path)
    # Long cells exceed the limit of the csv module, which applies to the whole process.
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        # A spreadsheet may have written a byte order mark at the start.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            yield _unguarded_lines(reader, is_guarded=is_guarded)
    except (csv.Error, UnicodeDecodeError) as error:
        problem = f"is not encoded in UTF-8 ({error})"
        advice = "save the file as UTF-8 (in a spreadsheet: CSV UTF-8)."
        if isinstance(error, csv.Error):
            problem = f"is not a valid CSV file ({error} in line {reader.line_num})"
            advice = "close quotation marks, and double quotation marks inside a cell."
        raise ValueError(f"{path} {problem}: {advice}") from error
    finally:
        csv.field_size_limit(limit)


def _unguarded_lines(reader: Iterable[list[str]], *, is_guarded: bool) -> Iterator[list[str]]:
    """Yield the lines of a file; in a guarded file, without guards and SAFE_COLUMN."""
    is_safe = False
    for number, line in enumerate(reader):
        is_safe = is_safe or (number == 0 and not is_guarded and line[-1:] == [SAFE_COLUMN])
        cells = line[:-1] if is_safe else line
        yield list(map(unguarded, cells)) if is_guarded or is_safe else cells


def _rows(path: Path, header: Sequence[str], lines: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the cells of each row; raise if a row has more or fewer cells than the header."""
    # In a file with one column, a blank line is an empty cell. In other files, it is skipped.
    rows = filter(None, (line or [""] * (len(header) == 1) for line in lines))
    for row, cells in enumerate(rows):
        if len(cells) != len(header):
            where = f"row {row} (the first row after the header is 0)"
            problem = f"{path} has {counted(len(cells), 'cell')} in {where}"
            advice = "quote cells that contain the delimiter."
            raise ValueError(f"{problem}, but {len(header)} in its header: {advice}")
        yield cells


def _checked_header(path: Path, header: list[str], *, has_header: bool) -> list[str]:
    """Return the column names; raise if the first line cannot be column names."""
    if not header:
        raise ValueError(f"{path} is empty: a CSV file must begin with a line of column names.")
    # Names may be numbers: pandas' default names 0, 1, …, or years.
    are_positions = header == [str(place) for place in range(len(header))]
    has_decimals = any(DECIMAL.fullmatch(name) for name in header)
    if not (has_header or are_positions) and (has_decimals or as_numbers(header) is not None):
        cells = f"the cells {', '.join(header[:3])}, …"
        raise ValueError(f"{path} begins with {cells}: add a first line with the column names.")
    name, n_times = Counter(header).most_common(1)[0]
    if n_times > 1:
        raise ValueError(f"{path} has two columns named {name!r}: rename one.")
    return header


# Numeric columns from cells of text that are read row by row --------------------------------------
# An empty cell or "NA" is a missing number. Other text is a word. A column with words is not a
# feature. But if at least half of its cells are numbers, an error asks the user to decide.


TRUTH = {"true": 1.0, "false": 0.0}  # truth values as data frames write them
WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
# If the first cells of a column are this many words and no number, other cells are not parsed.
WORDS = 100


class NumberCells:
    """The numbers of one column, parsed cell by cell from text."""

    def __init__(self, where: str, *, decimal_comma: bool) -> None:
        self.where = where  # file and column, for error messages
        self.decimal_comma = decimal_comma
        self.numbers = array("d")
        self.n_words = 0
        self.is_words = False  # whether later cells are not parsed
        self.first_word = ""  # text that states the first word and its row
        self.first_truth = ""  # text that states the first cell with a truth value, and its row
        # For the cells with a comma, whether the comma may separate thousands.
        self.may_be_thousands: set[bool] = set()

    def number(self, cell: str) -> float:
        """Return a cell as a number; NaN for a missing number or a word. Words are counted."""
        if self.decimal_comma and "," in cell and WITH_COMMA.fullmatch(cell):
            self.may_be_thousands.add(THOUSANDS.fullmatch(cell) is not None)
            return float(cell.replace(",", "."))
        numbers = as_numbers([cell])
        if numbers is not None:
            return numbers[0]
        text = cell.strip().casefold()
        if not text or text in LOOKS_MISSING:
            return np.nan
        place = f"the cell in row {len(self.numbers)} (the first row is 0) is {cell!r}"
        if text in TRUTH:
            self.first_truth = self.first_truth or place
            return TRUTH[text]
        self.first_word = self.first_word or place
        self.n_words += 1
        self.is_words = self.n_words == WORDS and bool(np.isnan(self.numbers).all())
        return np.nan

    def column(self, n_rows: int) -> NDArray[Any]:
        """Return the numbers; if the column has words or no numbers, None in every row."""
        numbers = np.array(self.numbers)
        present = numbers[~np.isnan(numbers)]
        n_numbers, other = len(present), ""
        if n_numbers and n_numbers >= self.n_words > 0:
            other = f", but {self.first_word}"
        elif self.first_truth and not np.isin(present, (0, 1)).all():
            other = f", but {self.first_truth}"
        elif self.may_be_thousands == {True}:
            other = " like 1,234, which may be 1.234 or 1234"
        if other:
            problem = f"{self.where} holds numbers{other}"
            advice = "correct such cells, or choose the features by {feature_column}."
            raise ArgumentError("", problem, advice, feature_column=...)
        return numbers if n_numbers > self.n_words else np.full(n_rows, None, dtype=object)


def append_numbers(columns: dict[int, NumberCells], cells: Sequence[str]) -> None:
    """Append each cell of a row to its column; remove columns of words from `columns`."""
    row = as_numbers([cells[place] for place in columns])
    if row is not None:  # the usual case: all cells are numbers
        for column, number in zip(columns.values(), row, strict=True):
            column.numbers.append(number)
        return
    for place, column in list(columns.items()):
        column.numbers.append(column.number(cells[place]))
        if column.is_words:
            del columns[place]


def as_numbers(cells: Sequence[str]) -> list[float] | None:
    """Return cells as numbers; None if one of them is not a number."""
    if "_" in "".join(cells):  # float() accepts "_" between digits
        return None
    try:
        return list(map(float, cells))
    except ValueError:
        return None
