"""The names of a table's columns, before anything else of it is read."""

from collections.abc import Sequence
from pathlib import Path

from twohot.tables.csv_file import csv_header
from twohot.tables.frames import parquet_header
from twohot.tables.parquet_files import is_parquet_source, open_files


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
