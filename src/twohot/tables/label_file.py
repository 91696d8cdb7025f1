"""Join labels to features: labels from an array, or from a label file.

A label file is joined to the features by row ids, so its lines may have any order. A row that is
not in the label file keeps its label. The column of ids has the name of the features' column of
ids, or the name "id", as in the files of an audit. A column "row" contains the positions of rows.
Features without ids, such as a plain array, get the ids of the label file. A label file without ids
has one line per row in the order of the user's file, including rows that an extraction skipped.
"""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    IntArray,
    Labels,
    as_cells,
    as_text,
    counted,
    first_few,
    missing_texts,
)
from twohot.tables.column_roles import LABELS, ColumnChoice, ColumnRoles, Columns, assign_roles
from twohot.tables.columns import item_kind, pandas_index
from twohot.tables.formats import file_cells
from twohot.tables.parquet_files import is_parquet_source
from twohot.tables.row_ids import PATH, POSITION, RowIds
from twohot.tables.table import (
    FeatureTable,
    code_by_name,
    code_positions,
    new_classes,
    warn_of_unused,
)

ROW = "row"


@dataclass(frozen=True, eq=False)
class JoinedLabels:
    """Labels, and other columns of a label file, in the order of the features."""

    columns: Columns  # arrays (n_rows,): the labels, and other columns with a role
    roles: ColumnRoles
    ids: RowIds  # ids of the features; ids of the label file if the features have none
    words: str  # text on the label file and the roles of its columns; empty for an array


@dataclass(frozen=True, eq=False)
class _LabelFile:
    """The labels that a user passed, with other columns of their file."""

    origin: str  # the path, or "labels" for an array
    columns: Columns
    is_file: bool  # false for arrays, and for .npy files, which have neither ids nor column names


def join_labels(
    labels: Any,
    choice: ColumnChoice,
    ids: RowIds,
    skipped: Collection[str],
    stored: Callable[[], Labels | None],
    *,
    stored_name: str = "",
) -> JoinedLabels:
    """Return labels in the order of the features.

    `skipped` contains the ids of the user's rows that are not in the features. `stored` returns the
    labels that are stored with the features. `stored_name` is the name of the column of the stored
    labels; it is also a default name of the label column in a label file.
    """
    _check_order(labels, ids)
    file = _opened(labels)
    columns = file.columns
    # A single column contains the labels.
    usual = tuple(columns)
    if len(columns) > 1:
        usual = tuple(dict.fromkeys(filter(None, [*LABELS, stored_name])))
    choice = replace(choice, id=_id_column(columns, choice, ids), features=None)
    roles = assign_roles(columns, choice, with_features=False, labels=usual)
    label = roles.label
    if label is None:
        problem = f"{file.origin} has the columns {first_few(columns)}"
        advice = "choose the label column by {label_column}."
        raise ArgumentError("", problem, advice, label_column=...)
    if roles.item is not None and not any(map(as_text, columns[roles.item].tolist())):
        roles = replace(roles, item=None)  # an audit without items writes an empty column
    places, ids = _places(file, roles, ids, skipped)
    is_row = places >= 0
    rows = places[is_row]
    joined: dict[str, Any] = {}
    for name in (label, roles.true_label, roles.split, roles.item, roles.group):
        if name is not None:
            joined[name] = np.full(len(ids), None, dtype=object)
            joined[name][rows] = columns[name][is_row]
    is_unlisted = np.ones(len(ids), dtype=bool)
    is_unlisted[rows] = False
    file_name = Path(file.origin).name
    words = f"{file_name}: {roles.in_words()}" if len(columns) > 1 else ""
    if is_unlisted.any() and (before := stored()) is not None:
        named = code_positions(joined[label], before.classes.tolist(), f"column {label!r}")
        cells = joined[label] if named is None else named.values
        joined[label] = np.where(is_unlisted, before.values, cells)
        n_unchanged = np.count_nonzero(is_unlisted & before.labelled)
        if n_unchanged:
            words += f"; rows that are not in {file_name} and keep their label: {n_unchanged}"
    return JoinedLabels(joined, roles, ids, words)


def _check_order(labels: Any, ids: RowIds) -> None:
    """Raise if the index of a pandas series consists of the row ids in another order."""
    index = pandas_index(labels) if getattr(labels, "ndim", 0) == 1 else None
    if index is not None and ids.column and _is_reordered(index, ids):
        problem = "has the row ids as its index, but in another order"
        advice = "sort the labels by row. If they are in row order, pass labels.to_numpy()."
        raise ArgumentError("labels", problem, advice)


def check_item_order(joined: JoinedLabels, items: Sequence[Any]) -> None:
    """Raise if a label file has the items of the features in another order.

    Labels without ids belong to the rows at their positions. If the label file was sorted, rows
    would get the labels of other rows. The order of the items shows that the file was sorted.
    """
    item = joined.roles.item
    if item is not None and _is_reordered(joined.columns[item].tolist(), items):
        problem = f"have the items of the features in the column {item!r}, but in another order"
        advice = "sort the labels like the features, or add a column of ids to both."
        raise ArgumentError("labels", problem, advice)


def _is_reordered(found: Iterable[Any], expected: Iterable[Any]) -> bool:
    """Return whether the found cells are the expected cells in another order."""
    theirs, ours = list(map(as_text, found)), list(map(as_text, expected))
    return theirs != ours and sorted(theirs) == sorted(ours)


def choice_beside(columns: Columns, choice: ColumnChoice) -> ColumnChoice:
    """Return the choice for a label file: ids, and columns that the features do not have."""
    roles = ("true_label", "split", "item", "group")
    return replace(choice, **{role: None for role in roles if getattr(choice, role) in columns})


def with_labels(
    columns: Columns, roles: ColumnRoles, joined: JoinedLabels, labels: Any
) -> tuple[Columns, ColumnRoles]:
    """Return the features' columns with the labels, and with columns for roles that they lack."""
    names: dict[str, Any] = {"label": joined.roles.label}
    for role in ("true_label", "split", "item", "group"):
        ours, theirs = getattr(roles, role), getattr(joined.roles, role)
        if ours and theirs and role != "item":  # audit files contain the items too
            problem = f"and the features both have a column {theirs!r}"
            raise ArgumentError({"labels": labels}, problem, "remove one of the two columns.")
        names[role] = ours or theirs
    added = {name: joined.columns[name] for name in names.values() if name in joined.columns}
    others = {name: cells for name, cells in columns.items() if name != roles.label}
    if roles.item is not None:
        check_item_order(joined, columns[roles.item].tolist())
        added.pop(roles.item, None)
    return {**others, **added}, replace(roles, **names)


def _opened(labels: Any) -> _LabelFile:
    if not isinstance(labels, str | os.PathLike):
        return _LabelFile("labels", {"labels": as_cells(labels, "labels")}, is_file=False)
    path = Path(labels)
    if path.is_dir() and not is_parquet_source(labels):
        advice = (
            "pass a label file (`twohot apply` without `--to` writes one), or extract features of "
            "the folder by `twohot extract`."
        )
        raise ArgumentError({"labels": path}, "is a folder", advice)
    return _LabelFile(str(labels), file_cells(labels), is_file=path.suffix != ".npy")


def _id_column(columns: Columns, choice: ColumnChoice, ids: RowIds) -> str | None:
    """Return the column of ids in a label file, which has the user's or the features' name."""
    # The user may have named the column of ids of the features, which the label file need not have.
    is_other = bool(choice.id) and choice.id == ids.column and choice.id not in columns
    if len(columns) == 1 or (choice.id is not None and not is_other):
        return choice.id
    usual = [ids.column] if ids.column else []
    usual += ["id"] + ["path"] * (ids.kind == PATH)
    return next((name for name in usual if name in columns), None)


def _places(
    file: _LabelFile, roles: ColumnRoles, ids: RowIds, skipped: Collection[str]
) -> tuple[IntArray, RowIds]:
    """Return for each label its row of the features (-1 for none), and the ids of the rows."""
    column = roles.id or (ROW if ROW in file.columns and ids.kind == POSITION else None)
    if column is None:
        return _places_in_order(file, ids, skipped), ids
    cells = file.columns[column]
    wanted = [as_text(cell) for cell in cells.tolist()]
    are_positions = ids.kind == POSITION and column != ROW
    if are_positions and not {*ids, *skipped}.issuperset(wanted):  # they are new ids
        places = _places_in_order(file, ids, skipped)
        in_order = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :]
        return places, RowIds.of_column(column, cells[in_order])
    places = ids.places_of(wanted, f"{file.origin}, column {column!r},", known=skipped)
    rows = places[places >= 0]
    # A permutation of 0, 1, … may be positions of rows, or new ids.
    if are_positions and len(rows) == len(ids) and np.any(np.diff(rows) < 0):
        problem = f"{file.origin} has the positions of rows as ids {column!r}, in another order"
        advice = f"rename the column to {ROW!r} if it contains positions. Else pass {{id_column}}."
        raise ArgumentError("", problem, advice, id_column="")
    return places, ids


def _places_in_order(file: _LabelFile, ids: RowIds, skipped: Collection[str]) -> IntArray:
    """Return the rows of labels without ids, which are in the order of the user's file."""
    n_labels, origin = len(next(iter(file.columns.values()))), file.origin
    if n_labels == len(ids) and (not file.is_file or isinstance(ids.values, range)):
        return np.arange(n_labels)
    if ids.kind != POSITION and file.is_file:
        problem = f"{origin} has no column of ids, but the features have ids ({ids.in_words()})"
        advice = "add a column of these ids, or name the column of ids by {id_column}."
        raise ArgumentError("", problem, advice, id_column=...)
    positions = [str(row) for row in range(n_labels)]
    if {*ids, *skipped} != {*positions}:
        header = "the first line of a CSV file has the column names, not a label"
        advice = f"pass one label per row ({header}), or add a column 'id' with the row ids."
        counts = f"{counted(n_labels, 'label')} for {len(ids)} rows of features"
        raise ValueError(f"{origin} has {counts}: {advice}")
    return ids.places_of(positions, origin, known=skipped)


# Feature files, with the labels in the file or with other labels ----------------------------------


def of_feature_file(
    table: FeatureTable,
    labels: Any,
    choice: ColumnChoice,
    missing: Collection[str],
    *,
    classes: Any,
) -> FeatureTable:
    """Return the table of a feature file; `labels`, if given, replace its labels."""
    of_other_roles = replace(choice, label=None, id=None, item=None, group=None)
    if of_other_roles != ColumnChoice() or classes is not None:
        problem = "the source is a feature file, which contains the roles of its columns"
        advice = "do not pass {classes} or names of columns."
        raise ArgumentError("", problem, advice, classes=...)
    # A text that meant a missing label when the file was written is not a class.
    new = [text for text in missing_texts(missing) if text not in table.missing]
    found = _without_classes(table, missing)
    if labels is not None:
        new = [text for text in new if text not in table.classes]
        return _relabelled(found, labels, choice, new)
    warn_of_unused(new, table.classes, table.label_column or "label")
    _check_same_names(table, choice)
    return found


def _without_classes(table: FeatureTable, missing: Collection[str]) -> FeatureTable:
    """Return a table without the classes whose names mean a missing label.

    Such names are the texts in `missing`, and the texts that were passed when the table was made.
    """
    texts = list(dict.fromkeys((*table.missing, *missing_texts(missing))))
    if not texts:
        return table
    table = replace(table, provenance={**table.provenance, "missing": texts})
    is_class = np.array([name not in texts for name in table.classes], dtype=bool)
    return table if is_class.all() else table.with_classes(is_class)


def _check_same_names(table: FeatureTable, choice: ColumnChoice) -> None:
    """Raise if the user names other columns than those from which the feature file was made."""
    for role, chosen, known in (
        ("label", choice.label, table.label_column),
        ("id", choice.id, table.ids.column),
        ("item", choice.item, table.item_column),
        ("group", choice.group, None),
    ):
        if chosen not in (None, known):
            stored = f" with the {role} column {known!r}" if known else ""
            problem = f"is for a label file, but the source is a feature file{stored}"
            advice = "pass {labels} too, or omit this argument."
            raise ArgumentError({f"{role}_column": chosen}, problem, advice, labels=...)


def _relabelled(
    table: FeatureTable, labels: Any, choice: ColumnChoice, missing: Iterable[str]
) -> FeatureTable:
    """Return a table with the labels of a label file.

    Warn if a text in `missing` does not occur in the label file.
    """
    stored = table.ids, table.skipped_ids, lambda: table.coded
    joined = join_labels(labels, choice, *stored, stored_name=table.label_column)
    if table.items is not None:
        check_item_order(joined, table.items)
    name, item = str(joined.roles.label), joined.roles.item
    classes = table.classes or None  # a table without labels has no classes
    cells = joined.columns[name]
    warn_of_unused(missing, as_cells(cells, name).tolist(), name)
    how: dict[str, Any] = {"missing": table.missing, "extend": True}
    coded = code_by_name(cells, classes, name=f"column {name!r}", **how)
    names = tuple(coded.classes.tolist())
    grouped = table.superclass is not None
    new = new_classes(names, classes, grouped=grouped) if classes else ""
    none = f"no label: {first_few(table.missing)}" if table.missing else ""
    words = "; ".join(filter(None, [table.provenance.get("columns", ""), joined.words, new, none]))
    changed: dict[str, Any] = {"provenance": {**table.provenance, "columns": words}}
    if item is not None and (table.items is None or choice.item is not None):
        items = [as_text(cell) for cell in joined.columns[item].tolist()]
        changed |= {"items": items, "item_kind": item_kind(item, items)}
    if joined.roles.group is not None:
        changed |= {"groups": joined.columns[joined.roles.group]}
    return replace(table, labels=coded.codes, classes=names, ids=joined.ids, **changed)


def with_used_classes(table: FeatureTable) -> FeatureTable:
    """Return a table without the classes that have neither a given nor a true label.

    A label file may have fewer classes than the features. An audit should not suggest the unused
    classes.
    """
    named = table.all_labels
    used = np.bincount(named[named != NO_LABEL], minlength=len(table.classes)) > 0
    return table if used.all() or not used.any() else table.with_classes(used)
