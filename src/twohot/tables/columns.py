"""A table by columns: what was read, a CSV file, a frame or an archive of arrays, made one record.

A column is an array of shape (n_rows,), or (n_rows, n_features) where a cell holds a list of
numbers. What each of them is, `column_roles` says.
"""

import mimetypes
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
    IntArray,
    as_text,
    code_labels,
    first_few,
    is_missing,
)
from twohot.tables.column_roles import LABELS, ColumnRoles, Columns
from twohot.tables.number_cells import holds_features
from twohot.tables.row_ids import RowIds
from twohot.tables.table import POSITIONS, FeatureTable, code_given_and_true

# What items are by the usual names of their column.
ITEM_KINDS = {"path": "image", "text": "text", "item": ""}
# These splits come first and in this order, any other after them.
SPLIT_ORDER = ("train", "val", "test")


def table_from_columns(
    features: FloatArray,
    columns: Columns,
    roles: ColumnRoles,
    classes: Iterable[object] | None = None,
    *,
    missing: Collection[str] = (),
    labelled: bool = True,
    extend: bool = False,
) -> FeatureTable:
    """Return the table of features and what the columns say about them.

    Labels have to be there, unless `labelled` is false: then none of the rows needs one. With
    `extend` they may name other classes beside the given ones.

    Examples
    --------
    >>> columns = {"label": np.array(["dog", "cat"]), "split": np.array(["test", "train"])}
    >>> roles = ColumnRoles(label="label", split="split")
    >>> table = table_from_columns(np.eye(2), columns, roles)
    >>> table.classes, table.split_names
    (('cat', 'dog'), ('train', 'test'))
    """
    label, split, item = roles.label, roles.split, roles.item
    if label is None and not labelled:
        label, columns = LABELS[0], {**columns, LABELS[0]: np.full(len(features), None)}
    if label is None:
        problem = f"no label column among {first_few(columns)}"
        advice = "name it by {label_column}, or pass {labels}."
        raise ArgumentError("", problem, advice, label_column=..., labels=...)
    for name in (label, roles.true_label, split, item, roles.group, roles.id):
        if name is not None and columns[name].shape != (len(features),):
            rows = f"{len(features)} rows of features: pass one value per row."
            raise ValueError(f"{name!r} has shape {columns[name].shape} for {rows}")
    how: dict[str, Any] = {"missing": missing, "extend": extend}
    given, true = code_given_and_true(columns, label, roles.true_label, classes, **how)
    split_codes, split_names = (None, ()) if split is None else code_splits(columns[split])
    items = None if item is None else [as_text(value) for value in columns[item].tolist()]
    return FeatureTable(
        features=features,
        labels=given.codes,
        classes=tuple(given.classes.tolist()),
        split=split_codes,
        split_names=split_names,
        items=items,
        item_kind=item_kind(item, items or []),
        true_labels=None if true is None else true.codes,
        ids=POSITIONS if roles.id is None else RowIds.of_column(roles.id, columns[roles.id]),
        groups=None if roles.group is None else columns[roles.group],
    )


def item_kind(column: str | None, items: Collection[str]) -> str:
    """Return what items are, by the name of their column, else by what they look like.

    Examples
    --------
    >>> item_kind("photo", ["a.jpg", "b.PNG"]), item_kind("message", ["Hello!"])
    ('image', 'text')
    """
    if column is None or column in ITEM_KINDS:
        return ITEM_KINDS.get(column or "", "")
    types = (mimetypes.guess_type(item)[0] or "" for item in items if item)
    return "image" if all(kind.startswith("image/") for kind in types) else "text"


def code_splits(values: NDArray[Any]) -> tuple[IntArray, tuple[str, ...]]:
    """Return the position of each row's split among the splits, and the splits."""
    # By name, whatever they are: the split 1 is not the second one.
    found = code_labels(values, name="split", by_name=True)
    names = sorted(
        found.classes,
        key=lambda name: SPLIT_ORDER.index(name) if name in SPLIT_ORDER else len(SPLIT_ORDER),
    )
    codes = found.among(np.array(names, dtype=object)).codes
    if np.any(codes == NO_LABEL):
        empty = f"split[{int(np.argmin(codes))}] is empty"
        raise ValueError(f"{empty}: name the split of every row, or of none.")
    return codes, tuple(names)


def stack_features(columns: Columns, names: Collection[str]) -> FloatArray:
    """Return the columns of features as one matrix; that of one column of lists is not copied.

    Examples
    --------
    >>> stack_features({"a": np.ones(2), "b": np.array([True, False])}, ["a", "b"])
    array([[1., 1.],
           [1., 0.]])
    """
    found = [_as_floats(name, columns[name]) for name in names]
    return found[0] if found[0].ndim == 2 and len(found) == 1 else np.column_stack(found)


def _as_floats(name: str, column: NDArray[Any]) -> FloatArray:
    """Return a column as floats; what are floats already is not copied."""
    if column.dtype.kind == "f" and column.dtype.itemsize <= 8:
        return column
    if column.dtype == object and holds_features(column):
        # A null becomes NaN, which whoever reads the features will refuse.
        cells = [np.nan if is_missing(cell) else float(cell) for cell in column.tolist()]
        return np.array(cells)
    if column.dtype.kind not in "fiub":
        advice = "choose others by {feature_column}."
        raise ArgumentError(f"column {name!r}", "holds no numbers", advice, feature_column=...)
    # Integers of up to two bytes, pixels for instance, are exact in float32.
    return column.astype(np.float32 if column.dtype.itemsize <= 2 else np.float64)
