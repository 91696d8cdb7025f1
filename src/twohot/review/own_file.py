"""A user's own table, copied with corrected labels and everything else unchanged.

The copy of a CSV file has the same bytes except for changed cells: same order, quotes, separators,
line ends, blank lines and byte order mark. The old labels are added as one more column.

    record    cells as in the file, with quotes, and the end of the line
    row       a record after the header that is not blank
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from twohot.base import ArgumentError, as_text, load_extra, whole_file
from twohot.tables import (
    SAFE_COLUMN,
    ParquetFiles,
    csv_columns,
    find_delimiter,
    open_files,
    write_part,
)

MARK = "\ufeff"  # byte order mark
BEFORE = "given_label"  # column for the old labels
OLD_LABELS = re.compile(rf"{BEFORE}(_\d+)?")  # columns of old labels after several corrections


class OwnFile(Protocol):
    """A table, or a part of one, that can be copied with other labels."""

    path: Path
    names: Sequence[str]  # of the columns
    candidates: Sequence[str]  # columns that may hold labels

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def before(self) -> str:
        """Name of the column for the old labels."""

    def cells(self, name: str) -> list[str]:
        """Return the cells of a column as text."""

    def check_cell(self, name: str, cell: str) -> None:
        """Raise if a column cannot hold a text."""

    def write(self, target: Path | str, name: str, cells: Sequence[str | None]) -> None:
        """Write the table with new cells in a column, and the old ones in `before`.

        A row with the cell None is left out.
        """


def open_own_file(path: Path) -> OwnFile:
    """Return a CSV or Parquet file as an `OwnFile`."""
    if path.suffix == ".parquet":
        return OwnParquet(path)
    if path.suffix in (".features", ".npz", ".npy"):
        problem = f"ends in {path.suffix!r}"
        raise ArgumentError(
            {"to": path}, problem, "pass the .csv or .parquet file with the labels."
        )
    return OwnCsv(path)


@dataclass(frozen=True)
class RawRecord:
    """One record of a CSV file, unchanged."""

    cells: tuple[str, ...]
    end: str  # end of the line; empty if the file ends without a newline


class OwnCsv:
    r"""A CSV file that is copied byte by byte, except for changed cells.

    Examples
    --------
    >>> _ = Path("pets.csv").write_bytes(b'name;"label"\r\n"a; b";"cat"\r\nc;dog')
    >>> pets = OwnCsv(Path("pets.csv"))
    >>> pets.write(Path("clean.csv"), "label", ["dog", "dog"])
    >>> Path("clean.csv").read_bytes()
    b'name;"label";"given_label"\r\n"a; b";"dog";"cat"\r\nc;dog;dog'
    """

    def __init__(self, path: Path) -> None:
        csv_columns(path)  # raises if the file is invalid
        self.path = path
        self.delimiter = find_delimiter(path)
        text = path.read_bytes().decode()
        self.mark = MARK if text.startswith(MARK) else ""
        first, *others = raw_records(text[len(self.mark) :], self.delimiter)
        self.header = first
        self.names: Sequence[str] = [unquoted(cell) for cell in first.cells]
        self.candidates: Sequence[str] = self.names
        self.before = _free_name(self.names)
        self.records = others
        if self.names[-1] == SAFE_COLUMN:
            problem = f"is a copy for spreadsheets, as its column {SAFE_COLUMN!r} shows"
            raise ArgumentError({"to": path}, problem, "pass the original file.")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(map(self._is_row, self.records))

    def cells(self, name: str) -> list[str]:
        """Return the cells of a column as text."""
        place = self.names.index(name)
        return [unquoted(record.cells[place]) for record in self.records if self._is_row(record)]

    def check_cell(self, name: str, cell: str) -> None:
        """Accept any text."""

    def write(self, target: Path | str, name: str, cells: Sequence[str | None]) -> None:
        """Write the file with new cells in a column, and the old ones in `before`."""
        place = self.names.index(name)
        new, end = iter(cells), self.delimiter
        with whole_file(target) as file:
            file.write((self.mark + self._line(self.header, self.before, place)).encode())
            for record in self.records:
                if not self._is_row(record):
                    file.write((end.join(record.cells) + record.end).encode())
                    continue
                raw, cell = list(record.cells), next(new)
                if cell is None:
                    continue
                if cell != unquoted(raw[place]):
                    raw[place] = self._quoted(cell, raw[place])
                file.write((end.join([*raw, record.cells[place]]) + record.end).encode())

    def _line(self, record: RawRecord, added: str, place: int) -> str:
        cells = [*record.cells, self._quoted(added, record.cells[place])]
        return self.delimiter.join(cells) + record.end

    def _quoted(self, cell: str, like: str) -> str:
        """Return a cell, in quotes if it needs them or if the old cell has them."""
        if like.startswith('"') or any(mark in cell for mark in ('"', "\r", "\n", self.delimiter)):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    def _is_row(self, record: RawRecord) -> bool:
        # If there is one column, a blank line is a row with an empty cell.
        return record.cells != ("",) or len(self.names) == 1


class OwnParquet:
    """A Parquet file that is copied with other columns and the schema unchanged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        table = open_files([path]).read_columns()
        self.table, self.schema = table, table.schema  # of pyarrow
        self.names: Sequence[str] = table.column_names
        self.candidates = self.names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.table)

    @property
    def before(self) -> str:
        """Name of the column for the old labels."""
        return _free_name(self.names)

    def read(self, names: Sequence[str] | None = None) -> Any:
        """Return some columns, or all of them."""
        return self.table if names is None else self.table.select(names)

    def cells(self, name: str) -> list[str]:
        """Return the cells of a column as text."""
        return [as_text(cell) for cell in self.read([name])[name].to_pylist()]

    def check_cell(self, name: str, cell: str) -> None:
        """Raise if a column cannot hold a text."""
        self._typed(name, [cell])

    def write(self, target: Path | str, name: str, cells: Sequence[str | None]) -> None:
        """Write the table with new cells in a column, and the old ones in `before`."""
        arrow = load_extra("pyarrow", "parquet", "Parquet files")
        table, place = self.read(), self.names.index(name)
        changed = table.set_column(place, self.schema.field(place), self._typed(name, cells))
        changed = changed.append_column(self.before, table[name])
        kept = arrow.array([cell is not None for cell in cells], arrow.bool_())
        write_part(str(target), [changed.filter(kept)])

    def _typed(self, name: str, cells: Sequence[str | None]) -> Any:
        """Return cells in the type of a column: 7, not "7"."""
        arrow, field = load_extra("pyarrow", "parquet", "Parquet files"), self.schema.field(name)
        values = arrow.array([cell or None for cell in cells], arrow.string())
        holds = f"has type {field.type} in its column {name!r}"
        advice = "use new classes of this type, or pass a file with class names."
        try:
            typed = values.cast(field.type)
        except arrow.ArrowInvalid as error:
            raise ArgumentError({"to": self.path}, f"{holds} ({error})", advice) from error
        for stored, cell in zip(map(as_text, typed.to_pylist()), cells, strict=True):
            if stored != (cell or ""):  # the cast changed the class
                problem = f"{holds}, where {cell!r} would become {stored!r}"
                raise ArgumentError({"to": self.path}, problem, advice)
        return typed


class OwnPart(OwnParquet):
    """Some rows of Parquet files, read when needed."""

    def __init__(self, path: Path, files: ParquetFiles, number: int, head: Any) -> None:
        self.path, self.files, self.number = path, files, number
        self.schema, self.names = files.schema, files.schema.names
        self.candidates = _columns_of_labels(head)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        groups, bounds = self.files.parts[self.number], self.files.bounds
        return int(bounds[groups[-1] + 1] - bounds[groups[0]])

    def read(self, names: Sequence[str] | None = None) -> Any:
        """Return some columns, or all of them."""
        return self.files.read_part(self.number, names)


def open_own_parts(files: ParquetFiles, path: Path) -> list[OwnPart]:
    """Return the parts of Parquet files as `OwnFile`; `path` is their name in messages."""
    head = files.head()
    return [OwnPart(path, files, number, head) for number in range(len(files.parts))]


def _columns_of_labels(head: Any) -> list[str]:
    """Return the columns that may be labels: text, integers, booleans or whole numbers."""
    kinds = load_extra("pyarrow", "parquet", "Parquet files").types
    texts = [kinds.is_string, kinds.is_large_string, kinds.is_dictionary]
    usual = [kinds.is_integer, kinds.is_boolean, *texts]
    return [
        column.name
        for column in head.schema
        if any(is_one(column.type) for is_one in usual)
        or (kinds.is_floating(column.type) and _are_whole(head[column.name].drop_null()))
    ]


def _are_whole(column: Any) -> bool:
    """Return whether all numbers are whole or NaN, like classes with missing labels."""
    cells = column.to_numpy()
    return bool(np.all(np.isnan(cells) | (cells == np.floor(cells))))


def raw_records(text: str, delimiter: str) -> Iterator[RawRecord]:
    r"""Yield the records of a CSV text; joined, they give the text again.

    Examples
    --------
    >>> list(raw_records('a,"b, c"\n\n', ","))
    [RawRecord(cells=('a', '"b, c"'), end='\n'), RawRecord(cells=('',), end='\n')]
    """
    mark = re.escape(delimiter)
    cell = re.compile(rf'("[^"]*(?:""[^"]*)*"|[^{mark}\r\n]*)({mark}|\r\n|\r|\n|\Z)')
    cells: list[str] = []
    place = 0
    while place < len(text) or cells:
        found = cell.match(text, place)
        if found is None:
            raise ValueError(f"not CSV from character {place} on: {text[place : place + 20]!r}.")
        place = found.end()
        cells.append(found[1])
        if found[2] != delimiter:
            yield RawRecord(tuple(cells), found[2])
            cells = []


def unquoted(cell: str) -> str:
    """Return the text of a CSV cell, without quotes."""
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def _free_name(names: Sequence[str]) -> str:
    """Return an unused name for the column of old labels."""
    numbered = (f"{BEFORE}_{number}" for number in range(2, len(names) + 3))
    return next(name for name in (BEFORE, *numbered) if name not in names)
