"""Make a feature table from the columns of a frame, a CSV file or an archive of arrays.

A column is an array of shape (n_rows,), or (n_rows, n_features) if its cells are lists of numbers.
`column_roles` assigns a role to each column.
"""

import mimetypes
from collections.abc import Collection, Iterable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
    IntArray,
    as_cells,
    as_text,
    code_labels,
    first_few,
    is_missing,
    is_polars_frame,
)
from twohot.tables.column_roles import LABELS, ColumnRoles, Columns, holds_features
from twohot.tables.table import FeatureTable, code_given_and_true

# The kind of items for each default name of their column.
ITEM_KINDS = {"path": "image", "text": "text", "item": ""}
# Splits with these names come first, in this order; other splits follow.
SPLIT_ORDER = {"train": 0, "val": 1, "test": 2}


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
    """Return the table of features with the columns in their roles.

    If `labelled` is false, the table may have no labels. If `extend` is true, labels may have
    classes that are not in `classes`.
    """
    label, split, item = roles.label, roles.split, roles.item
    if label is None and not labelled:
        label, columns = LABELS[0], {**columns, LABELS[0]: np.full(len(features), None)}
    if label is None:
        problem = f"there is no label column among {first_few(columns)}"
        advice = "name the label column by {label_column}, or pass {labels}."
        raise ArgumentError("", problem, advice, label_column=..., labels=...)
    for name in (label, roles.true_label, split, item, roles.group):
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
        groups=None if roles.group is None else columns[roles.group],
    )


def item_kind(column: str | None, items: Collection[str]) -> str:
    """Return the kind of items by the name of their column, else by their content."""
    if column is None or column in ITEM_KINDS:
        return ITEM_KINDS.get(column or "", "")
    types = (mimetypes.guess_type(item)[0] or "" for item in items if item)
    return "image" if all(kind.startswith("image/") for kind in types) else "text"


def code_splits(values: NDArray[Any]) -> tuple[IntArray, tuple[str, ...]]:
    """Return the split of each row, as a position in the names of the splits, and the names."""
    # Splits are names, even if they are numbers: 1 is a name, not the second split.
    found = code_labels(values, name="split", by_name=True)
    names = sorted(found.classes, key=lambda name: SPLIT_ORDER.get(name, len(SPLIT_ORDER)))
    codes = found.among(np.array(names, dtype=object)).codes
    if np.any(codes == NO_LABEL):
        empty = f"split[{int(np.argmin(codes))}] is empty"
        raise ValueError(f"{empty}: set the split of every row, or of none.")
    return codes, tuple(names)


def stack_features(columns: Columns, names: Collection[str]) -> FloatArray:
    """Return the columns of features as one matrix; a single column of lists is not copied."""
    floats = [_as_floats(name, columns[name]) for name in names]
    return floats[0] if floats[0].ndim == 2 and len(floats) == 1 else np.column_stack(floats)


def _as_floats(name: str, column: NDArray[Any]) -> FloatArray:
    """Return a column as floats; floats are not copied."""
    if column.dtype.kind == "f" and column.dtype.itemsize <= 8:
        return column
    if column.dtype == object and holds_features(column):
        # A null becomes NaN, which raises an error when the features are used.
        cells = [np.nan if is_missing(cell) else float(cell) for cell in column.tolist()]
        return np.array(cells)
    if column.dtype.kind not in "fiub":
        advice = "choose other columns by {feature_column}."
        raise ArgumentError(f"column {name!r}", "holds no numbers", advice, feature_column=...)
    # Integers of at most two bytes, such as pixels, are exact in float32.
    return column.astype(np.float32 if column.dtype.itemsize <= 2 else np.float64)


# Columns of data frames, and the index of a pandas frame ------------------------------------------


def frame_columns(frame: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a pandas, polars or pyarrow table, or a Hugging Face Dataset."""
    if hasattr(frame, "with_format") and hasattr(frame, "features"):  # a Hugging Face Dataset
        frame = frame.with_format("arrow")[:]
    if is_polars_frame(frame):
        frame = frame.lazy().collect()
    try:
        columns = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        problem = f"has equal column names ({error})"
        raise ArgumentError("source", problem, "rename one of these columns.") from error
    except TypeError as error:
        advice = "pass a path, or a table of pandas, polars or pyarrow."
        raise ArgumentError("source", f"is a {type(frame).__name__}", advice) from error
    # Names may be numbers, which pandas uses by default.
    return {str(series.name): _cells(str(series.name), series) for series in columns.iter_columns()}


def pandas_index(data: Any) -> Any:
    """Return the index of a pandas frame or series; None for any other type."""
    native = nw.from_native(data, pass_through=True, allow_series=True)
    return nw.maybe_get_index(native) if isinstance(native, nw.DataFrame | nw.Series) else None


def counts_up(index: Any) -> bool:
    """Return whether an index is the default index 0, 1, 2, …."""
    return index.nlevels == 1 and list(index) == list(range(len(index)))


def check_same_index(name: str, data: Any, owner: str, index: Any) -> None:
    """Raise if the index of the pandas argument `data` differs from the `index` of its rows.

    `owner` is the name of the argument that has these rows. If one of the two is a default index 0,
    1, 2, …, there is no error, unless the other has the same numbers in another order.
    """
    found = pandas_index(data)
    if found is None or index is None or found.equals(index):
        return
    if (counts_up(found) or counts_up(index)) and set(found) != set(index):
        return
    problem = f"has another index than {owner}, so its entries may belong to other rows"
    order = "if both are in the same order"
    advice = f"pass {name}.loc[{owner}.index], or {name}.to_numpy() {order}."
    raise ArgumentError(name, problem, advice)


def _cells(name: str, series: Any) -> NDArray[Any]:
    """Return the cells of one column; lists become the rows of a matrix."""
    is_list = len(series) and isinstance(series[0], list | tuple | np.ndarray)
    if not is_list and not isinstance(series.dtype, nw.List | nw.Array):
        return as_cells(series.to_native(), name)
    cells: NDArray[Any] = series.to_numpy()
    if cells.dtype != object:
        return cells
    rows = [np.asarray(cell) for cell in cells]
    for place, row in enumerate(rows):
        if row.shape != rows[0].shape:
            places = f"{len(rows[0])} numbers in row 0, but not in row {place}"
            advice = "pass the same number of features in every row."
            raise ValueError(f"column {name!r} holds {places}: {advice}")
    return np.stack(rows)
