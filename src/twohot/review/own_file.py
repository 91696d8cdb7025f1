"""A user's own table, written again with other labels and everything else as it was.

A CSV file keeps every byte but the cells that change: order, quotes, what separates cells, line
ends, blank lines and a byte order mark. The column before the change is kept as one more column.

    record    cells as they stand in the file, quotes included, and the line's end
    row       a record that is not blank, after the header
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

MARK = "\ufeff"  # of byte order
BEFORE = "given_label"  # the column that keeps the labels as they were
OLD_LABELS = re.compile(rf"{BEFORE}(_\d+)?")  # such columns of several corrections


class OwnFile(Protocol):
    """A table, or a part of one, that can be written again."""

    path: Path
    names: Sequence[str]  # of the columns
    candidates: Sequence[str]  # columns that may hold labels

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def before(self) -> str:
        """The column that is to keep the old labels."""

    def cells(self, name: str) -> list[str]:
        """Return the cells of a column as text."""

    def check_cell(self, name: str, cell: str) -> None:
        """Raise if a column cannot hold a text."""

    def write(self, target: Path | str, name: str, cells: Sequence[str | None]) -> None:
        """Write the table with other cells in a column, and the old ones in `before`.

        A row whose cell is None is left out.
        """


def open_own_file(path: Path) -> OwnFile:
    """Return a CSV or Parquet file as a table that can be written again."""
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
    """One record of a CSV file, as it stands."""

    cells: tuple[str, ...]
    end: str  # of the line; nothing at the end of a file that does not end a line


class OwnCsv:
    r"""A CSV file that is written again byte by byte, but for the cells that change.

    Examples
    --------
    >>> _ = Path("pets.csv").write_bytes(b'name;"label"\r\n"a; b";"cat"\r\nc;dog')
    >>> pets = OwnCsv(Path("pets.csv"))
    >>> pets.write(Path("clean.csv"), "label", ["dog", "dog"])
    >>> Path("clean.csv").read_bytes()
    b'name;"label";"given_label"\r\n"a; b";"dog";"cat"\r\nc;dog;dog'
    """

    def __init__(self, path: Path) -> None:
        csv_columns(path)  # says what is wrong with it
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
            problem = f"is a copy for spreadsheets, by its column {SAFE_COLUMN!r}"
            raise ArgumentError({"to": path}, problem, "pass the file that it was made from.")

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
        """Write the file with other cells in a column, and the old ones in `before`."""
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
        """Return a cell in quotes if it needs them, or if the one it stands for has them."""
        if like.startswith('"') or any(mark in cell for mark in ('"', "\r", "\n", self.delimiter)):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    def _is_row(self, record: RawRecord) -> bool:
        # A blank line is an empty cell where there is one column.
        return record.cells != ("",) or len(self.names) == 1


class OwnParquet:
    """A Parquet file that is written again with its other columns and its schema as they are."""

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
        """The column that is to keep the old labels."""
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
        """Write the table with other cells in a column, and the old ones in `before`."""
        arrow = load_extra("pyarrow", "parquet", "Parquet files")
        table, place = self.read(), self.names.index(name)
        changed = table.set_column(place, self.schema.field(place), self._typed(name, cells))
        changed = changed.append_column(self.before, table[name])
        kept = arrow.array([cell is not None for cell in cells], arrow.bool_())
        write_part(str(target), [changed.filter(kept)])

    def _typed(self, name: str, cells: Sequence[str | None]) -> Any:
        """Return cells as a column has them: 7 and not "7"."""
        arrow, field = load_extra("pyarrow", "parquet", "Parquet files"), self.schema.field(name)
        values = arrow.array([cell or None for cell in cells], arrow.string())
        holds = f"holds {field.type} in its column {name!r}"
        advice = "name new classes as the column has them, or pass a file with names of classes."
        try:
            typed = values.cast(field.type)
        except arrow.ArrowInvalid as error:
            raise ArgumentError({"to": self.path}, f"{holds} ({error})", advice) from error
        for stored, cell in zip(map(as_text, typed.to_pylist()), cells, strict=True):
            if stored != (cell or ""):  # another class than was asked for
                problem = f"{holds}, where {cell!r} would become {stored!r}"
                raise ArgumentError({"to": self.path}, problem, advice)
        return typed


class OwnPart(OwnParquet):
    """Some rows of Parquet files, which are read when they are asked for."""

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
    """Return the parts of Parquet files, which a user calls by a path, to be written again."""
    head = files.head()
    return [OwnPart(path, files, number, head) for number in range(len(files.parts))]


def _columns_of_labels(head: Any) -> list[str]:
    """Return the columns that may hold labels: neither features nor lists, by some rows."""
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
    """Return whether numbers are whole, as classes are where some rows have none; NaN is none."""
    cells = column.to_numpy()
    return bool(np.all(np.isnan(cells) | (cells == np.floor(cells))))


def raw_records(text: str, delimiter: str) -> Iterator[RawRecord]:
    r"""Yield the records of a CSV text, nothing lost: joined again they are the text.

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
            raise ValueError(f"no CSV from character {place} on: {text[place : place + 20]!r}.")
        place = found.end()
        cells.append(found[1])
        if found[2] != delimiter:
            yield RawRecord(tuple(cells), found[2])
            cells = []


def unquoted(cell: str) -> str:
    """Return what a cell of a CSV file says."""
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def _free_name(names: Sequence[str]) -> str:
    """Return a name for the column of old labels that no other has."""
    numbered = (f"{BEFORE}_{number}" for number in range(2, len(names) + 3))
    return next(name for name in (BEFORE, *numbered) if name not in names)
