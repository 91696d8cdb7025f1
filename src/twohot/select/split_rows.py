"""The rows of each split, in memory along their leading axes: all that a search reads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twohot._types import IntArray
from twohot.rows.coordinates import Coordinates
from twohot.select.sampling import SEARCH_ROWS

Splits = Sequence[tuple[IntArray, IntArray]]  # rows to fit on and rows held out


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit on and held-out rows, each with its label beside it."""

    fitted: Coordinates
    held_out: Coordinates


def rows_along_axes(coordinates: Coordinates, splits: Splits) -> tuple[Coordinates, Splits]:
    """Return the rows that are looked at along their leading axes, and the splits among them.

    In memory if they are not too many.
    """
    coordinates = coordinates.leading()
    looked_at = np.unique(np.concatenate([rows for pair in splits for rows in pair]))
    if len(looked_at) > SEARCH_ROWS:
        return coordinates, splits
    if len(looked_at) == coordinates.rows.n_samples:
        return coordinates.in_axes(), splits
    among = [
        (np.searchsorted(looked_at, fitted), np.searchsorted(looked_at, held_out))
        for fitted, held_out in splits
    ]
    return coordinates.in_axes(looked_at), among


def split_rows(coordinates: Coordinates, splits: Splits) -> list[Split]:
    """Return the rows of each split; none is copied."""
    return [
        Split(coordinates.take(fitted), coordinates.take(held_out)) for fitted, held_out in splits
    ]
