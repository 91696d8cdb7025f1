"""Predictions for Dask collections: lazy, chunk by chunk, where the chunks are."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._types import FloatArray, Matrix
from twohot.rows.chunked import as_rows
from twohot.rows.dask_collection import precision_of
from twohot.rows.preparation import Preparation
from twohot.rows.rows import Kernel, Rows
from twohot.rows.threads import one_blas_thread


def predict_lazily(
    X: Any,
    kernel: Kernel,
    shared: tuple[Preparation, FloatArray, FloatArray, Callable[[FloatArray], NDArray[Any]]],
) -> Any:
    """Return a Dask array of what a kernel makes of the rows of X, in the chunks of X."""
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    whole = array.rechunk({1: -1})
    coef, function = shared[1], shared[3]
    made = function(np.zeros((1, len(coef)), coef.dtype))
    chunks = (whole.chunks[0], *((size,) for size in made.shape[1:]))
    about: dict[str, Any] = {"dtype": made.dtype, "chunks": chunks, "meta": made[:0]}
    if made.ndim == 1:
        about["drop_axis"] = 1
    stored, n_features = precision_of(whole), whole.shape[1]
    # A step of its own: before a step that drops an axis, Dask joins chunks along it.
    checked = whole.map_blocks(
        checked_chunk,
        stored=stored,
        n_features=n_features,
        dtype=stored,
        meta=np.empty((0, 0), stored),
    )
    return checked.map_blocks(predict_chunk, kernel=kernel, shared=shared, **about)


def checked_chunk(
    chunk: Any, *, stored: np.dtype[Any], n_features: int, block_id: tuple[int, ...]
) -> Matrix:
    """Return the rows of a chunk, whose number Dask passes as `block_id`."""
    return as_rows(chunk, stored, n_features, block_id[0]).x


def predict_chunk(chunk: Matrix, *, kernel: Kernel, shared: tuple[Any, ...]) -> NDArray[Any]:
    """Return what a kernel makes of the rows of a chunk."""
    rows = Rows(chunk, n_classes=len(shared[1]))
    empty = shared[3](np.zeros((0, len(shared[1])), shared[1].dtype))
    with one_blas_thread():
        return np.concatenate([empty, *rows.map(kernel, *shared)])
