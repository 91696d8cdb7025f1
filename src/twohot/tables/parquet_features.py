"""Features in Parquet files, read row group by row group.

Decoding a row group takes as long as a pass over it, or longer. It is therefore done once: the
numbers are kept in a scratch file, from which later passes read them. Where there is no room for
one, row groups are decoded each time.
"""

import os
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import ArgumentError, NotFiniteError, check_finite, load_extra
from twohot.rows import PartedRows
from twohot.tables.column_roles import ColumnChoice, assign_roles, choice_among, listed_columns
from twohot.tables.columns import stack_features
from twohot.tables.frames import frame_columns
from twohot.tables.parquet_files import ParquetFiles, open_files


class ParquetFeatures(PartedRows):
    """Features of a column of lists, or of many columns of numbers; parts are row groups.

    Parameters
    ----------
    files : ParquetFiles
        Where the rows are.
    columns : sequence of str
        The column of lists, or the columns of numbers.
    n_features : int
        Numbers of each row.
    dtype : numpy dtype
        Of the rows as they are read.
    """

    def __init__(
        self, files: ParquetFiles, columns: Sequence[str], n_features: int, dtype: np.dtype[Any]
    ) -> None:
        super().__init__(files.bounds, n_features, dtype)
        self.files = files
        self.columns = tuple(columns)
        self._decoded = np.zeros(self.n_parts, dtype=bool)  # and kept in the scratch file
        self._scratch: int | None = None  # descriptor of the file

    def read_part(self, number: int) -> NDArray[Any]:
        """Return the rows of a row group: decoded the first time, then as they were kept."""
        shape = int(self.bounds[number + 1] - self.bounds[number]), self.shape[1]
        if shape[0] == 0:
            return np.empty(shape, self.dtype)
        if self._scratch is not None and self._decoded[number]:
            rows = np.empty(shape, self.dtype)
            if _read_whole(self._scratch, rows, self._offset(number)):
                return rows
        rows = self.decode(number)
        self._keep(number, rows)
        return rows

    def decode(self, number: int) -> NDArray[Any]:
        """Return the rows of a row group, which nobody reads again."""
        rows = self._decode(number)
        self._check_finite(number, rows)
        return rows

    def __getstate__(self) -> dict[str, Any]:
        # A scratch file stays where it is.
        forgotten = {"_decoded": np.zeros(self.n_parts, dtype=bool), "_scratch": None}
        return super().__getstate__() | forgotten

    def _check_finite(self, number: int, rows: NDArray[Any]) -> None:
        try:
            names = self.columns if len(self.columns) > 1 else ()  # one column holds lists
            check_finite("X", rows, 0, columns=names)
        except NotFiniteError as error:
            where = f"{error.problem} of {self.files.place_of(number)}"
            raise NotFiniteError("X", where, error.advice) from error

    def _decode(self, number: int) -> NDArray[Any]:
        table = self.files.read_group(number, self.columns)
        if len(self.columns) == 1:
            rows = list_rows(table.column(0), self.shape[1], self.files.place_of(number))
            return np.ascontiguousarray(rows, dtype=self.dtype)
        rows = np.empty((table.num_rows, self.shape[1]), self.dtype)
        for place, column in enumerate(table.columns):
            rows[:, place] = column.to_numpy()
        return rows

    def _keep(self, number: int, rows: NDArray[Any]) -> None:
        """Write rows to the scratch file, if there is room for them."""
        try:
            if self._scratch is None:
                self._scratch = _scratch_file(self)
            written = os.pwrite(self._scratch, rows.data.cast("B"), self._offset(number))
        except OSError:
            return
        self._decoded[number] = written == rows.nbytes

    def _offset(self, number: int) -> int:
        return int(self.bounds[number]) * self.shape[1] * self.dtype.itemsize


def _scratch_file(owner: object) -> int:
    """Return a file without a name, which is gone with its owner."""
    file, path = tempfile.mkstemp(prefix="twohot-", suffix=".rows")
    Path(path).unlink()
    weakref.finalize(owner, os.close, file)
    return file


def _read_whole(file: int, rows: NDArray[Any], offset: int) -> bool:
    """Read rows from a file; return whether all of them were there."""
    content, done = rows.data.cast("B"), 0
    while done < rows.nbytes:
        n_read = os.preadv(file, [content[done:]], offset + done)
        if n_read == 0:
            return False
        done += n_read
    return True


def list_rows(column: Any, width: int, place: str) -> NDArray[Any]:
    """Return a column of lists of pyarrow as rows of so many numbers; nulls in them become NaN."""
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        problem = f"contains no list at row {row} of {place}"
        raise ArgumentError("X", problem, "drop the row: features must be there.")
    compute = load_extra("pyarrow.compute", "parquet", "Parquet files")
    lengths = compute.list_value_length(column).to_numpy()
    if len(lengths) and not np.all(lengths == width):
        row = int(np.argmax(lengths != width))
        problem = f"contains {lengths[row]} numbers at row {row} of {place}, and others {width}"
        raise ArgumentError("X", problem, "features of all rows must come from one backbone.")
    chunks = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    flat = np.concatenate(chunks) if len(chunks) != 1 else chunks[0]
    return np.asarray(flat.reshape(-1, width))


def parquet_parts(
    sources: Sequence[Any], choice: ColumnChoice
) -> tuple[dict[str, Any], ColumnChoice]:
    """Return the columns of Parquet files, the features among them as one that is read in parts.

    The choice comes back with the features under the name that they have there.
    """
    files = open_files(sources)
    head = frame_columns(files.head())
    named = assign_roles(head, replace(choice_among(head, choice), id="")).features
    sample = stack_features(head, named)
    features = ParquetFeatures(files, named, sample.shape[1], sample.dtype)
    name = listed_columns(named)
    by_name = replace(choice, features=None)
    others = [each for each in head if each not in named and by_name.is_text(each)]
    columns = dict(frame_columns(files.read_columns(others))) if others else {}
    return {**columns, name: features}, replace(choice, features=name)
