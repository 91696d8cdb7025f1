"""Labels that stand apart from the features: an array, or a file.

A CSV file with a column "row", as an audit writes it, says which row of the features each label is
for, counted from 0; rows that it does not name keep their own label, if they have one.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.tables.columns import LABELS, Columns, pick
from twohot.tables.csv_file import csv_columns
from twohot.tables.labels import as_text, encode_labels
from twohot.tables.numpy_files import map_array

ROW = "row"


@dataclass(frozen=True, eq=False)
class LabelsApart:
    """Labels in the order of the features, and what else stood with them."""

    origin: str  # where they came from
    columns: Columns  # the labels among them, each of as many rows as the features
    name: str  # of the column of labels

    def beside(self, columns: Columns) -> Columns:
        """Return the columns of the features with these in place of their own labels."""
        kept = {name: column for name, column in columns.items() if name not in LABELS}
        both = [name for name in self.columns if name in kept]
        if both:
            raise ValueError(
                f"{both[0]!r} is a column of {self.origin} and of the features beside it: rename "
                "one."
            )
        return kept | dict(self.columns)


def read_labels(
    labels: Any,
    label_column: str | None,
    n_rows: int,
    *,
    own: Callable[[], NDArray[Any] | None],
) -> LabelsApart:
    """Return one label for each row; `own` tells what labels the features came with."""
    if isinstance(labels, str | os.PathLike):
        origin, path = str(labels), Path(labels)
        columns = {"labels": map_array(path)} if path.suffix == ".npy" else csv_columns(path)
    else:
        origin, columns = "labels", {"labels": np.asarray(labels)}
    usual = LABELS if len(columns) > 1 else tuple(columns)
    name = pick("label_column", label_column, usual, columns)
    if name is None:
        raise ValueError(
            f"{origin} has the columns {', '.join(map(repr, columns))}: choose one by "
            "label_column=…"
        )
    if ROW in columns:
        rows = _row_numbers(origin, columns[ROW], n_rows)
        placed = np.full(n_rows, "", dtype=object)
        if len(rows) < n_rows and (found := own()) is not None:
            placed[:] = [as_text(label) for label in found]
        placed[rows] = columns[name]
        return LabelsApart(origin, {name: placed}, name)
    if len(columns[name]) != n_rows:
        raise ValueError(
            f"{origin} has {len(columns[name])} labels for {n_rows} rows of features: pass one per "
            "row (the first line of a CSV file names its columns and is no label), or say by a "
            f"column {ROW!r} which rows they are for."
        )
    return LabelsApart(origin, columns, name)


def own_labels(columns: Columns, classes: Iterable[object] | None) -> NDArray[Any] | None:
    """Return the labels among the columns of the features by name, None if there are none."""
    own = next((columns[name] for name in LABELS if name in columns), None)
    if own is None:
        return None
    codes, names = encode_labels(own, classes)
    named: NDArray[Any] = np.array([*names, ""], dtype=object)[codes]
    return named


def _row_numbers(origin: str, cells: NDArray[Any], n_rows: int) -> list[int]:
    wanted = [str(cell) for cell in cells.tolist()]
    rows = [int(cell) for cell in wanted if cell.isdecimal() and int(cell) < n_rows]
    if len(rows) < len(wanted) or len(set(rows)) < len(rows):
        raise ValueError(
            f"the column {ROW!r} of {origin} must hold numbers from 0 to {n_rows - 1}, each once: "
            "it says which row of the features a label is for. Rename it if it means another thing."
        )
    return rows
