"""Row ids, which identify rows in all files, from the user's file to the corrected file.

An id is the text in the user's id column. Without such a column, it is the position of the row in
the file (from 0, without the header). The id of an image is its path below the folder. If a row is
left out (it could not be read, for instance), the ids of other rows do not change. Values are
joined to rows by ids, never by order.
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
        """Return the ids in a user's column; raise if some are missing or equal.

        Errors name `argument`, or else the column.
        """
        ids = cls(cells, COLUMN, column)
        check_named(ids.values, argument or f"column {column!r}")
        texts = list(ids)
        empty, twice = [row for row, text in enumerate(texts) if not text], _repeated(texts)
        if empty:
            problem = f"has no id in {counted(len(empty), 'row')} (row {first_few(empty)}, from 0)"
        elif twice:
            rows = first_few(row for row, text in enumerate(texts) if text == twice[0])
            more = f", and {counted(len(twice) - 1, 'other id')} too" if twice[1:] else ""
            problem = f"holds {twice[0]!r} more than once (in rows {rows}, from 0{more})"
        else:
            return ids
        if argument:
            advice = "pass a different id per row, or remove it to use the index or positions."
            raise ArgumentError(argument, problem, advice)
        advice = "name another column by {id_column}, or pass '' to use the positions of rows."
        raise ArgumentError(f"column {column!r}", problem, advice, id_column=...)

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, rows: int) -> str: ...

    @overload
    def __getitem__(self, rows: slice | Sequence[int] | NDArray[Any]) -> list[str]: ...

    def __getitem__(self, rows: Any) -> str | list[str]:
        """Return the id of a row; a list of ids for a slice, several rows or a mask."""
        if isinstance(rows, int | np.integer):
            return as_text(self.values[rows])
        return list(self.take(np.arange(len(self))[rows]))

    def __iter__(self) -> Iterator[str]:
        return map(as_text, self.values)

    def take(self, rows: Sequence[int] | IntArray) -> "RowIds":
        """Return the ids of some rows."""
        values: Any = self.values
        # Index arrays and pandas indices directly, to keep their type.
        listed = isinstance(values, Sequence)
        taken = [values[row] for row in rows] if listed else values[np.asarray(rows)]
        return RowIds(taken, self.kind, self.column)

    def cells(self, rows: slice) -> Any:
        """Return the ids of some rows for a typed column: as numbers if possible, else as text."""
        values = self.values[rows]
        if self.kind == POSITION:
            return np.asarray(values, dtype=np.int64)
        if getattr(values, "dtype", np.dtype(object)).kind in "iu":
            return np.asarray(values)
        return [as_text(value) for value in values]

    def places_of(
        self, wanted: Iterable[str], origin: str, *, known: Collection[str] = ()
    ) -> IntArray:
        """Return the row with each wanted id; -1 for an id that only `known` contains.

        Raises
        ------
        ArgumentError
            The message lists the invalid ids: ids in `origin` without a row, ids twice in `origin`,
            or ids that two rows share.
        """
        listed = list(wanted)
        place = {text: row for row, text in enumerate(self)}
        if len(place) < len(self):  # a file may contain anything
            twice = _repeated(list(self))
            problem = f"{counted(len(twice), 'id')} of the rows occur more than once"
            raise ArgumentError("", f"{problem} ({first_few(twice)})", "give every row its own id.")
        place |= {text: -1 for text in known if text not in place}
        strangers = [text for text in listed if text not in place]
        if strangers:
            few = f"{counted(len(strangers), 'id')} that no row has ({first_few(strangers)})"
            problem = f"{origin} has {few}; ids are {self.in_words()}"
            raise ArgumentError("", problem, "remove these lines, or pass the data they belong to.")
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
