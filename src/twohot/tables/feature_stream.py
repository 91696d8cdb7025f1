"""Features block by block: as they arrive, or as slices of what is stored elsewhere."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from twohot._types import FloatArray, Matrix

# What is in memory at a time while features are copied: enough for the disk to be the limit.
BLOCK_BYTES = 2**24


@dataclass(frozen=True, eq=False)
class FeatureBlocks:
    """Features that arrive block by block: stands for `features` in a table to be written.

    Examples
    --------
    >>> from twohot.tables import FeatureTable, read_features, write_features
    >>> blocks = FeatureBlocks((np.full((1, 2), i) for i in range(3)), (3, 2), "float32")
    >>> table = FeatureTable(features=blocks, labels=np.zeros(3, int), classes=("cat",))
    >>> write_features("cats.features", table)
    >>> read_features("cats.features").features.tolist()
    [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    """

    blocks: Iterable[FloatArray]  # each (any number of rows, n_features); gone through once
    shape: tuple[int, int]  # (n_rows, n_features) of all together
    dtype: DTypeLike  # what they are stored as: float16, float32 or float64


def stored_blocks(features: Matrix, dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """Yield all rows in blocks of one type, in C order; raise if they are not of the shape said."""
    n_rows, n_features = features.shape
    row = 0
    for given in _given_blocks(features, dtype):
        if given.ndim != 2 or given.shape[1] != n_features or row + len(given) > n_rows:
            place = f"the block of features at row {row} has shape {given.shape}"
            whole = f"{(n_rows, n_features)}: pass blocks of whole rows."
            raise ValueError(f"{place}, which does not fit into {whole}")
        yield _converted(given, dtype, row)
        row += len(given)
    if row != n_rows:
        problem = f"the blocks of features end after {row} of {n_rows} rows"
        raise ValueError(f"{problem}: pass as many rows as labels.")


def _given_blocks(features: Matrix, dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """Yield features as they come, or in slices."""
    if isinstance(features, FeatureBlocks):
        yield from map(np.asarray, features.blocks)
        return
    n_rows, n_features = features.shape
    n_block = max(1, BLOCK_BYTES // (dtype.itemsize * n_features))
    for start in range(0, n_rows, n_block):
        yield np.asarray(features[start : start + n_block])


def _converted(block: NDArray[Any], dtype: np.dtype[Any], row: int) -> NDArray[Any]:
    """Return a block as it is stored; finite numbers must not become infinite."""
    try:
        with np.errstate(over="raise"):
            return np.ascontiguousarray(block, dtype=dtype)
    except FloatingPointError as error:
        problem = f"features from row {row} on hold numbers too large for {dtype.name}"
        raise ValueError(f"{problem}: store them as float32 or float64.") from error
