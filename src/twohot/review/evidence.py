"""Why a label is doubted: the rows that a page shows beside it, and where they are in the data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from twohot._types import FloatArray, IntArray

NO_ROW = -1
# Rows, by position in the data, and their neighbours: position, and cosine in hundredths if known.
Near: TypeAlias = Mapping[int, list[tuple[int, int | None]]]


@dataclass(frozen=True, eq=False)
class NearestRows:
    """The rows most alike some rows, the nearest first."""

    rows: IntArray  # (n_explained, n_nearest), positions in the data; NO_ROW: no more of them
    alike: FloatArray  # (n_explained, n_nearest), cosines of the features; NaN without a row


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """The nearest rows of two classes, for each of the rows that are explained."""

    rows: IntArray  # (n_explained,), positions in the data
    suggested: NearestRows  # of those labelled as the suggestion says
    given: NearestRows  # of those that have the same label as the row

    def near(self) -> dict[str, Near]:
        """Return the neighbours of every row that is explained, by the class they are of."""
        return {
            "nearSuggested": _by_row(self.rows, self.suggested),
            "nearGiven": _by_row(self.rows, self.given),
        }


def neighbour_numbers(near: Mapping[str, Near], shown: IntArray) -> tuple[dict[str, Any], IntArray]:
    """Return neighbours by numbers, which they get as a reviewer comes to them.

    Parameters
    ----------
    near : mapping from a kind of neighbours to `Near`
    shown : array of shape (n_shown,)
        Positions, in the data, of the rows of the page.

    Returns
    -------
    columns : dict
        For each kind a list per row of the page, of pairs [number of the neighbour, cosine in
        hundredths or None]; None for a row that has none of the kind.
    neighbours : array
        Positions, in the data, of the neighbours by their numbers.
    """
    number: dict[int, int] = {}
    columns: dict[str, Any] = {kind: [] for kind in near}
    for row in shown.tolist():
        for kind, found in near.items():
            columns[kind].append(_numbered(found[row], number) if row in found else None)
    return columns, np.fromiter(number, np.intp, len(number))


def _numbered(
    pairs: list[tuple[int, int | None]], number: dict[int, int]
) -> list[tuple[int, int | None]]:
    return [(number.setdefault(other, len(number)), alike) for other, alike in pairs]


def _by_row(rows: IntArray, nearest: NearestRows) -> Near:
    found = zip(rows.tolist(), nearest.rows.tolist(), nearest.alike.tolist(), strict=True)
    return {
        row: [
            (other, round(100 * cosine))
            for other, cosine in zip(others, cosines, strict=True)
            if other != NO_ROW
        ]
        for row, others, cosines in found
    }
