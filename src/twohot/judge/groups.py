"""Groups of rows that belong together: those of one person, one video, one item seen twice.

A group is never split: a row whose copy is in another fold is judged by its own label.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from twohot._checks.column_cells import as_cells, is_missing, plain
from twohot._checks.messages import ArgumentError, counted, first_few
from twohot._types import IntArray

ONE_PER_ROW = "pass one group per row, as a number or text, in one dimension."


def check_groups(groups: Any, n_rows: int) -> IntArray | None:
    """Return the group of each row as a code from 0 on, in the order in which groups occur.

    Parameters
    ----------
    groups : array, list, series or frame of one column, or None
        One value per row that can be hashed: numbers, text, dates. Equal values are one group,
        and a group may have one row.
    n_rows : int
        How many rows there are.

    Returns
    -------
    array of shape (n_rows,), or None
        None where no groups were given.

    Raises
    ------
    ArgumentError
        If there is not one value per row, if one is missing (None, NaN, NA, blank text), or if
        all rows are one group.

    Examples
    --------
    >>> check_groups(["ann", "bob", "ann"], 3)
    array([0, 1, 0])
    """
    if groups is None:
        return None
    cells = as_cells(groups, "groups", ONE_PER_ROW)
    if len(cells) != n_rows:
        problem = f"has {counted(len(cells), 'entry', 'entries')} for {counted(n_rows, 'row')}"
        raise ArgumentError("groups", problem, ONE_PER_ROW)
    values = [plain(cell) for cell in cells.tolist()]
    missing = [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        where = f"{counted(len(missing), 'row')} (row {first_few(missing)}, from 0)"
        advice = "give a row that belongs to no other a group of its own."
        raise ArgumentError("groups", f"names no group in {where}", advice)
    unhashable = next((v for v in values if not isinstance(v, Hashable)), None)
    if unhashable is not None:
        problem = f"holds a {type(unhashable).__name__}, which cannot be looked up"
        raise ArgumentError("groups", problem, ONE_PER_ROW)
    place: dict[Any, int] = {}
    codes = np.array([place.setdefault(value, len(place)) for value in values], dtype=np.intp)
    if len(place) < 2:
        few = f" ({first_few(place)})" if place else ""
        problem = f"puts all {counted(n_rows, 'row')} into one group{few}"
        advice = "pass at least two groups, as one is judged by the others, or leave {groups} out."
        raise ArgumentError("groups", problem, advice, groups=...)
    return codes


def merge_groups(a: IntArray, b: IntArray) -> IntArray:
    """Return groups that keep together what either grouping keeps together.

    Parameters
    ----------
    a, b : arrays of shape (n_rows,)
        Codes of groups, not negative.

    Examples
    --------
    >>> merge_groups(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]))
    array([0, 0, 0, 1])
    """
    n_first = int(a.max(initial=-1)) + 1
    together = connected(a, n_first + b, n_first + int(b.max(initial=-1)) + 1)
    return numbered(together[a])


def connected(first: IntArray, second: IntArray, n: int) -> IntArray:
    """Return the connected component of each of n things, of which pairs are linked."""
    links = sp.coo_array((np.ones(len(first)), (first, second)), (n, n))
    _, component = connected_components(links, directed=False)
    return np.asarray(component, dtype=np.intp)


def numbered(groups: IntArray) -> IntArray:
    """Return the same groups numbered from 0 on in the order in which they occur."""
    _, first, index = np.unique(groups, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    return place[index]
