"""Parquet files that make one table: a file, a folder of files, or several of either.

Paths may be any that fsspec reads: those of this machine, or such as s3://bucket/folder.
"""

import hashlib
import io
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from twohot.base import ArgumentError, IntArray, as_url, counted, load_extra, parse_json

SUFFIX = ".parquet"
# In a folder that twohot writes part by part: what wrote it, and how many parts there will be.
RECORD = "_twohot.json"
# Bytes of a part, which is read, worked on and written at once: row groups of one file are put
# together up to these, and larger ones are parts of their own.
PART_BYTES = 2**26
# Rows from which the columns are known; the rest of them is read when it is needed.
HEAD_ROWS = 64


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """Files of one schema, in the order of their names."""

    filesystems: Sequence[Any]  # of fsspec, one per file
    paths: Sequence[str]
    footers: Sequence[Any]  # of pyarrow: row groups and schema

    @cached_property
    def groups(self) -> list[tuple[int, int]]:
        """The row groups in order: number of the file, and of the group in it."""
        counts = (footer.num_row_groups for footer in self.footers)
        return [(file, group) for file, count in enumerate(counts) for group in range(count)]

    @cached_property
    def bounds(self) -> IntArray:
        """(n_groups + 1,) number of the first row of each group, and of all rows."""
        sizes = [self.footers[file].row_group(group).num_rows for file, group in self.groups]
        return np.append(0, np.cumsum(np.array(sizes, dtype=np.intp)))

    @cached_property
    def parts(self) -> list[range]:
        """Row groups of one file that are read together, in order; every row is in one of them."""
        found: list[range] = []
        file_before, n_bytes = -1, 0
        for number, (file, group) in enumerate(self.groups):
            size = self.footers[file].row_group(group).total_byte_size
            if file == file_before and n_bytes + size <= PART_BYTES:
                found[-1] = range(found[-1].start, number + 1)
                n_bytes += size
            else:
                found.append(range(number, number + 1))
                file_before, n_bytes = file, size
        return found

    def digest(self) -> str:
        """Return what the rows are known by: footers, and what file systems say of the files.

        Footers alone are the same for rows of another order.
        """
        known = hashlib.sha256()
        for filesystem, path, footer in zip(
            self.filesystems, self.paths, self.footers, strict=True
        ):
            content = io.BytesIO()
            footer.write_metadata_file(content)
            known.update(content.getvalue())
            known.update(repr(_version_of(filesystem, path)).encode())
        return known.hexdigest()

    @property
    def schema(self) -> Any:
        """What the columns are, of pyarrow."""
        return self.footers[0].schema.to_arrow_schema()

    def read_part(self, number: int, columns: Sequence[str] | None = None) -> Any:
        """Return a part, or some columns of it, as a table of pyarrow."""
        arrow = load_extra("pyarrow", "parquet", "Parquet files")
        return arrow.concat_tables(self.read_group(each, columns) for each in self.parts[number])

    def read_group(self, number: int, columns: Sequence[str] | None) -> Any:
        """Return some columns of a row group, or all of them, as a table of pyarrow."""
        file, group = self.groups[number]
        with self._open(file) as stored, _reading(self.paths[file]):
            # One thread: others read and compute at the same time.
            return stored.read_row_group(
                group, columns=columns and list(columns), use_threads=False
            )

    def read_columns(self, columns: Sequence[str]) -> Any:
        """Return some columns of all rows, as a table of pyarrow."""
        arrow = load_extra("pyarrow", "parquet", "Parquet files")
        parts = []
        for file in range(len(self.paths)):
            with self._open(file) as stored, _reading(self.paths[file]):
                parts.append(stored.read(columns=list(columns), use_threads=False))
        return arrow.concat_tables(parts)

    def head(self) -> Any:
        """Return some of the first rows, as a table of pyarrow."""
        for file, footer in enumerate(self.footers):
            if footer.num_rows:
                with self._open(file) as stored, _reading(self.paths[file]):
                    arrow = load_extra("pyarrow", "parquet", "Parquet files")
                    batch = next(stored.iter_batches(HEAD_ROWS, use_threads=False))
                    return arrow.Table.from_batches([batch])
        files = first_paths(self.paths)
        raise ArgumentError("source", f"has no row in {files}", "pass files with rows.")

    def place_of(self, group: int) -> str:
        """Return where a row group is, for people."""
        file, place = self.groups[group]
        return f"row group {place} of {self.paths[file]}"

    def _open(self, file: int) -> Any:
        return _parquet_file(self.filesystems[file], self.paths[file], self.footers[file])


def open_files(sources: Sequence[Any]) -> ParquetFiles:
    """Return the Parquet files of some paths, or say which of them has other columns."""
    load_extra("pyarrow.parquet", "parquet", "Parquet files")
    found = list(chain.from_iterable(_files_of(as_url(source)) for source in sources))
    footers = [_footer(filesystem, path) for filesystem, path in found]
    paths = [path for _, path in found]
    _check_one_schema(paths, footers)
    return ParquetFiles([filesystem for filesystem, _ in found], paths, footers)


def is_parquet_source(source: Any) -> bool:
    """Return whether a path is a folder of Parquet files, or a URL of Parquet files.

    Examples
    --------
    >>> is_parquet_source("memory://none/x.parquet"), is_parquet_source("x.parquet")
    (True, False)
    """
    if not isinstance(source, str | os.PathLike):
        return False
    if "://" in as_url(source):
        return True
    return Path(source).is_dir() and next(Path(source).rglob(f"*{SUFFIX}"), None) is not None


def read_record(folder: Any) -> dict[str, Any] | None:
    """Return what the run that wrote a folder is known by; None if it was no run of twohot."""
    fsspec = load_extra("fsspec", "parquet", "Parquet files")
    filesystem, path = fsspec.core.url_to_fs(f"{as_url(folder)}/{RECORD}")
    if not filesystem.exists(path):
        return None
    try:
        record = parse_json(filesystem.cat_file(path).decode())
        return {**record, "n_parts": int(record["n_parts"])}
    except (ValueError, LookupError, TypeError) as error:
        problem = f"{folder} has a {RECORD} that was changed ({error})"
        raise ArgumentError("", problem, "remove the folder, and write it again.") from error


def first_paths(paths: Sequence[str]) -> str:
    """Return the first of some files, and how many there are."""
    return (
        paths[0] if len(paths) == 1 else f"{paths[0]} and {counted(len(paths) - 1, 'other file')}"
    )


def _files_of(source: str) -> list[tuple[Any, str]]:
    """Return the Parquet files of a path, each with its file system."""
    fsspec = load_extra("fsspec", "parquet", "Parquet files")
    filesystem, path = fsspec.core.url_to_fs(source)
    paths = [path]
    if filesystem.isdir(path):
        inside = (PurePosixPath(each) for each in filesystem.find(path))
        # Others belong to whoever wrote the folder: _SUCCESS, _metadata, unfinished files.
        kept = (each for each in inside if each.suffix == SUFFIX and each.name[0] not in "_.")
        paths = sorted(map(str, kept))
        if not paths:
            problem = f"{source} is a folder without {SUFFIX} files"
            raise ArgumentError("source", problem, "pass the folder that they are in.")
        _check_whole(source, len(paths))
    elif not filesystem.exists(path):
        raise FileNotFoundError(f"{source} is not a file: pass Parquet files or a folder of them.")
    elif not filesystem.isfile(path):  # a pipe, which a reader would wait for without end
        raise OSError(f"{source} is not a regular file: pass the name of one.")
    return [(filesystem, each) for each in paths]


def _check_whole(folder: str, n_files: int) -> None:
    """Raise if twohot has not finished a folder yet."""
    record = read_record(folder)
    if record is not None and n_files < record["n_parts"]:
        problem = f"{folder} has {n_files} of {record['n_parts']} parts"
        advice = "finish it by the command that wrote it, which goes on where it was stopped."
        raise ArgumentError("source", problem, advice)


def _version_of(filesystem: Any, path: str) -> list[Any]:
    """Return what a file system says of a file that is another when its content is."""
    said = filesystem.info(path)
    version = [said.get(name) for name in ("size", "ETag", "etag")]
    with suppress(NotImplementedError):  # a web server, for instance
        version.append(filesystem.modified(path).isoformat())
    return version


def _footer(filesystem: Any, path: str) -> Any:
    with _parquet_file(filesystem, path) as stored:
        return stored.metadata


def _parquet_file(filesystem: Any, path: str, footer: Any = None) -> Any:
    arrow = load_extra("pyarrow", "parquet", "Parquet files")
    parquet = load_extra("pyarrow.parquet", "parquet", "Parquet files")
    try:
        return parquet.ParquetFile(filesystem.open(path, "rb"), metadata=footer)
    except arrow.ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file, or is cut short ({error}).") from error


def check_once(path: Any, names: Sequence[str]) -> None:
    """Raise if a Parquet file has two columns of one name."""
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise ArgumentError("", f"{path} has {count} columns named {name!r}", "rename one.")


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Name the file whose content cannot be read though its end could."""
    arrow = load_extra("pyarrow", "parquet", "Parquet files")
    try:
        yield
    except FileNotFoundError:
        raise
    except (arrow.ArrowException, OSError) as error:
        said = " ".join(str(error).split())
        raise ValueError(f"{path} is damaged ({said}): write it again.") from error


def _check_one_schema(paths: Sequence[str], footers: Sequence[Any]) -> None:
    first = footers[0].schema.to_arrow_schema()
    check_once(paths[0], first.names)
    for path, footer in zip(paths, footers, strict=True):
        other = footer.schema.to_arrow_schema()
        if other.equals(first):
            continue
        ours, theirs = ({field.name: str(field.type) for field in each} for each in (first, other))
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        name = names[0] if names else "the order of their columns"
        said = (
            f"{name!r}: {ours.get(name, 'none')} and {theirs.get(name, 'none')}" if names else name
        )
        problem = f"has files of two schemas, {paths[0]} and {path}, which differ in {said}"
        raise ArgumentError("source", problem, "pass those of one schema, or write one again.")
