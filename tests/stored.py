"""The same rows in the containers that users have them in."""

import numpy as np
import pandas as pd
import polars as pl
import pytest


def frame(rows):
    return pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])


def polars_frame(rows):
    return pl.DataFrame({f"x{i}": column for i, column in enumerate(rows.T)})


class Sliced:
    """A store that has only what `twohot` asks of one: shape, dtype and slices."""

    def __init__(self, rows):
        self.shape, self.dtype = rows.shape, rows.dtype
        self._rows = rows

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        return self._rows[rows]


def memory_map(rows, folder):
    np.save(folder / "rows.npy", rows)
    return np.load(folder / "rows.npy", mmap_mode="r")


def zarr_array(rows, folder, chunk_rows):
    zarr = pytest.importorskip("zarr")
    chunks = chunk_rows, rows.shape[1]
    return zarr.create_array(folder / "rows.zarr", data=rows, chunks=chunks, overwrite=True)
