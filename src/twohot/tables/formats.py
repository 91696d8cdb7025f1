"""The columns of a table, from whatever it is stored in."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twohot.tables.column_roles import ColumnChoice, Columns
from twohot.tables.csv_file import csv_columns, csv_header
from twohot.tables.frames import frame_columns, parquet_columns, parquet_header
from twohot.tables.numpy_files import archive_columns, load_arrays, map_array
from twohot.tables.parquet_features import parquet_parts
from twohot.tables.parquet_files import is_parquet_source, open_files

SUFFIXES = (".features", ".npz", ".npy", ".parquet", ".csv", ".tsv")
# Bytes of a Parquet file up to which it is read as a whole; the features of others, in parts.
WHOLE_BYTES = 2**28
# The arrays of an archive that describe classes and not rows.
CLASS_ARRAYS = ("classes", "superclass", "superclass_names")


def read_columns(
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


def parquet_sources(source: Any) -> list[Any]:
    """Return the paths of a table in parts; none if it is read as a whole."""
    if isinstance(source, list | tuple):
        return list(source)
    if is_parquet_source(source):
        return [source]
    path = Path(source) if isinstance(source, str | os.PathLike) else Path()
    is_large = path.suffix == ".parquet" and path.is_file() and path.stat().st_size > WHOLE_BYTES
    return [source] if is_large else []


def checked_suffix(path: Path) -> str:
    """Return the kind of a file that is there, or say which kinds can be read."""
    if path.is_dir():
        advice = "pass a table of features, which `twohot extract` makes of one."
        raise ValueError(f"{path} is a folder: {advice}")
    if path.suffix not in SUFFIXES:
        what = f"ends in {path.suffix!r}"
        if str(path) == "-":
            what = "is standard input, which is not read"
        raise ValueError(f"{path} {what}: pass a file that ends in {', '.join(SUFFIXES)}.")
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: pass the path of a table of features.")
    return path.suffix


# The names of a table's columns, before anything else of it is read -------------------------------


def table_header(sources: Sequence[Path]) -> dict[str, bool]:
    r"""Return the columns of a table, and whether each holds lists of numbers.

    Only CSV and Parquet files name their columns at the front; of all others there are none.

    Examples
    --------
    >>> _ = Path("pets.csv").write_text("weight,label\n4.5,cat\n")
    >>> table_header([Path("pets.csv")])
    {'weight': False, 'label': False}
    """
    first, *others = sources
    if others or is_parquet_source(first):
        return dict.fromkeys(open_files(sources).schema.names, False)
    if not first.is_file():
        return {}
    if first.suffix in {".csv", ".tsv"}:
        return dict.fromkeys(csv_header(first), False)
    return parquet_header(first) if first.suffix == ".parquet" else {}
