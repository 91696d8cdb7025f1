"""The ids of the rows of an audit: given, or those of data frames."""

from typing import Any

from twohot._checks.column_cells import as_cells
from twohot._checks.messages import ArgumentError, counted
from twohot.tables.frames import counts_up, pandas_index
from twohot.tables.row_ids import COLUMN, RowIds


def audited_ids(X: Any, y: Any, given: Any, n_rows: int) -> RowIds:
    """Return the ids that were given, else the index of X or y, else positions.

    Examples
    --------
    >>> import pandas as pd
    >>> list(audited_ids(None, pd.Series(["a", "b"], index=[7, 3]), None, 2))
    ['7', '3']
    """
    if given is not None:
        ids = given if isinstance(given, RowIds) else RowIds.of_column("id", as_cells(given, "ids"))
        if len(ids) != n_rows:
            problem = f"has {counted(len(ids), 'id')} for {n_rows} rows"
            raise ArgumentError("ids", problem, "pass one id per row.")
        return ids
    found = [index for index in map(pandas_index, (X, y)) if index is not None]
    named = [index for index in found if not counts_up(index)] or found
    if not named:
        return RowIds.by_position(n_rows)
    if not named[0].equals(named[-1]):
        problem = "has another index than X, so its labels may be for other rows"
        advice = "pass y.loc[X.index], or y.to_numpy() if they are in the same order."
        raise ArgumentError("y", problem, advice)
    return RowIds(named[0], COLUMN, str(named[0].name or "index"))
