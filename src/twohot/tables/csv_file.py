"""CSV files: UTF-8, fields of any length, and a first line with the column names.

Cells are separated by commas, semicolons or tabs. Files are written with commas, and any text is
read back exactly.
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
# Spreadsheets execute any cell that looks like a formula, `=cmd…` for instance. A guard is an
# apostrophe at the start of such a cell; readers remove it. The last column of a guarded file is
# SAFE_COLUMN. In files without this column, apostrophes belong to the text.


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
    """Return a cell without its guard against spreadsheets."""
    return cell[1:] if HAS_GUARD.match(cell) else cell


# Cells with these characters are quoted. One of them is the byte order mark, which a reader would
# remove at the start of a file.
QUOTED = re.compile('[",\r\n\ufeff]')

# Delimiters, in order of preference if two fit equally well.
DELIMITERS = (",", ";", "\t")
DECIMAL = re.compile(r"[+-]?\d*[.,]\d+([eE][+-]?\d+)?")  # a number, which is not a column name
LOOK_LINES = 50  # lines used to find the delimiter


def csv_line(fields: Iterable[str]) -> str:
    """Return one line of a CSV file, including its line end.

    Some versions of Python's csv module do not quote a lone carriage return.
    """
    line = ",".join(
        '"' + field.replace('"', '""') + '"' if QUOTED.search(field) else field for field in fields
    )
    # A line with a single empty field is quoted. Otherwise, it would be blank.
    return (line or '""') + "\n"


def write_csv(
    path: str | os.PathLike[str],
    columns: Iterable[str],
    lines: Iterable[Iterable[str]],
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write a CSV file with a header atomically: completely or not at all.

    If `spreadsheet_safe`, cells that a spreadsheet might execute begin with an apostrophe;
    `read_csv` removes it.
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

    Pass `is_guarded` if cells have guards but no column says so, as in a review page's export.
    """
    with _opened(Path(path), delimiter, is_guarded=is_guarded) as lines:
        return [line for line in lines if line]


def csv_columns(
    path: Path,
    is_text: Callable[[str], bool] | None = None,
    *,
    has_header: bool = False,
) -> dict[str, NDArray[Any]]:
    r"""Return the columns of a CSV file, whose first line names them.

    Columns for which `is_text(name)` is true are text; by default, all columns are text. Other
    columns are numbers; a cell that is empty or "NA" is NaN. Decimal commas are allowed unless
    commas separate cells. If a numeric column contains words, it is None in every row. With
    `has_header`, names in the first line may be numbers.

    Examples
    --------
    >>> _ = Path("pets.csv").write_text("size;label\n0,5;cat\n2;dog\n")
    >>> csv_columns(Path("pets.csv"), is_text=lambda name: name == "label")
    {'size': array([0.5, 2. ]), 'label': array(['cat', 'dog'], dtype=object)}
    """
    delimiter = find_delimiter(path)
    with _opened(path, delimiter) as lines:
        header = _checked_header(path, next(lines, []), has_header=has_header)
        texts: dict[int, list[str]] = {
            place: [] for place, name in enumerate(header) if is_text is None or is_text(name)
        }
        numbers = {
            place: NumberCells(f"{path}, column {name!r}", decimal_comma=delimiter != ",")
            for place, name in enumerate(header)
            if place not in texts
        }
        n_rows, read = 0, dict(numbers)
        for cells in _rows(path, header, lines):
            n_rows += 1
            for place, text in texts.items():
                text.append(cells[place])
            append_numbers(read, cells)
    if not n_rows:
        raise ValueError(f"{path} has no rows after its header.")
    columns: dict[int, NDArray[Any]] = {
        **{place: np.array(text, dtype=object) for place, text in texts.items()},
        **{place: found.column(n_rows) for place, found in numbers.items()},
    }
    return {name: columns[place] for place, name in enumerate(header)}


def csv_header(path: Path) -> list[str]:
    """Return the names in the first line of a CSV file; no other line is read."""
    with _opened(path, find_delimiter(path)) as lines:
        return next(lines, [])


def find_delimiter(path: Path) -> str:
    """Return the delimiter of a CSV file: a comma, a semicolon or a tab.

    It separates the names in the header. If there are two candidates, the tab is chosen in a `.tsv`
    file. In other files, the delimiter is chosen that gives the first lines as many cells as the
    header.
    """
    found = {}
    for delimiter in DELIMITERS:
        try:
            with _opened(path, delimiter) as lines:
                widths = [len(line) for line in islice(lines, LOOK_LINES) if line]
        except ValueError:  # try the next delimiter
            continue
        if widths and widths[0] > 1:
            is_said = path.suffix == ".tsv" and delimiter == "\t"
            found[delimiter] = (is_said, len(set(widths)) == 1, widths[0])
    return max(found, key=lambda delimiter: found[delimiter], default=DELIMITERS[0])


@contextmanager
def _opened(
    path: Path, delimiter: str = ",", *, is_guarded: bool = False
) -> Iterator[Iterator[list[str]]]:
    """Open a CSV file for reading line by line, or raise if it is not a CSV file."""
    check_regular(path)
    # Long texts exceed the csv module's limit, which is set for the whole process.
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        # A spreadsheet may have written a byte order mark at the start.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            yield _unguarded_lines(reader, is_guarded=is_guarded)
    except (csv.Error, UnicodeDecodeError) as error:
        why, advice = str(error), "save it as UTF-8 (in a spreadsheet: CSV UTF-8)."
        if isinstance(error, csv.Error):
            why = f"{error} in line {reader.line_num}"
            advice = "close quotation marks, and double those inside a cell."
        raise ValueError(f"{path} is not a CSV file in UTF-8 ({why}): {advice}") from error
    finally:
        csv.field_size_limit(limit)


def _unguarded_lines(reader: Iterable[list[str]], *, is_guarded: bool) -> Iterator[list[str]]:
    """Yield the lines of a file; remove the guards of a guarded file."""
    is_safe = False
    for number, line in enumerate(reader):
        is_safe = is_safe or (number == 0 and not is_guarded and line[-1:] == [SAFE_COLUMN])
        cells = line[:-1] if is_safe else line
        yield list(map(unguarded, cells)) if is_guarded or is_safe else cells


def _rows(path: Path, header: Sequence[str], lines: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the cells of each row."""
    # If a file has one column, a blank line is an empty cell. In other files, it is skipped.
    rows = filter(None, (line or [""] * (len(header) == 1) for line in lines))
    for row, cells in enumerate(rows):
        if len(cells) != len(header):
            found = f"{counted(len(cells), 'cell')} in row {row} (from 0, without the header)"
            advice = "quote cells that contain the delimiter."
            raise ValueError(f"{path} has {found} and {len(header)} in its header: {advice}")
        yield cells


def _checked_header(path: Path, header: list[str], *, has_header: bool) -> list[str]:
    """Return the column names, or raise if the first line does not name the columns."""
    if not header:
        raise ValueError(f"{path} is empty: a CSV file must begin with a line of column names.")
    # Names may be numbers: pandas' default names 0, 1, …, or years.
    counts = header == [str(place) for place in range(len(header))]
    fraction = any(DECIMAL.fullmatch(name) for name in header)
    if not (has_header or counts) and (fraction or as_numbers(header) is not None):
        numbers = f"the cells {', '.join(header[:3])}, …"
        raise ValueError(f"{path} begins with {numbers}: add a first line with the column names.")
    twice, n_times = Counter(header).most_common(1)[0]
    if n_times > 1:
        raise ValueError(f"{path} has two columns named {twice!r}: rename one.")
    return header


# Numeric columns from cells of text that are read row by row --------------------------------------
# An empty cell or "NA" is a missing number. If another cell is not a number, the column contains
# words and is not a feature. If most cells of such a column are numbers, an error asks the user.


TRUTH = {"true": 1.0, "false": 0.0}  # truth values in files of data frames
WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
# If a column has this many words and no number, its other cells are not read.
WORDS = 100


class NumberCells:
    """The numbers of one column, parsed cell by cell from text."""

    def __init__(self, place: str, *, decimal_comma: bool) -> None:
        self.place = place  # for error messages
        self.decimal_comma = decimal_comma
        self.numbers = array("d")
        self.n_words = 0
        self.is_words = False  # whether the column has words: later cells are not read
        self.first_word = ""  # first word, with its row
        self.first_truth = ""  # the first cell that is true or false, with its row
        # Whether the comma of a cell may separate thousands, for each cell with a comma.
        self.may_be_thousands: set[bool] = set()

    def number(self, cell: str) -> float:
        """Return a cell as a number, or NaN; count the words."""
        if self.decimal_comma and "," in cell and WITH_COMMA.fullmatch(cell):
            self.may_be_thousands.add(THOUSANDS.fullmatch(cell) is not None)
            return float(cell.replace(",", "."))
        found = as_numbers([cell])
        if found is not None:
            return found[0]
        said = cell.strip().casefold()
        if not said or said in LOOKS_MISSING:
            return np.nan
        place = f"{cell!r} in row {len(self.numbers)} (from 0)"
        if said in TRUTH:
            self.first_truth = self.first_truth or place
            return TRUTH[said]
        self.first_word = self.first_word or place
        self.n_words += 1
        self.is_words = self.n_words == WORDS and bool(np.isnan(self.numbers).all())
        return np.nan

    def column(self, n_rows: int) -> NDArray[Any]:
        """Return the numbers; if the column has words or no cells, None in every row."""
        numbers = np.array(self.numbers)
        n_numbers = np.count_nonzero(~np.isnan(numbers))
        found = ""
        if n_numbers and n_numbers >= self.n_words > 0:
            found = f", but {self.first_word}"
        elif self.first_truth and not np.isin(numbers[~np.isnan(numbers)], (0, 1)).all():
            found = f", but {self.first_truth}"
        elif self.may_be_thousands == {True}:
            found = " like 1,234, which may be 1.234 or 1234"
        if found:
            problem = f"{self.place} holds numbers{found}"
            advice = "correct the cells, or choose the features by {feature_column}."
            raise ArgumentError("", problem, advice, feature_column=...)
        return numbers if n_numbers > self.n_words else np.full(n_rows, None, dtype=object)


def append_numbers(columns: dict[int, NumberCells], cells: Sequence[str]) -> None:
    """Append the cells of a row to the columns at their positions; drop columns of words."""
    # Usually all cells are numbers.
    row = as_numbers([cells[place] for place in columns])
    if row is None:
        row = [column.number(cells[place]) for place, column in columns.items()]
        for place in [place for place, column in columns.items() if column.is_words]:
            row.pop(list(columns).index(place))
            del columns[place]
    for column, number in zip(columns.values(), row, strict=True):
        column.numbers.append(number)


def as_numbers(cells: Sequence[str]) -> list[float] | None:
    """Return cells as numbers, None if one of them is not a number."""
    if "_" in "".join(cells):  # float() accepts "_" between digits
        return None
    try:
        return list(map(float, cells))
    except ValueError:
        return None
