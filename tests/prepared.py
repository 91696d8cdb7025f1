"""Small sets of prepared rows in blocks of 64, as a fit reads them."""

import tracemalloc

import numpy as np

from twohot.rows.open import fit_preparation, open_rows


def prepared_rows(X, *, center=True, normalize=True, weights=None, dtype=None, **options):
    """Return the rows of X, prepared; other options are those of `Rows`."""
    fitted = fit_preparation(X, center=center, normalize=normalize, weights=weights)
    dtype = np.dtype(dtype or ("float64" if X.dtype == np.float64 else "float32"))
    options = {"block_rows": 64, "n_classes": 3, **options}
    return open_rows(X, fitted, dtype=dtype, weights=weights, **options)


def blocks_of(rows):
    """Yield all blocks of some rows."""
    return (rows.block(number) for number in range(rows.n_blocks))


def peak_bytes(function):
    """Return the most that was held at once beyond what was held before."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
