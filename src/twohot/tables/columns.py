"""A table by columns: which of them are features, labels, splits and items.

Whatever is read, a CSV file, a frame or an archive of arrays, becomes a dict of columns first: an
array of shape (n_rows,) each, or (n_rows, n_features) where a cell holds a list of numbers.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twohot._checks.column_cells import as_text, holds_numbers, is_missing
from twohot._checks.labels import NO_LABEL, code_labels
from twohot._checks.messages import ArgumentError, first_few
from twohot._types import FloatArray, IntArray
from twohot.tables.class_names import code_given_and_true
from twohot.tables.table import FeatureTable

Columns: TypeAlias = Mapping[str, NDArray[Any]]

# The names looked for where none is chosen. Two of them at once are an error, never a guess.
FEATURES = ("X", "features", "embeddings", "embedding")
LABELS = ("label", "labels", "y", "target", "class")
TRUE_LABELS = ("true_label", "true_labels")
SPLITS = ("split",)
ITEM_KINDS = {"path": "image", "text": "text", "item": ""}
# These splits come first and in this order, any other after them.
SPLIT_ORDER = ("train", "val", "test")


@dataclass(frozen=True, kw_only=True)
class ColumnChoice:
    """The columns that somebody chose; None: look for one of the usual names."""

    features: str | Sequence[str] | None = None  # one of lists, or any of numbers
    label: str | None = None
    true_label: str | None = None
    split: str | None = None
    item: str | None = None

    def text_columns(self) -> set[str]:
        """Return the columns that are no features, whatever is in them."""
        chosen = {self.label, self.true_label, self.split, self.item} - {None}
        return {*map(str, chosen), *LABELS, *TRUE_LABELS, *SPLITS, *ITEM_KINDS}


def table_from_columns(
    features: FloatArray,
    columns: Columns,
    choice: ColumnChoice,
    classes: Iterable[object] | None = None,
    *,
    missing: Collection[str] = (),
    labelled: bool = True,
) -> FeatureTable:
    """Return the table of features and what the columns say about them.

    Labels have to be there, unless `labelled` is false: then none of the rows needs one.

    Examples
    --------
    >>> columns = {"label": np.array(["dog", "cat"]), "split": np.array(["test", "train"])}
    >>> table = table_from_columns(np.eye(2), columns, ColumnChoice())
    >>> table.classes, table.split_names
    (('cat', 'dog'), ('train', 'test'))
    """
    label = pick("label_column", choice.label, LABELS, columns)
    if label is None and not labelled:
        label, columns = LABELS[0], {**columns, LABELS[0]: np.full(len(features), None)}
    if label is None:
        problem = f"no label column among {first_few(columns)}"
        advice = "name it by {label_column}, or pass {labels}."
        raise ArgumentError("", problem, advice, label_column=..., labels=...)
    true_label = pick("true_label_column", choice.true_label, TRUE_LABELS, columns)
    split = pick("split_column", choice.split, SPLITS, columns)
    item = pick("item_column", choice.item, tuple(ITEM_KINDS), columns)
    for name in (label, true_label, split, item):
        if name is not None and columns[name].shape != (len(features),):
            rows = f"{len(features)} rows of features: pass one value per row."
            raise ValueError(f"{name!r} has shape {columns[name].shape} for {rows}")
    given, true = code_given_and_true(columns, label, true_label, classes, missing=missing)
    split_codes, split_names = (None, ()) if split is None else code_splits(columns[split])
    return FeatureTable(
        features=features,
        labels=given.codes,
        classes=tuple(given.classes.tolist()),
        split=split_codes,
        split_names=split_names,
        items=None if item is None else [as_text(value) for value in columns[item].tolist()],
        item_kind=ITEM_KINDS.get(item or "", ""),
        true_labels=None if true is None else true.codes,
    )


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


def pick(argument: str, chosen: str | None, usual: Sequence[str], columns: Columns) -> str | None:
    """Return the column that was chosen, else the one with a usual name, else None."""
    if chosen is not None:
        if chosen not in columns:
            known = f"the columns are {first_few(columns)}."
            raise ArgumentError({argument: chosen}, "is missing", known)
        return chosen
    found = [name for name in usual if name in columns]
    if len(found) > 1:
        raise both_meant(argument, *found[:2])
    return found[0] if found else None


def both_meant(argument: str, one: str, other: str) -> ArgumentError:
    """Return what is said where an argument has to choose between two columns."""
    problem = f"{one!r} and {other!r} could both be meant"
    return ArgumentError("", problem, f"choose one by {{{argument}}}.", **{argument: ...})


def find_features(columns: Columns, choice: ColumnChoice) -> FloatArray:
    """Return the features: one column of lists, or all columns of numbers that nothing else is.

    Examples
    --------
    >>> find_features({"a": np.ones(2), "b": np.zeros(2), "y": np.arange(2)}, ColumnChoice())
    array([[1., 0.],
           [1., 0.]])
    """
    lists = {name: column for name, column in columns.items() if column.ndim == 2}
    names: Sequence[str] = []
    if choice.features is not None:
        names = [choice.features] if isinstance(choice.features, str) else choice.features
    elif lists:
        usual = pick("feature_column", None, FEATURES, lists)
        names = [usual or pick("feature_column", None, list(lists), lists) or ""]
    else:
        other = choice.text_columns()
        names = [name for name in columns if name not in other and holds_numbers(columns[name])]
    if not names:
        problem = f"no features among {first_few(columns)}"
        advice = "name a column of lists, or columns of numbers, by {feature_column}."
        raise ArgumentError("", problem, advice, feature_column=...)
    for name in names:
        pick("feature_column", name, (), columns)
    found = [_as_floats(name, columns[name]) for name in names]
    return found[0] if found[0].ndim == 2 and len(found) == 1 else np.column_stack(found)


def _as_floats(name: str, column: NDArray[Any]) -> FloatArray:
    """Return a column as floats; what are floats already is not copied."""
    if column.dtype.kind == "f" and column.dtype.itemsize <= 8:
        return column
    if column.dtype == object and holds_numbers(column):
        # Integers with a null among them: NaN, which whoever reads the features will refuse.
        return np.array([np.nan if is_missing(cell) else cell for cell in column.tolist()])
    if column.dtype.kind not in "fiu":
        advice = "choose others by {feature_column}."
        raise ArgumentError(f"column {name!r}", "holds no numbers", advice, feature_column=...)
    # Integers of up to two bytes, pixels for instance, are exact in float32.
    return column.astype(np.float32 if column.dtype.itemsize <= 2 else np.float64)
