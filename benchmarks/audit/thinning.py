"""Fewer rows: of every class a few, or class sizes with a long tail."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.audit.data import Data

STREAM = 2  # as in `generated`
FEW_ROWS = 15  # of every class
TAIL_RATIO = 20  # of what is kept of the first class to what is kept of the last
LEAST_ROWS = 2  # of a class in the tail: with one, folds would be fitted without it


def thin(data: Data, kind: str, seed: int) -> Data:
    """Return the rows that are kept; a seed keeps the same ones for every method."""
    generator = np.random.default_rng([STREAM, seed])
    sizes = THINNED_SIZES[kind](np.bincount(data.true_labels, minlength=data.n_classes), generator)
    order = generator.permutation(len(data.true_labels))
    labels = data.true_labels[order]
    kept = [order[labels == k][:size] for k, size in enumerate(sizes)]
    return data.take(np.sort(np.concatenate(kept)))


def few(class_sizes: NDArray[np.int64], _: np.random.Generator) -> NDArray[np.int64]:
    return np.minimum(class_sizes, FEW_ROWS)


def tail(class_sizes: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return n · 20^(-i / (K - 1)) of the n rows of a class, i its place in a random order."""
    place = generator.permutation(len(class_sizes))
    kept = class_sizes * TAIL_RATIO ** (-place / (len(class_sizes) - 1))
    return np.clip(np.rint(kept).astype(np.int64), LEAST_ROWS, class_sizes)


THINNED_SIZES: dict[str, Callable[[NDArray[np.int64], np.random.Generator], NDArray[np.int64]]] = {
    "few": few,
    "tail": tail,
}
