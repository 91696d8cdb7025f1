"""Row ids, which identify rows in all files, from the user's file to the corrected file.

The id of a row is the text in the user's column of ids. If there is no such column, the id is the
position of the row in the file, from 0, without the header. The id of an image is its path below
the folder. If a row is left out, for instance because it cannot be read, the ids of other rows do
not change. Values are joined to rows by ids, never by order.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from twohot.base import (
    ArgumentError,
    IntArray,
    as_text,
    check_choice,
    check_named,
    counted,
    first_few,
)

POSITION, COLUMN, PATH = "position", "column", "path"
ID_KINDS = (POSITION, COLUMN, PATH)


@dataclass(frozen=True, eq=False)
class RowIds:
    """The id of every row; all ids differ.

    Examples
    --------
    >>> ids = RowIds.of_column("ticket", ["T7", "T9", "T4"])
    >>> list(ids.take([2, 0])), ids.places_of(["T4", "T7"], "labels.csv").tolist()
    (['T4', 'T7'], [2, 0])
    >>> list(RowIds.by_position(3)), ids[0], ids[1:]
    (['0', '1', '2'], 'T7', ['T9', 'T4'])
    """

    values: Any  # a sequence, array or index; the text of each entry is the id
    kind: str = POSITION  # the kind of ids, one of ID_KINDS
    column: str = ""  # name of the user's column of ids, if any

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ID_KINDS)

    @classmethod
    def by_position(cls, n_rows: int) -> "RowIds":
        """Return positions as ids, from 0."""
        return cls(range(n_rows))

    @classmethod
    def of_column(cls, column: str, cells: Any, *, argument: str = "") -> "RowIds":
        """Return the ids in a user's column; raise if ids are missing or equal.

        In errors, `argument` is the name of the ids; by default, the column is named.
        """
        ids, name = cls(cells, COLUMN, column), argument or f"column {column!r}"
        check_named(ids.values, name)
        texts = list(ids)
        empty, twice = [row for row, text in enumerate(texts) if not text], _repeated(texts)
        if empty:
            rows = f"row {first_few(empty)}; the first row is 0"
            problem = f"has no id in {counted(len(empty), 'row')} ({rows})"
        elif twice:
            rows = first_few(row for row, text in enumerate(texts) if text == twice[0])
            more = f"; {counted(len(twice) - 1, 'other id')} too" if twice[1:] else ""
            where = f"in rows {rows}; the first row is 0{more}"
            problem = f"holds {twice[0]!r} more than once ({where})"
        else:
            return ids
        advice = "name another column by {id_column}, or pass an empty name to use row positions."
        if argument:
            advice = "pass a different id per row. To use the index or positions, omit the ids."
        raise ArgumentError(name, problem, advice, id_column=...)

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, rows: int) -> str: ...

    @overload
    def __getitem__(self, rows: slice | Sequence[int] | NDArray[Any]) -> list[str]: ...

    def __getitem__(self, rows: Any) -> str | list[str]:
        """Return the id of a row; for a slice, a list of rows or a mask, a list of ids."""
        if isinstance(rows, int | np.integer):
            return as_text(self.values[rows])
        return list(self.take(np.arange(len(self))[rows]))

    def __iter__(self) -> Iterator[str]:
        return map(as_text, self.values)

    def take(self, rows: Sequence[int] | IntArray) -> "RowIds":
        """Return the ids of the rows at these positions."""
        values: Any = self.values
        # Arrays and pandas indices are indexed as a whole, to keep their type.
        is_sequence = isinstance(values, Sequence)
        taken = [values[row] for row in rows] if is_sequence else values[np.asarray(rows)]
        return RowIds(taken, self.kind, self.column)

    def cells(self, rows: slice) -> Any:
        """Return the ids of a slice of rows as cells of a file: integers if possible, else text."""
        values = self.values[rows]
        if self.kind == POSITION:
            return np.asarray(values, dtype=np.int64)
        if getattr(values, "dtype", np.dtype(object)).kind in "iu":
            return np.asarray(values)
        return [as_text(value) for value in values]

    def places_of(
        self, wanted: Iterable[str], origin: str, *, known: Collection[str] = ()
    ) -> IntArray:
        """Return the position of the row with each wanted id; -1 for an id that is only in `known`.

        Raises
        ------
        ArgumentError
            If a wanted id belongs to no row or occurs twice, or if two rows have the same id. The
            message lists such ids. `origin` states where the wanted ids are from.
        """
        listed = list(wanted)
        place = {text: row for row, text in enumerate(self)}
        if len(place) < len(self):  # possible for ids of a feature file that was changed
            twice = _repeated(list(self))
            problem = f"{counted(len(twice), 'id')} of the rows occur more than once"
            raise ArgumentError("", f"{problem} ({first_few(twice)})", "give each row a unique id.")
        place |= {text: -1 for text in known if text not in place}
        unknown = [text for text in listed if text not in place]
        if unknown:
            few = f"{counted(len(unknown), 'id')} that no row has ({first_few(unknown)})"
            problem = f"{origin} has {few}; the row ids are {self.in_words()}"
            advice = "remove the lines with these ids, or pass the data that has these ids."
            raise ArgumentError("", problem, advice)
        twice = _repeated(listed)
        if twice:
            problem = f"{origin} has {counted(len(twice), 'id')} more than once"
            raise ArgumentError("", f"{problem} ({first_few(twice)})", "keep one line per id.")
        return np.array([place[text] for text in listed], dtype=np.intp)

    @property
    def are_index(self) -> bool:
        """Whether the ids are a pandas index."""
        return nw.dependencies.is_pandas_index(self.values)

    def in_words(self) -> str:
        """Return a description of the ids, for messages."""
        if self.are_index:
            return "those of the pandas index"
        words = {POSITION: "positions in the file, from 0", PATH: "paths below the folder"}
        return words.get(self.kind, f"those of the column {self.column!r}")


def _repeated(texts: list[str]) -> list[str]:
    return [text for text, count in Counter(texts).items() if count > 1]
