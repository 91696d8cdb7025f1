"""Classes that a data frame of probabilities names its columns after."""

from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from twohot._checks.column_cells import as_text
from twohot._checks.labels import check_classes
from twohot._checks.messages import ArgumentError, first_few


def named_columns(table: Any, classes: NDArray[Any] | None = None) -> NDArray[Any] | None:
    """Return the names of the columns of a data frame; None of an array.

    Nobody chose the names 0, 1, … of pandas and column_0, column_1, … of polars: they are None too,
    unless they are the text of these very classes.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> named_columns(pd.DataFrame([[0.5, 0.5]], columns=["dog", "cat"]))
    array(['dog', 'cat'], dtype='<U3')
    >>> named_columns(pd.DataFrame([[0.5, 0.5]])) is None
    True
    >>> frame = pd.DataFrame([[0.5, 0.5]], columns=["0", "1"])  # as a CSV file has them
    >>> named_columns(frame) is None, named_columns(frame, np.array(["1", "0"])).tolist()
    (True, ['0', '1'])
    """
    frame = nw.from_native(table, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return None
    names = frame.collect_schema().names()
    texts = [as_text(column) for column in names]
    places = range(len(names))
    by_themselves = [[str(place) for place in places], [f"column_{place}" for place in places]]
    are_classes = classes is not None and sorted(names, key=str) == sorted(
        classes.tolist(), key=str
    )
    return None if texts in by_themselves and not are_classes else check_classes(names)


def check_column_order(name: str, named: NDArray[Any] | None, classes: NDArray[Any]) -> None:
    """Raise if a data frame has its columns in another order than the classes that were given."""
    if named is None:
        return
    theirs, ours = ([as_text(each) for each in names.tolist()] for names in (named, classes))
    if theirs != ours and sorted(theirs) == sorted(ours):
        problem = f"has its columns in another order ({first_few(theirs)}) than classes"
        raise ArgumentError(name, problem, "leave {classes} out.", classes=...)
