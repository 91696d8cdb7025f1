"""Tables from whatever they are stored in: one function for all formats."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot._checks.labels import Labels
from twohot._checks.messages import ArgumentError
from twohot.tables.class_names import code_by_name
from twohot.tables.columns import LABELS, ColumnChoice, Columns, find_features, table_from_columns
from twohot.tables.csv_file import csv_columns
from twohot.tables.feature_file import read_features
from twohot.tables.frames import frame_columns, parquet_columns
from twohot.tables.label_file import read_labels, replace_labels
from twohot.tables.named_errors import naming_source
from twohot.tables.numpy_files import archive_columns, load_arrays, map_array
from twohot.tables.table import FeatureTable

SUFFIXES = (".features", ".npz", ".npy", ".parquet", ".csv")
# The arrays of an archive that describe classes and not rows.
CLASS_ARRAYS = ("classes", "superclass", "superclass_names")


@naming_source
def read_table(
    source: Any,
    *,
    labels: Any = None,
    label_column: str | None = None,
    true_label_column: str | None = None,
    feature_column: str | Sequence[str] | None = None,
    split_column: str | None = None,
    item_column: str | None = None,
    classes: Sequence[object] | str | os.PathLike[str] | None = None,
    missing: Collection[str] = (),
    labelled: bool = True,
) -> FeatureTable:
    """Read features and labels from a file or a frame.

    Parameters
    ----------
    source : path or frame
        A `.features`, `.npz`, `.npy`, `.parquet` or `.csv` file, or a pandas, polars or pyarrow
        table. Features are one column of lists, or all columns of numbers that are nothing else.
    labels : array, list, series or path, optional
        Labels that are not in `source`, and replace those that are: one per row, or a separate
        label file, `.csv` (the first line names its columns) or `.npy`. Needed for `.npy`. Where a
        CSV file has a column "row", as those of an audit, its labels are for these rows, counted
        from 0, and the others keep their own.
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
        The classes in their order, or a text file with one per line; by default what the file
        says, else the labels that occur: numbers by value, then text.
    missing : collection of str
        Texts that mean that a row has no label, "NA" for instance. None, NaN, null and blank text
        always do.
    labelled : bool, default=True
        Whether labels have to be there. If not, a table without any has the label -1 in every row.

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
            problem = f"{path} is a feature file, which says itself what its columns are"
            advice = "leave {classes} and the names of columns out."
            raise ArgumentError("", problem, advice, classes=...)
        table = _without_classes(read_features(path), missing)
        return _relabelled(table, labels, label_column, missing)
    here = choice if labels is None else replace(choice, label=None)
    columns, chosen, about = _read_columns(source, path, here)
    features = find_features(columns, chosen)
    named = about.get("classes") if classes is None else _class_names(classes)
    if labels is not None:
        own = next((columns[name] for name in LABELS if name in columns), None)
        given, label = read_labels(
            labels,
            label_column,
            len(features),
            own=lambda: None if own is None else code_by_name(own, named, missing=missing).values,
        )
        columns, chosen = replace_labels(columns, given, labels), replace(chosen, label=label)
    table = table_from_columns(features, columns, chosen, named, missing=missing, labelled=labelled)
    if "superclass" in about:
        groups = code_by_name(about["superclass"], about.get("superclass_names"), name="superclass")
        names = tuple(groups.classes.tolist())
        table = replace(table, superclass=groups.codes, superclass_names=names)
    return replace(table, provenance={} if path is None else {"read_from": path.name})


def _without_classes(table: FeatureTable, missing: Collection[str]) -> FeatureTable:
    """Return a table without the classes whose names mean that there is no label."""
    given = table.coded.without(missing)
    if given.n_classes == len(table.classes):
        return table
    true, groups = table.true_labels, table.superclass
    if true is not None:
        true = Labels(true, table.coded.classes).without(missing).codes
    if groups is not None:
        groups = groups[np.isin(table.classes, given.classes.tolist())]
    names = tuple(given.classes.tolist())
    return replace(table, labels=given.codes, classes=names, true_labels=true, superclass=groups)


def _relabelled(
    table: FeatureTable, labels: Any, label_column: str | None, missing: Collection[str]
) -> FeatureTable:
    """Return a table with the labels of a separate file in place of its own, if there are any."""
    if labels is None:
        if label_column is not None:
            problem = "is for a separate label file, and the source is a feature file"
            advice = "pass {labels} too, or leave it out."
            raise ArgumentError({"label_column": label_column}, problem, advice, labels=...)
        return table
    given, name = read_labels(labels, label_column, table.n_rows, own=lambda: table.given_labels)
    # A table without labels has no classes of its own.
    classes, said = table.classes or None, f"column {name!r}"
    coded = code_by_name(given[name], classes, name=said, missing=missing)
    return replace(table, labels=coded.codes, classes=tuple(coded.classes.tolist()))


def _suffix(path: Path) -> str:
    """Return the kind of a file that is there, or say which kinds can be read."""
    if path.is_dir():
        advice = "pass a table of features, which `twohot extract` makes of one."
        raise ValueError(f"{path} is a folder: {advice}")
    if path.suffix not in SUFFIXES:
        endings = ", ".join(SUFFIXES)
        raise ValueError(f"{path} ends in {path.suffix!r}: pass a file that ends in {endings}.")
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
