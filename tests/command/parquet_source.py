"""A folder of Parquet files with embeddings and noisy labels, in several parts."""

from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twohot.tables import parquet_files

N_ROWS, N_FEATURES = 600, 6
GENERATOR = np.random.default_rng(0)
TRUE = np.arange(N_ROWS) % 3
X = (np.eye(3, N_FEATURES)[TRUE] + GENERATOR.normal(0, 0.2, (N_ROWS, N_FEATURES))).astype("f4")
NAMES = np.array(["ant", "bee", "cow"])
WRONG = np.arange(N_ROWS) % 12 == 0
GIVEN = NAMES[np.where(WRONG, (TRUE + 1) % 3, TRUE)]
IDS = np.arange(N_ROWS) + 1000
# Rows of each file; files have row groups of 100 rows.
FILES = (250, 50, 300)
GROUP_ROWS = 100


def small_parts(monkeypatch, n_groups=1):
    """Let parts be so many row groups of one file, or all of them."""
    group = pq.ParquetFile(pa.BufferReader(content(slice(0, GROUP_ROWS)))).metadata.row_group(0)
    monkeypatch.setattr(parquet_files, "PART_BYTES", int((n_groups + 0.5) * group.total_byte_size))


def little_memory(monkeypatch):
    """Let any table be larger than memory, and its parts two row groups."""
    monkeypatch.setattr("twohot_command.audit.exceeds_memory", lambda _: True)
    small_parts(monkeypatch, 2)


@contextmanager
def stop_after(n_parts, module):
    """Interrupt a command when it has written so many parts by the `write_part` of a module."""
    write, written = module.write_part, []

    def write_or_stop(url, tables):
        if len(written) == n_parts:
            raise KeyboardInterrupt
        written.append(write(url, tables))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "write_part", write_or_stop)
        yield


def rows_table(rows, **others):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X[rows].ravel()), N_FEATURES)
    columns = {"id": IDS[rows], "vector": lists, "kind": GIVEN[rows]}
    return pa.table(columns | {name: values[rows] for name, values in others.items()})


def content(rows):
    sink = pa.BufferOutputStream()
    pq.write_table(rows_table(rows), sink, row_group_size=GROUP_ROWS)
    return sink.getvalue()


def write_source(folder, **others):
    """Write the files, with other columns if they are given; return the folder."""
    folder.mkdir()
    ends = np.cumsum(FILES)
    for number, (first, end) in enumerate(zip(ends - FILES, ends, strict=True)):
        table = rows_table(slice(first, end), **others)
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=GROUP_ROWS)
    return folder
