"""Parquet files that form one table: files, folders of files, or several of both.

A path is a local path, or a URL such as s3://bucket/folder, which fsspec opens.

Decoding a row group takes at least as long as a pass over its rows. So each row group is decoded
once, and its features are stored in a temporary file for later passes. If there is no space for the
temporary file, row groups are decoded again in every pass.
"""

import hashlib
import io
import os
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import (
    ArgumentError,
    IntArray,
    NotFiniteError,
    as_url,
    check_finite,
    file_system,
    first_few,
    load_extra,
    parse_json,
)
from twohot.rows import PartedRows
from twohot.tables.column_roles import ColumnChoice, assign_roles, choice_among, listed_columns
from twohot.tables.columns import frame_columns, stack_features

SUFFIX = ".parquet"
# A run of twohot writes its output as a folder of parts. This file in the folder records the run
# and the number of parts.
RECORD = "_twohot.json"
# Bytes of a part, which is read, processed and written as a unit. A part consists of row groups of
# one file that take at most this size together, or of one larger row group.
PART_BYTES = 2**26
# Number of first rows that are read to assign roles to the columns.
HEAD_ROWS = 64


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """Files of one schema; files of a folder are sorted by name."""

    filesystems: Sequence[Any]  # of fsspec, one per file
    paths: Sequence[str]
    footers: Sequence[Any]  # pyarrow's metadata: row groups and schema

    @cached_property
    def groups(self) -> list[tuple[int, int]]:
        """The row groups in order, as the number of the file and of the group in the file."""
        counts = (footer.num_row_groups for footer in self.footers)
        return [(file, group) for file, count in enumerate(counts) for group in range(count)]

    @cached_property
    def bounds(self) -> IntArray:
        """(n_groups + 1,) position of the first row of each group, then the number of rows."""
        sizes = [self.footers[file].row_group(group).num_rows for file, group in self.groups]
        return np.append(0, np.cumsum(np.array(sizes, dtype=np.intp)))

    @cached_property
    def parts(self) -> list[range]:
        """The parts in order, as ranges of row groups, which cover all groups."""
        parts: list[range] = []
        file_before, n_bytes = -1, 0
        for number, (file, group) in enumerate(self.groups):
            size = self.footers[file].row_group(group).total_byte_size
            if file == file_before and n_bytes + size <= PART_BYTES:
                parts[-1] = range(parts[-1].start, number + 1)
                n_bytes += size
            else:
                parts.append(range(number, number + 1))
                file_before, n_bytes = file, size
        return parts

    def digest(self) -> str:
        """Return a digest of the footers, and of the sizes and modification times of the files.

        Two files with the same rows in another order may have equal footers.
        """
        digest = hashlib.sha256()
        files = zip(self.filesystems, self.paths, self.footers, strict=True)
        for filesystem, path, footer in files:
            content = io.BytesIO()
            footer.write_metadata_file(content)
            digest.update(content.getvalue())
            digest.update(repr(_version_of(filesystem, path)).encode())
        return digest.hexdigest()

    @property
    def schema(self) -> Any:
        """The columns and their types, as a pyarrow schema."""
        return self.footers[0].schema.to_arrow_schema()

    def read_part(self, number: int, columns: Sequence[str] | None = None) -> Any:
        """Return some columns of a part, by default all columns, as a pyarrow table."""
        tables = (self.read_group(group, columns) for group in self.parts[number])
        return _load("pyarrow").concat_tables(tables)

    def read_group(self, number: int, columns: Sequence[str] | None) -> Any:
        """Return some columns of a row group, or all columns, as a pyarrow table."""
        file, group = self.groups[number]
        with self._opened(file) as stored:
            # One thread, because other threads read and compute at the same time.
            wanted = columns and list(columns)
            return stored.read_row_group(group, columns=wanted, use_threads=False)

    def read_columns(self, columns: list[str] | None = None) -> Any:
        """Return some columns of all rows, by default all columns, as a pyarrow table."""
        tables = []
        for file in range(len(self.paths)):
            with self._opened(file) as stored:
                # One thread: if a column is damaged, older versions of pyarrow may crash in the
                # threads that read the other columns.
                tables.append(stored.read(columns=columns, use_threads=False))
        return _load("pyarrow").concat_tables(tables)

    def head(self) -> Any:
        """Return the first rows of all columns, as a pyarrow table."""
        for file, footer in enumerate(self.footers):
            if footer.num_rows:
                with self._opened(file) as stored:
                    batch = next(stored.iter_batches(HEAD_ROWS, use_threads=False))
                    return _load("pyarrow").Table.from_batches([batch])
        files = first_few(self.paths, write=str)
        raise ArgumentError("source", f"has no rows in {files}", "pass files with rows.")

    def place_of(self, group: int) -> str:
        """Return text on the location of a row group, for messages."""
        file, place = self.groups[group]
        return f"row group {place} of {self.paths[file]}"

    def _opened(self, file: int) -> AbstractContextManager[Any]:
        return _opened(self.filesystems[file], self.paths[file], self.footers[file])


def _load(module: str) -> Any:
    return load_extra(module, "parquet", "Parquet files")


def open_files(sources: Sequence[Any]) -> ParquetFiles:
    """Return the Parquet files of these paths; raise if their columns differ."""
    _load("pyarrow.parquet")
    filesystems, paths, footers = [], [], []
    for filesystem, path in chain.from_iterable(_files_of(as_url(source)) for source in sources):
        with _opened(filesystem, path) as stored:
            footers.append(stored.metadata)
        filesystems.append(filesystem)
        paths.append(path)
    _check_one_schema(paths, footers)
    return ParquetFiles(filesystems, paths, footers)


def parquet_columns(sources: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Read all columns of these Parquet files into memory."""
    return frame_columns(open_files(sources).read_columns())


def parquet_header(sources: Sequence[Any]) -> dict[str, bool]:
    """Read only the schema; return for each column whether it contains lists."""
    kinds = _load("pyarrow").types
    lists = (kinds.is_list, kinds.is_large_list, kinds.is_fixed_size_list)
    schema = open_files(sources).schema
    return {column.name: any(is_one(column.type) for is_one in lists) for column in schema}


def is_parquet_source(source: Any) -> bool:
    """Return whether a path is a folder of Parquet files, or the URL of Parquet files."""
    if not isinstance(source, str | os.PathLike):
        return False
    if "://" in as_url(source):
        return True
    return Path(source).is_dir() and next(Path(source).rglob(f"*{SUFFIX}"), None) is not None


def read_record(folder: Any) -> dict[str, Any] | None:
    """Return the record of the run of twohot that wrote a folder; None if there is no record."""
    filesystem, path = file_system(f"{as_url(folder)}/{RECORD}")
    if not filesystem.exists(path):
        return None
    try:
        record = parse_json(filesystem.cat_file(path).decode())
        return {**record, "n_parts": int(record["n_parts"])}
    except (ValueError, LookupError, TypeError) as error:
        problem = f"{folder} has an invalid {RECORD} ({error})"
        raise ArgumentError("", problem, "delete the folder, and write it again.") from error


def _files_of(source: str) -> list[tuple[Any, str]]:
    """Return the Parquet files of a path, each with its file system."""
    filesystem, path = file_system(source)
    with _reached(source):
        is_folder = filesystem.isdir(path)
        found, record = (filesystem.find(path), read_record(source)) if is_folder else ([], None)
        is_file = not is_folder and filesystem.isfile(path)
        is_there = is_folder or is_file or filesystem.exists(path)
    if not is_there:
        raise FileNotFoundError(f"{source} does not exist: pass Parquet files or a folder of them.")
    if is_file:
        return [(filesystem, path)]
    if not is_folder:  # reading a pipe could wait forever
        raise OSError(f"{source} is a pipe or a device: pass a file on disk.")
    inside = map(PurePosixPath, found)
    # Skip files such as _SUCCESS, _metadata and unfinished files.
    data = (each for each in inside if each.suffix == SUFFIX and each.name[0] not in "_.")
    paths = sorted(map(str, data))
    if not paths:
        problem = f"{source} is a folder without {SUFFIX} files"
        raise ArgumentError("source", problem, "pass a folder that contains Parquet files.")
    if record is not None and len(paths) < record["n_parts"]:
        problem = f"{source} has {len(paths)} of {record['n_parts']} parts"
        advice = "run the command that wrote the folder again, which writes the missing parts."
        raise ArgumentError("source", problem, advice)
    return [(filesystem, each) for each in paths]


def _version_of(filesystem: Any, path: str) -> list[Any]:
    """Return the attributes of a file that change with its content, such as size and time."""
    info = filesystem.info(path)
    version = [info.get(name) for name in ("size", "ETag", "etag")]
    with suppress(NotImplementedError):  # a web server may report no version
        version.append(filesystem.modified(path).isoformat())
    return version


@contextmanager
def _opened(filesystem: Any, path: str, footer: Any = None) -> Iterator[Any]:
    """Open a Parquet file, with its footer if known; errors about the content name the file."""
    with _named(path, "is not a Parquet file, or is truncated"):
        opened = filesystem.open(path, "rb")
        stored = _load("pyarrow.parquet").ParquetFile(opened, metadata=footer)
    with stored, _named(path, "is damaged"):
        yield stored


@contextmanager
def _named(path: str, problem: str) -> Iterator[None]:
    """Convert errors of pyarrow to errors that name the file and the problem."""
    arrow = _load("pyarrow").ArrowException
    with _reached(path):
        try:
            yield
        except (arrow, OSError) as error:
            # For invalid content, pyarrow raises its own errors, or an OSError without a number.
            is_invalid = isinstance(error, arrow) or (type(error) is OSError and not error.errno)
            if isinstance(error, MemoryError) or not is_invalid:
                raise
            why = " ".join(str(error).split())
            raise ValueError(f"{path} {problem} ({why}): write it again.") from error


@contextmanager
def _reached(path: str) -> Iterator[None]:
    """Convert errors of remote file systems to errors that name the file.

    Errors of local files already name the file. Clients of object stores may raise errors that are
    not OSErrors.
    """
    try:
        yield
    except (ValueError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno and error.filename:
            raise
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        advice = "check the path, the connection and the credentials."
        raise OSError(f"{path} cannot be reached ({why}): {advice}") from error


def _check_one_schema(paths: Sequence[str], footers: Sequence[Any]) -> None:
    first = footers[0].schema.to_arrow_schema()
    name, count = Counter(first.names).most_common(1)[0] if first.names else ("", 0)
    if count > 1:
        raise ArgumentError("", f"{paths[0]} has {count} columns named {name!r}", "rename one.")
    for path, footer in zip(paths, footers, strict=True):
        other = footer.schema.to_arrow_schema()
        if not other.equals(first):
            ours, theirs = ({each.name: str(each.type) for each in of} for of in (first, other))
            differ = [
                f"{name!r} ({ours.get(name, 'none')} and {theirs.get(name, 'none')})"
                for name in sorted({*ours, *theirs})
                if ours.get(name) != theirs.get(name)
            ] or ["the order of their columns"]
            where = f"{paths[0]} and {path}, which differ in {first_few(differ, write=str)}"
            advice = "pass files with one schema, or write one again."
            raise ArgumentError("source", f"has files with two schemas, {where}", advice)


# Features that stay in the files, read by row groups ----------------------------------------------


class ParquetFeatures(PartedRows):
    """Features of Parquet files, read one row group at a time when they are indexed.

    `columns` names the column of lists, or the numeric columns. `dtype` is the type of the rows in
    memory.
    """

    def __init__(
        self, files: ParquetFiles, columns: Sequence[str], n_features: int, dtype: np.dtype[Any]
    ) -> None:
        super().__init__(files.bounds, n_features, dtype)
        self.files = files
        self.columns = tuple(columns)
        self._decoded = np.zeros(self.n_parts, dtype=bool)  # whether a part is in the scratch file
        self._scratch: IO[bytes] | None = None  # temporary file of decoded rows, without a name
        self._turn = Lock()  # for the position in the scratch file

    def read_part(self, number: int) -> NDArray[Any]:
        """Return the rows of a row group; only the first call decodes the row group."""
        shape = int(self.bounds[number + 1] - self.bounds[number]), self.shape[1]
        if shape[0] == 0:
            return np.empty(shape, self.dtype)
        if self._scratch is not None and self._decoded[number]:
            rows = np.empty(shape, self.dtype)
            with self._turn:
                self._scratch.seek(self._offset(number))
                n_read = self._scratch.readinto(rows.data.cast("B"))  # type: ignore[attr-defined]
            if n_read == rows.nbytes:
                return rows
        rows = self.decode(number)
        self._keep(number, rows)
        return rows

    def decode(self, number: int) -> NDArray[Any]:
        """Return the decoded rows of a row group, without writing a temporary file."""
        table, place = self.files.read_group(number, self.columns), self.files.place_of(number)
        is_list = len(self.columns) == 1
        if is_list:
            lists = list_rows(table.column(0), self.shape[1], place)
            rows = np.ascontiguousarray(lists, dtype=self.dtype)
        else:
            rows = np.empty((table.num_rows, self.shape[1]), self.dtype)
            for column, cells in enumerate(table.columns):
                rows[:, column] = cells.to_numpy()
        try:
            check_finite("X", rows, 0, columns=() if is_list else self.columns)
        except NotFiniteError as error:
            raise NotFiniteError("X", f"{error.problem} of {place}", error.advice) from error
        return rows

    def __getstate__(self) -> dict[str, Any]:
        # The scratch file cannot be pickled: a copy in another process makes a new one.
        forgotten = {"_decoded": np.zeros(self.n_parts, dtype=bool), "_scratch": None}
        return super().__getstate__() | forgotten | {"_turn": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state | {"_turn": Lock()})

    def _keep(self, number: int, rows: NDArray[Any]) -> None:
        """Write rows to the scratch file, if there is space."""
        try:
            with self._turn:
                if self._scratch is None:
                    scratch = tempfile.TemporaryFile(prefix="twohot-", buffering=0)  # noqa: SIM115
                    self._scratch = scratch
                    weakref.finalize(self, scratch.close)
                self._scratch.seek(self._offset(number))
                written = self._scratch.write(rows.data.cast("B"))
        except OSError:
            return
        self._decoded[number] = written == rows.nbytes

    def _offset(self, number: int) -> int:
        return int(self.bounds[number]) * self.shape[1] * self.dtype.itemsize


def list_rows(column: Any, width: int, place: str) -> NDArray[Any]:
    """Return a pyarrow column of lists as rows of `width` numbers; a null number becomes NaN."""
    compute = _load("pyarrow.compute")
    lengths = compute.if_else(column.is_valid(), compute.list_value_length(column), -1).to_numpy()
    if np.any(lengths != width):
        row = int(np.argmax(lengths != width))
        found = f"{lengths[row]} numbers" if lengths[row] >= 0 else "no list"
        problem = f"contains {found} at row {row} of {place}, but {width} numbers in other rows"
        raise ArgumentError("X", problem, "drop the row, or extract all rows with one backbone.")
    chunks = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    flat = np.concatenate(chunks) if len(chunks) != 1 else chunks[0]
    return np.asarray(flat.reshape(-1, width))


def parquet_parts(
    sources: Sequence[Any], choice: ColumnChoice
) -> tuple[dict[str, Any], ColumnChoice]:
    """Return the columns of Parquet files; features are one matrix that is read in parts.

    Also return the choice of columns, in which this matrix is the feature column. Columns that can
    have no role by their name are not read.
    """
    files = open_files(sources)
    head = frame_columns(files.head())
    names = assign_roles(head, replace(choice_among(head, choice), id="")).features
    sample = stack_features(head, names)
    features = ParquetFeatures(files, names, sample.shape[1], sample.dtype)
    by_name = replace(choice, features=None)
    others = [name for name in head if name not in names and by_name.is_text(name)]
    columns = frame_columns(files.read_columns(others)) if others else {}
    listed = listed_columns(names)
    return {**columns, listed: features}, replace(choice, features=listed)
