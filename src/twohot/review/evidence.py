"""Why a label is doubted: the rows that a page shows beside it, and where they are in the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot._types import FloatArray, IntArray

NO_ROW = -1


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


def evidence_columns(evidence: Evidence, shown: IntArray) -> tuple[dict[str, Any], IntArray]:
    """Return what a page needs to know of the evidence, and the rows that it is made of.

    Parameters
    ----------
    evidence : Evidence
    shown : array of shape (n_shown,)
        Positions, in the data, of the rows of the page.

    Returns
    -------
    columns : dict
        For the suggested and for the given class a list per row of the page, of pairs [number of
        the neighbour, cosine in hundredths]; None for a row that is not explained.
    neighbours : array
        Positions, in the data, of the neighbours by their numbers, each once.
    """
    kinds = {"nearSuggested": evidence.suggested, "nearGiven": evidence.given}
    order = dict.fromkeys(_in_order_of_rows(evidence))
    number = {row: place for place, row in enumerate(order)}
    explained = {row: place for place, row in enumerate(evidence.rows.tolist())}
    columns: dict[str, Any] = {
        name: [_pairs(nearest, explained.get(row), number) for row in shown.tolist()]
        for name, nearest in kinds.items()
    }
    return columns, np.fromiter(order, np.intp, len(order))


def _in_order_of_rows(evidence: Evidence) -> Sequence[int]:
    """Return neighbours as a reviewer comes to them, so that the first ones get pictures."""
    both = np.hstack([evidence.suggested.rows, evidence.given.rows]).ravel()
    kept: list[int] = both[both != NO_ROW].tolist()
    return kept


def _pairs(
    nearest: NearestRows, place: int | None, number: dict[int, int]
) -> list[list[int]] | None:
    if place is None:
        return None
    found = zip(nearest.rows[place].tolist(), nearest.alike[place].tolist(), strict=True)
    return [[number[row], round(100 * alike)] for row, alike in found if row != NO_ROW]
