"""The file formats of tables.

To add a format, write a module that reads it, and add a record to FORMATS. Messages and help texts
list the endings in FORMATS.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from twohot.tables.column_roles import ColumnChoice, Columns
from twohot.tables.columns import frame_columns
from twohot.tables.csv_file import csv_columns, csv_header
from twohot.tables.feature_file import read_features
from twohot.tables.numpy_files import archive_columns, load_arrays, map_array
from twohot.tables.parquet_files import (
    SUFFIX,
    is_parquet_source,
    parquet_columns,
    parquet_header,
    parquet_parts,
)
from twohot.tables.table import FeatureTable

# Larger Parquet files are read in parts: their features stay in the files.
WHOLE_BYTES = 2**28
# Arrays in an archive that describe classes, not rows.
CLASS_ARRAYS = ("classes", "superclass", "superclass_names")
# The columns of a source, the columns that the user chose, and arrays that describe classes.
Source: TypeAlias = tuple[Columns, ColumnChoice, Columns]


@dataclass(frozen=True, kw_only=True)
class Format:
    """The readers of files with one ending; None: the format does not support this use."""

    columns: Callable[[Path, ColumnChoice], Source] | None = None  # None: a feature file
    header: Callable[[Path], dict[str, bool]] | None = None  # see `table_header`
    cells: Callable[[Path], Columns] | None = None  # see `file_cells`
    is_correctable: bool = False  # whether `twohot.review.own_file` can replace its labels


def _archive(path: Path, choice: ColumnChoice) -> Source:
    arrays = load_arrays(path)
    about = {name: arrays.pop(name) for name in CLASS_ARRAYS if name in arrays}
    return *archive_columns(arrays, choice), about


CSV = Format(
    columns=lambda path, choice: (csv_columns(path, choice.is_text), choice, {}),
    header=lambda path: dict.fromkeys(csv_header(path), False),
    cells=csv_columns,
    is_correctable=True,
)
PARQUET = Format(
    columns=lambda path, choice: (parquet_columns([path]), choice, {}),
    header=lambda path: parquet_header([path]),
    cells=lambda path: parquet_columns([path]),
    is_correctable=True,
)
FORMATS = {
    ".features": Format(),
    ".npz": Format(columns=_archive),
    ".npy": Format(
        columns=lambda path, choice: ({"X": map_array(path)}, choice, {}),
        cells=lambda path: {"labels": map_array(path)},
    ),
    SUFFIX: PARQUET,
    ".csv": CSV,
    ".tsv": CSV,
}


def listed_endings(is_meant: Callable[[Format], object]) -> str:
    """Return the endings of some formats as text.

    Examples
    --------
    >>> listed_endings(lambda each: each.is_correctable)
    '.parquet, .csv or .tsv'
    """
    *others, last = (ending for ending, each in FORMATS.items() if is_meant(each))
    return f"{', '.join(others)} or {last}"


# Endings of files with features, of label files, and of files whose labels twohot can correct.
FEATURE_ENDINGS = ", ".join(FORMATS)
LABEL_ENDINGS = listed_endings(lambda each: each.cells)
CORRECTABLE_ENDINGS = listed_endings(lambda each: each.is_correctable)


def format_of(path: Path) -> Format | None:
    """Return the format of a file by its ending; None for an unknown ending."""
    return FORMATS.get(path.suffix.lower())


def read_source(source: Any, choice: ColumnChoice) -> FeatureTable | Source:
    """Return the `Source` of a path, of a list of paths to Parquet files, or of a frame.

    A feature file is returned as a table, because it contains the roles of its columns.
    """
    if isinstance(source, list | tuple):
        return *parquet_parts(source, choice), {}
    if not isinstance(source, str | os.PathLike):
        return frame_columns(source), choice, {}
    path = Path(source)
    is_large = path.suffix == SUFFIX and path.is_file() and path.stat().st_size > WHOLE_BYTES
    if is_large or is_parquet_source(source):
        return *parquet_parts([source], choice), {}
    if path.is_dir():
        advice = "extract features of its files by `twohot extract`, and pass the feature file."
        raise ValueError(f"{path} is a folder: {advice}")
    if path.suffix not in FORMATS:
        what = f"ends in {path.suffix!r}" if path.suffix else "has no file ending"
        if str(path) == "-":
            what = "is standard input, which is not supported"
        raise ValueError(f"{path} {what}: pass a file that ends in {FEATURE_ENDINGS}.")
    if not path.is_file():
        what = "is a pipe or a device" if path.exists() else "does not exist"
        raise FileNotFoundError(f"{path} {what}: pass the path of a table of features.")
    read = FORMATS[path.suffix].columns
    return read(path, choice) if read else read_features(path)


def table_header(sources: Sequence[Path]) -> dict[str, bool]:
    """Return for each column of a table whether it contains lists; read only the header.

    CSV and Parquet files have a header with column names. For other formats, the result is empty.
    """
    first, *others = sources
    if others or is_parquet_source(first):
        return parquet_header(sources)
    read = FORMATS[first.suffix].header if first.suffix in FORMATS else None
    return read(first) if read is not None and first.is_file() else {}


def file_cells(source: str | os.PathLike[str]) -> Columns:
    """Return the columns of a label file or a list of items, with cells as stored.

    A file with an unknown ending is read as a CSV file.
    """
    if is_parquet_source(source):
        return parquet_columns([source])
    path = Path(source)
    read = (format_of(path) or CSV).cells or csv_columns
    return read(path)
