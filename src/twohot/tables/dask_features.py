"""Features of a table as a Dask array whose chunks the workers read for themselves."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._extras import load_extra
from twohot._types import IntArray, Matrix
from twohot.rows.parted import PartedRows, mapped_file
from twohot.rows.selected import SelectedRows
from twohot.tables.feature_file import read_features
from twohot.tables.numpy_files import map_array

# Bytes of a chunk: some of them keep every worker of a cluster busy, and each is work enough.
CHUNK_BYTES = 2**26


def as_dask(features: Matrix, source: Path, *, n_workers: int = 1) -> Any:
    """Return features as a Dask array; at least a chunk for each worker.

    Those of a feature file, a `.npy` file or Parquet files are read where they are needed, by a
    path that all workers must reach; any others are sent.
    """
    dask = load_extra("dask", "dask", "clusters")
    array = load_extra("dask.array", "dask", "clusters")
    selected = isinstance(features, SelectedRows)
    stored = features.X if selected else features
    index = features.index if selected else np.arange(features.shape[0])
    n_rows, n_features = features.shape
    row_bytes = n_features * np.dtype(features.dtype).itemsize
    size = max(1, min(CHUNK_BYTES // row_bytes, -(-n_rows // n_workers)))
    read = dask.delayed(read_rows, pure=False)
    opened = dask.delayed(features_opener(stored, source))
    return array.concatenate(
        [
            array.from_delayed(
                read(opened, index[first : first + size]),
                (min(size, n_rows - first), n_features),
                dtype=features.dtype,
            )
            for first in range(0, n_rows, size)
        ]
    )


def features_opener(stored: Matrix, source: Path) -> Callable[[], Matrix]:
    """Return what opens the stored rows of a source anywhere."""
    path = source.resolve()
    if mapped_file(stored) is not None and path.suffix == ".features":
        return partial(mapped_features, path)
    if mapped_file(stored) is not None and path.suffix == ".npy":
        return partial(map_array, path)
    return partial(_same, stored if isinstance(stored, PartedRows) else np.asarray(stored))


# Tasks -------------------------------------------------------------------------------------------


def read_rows(opened: Callable[[], Matrix], rows: IntArray) -> NDArray[Any]:
    """Return some rows of features."""
    return np.asarray(opened()[rows])


def mapped_features(path: Path) -> Matrix:
    """Return the features of a feature file, mapped."""
    return read_features(path).features


def _same(stored: Matrix) -> Matrix:
    return stored
