"""`read_table`: read a feature table from a file or frame of any format."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from twohot.base import ArgumentError, Labels, as_text, check_regular, missing_texts
from twohot.tables.column_roles import (
    ColumnChoice,
    ColumnRoles,
    Columns,
    assign_roles,
    choice_among,
    stray_note,
)
from twohot.tables.columns import (
    check_same_index,
    counts_up,
    pandas_index,
    stack_features,
    table_from_columns,
)
from twohot.tables.formats import read_source
from twohot.tables.label_file import choice_beside, join_labels, of_feature_file, with_labels
from twohot.tables.row_ids import COLUMN, RowIds
from twohot.tables.table import FeatureTable, code_by_name, new_classes


def read_table(
    source: Any,
    *,
    labels: Any = None,
    label_column: str | None = None,
    true_label_column: str | None = None,
    feature_column: str | Sequence[str] | None = None,
    split_column: str | None = None,
    item_column: str | None = None,
    id_column: str | None = None,
    group_column: str | None = None,
    classes: Sequence[object] | str | os.PathLike[str] | None = None,
    missing: Collection[str] = (),
    labelled: bool = True,
) -> FeatureTable:
    """Read features and labels from a file or a frame.

    Parameters
    ----------
    source : path or frame
        A `.features`, `.npz`, `.npy`, `.parquet`, `.csv` or `.tsv` file, or a pandas, polars or
        pyarrow table. Features are one column of lists, or all numeric columns that are neither ids
        nor an index and have no other role. A folder of Parquet files, a list of such paths, a URL
        that fsspec reads and a large Parquet file are read in parts: features stay in the files.
    labels : array, list, series or path, optional
        Labels to use instead of those in `source`: one label per row, or a label file. A label file
        is a `.csv` file with the column names in its first line, a `.parquet` or a `.npy` file. Its
        labels are joined to rows by its column of ids. A row that is not in the label file keeps
        its label. A pandas series must have the index of the data frame. A `.npy` source needs
        `labels`.
    label_column : str, optional
        Column of the labels; by default "label", "labels", "y", "target" or "class". In a label
        file, the name of the label column in `source` is a default too.
    true_label_column : str, optional
        Column of labels known to be correct; by default "true_label" or "true_labels", if there is
        such a column.
    feature_column : str or sequence of str, optional
        Columns of the features; patterns such as "e*" select all columns that match.
    split_column : str, optional
        Column of the splits; by default "split", if it exists.
    item_column : str, optional
        Column of paths or texts; by default "path", "text" or "item", if it exists.
    id_column : str, optional
        Column of row ids. By default "id", or a column whose name ends with "id" and whose values
        all differ. If there is none, ids are the index of a data frame, else the positions of rows,
        from 0. Pass "" to use positions.
    group_column : str, optional
        Column of groups: the rows of one patient, document or video. A group is never a feature.
    classes : sequence or path, optional
        The classes in order, or a text file with one class per line. By default, the classes that
        `source` lists, else the labels that occur, sorted: numbers by value, then text.
    missing : collection of str
        Texts that mean a missing label, for instance "NA". None, NaN, null and blank text always
        mean a missing label. So do texts that were passed as `missing` to make a feature file.
    labelled : bool, default=True
        Whether labels are required. If False, a table without labels has -1 in every row.

    Returns
    -------
    FeatureTable
        Features are copied only if the format requires a copy. The features of a feature file are
        memory-mapped. `notes` lists columns that may have become features by mistake.

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
        group=group_column,
        id=id_column,
    )
    given = [each for each in (source, labels, classes) if isinstance(each, str | os.PathLike)]
    with errors_named(*map(Path, given)):
        return _table(source, labels, choice, classes, missing, labelled=labelled)


@contextmanager
def errors_named(*paths: Path) -> Iterator[None]:
    """Add file names to errors about the content of files, if an error names no file.

    Examples
    --------
    >>> with errors_named(Path("pets.csv")):
    ...     raise ArgumentError({"label_column": "y"}, "is missing", "the columns are 'x'.")
    Traceback (most recent call last):
    twohot.base.messages.ArgumentError: label_column='y' is missing (in pets.csv): the columns...
    """
    files = " and ".join(map(str, paths))
    try:
        yield
    except ValueError as error:
        if not paths or any(file.name in str(error) for file in paths):
            raise
        if isinstance(error, ArgumentError):
            problem = f"{error.problem} (in {files})"
            raise type(error)(error.arguments, problem, error.advice, **error.mentions) from error
        raise ValueError(f"{files}: {error}") from error


def _table(
    source: Any,
    labels: Any,
    choice: ColumnChoice,
    classes: Any,
    missing: Collection[str],
    *,
    labelled: bool,
) -> FeatureTable:
    found = read_source(source, choice if labels is None else replace(choice, label=None))
    if isinstance(found, FeatureTable):
        return of_feature_file(found, labels, choice, missing, classes=classes)
    columns, found_choice, about = found
    named = about.get("classes") if classes is None else _class_names(classes)
    if labels is not None:  # a column that the user named may be in the label file
        found_choice = choice_among(columns, found_choice)
    roles = assign_roles(columns, found_choice)
    features = stack_features(columns, roles.features)
    ids = _row_ids(source, columns, roles, len(features))
    words = replace(roles, id=ids.column or None).in_words()
    if labels is not None:
        check_same_index("labels", labels, "source", pandas_index(source))
        given = None if roles.label is None else columns[roles.label]

        def stored() -> Labels | None:
            return None if given is None else code_by_name(given, named, missing=missing)

        joined = join_labels(labels, choice_beside(columns, choice), ids, (), stored)
        columns, roles = with_labels(columns, roles, joined, labels)
        ids, words = joined.ids, "; ".join(filter(None, [words, joined.words]))
    # A label file may have new classes from a review, unless the user listed all classes.
    how = {"labelled": labelled, "extend": labels is not None and classes is None}
    table = table_from_columns(features, columns, roles, named, missing=missing, **how)
    if labels is not None and named is not None:
        known = [as_text(entry) for entry in named]
        new = new_classes(table.classes, known, grouped="superclass" in about)
        words = "; ".join(filter(None, [words, new]))
    if "superclass" in about:
        groups = code_by_name(about["superclass"], about.get("superclass_names"), name="superclass")
        group_names = tuple(groups.classes.tolist())
        table = replace(table, superclass=groups.codes, superclass_names=group_names)
    # The numbers in a column of lists have no names.
    names = list(roles.features) if columns[roles.features[0]].ndim == 1 else []
    # If the user named the features, there is no note on unusual columns.
    note = stray_note(names, features) if names and choice.features is None else ""
    origin = {
        "read_from": Path(source).name if isinstance(source, str | os.PathLike) else "",
        "columns": words,
        **roles.names,
        "missing": list(missing_texts(missing)),
        "feature_columns": names,
        "notes": [note] if note else [],
    }
    provenance = {name: value for name, value in origin.items() if value}
    return replace(table, ids=ids, provenance=provenance)


def _row_ids(source: Any, columns: Columns, roles: ColumnRoles, n_rows: int) -> RowIds:
    """Return the ids: from a column, else from the index of a data frame, else positions."""
    if roles.id is not None:
        return RowIds.of_column(roles.id, columns[roles.id])
    index = pandas_index(source)
    if index is not None and index.is_unique and not counts_up(index):
        return RowIds(index, COLUMN, str(index.name or "index"))
    return RowIds.by_position(n_rows)


def _class_names(classes: Any) -> Sequence[object]:
    """Return classes as passed, or the lines of a file."""
    if not isinstance(classes, str | os.PathLike):
        return list(classes)
    path = Path(classes)
    check_regular(path)
    return path.read_text(encoding="utf-8-sig").splitlines()
