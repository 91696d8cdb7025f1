"""Labels that are not stored with the features: an array, or a separate label file.

A CSV file with a column "row", as an audit writes it, says which row of the features each label is
for, counted from 0; rows that it does not name keep their own label, if they have one.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.column_cells import as_cells, as_text
from twohot._checks.messages import ArgumentError, counted, first_few
from twohot.tables.columns import LABELS, Columns, pick
from twohot.tables.csv_file import csv_columns
from twohot.tables.numpy_files import map_array

ROW = "row"


def read_labels(
    labels: Any, label_column: str | None, n_rows: int, *, own: Callable[[], NDArray[Any] | None]
) -> tuple[Columns, str]:
    """Return the columns of labels in the order of the features, and the one that holds the labels.

    `own` returns the labels that the features came with.
    """
    if isinstance(labels, str | os.PathLike):
        origin, path = str(labels), Path(labels)
        columns = {"labels": map_array(path)} if path.suffix == ".npy" else csv_columns(path)
    else:
        origin, columns = "labels", {"labels": as_cells(labels, "labels")}
    usual = LABELS if len(columns) > 1 else tuple(columns)
    name = pick("label_column", label_column, usual, columns)
    if name is None:
        problem = f"{origin} has the columns {first_few(columns)}"
        raise ArgumentError("", problem, "choose one by {label_column}.", label_column=...)
    if ROW in columns:
        rows = _row_numbers(origin, columns[ROW], n_rows)
        placed = np.full(n_rows, None, dtype=object)
        if len(rows) < n_rows and (found := own()) is not None:
            placed[:] = found
        placed[rows] = columns[name]
        return {name: placed}, name
    if len(columns[name]) != n_rows:
        n_labels = counted(len(columns[name]), "label")
        header = "the first line of a CSV file names its columns and is no label"
        advice = f"pass one per row ({header}), or say by a column {ROW!r} which rows they are for."
        raise ValueError(f"{origin} has {n_labels} for {n_rows} rows of features: {advice}")
    return columns, name


def replace_labels(columns: Columns, labels: Columns, origin: Any) -> Columns:
    """Return the columns of the features with those of a label file in place of their labels."""
    kept = {name: column for name, column in columns.items() if name not in LABELS}
    both = [name for name in labels if name in kept]
    if both:
        problem = f"and the features both have a column {both[0]!r}"
        raise ArgumentError({"labels": origin}, problem, "rename one.")
    return {**kept, **labels}


def _row_numbers(origin: str, cells: NDArray[Any], n_rows: int) -> list[int]:
    wanted = [as_text(cell) for cell in cells.tolist()]
    rows = [int(cell) for cell in wanted if cell.isdecimal() and int(cell) < n_rows]
    if len(rows) < len(wanted) or len(set(rows)) < len(rows):
        raise ValueError(
            f"the column {ROW!r} of {origin} must hold numbers from 0 to {n_rows - 1}, each once: "
            "it says which row of the features a label is for. Rename it if it means another thing."
        )
    return rows
