"""Write a folder of Parquet files, one per part of the input; an interrupted run can resume.

    _twohot.json        the record of the run, and the number of parts; written first
    part-00000.parquet  the rows of a part; a file exists only when it is complete

Readers of Parquet folders ignore names that begin with `_`. A folder that contains parts of another
run, or other files, is refused.
"""

import hashlib
import json
import mmap
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

import twohot
from twohot.base import (
    ArgumentError,
    FileThereError,
    IntArray,
    Matrix,
    as_url,
    counted,
    file_system,
    load_extra,
    whole_stored_file,
)
from twohot.rows import (
    ClusterTasks,
    PartedRows,
    SelectedRows,
    mapped_file,
    place_in_map,
    split_index,
)
from twohot.tables.parquet_files import PART_BYTES, RECORD, SUFFIX, ParquetFeatures, read_record
from twohot.tables.table import FeatureTable

PART = re.compile(rf"part-\d{{5,}}{re.escape(SUFFIX)}")
# Number of queued parts per worker thread, so that no thread is idle.
AHEAD = 2


@dataclass(frozen=True)
class PartFolder:
    """A folder with one output file per part; some files may not be written yet."""

    url: str
    n_parts: int

    def path_of(self, number: int) -> str:
        """Return the file of a part."""
        return f"{self.url}/part-{number:05d}{SUFFIX}"

    def missing(self) -> list[int]:
        """Return the parts that are not written yet."""
        *_, names = _content(self.url)
        written = {f"{self.url}/{name}" for name in names}
        return [number for number in range(self.n_parts) if self.path_of(number) not in written]


def begin_parts(folder: Any, about: Mapping[str, Any], n_parts: int, *, force: bool) -> PartFolder:
    """Return a folder for the parts of a run; an unfinished folder of the same run is reused.

    The folder is a local path, or a URL that fsspec supports. `about` and the version of twohot
    identify the run; `about` is written as JSON. If `force`, parts of another run are replaced.
    """
    check_parts(folder, about, n_parts, force=force)
    filesystem, path = file_system(as_url(folder))
    url, record = filesystem.unstrip_protocol(path), _record_of(about, n_parts)
    if read_record(folder) != record:
        remove_parts(folder)
        filesystem.makedirs(path, exist_ok=True)
        with whole_stored_file(f"{url}/{RECORD}") as file:
            file.write(json.dumps(record, indent=1).encode())
    return PartFolder(url, n_parts)


def check_parts(folder: Any, about: Mapping[str, Any], n_parts: int, *, force: bool) -> None:
    """Raise if `begin_parts` would raise; the folder is not changed."""
    filesystem, path, names = _content(folder)
    if filesystem.exists(path) and not filesystem.isdir(path):
        raise ArgumentError({"output": folder}, "is a file", "pass the name of a folder.")
    record, before = _record_of(about, n_parts), read_record(folder)
    if before is None and names:
        problem = f"holds {names[0]!r}, which twohot did not write"
        raise ArgumentError({"output": folder}, problem, "pass a new or an empty folder.")
    if before is not None and before != record and not force:
        others = [name for name in {**before, **record} if before.get(name) != record.get(name)]
        problem = f"holds parts of another run, which differs in {', '.join(others)}"
        advice = "choose another folder, or pass {force} to replace these parts."
        raise FileThereError({"output": folder}, problem, advice, force=True)


def remove_parts(folder: Any) -> None:
    """Remove the parts that twohot wrote to a folder, and the folder if it is then empty."""
    if read_record(folder) is None:
        return
    filesystem, path, names = _content(folder)
    parts = [name for name in names if PART.fullmatch(name)]
    # Remove the record last: while it exists, the other files are known to be parts of a run.
    for name in (*parts, RECORD):
        filesystem.rm_file(f"{path}/{name}")
    if len(names) == len(parts) + 1:
        with suppress(OSError):  # the folder may have unfinished files
            filesystem.rmdir(path)


def write_part(url: str, tables: Iterable[Any]) -> str:
    """Write pyarrow tables of one schema to a file, a row group per table; return `url`."""
    parquet = load_extra("pyarrow.parquet", "parquet", "Parquet files")
    waiting = iter(tables)
    with whole_stored_file(url) as file:
        first = next(waiting)  # there is at least one table, which may be empty
        # Close the writer before the file, even after an error.
        with parquet.ParquetWriter(file, first.schema) as writer:
            for table in chain([first], waiting):
                writer.write_table(table)
    return url


def write_parts(
    function: Callable[..., Any],
    calls: Iterable[Sequence[Any]],
    tasks: ClusterTasks | None,
    done: Callable[[], None],
) -> None:
    """Call a function, which writes a part, with each entry of `calls`, and `done` after each.

    If there are `tasks` of a cluster, its workers write the parts. A part that is lost with its
    worker is written again. Arguments are sent shortly before they are needed.
    """
    if tasks is None:
        for call in calls:
            function(*call)
            done()
        return
    distributed = load_extra("distributed", "dask", "clusters")
    waiting = iter(calls)
    n_threads = sum(tasks.client.nthreads().values())
    first = list(islice(waiting, max(1, AHEAD * n_threads)))
    running = distributed.as_completed(tasks.run(function, [tuple(call) for call in first]))
    for future in running:
        tasks.results([future])
        done()
        for call in islice(waiting, 1):
            running.update(tasks.run(function, [tuple(call)]))


def parts_in_words(folder: PartFolder, n_written: int) -> str:
    """Return text with the number of parts, and the number that an earlier run wrote."""
    before = folder.n_parts - n_written
    words = f", {before} of them already there" if before else ""
    return f"{counted(folder.n_parts, 'part')}{words}"


def _record_of(about: Mapping[str, Any], n_parts: int) -> dict[str, Any]:
    """Return the record of a run in JSON types, so that it equals a record read from a file."""
    record = {**about, "n_parts": n_parts, "twohot": twohot.__version__}
    return dict(json.loads(json.dumps(record)))


def _content(folder: Any) -> tuple[Any, str, list[str]]:
    """Return the file system of a folder, its path there, and the names of visible files."""
    filesystem, path = file_system(as_url(folder))
    if not filesystem.isdir(path):
        return filesystem, path, []
    filesystem.invalidate_cache(path)
    names = (entry.rstrip("/").rsplit("/", 1)[-1] for entry in filesystem.ls(path, detail=False))
    return filesystem, path, sorted(name for name in names if not name.startswith("."))


# Rows of a table, divided into the parts of its source; results are written in these parts -------
# A part consists of row groups of one Parquet file, or of consecutive rows of any other source.
# Parts do not depend on which rows of the source are selected, so a part may be empty.


# Number of rows that are read at once for the digest of a source.
BLOCK_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class SourceParts:
    """Selected rows of a source, and their division into parts."""

    stored: Matrix  # all rows of the source
    index: IntArray  # (n_rows,), the selected rows, in order
    bounds: IntArray  # (n_parts + 1,): part i has the rows index[bounds[i] : bounds[i + 1]]

    @property
    def n_parts(self) -> int:
        """Number of parts, including parts without selected rows."""
        return len(self.bounds) - 1

    def places(self, number: int) -> slice:
        """Return the positions of a part's rows among the selected rows."""
        return slice(int(self.bounds[number]), int(self.bounds[number + 1]))

    def stored_rows(self, number: int) -> IntArray:
        """Return the positions of a part's selected rows in the source."""
        return self.index[self.places(number)]

    def digest(self) -> str:
        """Return a digest of the selected rows. For Parquet files, it is of their footers."""
        digest = hashlib.sha256(repr((self.stored.shape, str(self.stored.dtype))).encode())
        if isinstance(self.stored, ParquetFeatures):
            digest.update(self.stored.files.digest().encode())
            digest.update(repr(self.stored.columns).encode())
        else:
            for block in blocks_of_rows(self.stored, self.index, BLOCK_ROWS):
                digest.update(np.ascontiguousarray(block).tobytes())
        digest.update(self.index.tobytes())
        return digest.hexdigest()


def source_parts(features: Matrix, *, n_least: int = 1) -> SourceParts:
    """Return the rows of a table, divided into the parts of their source.

    There are at least `n_least` parts, if there are as many rows. The parts of Parquet files do not
    depend on `n_least`.
    """
    selected = isinstance(features, SelectedRows)
    stored = features.X if selected else features
    index = features.index if selected else np.arange(features.shape[0])
    if isinstance(stored, ParquetFeatures):
        ends = stored.bounds[[part[-1] + 1 for part in stored.files.parts]]
    else:
        n_rows, n_features = stored.shape
        most = PART_BYTES // max(1, n_features * np.dtype(stored.dtype).itemsize)
        size = max(1, min(most, -(-n_rows // n_least)))
        ends = np.append(np.arange(size, n_rows, size), n_rows)
    return SourceParts(stored, index, np.searchsorted(index, np.append(0, ends)))


def known_by(table: FeatureTable, parts: SourceParts) -> dict[str, str]:
    """Return values that identify a table: column roles, and digests of rows, ids and items."""
    names = hashlib.sha256()
    for first in range(0, table.n_rows, BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        items = None if table.items is None else list(table.items[block])
        names.update(json.dumps([list(map(str, table.ids.cells(block))), items]).encode())
    columns, source = table.columns_in_words, parts.digest()
    return {"columns": columns, "source": source, "ids": names.hexdigest()}


def blocks_of_rows(stored: Matrix, rows: IntArray, size: int) -> Iterator[Any]:
    """Yield the rows at ascending positions of a source, at most `size` at once."""
    if not isinstance(stored, ParquetFeatures):
        for first in range(0, len(rows), size):
            yield np.asarray(stored[rows[first : first + size]])
        return
    for group, places in split_index(rows, stored.bounds):
        decoded = stored.decode(group)
        for first in range(0, len(places), size):
            yield decoded[places[first : first + size]]


# Features of a table as a Dask array; workers read the chunks -------------------------------------


def as_dask(features: Matrix, *, n_workers: int = 1, parts: SourceParts | None = None) -> Any:
    """Return features as a Dask array with one chunk per part of their source.

    Workers read memory-mapped features and Parquet files when needed, so all workers need access to
    these paths. Features in memory are sent to the workers. If `parts` is not given, there is at
    least one chunk per worker, except for Parquet files.
    """
    dask = load_extra("dask", "dask", "clusters")
    array = load_extra("dask.array", "dask", "clusters")
    if parts is None:
        parts = source_parts(features, n_least=n_workers)
    read = dask.delayed(read_rows, pure=False)
    opened = dask.delayed(features_opener(parts.stored))
    chunks = []
    for number in range(parts.n_parts):
        rows = parts.stored_rows(number)
        shape = len(rows), features.shape[1]
        chunks.append(array.from_delayed(read(opened, rows), shape, dtype=features.dtype))
    return array.concatenate(chunks)


def features_opener(stored: Matrix) -> Callable[[], Matrix]:
    """Return a function that opens the stored rows of a source in any process."""
    mapped = mapped_file(stored)
    if isinstance(stored, np.memmap) and mapped and stored.size and min(stored.strides) > 0:
        # A memory map begins at a multiple of the granularity, at or before the requested offset.
        start = stored.offset - stored.offset % mmap.ALLOCATIONGRANULARITY
        place = stored.filename, start + place_in_map(mapped, stored)
        return partial(open_mapped, *place, stored.dtype, stored.shape, stored.strides)
    return partial(_same, stored if isinstance(stored, PartedRows) else np.asarray(stored))


def open_mapped(
    path: Any, first: int, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]
) -> NDArray[Any]:
    """Return the array that begins at the byte `first` of a file, memory-mapped."""
    n_bytes = dtype.itemsize + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    cells = np.memmap(path, np.uint8, "r", first, (n_bytes,))
    return np.ndarray(shape, dtype, cells, strides=strides)


def read_rows(opened: Callable[[], Matrix], rows: IntArray) -> NDArray[Any]:
    """Return the rows of features at ascending positions."""
    stored = opened()
    blocks = list(blocks_of_rows(stored, rows, max(1, len(rows))))
    nothing = np.empty((0, stored.shape[1]), stored.dtype)
    return blocks[0] if len(blocks) == 1 else np.concatenate([nothing, *blocks])


def _same(stored: Matrix) -> Matrix:
    return stored
