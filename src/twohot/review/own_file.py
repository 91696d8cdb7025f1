"""A user's table, copied with corrected labels and everything else unchanged.

The copy of a CSV file has the same bytes except for changed cells: same order, quotes, separators,
line ends, blank lines and byte order mark. The old labels are added as a new column.

    record    the cells of a line as in the file, with quotes, and the end of the line
    row       a record that is neither the header nor blank
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from twohot.base import ArgumentError, as_text, load_extra, whole_file
from twohot.tables import (
    CORRECTABLE_ENDINGS,
    CSV,
    SAFE_COLUMN,
    ParquetFiles,
    csv_columns,
    find_delimiter,
    format_of,
    open_files,
    write_part,
)

MARK = "\ufeff"  # byte order mark
BEFORE = "given_label"  # name of the new column with the old labels
OLD_LABELS = re.compile(rf"{BEFORE}(_\d+)?")  # columns of old labels after several corrections


@dataclass(frozen=True)
class RawRecord:
    """One record of a CSV file, unchanged."""

    cells: tuple[str, ...]
    end: str  # end of the line; empty if the file ends without a newline


class OwnCsv:
    r"""A CSV file, to be copied byte by byte except for changed cells.

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
        self.path, self.delimiter = path, find_delimiter(path)
        text = path.read_bytes().decode()
        self.mark = MARK if text.startswith(MARK) else ""
        self.header, *self.records = raw_records(text[len(self.mark) :], self.delimiter)
        self.names: Sequence[str] = [unquoted(cell) for cell in self.header.cells]
        self.candidates, self.before = self.names, _free_name(self.names)
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
        """Accept any text, because all cells of a CSV file are text."""

    def write(self, target: Path | str, name: str, cells: Sequence[str | None]) -> None:
        """Write the file with new cells in a column, and the old cells in the column `before`."""
        with whole_file(target) as file:
            file.write(self.mark.encode())
            for raw, end in self._changed(self.names.index(name), iter(cells)):
                file.write((self.delimiter.join(raw) + end).encode())

    def _changed(self, place: int, new: Iterator[str | None]) -> Iterator[tuple[list[str], str]]:
        """Yield each line of the copy: its cells, and the characters at its end."""
        added = self._quoted(self.before, self.header.cells[place])
        yield [*self.header.cells, added], self.header.end
        for record in self.records:
            raw = list(record.cells)
            if self._is_row(record):
                cell, old = next(new), raw[place]
                if cell is None:
                    continue
                if cell != unquoted(old):
                    raw[place] = self._quoted(cell, old)
                raw.append(old)
            yield raw, record.end

    def _quoted(self, cell: str, like: str) -> str:
        """Return a new cell as text; in quotes if necessary, or if the old cell `like` is."""
        if like.startswith('"') or any(mark in cell for mark in ('"', "\r", "\n", self.delimiter)):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    def _is_row(self, record: RawRecord) -> bool:
        # In a file with one column, a blank line is a row with an empty cell.
        return record.cells != ("",) or len(self.names) == 1


@dataclass(frozen=True, eq=False)
class OwnParquet:
    """Rows of Parquet files, to be copied with the schema and the other columns unchanged."""

    path: Path
    schema: Any  # of pyarrow
    n_rows: int
    candidates: Sequence[str]
    read: Callable[[Sequence[str] | None], Any]  # columns by name, None: all → pyarrow table

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.schema.names)

    @property
    def before(self) -> str:
        """Name of the column for the old labels."""
        return _free_name(self.names)

    def cells(self, name: str) -> list[str]:
        """Return the cells of a column as text."""
        return [as_text(cell) for cell in self.read([name])[name].to_pylist()]

    def check_cell(self, name: str, cell: str) -> None:
        """Raise if a column cannot store the text `cell`, because of the type of the column."""
        self._typed(name, [cell])

    def write(self, target: Path | str, name: str, cells: Sequence[str | None]) -> None:
        """Write the table with new cells in a column, and the old cells in the column `before`."""
        arrow = load_extra("pyarrow", "parquet", "Parquet files")
        table, place = self.read(None), self.names.index(name)
        changed = table.set_column(place, self.schema.field(place), self._typed(name, cells))
        changed = changed.append_column(self.before, table[name])
        is_row = arrow.array([cell is not None for cell in cells], arrow.bool_())
        write_part(str(target), [changed.filter(is_row)])

    def _typed(self, name: str, cells: Sequence[str | None]) -> Any:
        """Return text cells in the type of a column; raise if this changes the text of a cell."""
        arrow, field = load_extra("pyarrow", "parquet", "Parquet files"), self.schema.field(name)
        values = arrow.array([cell or None for cell in cells], arrow.string())
        problem = f"has type {field.type} in the column {name!r}, which cannot store a new label"
        advice = "choose new classes that this type can store, or pass a file with class names."
        try:
            typed = values.cast(field.type)
        except arrow.ArrowInvalid as error:
            raise ArgumentError({"to": self.path}, f"{problem} ({error})", advice) from error
        for stored, cell in zip(map(as_text, typed.to_pylist()), cells, strict=True):
            if stored != (cell or ""):  # the conversion changed the class
                problem += f" ({cell!r} would become {stored!r})"
                raise ArgumentError({"to": self.path}, problem, advice)
        return typed


# A table, or a part of one, that can be copied with other labels. `candidates` are the columns that
# may contain labels. `write` omits rows whose new cell is None.
OwnFile: TypeAlias = OwnCsv | OwnParquet


def open_own_file(path: Path) -> OwnFile:
    """Return a user's file; raise if its format cannot be copied with other labels."""
    kind = format_of(path)
    if kind is None or not kind.is_correctable:
        advice = f"pass the {CORRECTABLE_ENDINGS} file with the labels."
        problem = f"ends in {path.suffix!r}, a format in which labels cannot be corrected"
        raise ArgumentError({"to": path}, problem, advice)
    if kind is CSV:
        return OwnCsv(path)
    table = open_files([path]).read_columns()
    names = table.column_names
    return OwnParquet(
        path, table.schema, len(table), names, lambda columns: table.select(columns or names)
    )


def open_own_parts(files: ParquetFiles, path: Path) -> list[OwnParquet]:
    """Return the parts of a user's Parquet files; `path` is the name of the files in messages."""
    head, schema = files.head(), files.schema
    candidates = [column.name for column in head.schema if _may_be_labels(head[column.name])]
    sizes = [int(files.bounds[part.stop] - files.bounds[part.start]) for part in files.parts]
    return [
        OwnParquet(path, schema, n_rows, candidates, partial(files.read_part, number))
        for number, n_rows in enumerate(sizes)
    ]


def _may_be_labels(column: Any) -> bool:
    """Return whether a column has text, integers, booleans, or floats that are whole or NaN."""
    kinds, kind = load_extra("pyarrow", "parquet", "Parquet files").types, column.type
    if kinds.is_floating(kind):
        cells = column.drop_null().to_numpy()
        return bool(np.all(np.isnan(cells) | (cells == np.floor(cells))))
    texts = (kinds.is_string, kinds.is_large_string, kinds.is_dictionary)
    return any(is_kind(kind) for is_kind in (kinds.is_integer, kinds.is_boolean, *texts))


def raw_records(text: str, delimiter: str) -> Iterator[RawRecord]:
    r"""Yield the records of a CSV text unchanged: the joined records equal the text.

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
        match = cell.match(text, place)
        if match is None:
            problem = f"the text is not CSV from character {place} on"
            raise ValueError(f"{problem} ({text[place : place + 20]!r}): correct its quotes.")
        place = match.end()
        cells.append(match[1])
        if match[2] != delimiter:
            yield RawRecord(tuple(cells), match[2])
            cells = []


def unquoted(cell: str) -> str:
    """Return the text of a CSV cell, without quotes."""
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def _free_name(names: Sequence[str]) -> str:
    """Return an unused name for the column of old labels."""
    numbered = (f"{BEFORE}_{number}" for number in range(2, len(names) + 3))
    return next(name for name in (BEFORE, *numbered) if name not in names)
