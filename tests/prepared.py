"""Small sets of prepared rows in blocks of 64, as a fit reads them."""

import tracemalloc

import numpy as np

from twohot.probes.rounds import LABELS, LabelTargets
from twohot.rows.coordinates import choose_coordinates
from twohot.rows.open import fit_preparation, open_rows
from twohot.solve.losses import CrossEntropy, pose


def prepared_rows(X, *, center=True, normalize=True, weights=None, dtype=None, **options):
    """Return the rows of X, prepared; other options are those of `Rows`."""
    fitted = fit_preparation(X, center=center, normalize=normalize, weights=weights)
    dtype = np.dtype(dtype or ("float64" if X.dtype == np.float64 else "float32"))
    options = {"block_rows": 64, "n_classes": 3, **options}
    return open_rows(X, fitted, dtype=dtype, weights=weights, **options)


def posed(X, labels, *, loss=None, ridge=1.0, **options):
    """Return the problem of a fit to labels, by cross-entropy if no loss is given."""
    n_classes = int(labels.max()) + 1
    rows = prepared_rows(X, n_classes=n_classes, **options)
    rows.attach(LABELS, labels)
    at = choose_coordinates(rows)
    targets, l2 = LabelTargets(n_classes), ridge * at.unit_penalty
    return pose(at, loss or CrossEntropy(), targets, l2, last=None)


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
