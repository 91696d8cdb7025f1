"""The rows of each split, in memory along their leading axes: all that a search reads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twohot._types import IntArray
from twohot.rows.coordinates import Coordinates
from twohot.select.sampling import SEARCH_ROWS


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit on and held-out rows, each with its label beside it."""

    fitted: Coordinates
    held_out: Coordinates


def split_rows(
    coordinates: Coordinates, splits: Sequence[tuple[IntArray, IntArray]], n_axes: int | None
) -> tuple[list[Split], list[Split]]:
    """Return the splits of the rows that are looked at, in memory if they are not too many.

    All along their leading axes; and the same splits along at most so many of these.
    """
    coordinates = coordinates.leading()
    looked_at = np.unique(np.concatenate([rows for pair in splits for rows in pair]))
    if len(looked_at) <= SEARCH_ROWS:
        coordinates = coordinates.in_axes(looked_at)
        splits = [
            (np.searchsorted(looked_at, fitted), np.searchsorted(looked_at, held_out))
            for fitted, held_out in splits
        ]
    wide, narrow = (
        [Split(each.take(fitted), each.take(held_out)) for fitted, held_out in splits]
        for each in (coordinates, coordinates.leading(n_axes))
    )
    return wide, narrow
