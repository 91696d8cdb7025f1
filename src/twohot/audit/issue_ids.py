"""The ids of the rows of an audit: given, or those of data frames."""

from typing import Any

import narwhals as nw

from twohot._checks.column_cells import as_cells
from twohot._checks.messages import ArgumentError, counted, first_few
from twohot.tables.frames import check_same_index, counts_up, pandas_index
from twohot.tables.row_ids import COLUMN, RowIds


def audited_ids(X: Any, y: Any, given: Any, n_rows: int) -> RowIds:
    """Return the ids that were given, else the index of X or y, else positions.

    Examples
    --------
    >>> import pandas as pd
    >>> list(audited_ids(None, pd.Series(["a", "b"], index=[7, 3]), None, 2))
    ['7', '3']
    """
    check_same_index("y", y, "X", pandas_index(X))
    if given is not None:
        check_same_index("ids", given, "X", pandas_index(X))
        check_same_index("ids", given, "y", pandas_index(y))
        ids = given if isinstance(given, RowIds) else _named(given)
        if len(ids) != n_rows:
            problem = f"has {counted(len(ids), 'id')} for {n_rows} rows"
            raise ArgumentError("ids", problem, "pass one id per row.")
        return ids
    found = [index for index in map(pandas_index, (X, y)) if index is not None]
    if not found:
        return RowIds.by_position(n_rows)
    # An index that counts up says less than one that somebody chose.
    index = next((index for index in found if not counts_up(index)), found[0])
    return RowIds(index, COLUMN, str(index.name or "index"))


def _named(given: Any) -> RowIds:
    return RowIds.of_column("id", as_cells(given, "ids", "pass one id per row."), argument="ids")


def repeated_index_note(ids: RowIds) -> tuple[str, ...]:
    """Say if an index gives one name to several rows, which no join can tell apart.

    Examples
    --------
    >>> import pandas as pd
    >>> print(*repeated_index_note(RowIds(pd.Index(["a", "b", "a"]))))
    Rows share names: the index repeats 'a', so that a join by it multiplies rows, ...
    """
    if not nw.dependencies.is_pandas_index(ids.values) or ids.values.is_unique:
        return ()
    repeated = ids.values[ids.values.duplicated()].unique().tolist()
    said = (
        f"Rows share names: the index repeats {first_few(repeated)}, so that a join by it "
        "multiplies rows, and no report can be written. Call reset_index(drop=True) on the data "
        "first, or pass ids."
    )
    return (said,)


def check_rows_of_issues(name: str, data: Any, ids: RowIds) -> None:
    """Raise if an argument of pandas has another index than the data that were audited."""
    index = ids.values if nw.dependencies.is_pandas_index(ids.values) else None
    check_same_index(name, data, "issues.to_pandas()", index)
