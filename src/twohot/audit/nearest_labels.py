"""What the rows nearest to each know of its label that a probe does not.

A probe separates classes by straight lines. Where none can, as of a class in two groups or one
around another, it is wrong in whole regions, and right labels look wrong to it at random. Rows with
many features leave little that is not separable; with few, their nearest rows tell: there most
labels are as the label that looks wrong.
"""

from dataclasses import replace

import numpy as np

from twohot._types import FloatArray, IntArray
from twohot.rows.rows import Rows, copy_prepared, stack
from twohot.select.agreement import is_behind
from twohot.select.grid import MANY_FEATURES

# Rows that are asked about, at the most, each by so many others of them.
ASKED_ROWS, N_NEAREST = 2_000, 20
# Standard errors by which they predict more labels. With three, moons with a fifth of the labels
# wrong, of which a precision of .9 was asked, left .65 in three draws of eight.
MORE_ERRORS = 2.0


def explained_by_nearest(rows: Rows, codes: IntArray, predicted: IntArray) -> float:
    """Return the share of the labels not predicted that the nearest rows predict beyond.

    Zero unless they predict clearly more of all labels than was predicted.

    Parameters
    ----------
    rows : Rows
        Those that are judged; their length counts, whether they have unit norm or not.
    codes, predicted : arrays of shape (n_rows,)
        The given labels, and what a probe that has not seen them says.
    """
    if rows.n_features >= MANY_FEATURES or len(codes) <= N_NEAREST:
        return 0.0
    asked = np.arange(len(codes))
    if len(codes) > ASKED_ROWS:
        asked = np.sort(np.random.default_rng(0).choice(len(codes), ASKED_ROWS, replace=False))
    nearby = _most_frequent_nearby(_at_length(rows, asked), codes[asked])
    by_probe, by_nearest = (
        (said == codes[asked]).astype(float) for said in (predicted[asked], nearby)
    )
    if not is_behind(by_probe, by_nearest, np.ones(len(asked)), errors=MORE_ERRORS):
        return 0.0
    return float((by_nearest.mean() - by_probe.mean()) / (1 - by_probe.mean()))


def _at_length(rows: Rows, index: IntArray) -> FloatArray:
    """Return some of the rows as long as they are, each feature in units of its own spread."""
    centring = replace(rows.preparation, normalize=False) if rows.preparation else None
    taken = rows.take(index, centring)
    centred = stack(list(taken.map(copy_prepared, np.dtype(np.float64))))
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 0, spread, 1))


def _most_frequent_nearby(points: FloatArray, codes: IntArray) -> IntArray:
    """Return the most frequent label of the points nearest to each, without itself."""
    squares = np.einsum("ij,ij->i", points, points)
    distances = squares - 2 * points @ points.T
    np.fill_diagonal(distances, np.inf)
    nearest = codes[np.argpartition(distances, N_NEAREST, axis=1)[:, :N_NEAREST]]
    votes = np.zeros((len(codes), int(codes.max()) + 1), dtype=np.int32)
    np.add.at(votes, (np.arange(len(codes))[:, np.newaxis], nearest), 1)
    return np.asarray(votes.argmax(axis=1))
