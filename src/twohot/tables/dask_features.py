"""Features of a table as a Dask array whose chunks the workers read for themselves."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._extras import load_extra
from twohot._types import IntArray, Matrix
from twohot.rows.parted import PartedRows, mapped_file, place_in_map
from twohot.tables.feature_file import read_features
from twohot.tables.numpy_files import map_array
from twohot.tables.source_parts import SourceParts, blocks_of_rows, source_parts


def as_dask(
    features: Matrix, source: Path, *, n_workers: int = 1, parts: SourceParts | None = None
) -> Any:
    """Return features as a Dask array, a chunk for each part of their source.

    Those of a feature file, a `.npy` file or Parquet files are read where they are needed, by a
    path that all workers must reach; any others are sent. Unless the parts are given, there is a
    chunk for each worker at least; but a row group of a Parquet file is never divided.
    """
    dask = load_extra("dask", "dask", "clusters")
    array = load_extra("dask.array", "dask", "clusters")
    if parts is None:
        parts = source_parts(features, n_least=n_workers)
    read = dask.delayed(read_rows, pure=False)
    opened = dask.delayed(features_opener(parts.stored, source))
    rows = (parts.stored_rows(number) for number in range(parts.n_parts))
    return array.concatenate(
        [
            array.from_delayed(
                read(opened, some), (len(some), features.shape[1]), dtype=features.dtype
            )
            for some in rows
        ]
    )


def features_opener(stored: Matrix, source: Path) -> Callable[[], Matrix]:
    """Return what opens the stored rows of a source anywhere."""
    path = source.resolve()
    openers = {".features": mapped_features, ".npy": map_array}
    if mapped_file(stored) is not None and path.suffix in openers:
        opened = partial(openers[path.suffix], path)
        first = _first_row(stored, opened())
        if first is not None:
            return partial(some_rows, opened, slice(first, first + stored.shape[0]))
    return partial(_same, stored if isinstance(stored, PartedRows) else np.asarray(stored))


def _first_row(part: NDArray[Any], whole: NDArray[Any]) -> int | None:
    """Return which row of a mapped file the first of some rows is, if they follow each other there.

    Both are views of a map of their own, which begins at the same place of the file.
    """
    maps = mapped_file(part), mapped_file(whole)
    if maps[0] is None or maps[1] is None or not len(part):
        return None
    if (part.dtype, part.shape[1:], part.strides) != (whole.dtype, whole.shape[1:], whole.strides):
        return None
    n_bytes = place_in_map(maps[0], part) - place_in_map(maps[1], whole)
    row, rest = divmod(n_bytes, whole.strides[0])
    return row if rest == 0 and 0 <= row <= len(whole) - len(part) else None


# Tasks -------------------------------------------------------------------------------------------


def read_rows(opened: Callable[[], Matrix], rows: IntArray) -> NDArray[Any]:
    """Return some rows of features, in their order."""
    stored = opened()
    blocks = list(blocks_of_rows(stored, rows, len(rows))) if len(rows) else []
    nothing = np.empty((0, stored.shape[1]), stored.dtype)
    return blocks[0] if len(blocks) == 1 else np.concatenate([nothing, *blocks])


def mapped_features(path: Path) -> Matrix:
    """Return the features of a feature file, mapped."""
    return read_features(path).features


def some_rows(opened: Callable[[], Matrix], rows: slice) -> Matrix:
    """Return some rows of what is opened."""
    return opened()[rows]


def _same(stored: Matrix) -> Matrix:
    return stored
