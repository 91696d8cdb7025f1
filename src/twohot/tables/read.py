"""Tables from whatever they are stored in: one function for all formats."""

import os
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot._checks.column_cells import as_text
from twohot._checks.labels import Labels
from twohot._checks.messages import ArgumentError, first_few
from twohot.tables.class_names import code_by_name
from twohot.tables.column_roles import ColumnChoice, ColumnRoles, Columns, assign_roles
from twohot.tables.columns import item_kind, stack_features, table_from_columns
from twohot.tables.csv_file import csv_columns
from twohot.tables.feature_file import read_features
from twohot.tables.frames import frame_columns, frame_ids, parquet_columns
from twohot.tables.label_file import choice_among, choice_beside, join_labels, with_labels
from twohot.tables.named_errors import naming_source
from twohot.tables.numpy_files import archive_columns, load_arrays, map_array
from twohot.tables.parquet_features import parquet_parts
from twohot.tables.parquet_files import is_parquet_source
from twohot.tables.row_ids import RowIds
from twohot.tables.stray_features import find_stray_features
from twohot.tables.table import FeatureTable

SUFFIXES = (".features", ".npz", ".npy", ".parquet", ".csv", ".tsv")
# Bytes of a Parquet file from which on its features are read in parts, and not as a whole.
PART_BYTES = 2**28
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
    id_column: str | None = None,
    classes: Sequence[object] | str | os.PathLike[str] | None = None,
    missing: Collection[str] = (),
    labelled: bool = True,
) -> FeatureTable:
    """Read features and labels from a file or a frame.

    Parameters
    ----------
    source : path or frame
        A `.features`, `.npz`, `.npy`, `.parquet`, `.csv` or `.tsv` file, or a pandas, polars or
        pyarrow table. Features are one column of lists, or all columns of numbers that are nothing
        else: neither ids nor an index. A folder of Parquet files, a list of such paths, a URL that
        fsspec reads and a large Parquet file are read in parts: features stay where they are.
    labels : array, list, series or path, optional
        Labels that are not in `source`, and replace those that are: one per row, or a separate
        label file, `.csv` (the first line names its columns), `.parquet` or `.npy`. Needed for
        `.npy`. Others are joined by their column of ids, and rows that they do not name keep their
        own label.
    label_column : str, optional
        Where the labels are; by default the column "label", "labels", "y", "target" or "class", of
        a separate label file also the one that the features have theirs from.
    true_label_column : str, optional
        Where labels known to be right are; by default "true_label" or "true_labels", if there.
    feature_column : str or sequence of str, optional
        Where the features are; patterns as "e*" take all columns that match.
    split_column : str, optional
        Which split a row belongs to; by default the column "split", if there.
    item_column : str, optional
        The path or text a row came from; by default "path", "text" or "item", if there.
    id_column : str, optional
        What each row is called; by default the column "id", or one whose name ends so and that
        differs in every row, else the index of a data frame, else the position of the row, from 0.
        Pass "" to go by position anyway.
    classes : sequence or path, optional
        The classes in their order, or a text file with one per line; by default what the file
        says, else the labels that occur: numbers by value, then text.
    missing : collection of str
        Texts that mean that a row has no label, "NA" for instance. None, NaN, null and blank text
        always do, and so does in a feature file what did when it was made.
    labelled : bool, default=True
        Whether labels have to be there. If not, a table without any has the label -1 in every row.

    Returns
    -------
    FeatureTable
        Features are copied only where the format needs it; those of a feature file are mapped.
        Its `notes` name columns that became features, and look as if they were none.

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
        id=id_column,
    )
    parts = _parquet_sources(source)
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    if path is not None and not parts and _suffix(path) == ".features":
        _check_says_itself(path, choice, classes)
        table = _without_classes(read_features(path), missing)
        if labels is None:
            _check_same_names(table, choice)
            return table
        return _relabelled(table, labels, choice)
    own = choice if labels is None else replace(choice, label=None)
    columns, own, about = _read_columns(source, path, own, parts)
    named = about.get("classes") if classes is None else _class_names(classes)
    # With a separate label file a column that was chosen may be in either.
    roles = assign_roles(columns, own if labels is None else choice_among(columns, own))
    features = stack_features(columns, roles.features)
    ids = _row_ids(source, columns, roles, len(features))
    words = replace(roles, id=ids.column or None).in_words()
    if labels is not None:
        given = None if roles.label is None else columns[roles.label]
        joined = join_labels(
            labels,
            choice_beside(columns, choice),
            ids,
            (),
            lambda: None if given is None else code_by_name(given, named, missing=missing),
        )
        columns, roles = with_labels(columns, roles, joined, labels)
        ids, words = joined.ids, "; ".join(filter(None, [words, joined.words]))
    # A review may have made new classes; whoever names all of them has none.
    how = {"labelled": labelled, "extend": labels is not None and classes is None}
    table = table_from_columns(
        features, columns, replace(roles, id=None), named, missing=missing, **how
    )
    if labels is not None and named is not None:
        known = [as_text(entry) for entry in named]
        made = _new_classes(table.classes, known, grouped="superclass" in about)
        words = "; ".join(filter(None, [words, made]))
    if "superclass" in about:
        groups = code_by_name(about["superclass"], about.get("superclass_names"), name="superclass")
        names = tuple(groups.classes.tolist())
        table = replace(table, superclass=groups.codes, superclass_names=names)
    read_from = {} if path is None else {"read_from": path.name}
    kept = {"columns": words, **roles.names, **_noted(missing)}
    # One column of lists has a name of its own, and its features have none.
    listed: dict[str, Any] = {}
    if columns[roles.features[0]].ndim == 1:
        listed["feature_columns"] = list(roles.features)
        # Whoever chose the features knows them.
        stray = find_stray_features(roles.features, features) if feature_column is None else None
        listed |= {} if stray is None else {"stray_features": asdict(stray)}
    return replace(table, ids=ids, provenance={**read_from, **kept, **listed})


def _without_classes(table: FeatureTable, missing: Collection[str]) -> FeatureTable:
    """Return a table without the classes whose names mean that there is no label.

    What was said to mean none when the table was made still does.
    """
    texts = dict.fromkeys((*table.missing, *_texts(missing)))
    if not texts:
        return table
    table = replace(table, provenance={**table.provenance, **_noted(texts)})
    given = table.coded.without(texts)
    if given.n_classes == len(table.classes):
        return table
    true, groups = table.true_labels, table.superclass
    if true is not None:
        true = Labels(true, table.coded.classes).without(texts).codes
    if groups is not None:
        groups = groups[np.isin(table.classes, given.classes.tolist())]
    names = tuple(given.classes.tolist())
    return replace(table, labels=given.codes, classes=names, true_labels=true, superclass=groups)


def _texts(missing: Collection[str]) -> Collection[str]:
    return (missing,) if isinstance(missing, str) else missing


def _noted(missing: Collection[str]) -> dict[str, list[str]]:
    """Return what is kept of the texts that mean no label, so that nobody has to repeat them."""
    return {"missing": list(_texts(missing))} if missing else {}


def _check_says_itself(path: Path, choice: ColumnChoice, classes: Any) -> None:
    """Raise if columns of a feature file are chosen, and not those of a label file beside it."""
    beside = replace(choice, label=None, id=None, item=None)
    if beside != ColumnChoice() or classes is not None:
        problem = f"{path} is a feature file, which says itself what its columns are"
        advice = "leave {classes} and the names of columns out."
        raise ArgumentError("", problem, advice, classes=...)


def _check_same_names(table: FeatureTable, choice: ColumnChoice) -> None:
    """Raise if a column is chosen that a feature file has not got its own from."""
    for role, chosen, known in (
        ("label", choice.label, table.label_column),
        ("id", choice.id, table.ids.column),
        ("item", choice.item, table.item_column),
    ):
        if chosen not in (None, known):
            own = f", whose {role} is {known!r}" if known else ""
            problem = f"is for a separate label file, and the source is a feature file{own}"
            advice = "pass {labels} too, or leave it out."
            raise ArgumentError({f"{role}_column": chosen}, problem, advice, labels=...)


def _relabelled(table: FeatureTable, labels: Any, choice: ColumnChoice) -> FeatureTable:
    """Return a table with the labels of a separate file in place of its own."""
    known = table.ids, table.skipped_ids, lambda: table.coded
    joined = join_labels(labels, choice, *known, own_name=table.label_column)
    name, item = str(joined.roles.label), joined.roles.item
    # A table without labels has no classes of its own.
    classes, said = table.classes or None, f"column {name!r}"
    cells = joined.columns[name]
    coded = code_by_name(cells, classes, name=said, missing=table.missing, extend=True)
    names = tuple(coded.classes.tolist())
    grouped = table.superclass is not None
    made = _new_classes(names, classes, grouped=grouped) if classes else ""
    none = f"no label: {first_few(table.missing)}" if table.missing else ""
    words = "; ".join(filter(None, [table.provenance.get("columns", ""), joined.words, made, none]))
    changed: dict[str, Any] = {"provenance": {**table.provenance, "columns": words}}
    if item is not None and (table.items is None or choice.item is not None):
        items = [as_text(cell) for cell in joined.columns[item].tolist()]
        changed |= {"items": items, "item_kind": item_kind(item, items)}
    return replace(table, labels=coded.codes, classes=names, ids=joined.ids, **changed)


def _new_classes(classes: Sequence[str], known: Sequence[str], *, grouped: bool) -> str:
    """Return which classes a label file has made, in words; a superclass it cannot give them."""
    new = [name for name in classes if name not in known]
    if new and grouped:
        none = f"{first_few(new)} {'is' if len(new) == 1 else 'are'} in none"
        problem = f"the table has superclasses, and {none}"
        advice = "leave these rows without a label, or pass features without superclasses."
        raise ArgumentError("", problem, advice)
    return f"new classes: {first_few(new)}" if new else ""


def _row_ids(source: Any, columns: Columns, roles: ColumnRoles, n_rows: int) -> RowIds:
    """Return the ids of a column, else those of a data frame's index, else positions."""
    if roles.id is not None:
        return RowIds.of_column(roles.id, columns[roles.id])
    is_frame = not isinstance(source, str | os.PathLike | list | tuple)
    return (frame_ids(source) if is_frame else None) or RowIds.by_position(n_rows)


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


def _parquet_sources(source: Any) -> list[Any]:
    """Return the paths of a table in parts; none if it is read as a whole."""
    if isinstance(source, list | tuple):
        return list(source)
    if is_parquet_source(source):
        return [source]
    path = Path(source) if isinstance(source, str | os.PathLike) else Path()
    is_large = path.suffix == ".parquet" and path.is_file() and path.stat().st_size > PART_BYTES
    return [source] if is_large else []


def _read_columns(
    source: Any, path: Path | None, choice: ColumnChoice, parts: list[Any]
) -> tuple[Columns, ColumnChoice, Columns]:
    """Return the columns of a source, what they are, and the arrays about its classes."""
    if parts:
        return *parquet_parts(parts, choice), {}
    if path is None:
        return frame_columns(source), choice, {}
    if path.suffix == ".parquet":
        return parquet_columns(path), choice, {}
    if path.suffix in (".csv", ".tsv"):
        return csv_columns(path, choice.is_text), choice, {}
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
