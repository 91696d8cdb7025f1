"""Tables from whatever they are stored in: one function for all formats."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twohot._checks.labels import NO_LABEL
from twohot.tables.columns import (
    ColumnChoice,
    Columns,
    find_features,
    table_from_columns,
)
from twohot.tables.csv_file import csv_columns
from twohot.tables.feature_file import read_features
from twohot.tables.frames import frame_columns, parquet_columns
from twohot.tables.label_file import own_labels, read_labels
from twohot.tables.labels import encode_labels
from twohot.tables.numpy_files import archive_columns, load_arrays, map_array
from twohot.tables.table import FeatureTable

SUFFIXES = (".features", ".npz", ".npy", ".parquet", ".csv")
# The arrays of an archive that describe classes and not rows.
CLASS_ARRAYS = ("classes", "superclass", "superclass_names")


def read_table(
    source: Any,
    *,
    labels: ArrayLike | str | os.PathLike[str] | None = None,
    label_column: str | None = None,
    true_label_column: str | None = None,
    feature_column: str | Sequence[str] | None = None,
    split_column: str | None = None,
    item_column: str | None = None,
    classes: Sequence[object] | str | os.PathLike[str] | None = None,
    labelled: bool = True,
    missing: Collection[str] = (),
) -> FeatureTable:
    """Read features and labels from a file or a frame.

    Parameters
    ----------
    source : path or frame
        A `.features`, `.npz`, `.npy`, `.parquet` or `.csv` file, or a pandas, polars or pyarrow
        table. Features are one column of lists, or all columns of numbers that are nothing else.
    labels : array or path, optional
        Labels that stand apart: one per row, or a CSV file whose first line names its columns, or
        a `.npy` file. They replace labels in `source`. Needed for `.npy`. Where a CSV file has a
        column "row", as those of an audit, its labels are for these rows, counted from 0, and the
        others keep their own.
    label_column : str, optional
        Where the labels are; by default the column "label", "labels", "y", "target" or "class".
    true_label_column : str, optional
        Where labels known to be right are; by default "true_label" or "true_labels", if there.
    feature_column : str or sequence of str, optional
        Where the features are.
    split_column : str, optional
        Which split a row belongs to; by default the column "split", if there.
    item_column : str, optional
        The path or text a row came from; by default "path", "text" or "item", if there.
    classes : sequence or path, optional
        The classes in their order, or a text file with one a line; by default what the file says,
        else the labels that occur, sorted.
    labelled : bool, default=True
        Whether labels have to be there. If not, a table without any has the label -1 in every row.
    missing : collection of str
        Texts that mean no label, beside those that are empty or blank.

    Returns
    -------
    FeatureTable
        Features are copied only where the format needs it; those of a feature file are mapped.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0.5, 1.5], "y": ["dog", None]})
    >>> table = read_table(frame)
    >>> table.features.tolist(), table.classes, table.labels
    ([[0.5], [1.5]], ('dog',), array([ 0, -1]))
    """
    choice = ColumnChoice(
        features=feature_column,
        label=label_column,
        true_label=true_label_column,
        split=split_column,
        item=item_column,
    )
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    if path is not None and _suffix(path) == ".features":
        if replace(choice, label=None) != ColumnChoice() or classes is not None:
            raise ValueError(
                f"{path} is a feature file, which says itself what its columns are: leave "
                "classes=… and the names of columns out."
            )
        return _without(_relabelled(read_features(path), labels, label_column), missing)
    here = replace(choice, label=None) if labels is not None else choice
    columns, chosen, about = _read_columns(source, path, here)
    features = find_features(columns, chosen)
    named = about.get("classes") if classes is None else _class_names(classes)
    if labels is not None:
        apart = read_labels(
            labels, label_column, len(features), own=partial(own_labels, columns, named)
        )
        columns, chosen = apart.beside(columns), replace(chosen, label=apart.name)
    table = table_from_columns(features, columns, chosen, named, labelled=labelled)
    if "superclass" in about:
        codes, names = encode_labels(
            about["superclass"], about.get("superclass_names"), name="superclass"
        )
        table = replace(table, superclass=codes, superclass_names=names)
    table = replace(table, provenance={} if path is None else {"read_from": path.name})
    return _without(table, missing)


def _without(table: FeatureTable, missing: Collection[str]) -> FeatureTable:
    """Return the table without the classes that mean no label."""
    if not missing:
        return table
    kept = [code for code, name in enumerate(table.classes) if name not in missing]
    place = np.full(len(table.classes) + 1, NO_LABEL)  # the last entry is for no label, at -1
    place[kept] = np.arange(len(kept))
    return replace(
        table,
        labels=place[table.labels],
        true_labels=None if table.true_labels is None else place[table.true_labels],
        classes=tuple(table.classes[code] for code in kept),
        superclass=None if table.superclass is None else table.superclass[kept],
    )


def _relabelled(table: FeatureTable, labels: Any, label_column: str | None) -> FeatureTable:
    """Return a table with labels that stand apart in place of its own, if there are any."""
    if labels is None:
        if label_column is not None:
            raise ValueError(
                f"label_column={label_column!r} is for labels that stand apart: pass these too "
                "by labels=…, or leave it out."
            )
        return table
    apart = read_labels(labels, label_column, table.n_rows, own=lambda: table.given_labels)
    # A table without labels has no classes of its own.
    codes, classes = encode_labels(apart.columns[apart.name], table.classes or None)
    return replace(table, labels=codes, classes=classes)


def _suffix(path: Path) -> str:
    """Return the kind of a file that is there, or say which kinds can be read."""
    if path.is_dir():
        raise ValueError(
            f"{path} is a folder: pass a table of features, which `twohot extract` makes of images "
            "and texts."
        )
    if path.suffix not in SUFFIXES:
        raise ValueError(
            f"{path} ends in {path.suffix!r}: pass a file that ends in {', '.join(SUFFIXES)}."
        )
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: pass the path of a table of features.")
    return path.suffix


def _read_columns(
    source: Any, path: Path | None, choice: ColumnChoice
) -> tuple[Columns, ColumnChoice, Columns]:
    """Return the columns of a source, what they are, and the arrays about its classes."""
    if path is None:
        return frame_columns(source), choice, {}
    if path.suffix == ".parquet":
        return parquet_columns(path), choice, {}
    if path.suffix == ".csv":
        return csv_columns(path, choice.text_columns()), choice, {}
    if path.suffix == ".npy":
        return {"X": map_array(path)}, choice, {}
    arrays = load_arrays(path)
    about = {name: arrays.pop(name) for name in CLASS_ARRAYS if name in arrays}
    return *archive_columns(arrays, choice), about


def _class_names(classes: Any) -> Sequence[object]:
    """Return classes as they were given, or the lines of a file."""
    if not isinstance(classes, str | os.PathLike):
        return list(classes)
    return Path(classes).read_text(encoding="utf-8-sig").splitlines()
