"""The rows of a table in the parts of its source: what follows from them is written in as many.

A part is some row groups of one Parquet file, or a block of rows of any other source. Parts do not
depend on which rows of the source are used: a part may have none of them.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot._types import IntArray, Matrix
from twohot.rows.chunked import split_index
from twohot.rows.selected import SelectedRows
from twohot.tables.parquet_features import ParquetFeatures
from twohot.tables.parquet_files import PART_BYTES
from twohot.tables.row_ids import RowIds
from twohot.tables.table import FeatureTable

# Rows that are read at once to know a source by them.
BLOCK_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class SourceParts:
    """Some rows of a source, in its parts.

    Examples
    --------
    >>> parts = source_parts(SelectedRows(np.eye(4), np.array([1, 3])), n_least=2)
    >>> parts.bounds.tolist(), [parts.stored_rows(number).tolist() for number in range(2)]
    ([0, 1, 2], [[1], [3]])
    """

    stored: Matrix  # all rows of the source
    index: IntArray  # (n_rows,), those that are used, in order
    bounds: IntArray  # (n_parts + 1,), place in the index of the first row of each part, and end

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.bounds) - 1

    def places(self, number: int) -> slice:
        """Return where the rows of a part are among those that are used."""
        return slice(int(self.bounds[number]), int(self.bounds[number + 1]))

    def stored_rows(self, number: int) -> IntArray:
        """Return where the rows of a part are in the source."""
        return self.index[self.places(number)]

    def digest(self) -> str:
        """Return what the rows are known by: versions of Parquet files, else all that is used."""
        known = hashlib.sha256(repr((self.stored.shape, str(self.stored.dtype))).encode())
        if isinstance(self.stored, ParquetFeatures):
            known.update(self.stored.files.digest().encode())
            known.update(repr(self.stored.columns).encode())
        else:
            for block in blocks_of_rows(self.stored, self.index, BLOCK_ROWS):
                known.update(np.ascontiguousarray(block).tobytes())
        known.update(self.index.tobytes())
        return known.hexdigest()


def source_parts(features: Matrix, *, n_least: int = 1) -> SourceParts:
    """Return the rows of a table, in the order of their source, in its parts.

    There are `n_least` parts or more, but for row groups, which are never divided.
    """
    selected = isinstance(features, SelectedRows)
    stored = features.X if selected else features
    index = features.index if selected else np.arange(features.shape[0])
    if isinstance(stored, ParquetFeatures):
        ends = stored.bounds[[part[-1] + 1 for part in stored.files.parts]]
    else:
        n_rows, n_features = stored.shape
        most = PART_BYTES // max(1, n_features * np.dtype(stored.dtype).itemsize)
        size = max(1, min(most, -(-n_rows // n_least)))
        ends = np.append(np.arange(size, n_rows, size), n_rows)
    return SourceParts(stored, index, np.searchsorted(index, np.append(0, ends)))


def known_by(table: FeatureTable, parts: SourceParts) -> dict[str, str]:
    """Return what a table is known by: its columns, its rows, and what these are called."""
    return {
        "columns": table.columns_in_words,
        "source": parts.digest(),
        "ids": names_digest(table.ids, table.items),
    }


def names_digest(ids: RowIds, items: Sequence[str] | None = None) -> str:
    """Return what the ids of rows are known by, with the items that they came from if known."""
    names = hashlib.sha256()
    for first in range(0, len(ids), BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        own = None if items is None else list(items[block])
        names.update(json.dumps([list(map(str, ids.cells(block))), own]).encode())
    return names.hexdigest()


def blocks_of_rows(stored: Matrix, rows: IntArray, size: int) -> Iterator[Any]:
    """Yield some rows of a source, given in their order, at most `size` at once."""
    if not isinstance(stored, ParquetFeatures):
        for first in range(0, len(rows), size):
            yield np.asarray(stored[rows[first : first + size]])
        return
    for group, own in split_index(rows, stored.bounds):
        decoded = stored.decode(group)
        for first in range(0, len(own), size):
            yield decoded[own[first : first + size]]
