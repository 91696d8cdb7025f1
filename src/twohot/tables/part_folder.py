"""A folder of Parquet files, one for each part of a source, that a stopped run resumes.

    _twohot.json        what the run is known by, and how many parts there will be; written first
    part-00000.parquet  the rows of a part; a file is there when it is whole

Whoever reads Parquet folders passes over names that begin with `_`. A folder of another run, or of
somebody else, is refused.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import twohot
from twohot._checks.messages import ArgumentError, FileThereError, counted
from twohot._extras import load_extra
from twohot._files import as_url, whole_stored_file
from twohot.rows.dask_tasks import ClusterTasks
from twohot.tables.parquet_files import RECORD, SUFFIX, read_record

PART = re.compile(rf"part-\d{{5,}}{re.escape(SUFFIX)}")
# Parts that wait for each thread of the workers, so that none of them does.
AHEAD = 2


@dataclass(frozen=True)
class PartFolder:
    """A folder that holds a file for each part."""

    url: str
    n_parts: int

    def path_of(self, number: int) -> str:
        """Return the file of a part."""
        return f"{self.url}/part-{number:05d}{SUFFIX}"

    def missing(self) -> list[int]:
        """Return the parts that are not written yet."""
        there = set(_names(self.url))
        numbers = range(self.n_parts)
        return [each for each in numbers if self.path_of(each).rsplit("/", 1)[1] not in there]


def begin_parts(
    folder: Any, about: Mapping[str, Any], n_parts: int, *, force: bool, name: str = "output"
) -> PartFolder:
    """Return a folder for the parts of a run: a new one, or what an earlier run left of the same.

    Parameters
    ----------
    folder : path
        Any that fsspec writes.
    about : mapping of JSON
        What the run is known by, beside the version of twohot.
    n_parts : int
        How many files there will be.
    force : bool
        Replace the parts of another run.
    name : str
        What the folder is called in errors.
    """
    check_parts(folder, about, n_parts, force=force, name=name)
    filesystem, path = _place(folder)
    record = _record_of(about, n_parts)
    if read_record(folder) != record:
        remove_parts(folder)
        filesystem.makedirs(path, exist_ok=True)
        with whole_stored_file(f"{filesystem.unstrip_protocol(path)}/{RECORD}") as file:
            file.write(json.dumps(record, indent=1).encode())
    return PartFolder(filesystem.unstrip_protocol(path), n_parts)


def check_parts(
    folder: Any, about: Mapping[str, Any], n_parts: int, *, force: bool, name: str = "output"
) -> None:
    """Raise if `begin_parts` would, and leave what is there."""
    filesystem, path = _place(folder)
    record = _record_of(about, n_parts)
    if filesystem.exists(path) and not filesystem.isdir(path):
        raise ArgumentError({name: folder}, "is a file", "pass the name of a folder.")
    there, names = read_record(folder), _names(as_url(folder))
    if there is None and names:
        problem = f"holds {names[0]!r}, which is no part that twohot wrote"
        raise ArgumentError({name: folder}, problem, "pass a new or an empty folder.")
    if there is not None and there != record and not force:
        others = [name for name in {**there, **record} if there.get(name) != record.get(name)]
        problem = f"holds parts of another run, which differs in {', '.join(others)}"
        advice = "choose another folder, or replace them by {force}."
        raise FileThereError({name: folder}, problem, advice, force=True)


def remove_parts(folder: Any) -> None:
    """Remove the parts that twohot wrote to a folder, and the folder if nothing else is in it."""
    if read_record(folder) is None:
        return
    filesystem, path = _place(folder)
    names = _names(as_url(folder))
    parts = [name for name in names if PART.fullmatch(name)]
    # The record comes last: while it is there, what is left is known to be ours, and not whole.
    for name in (*parts, RECORD):
        filesystem.rm_file(f"{path}/{name}")
    if len(names) == len(parts) + 1:
        with suppress(OSError):  # what a process that died was writing is for the next to remove
            filesystem.rmdir(path)


def write_part(url: str, tables: Iterable[Any]) -> str:
    """Write tables of pyarrow of one schema to a file, a row group each; return its path."""
    parquet = load_extra("pyarrow.parquet", "parquet", "Parquet files")
    waiting = iter(tables)
    with whole_stored_file(url) as file:
        first = next(waiting, None)
        if first is None:
            raise ValueError(f"{url} has no tables: write at least one, which may have no rows.")
        # Closed before its file, also where a table fails.
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
    """Call a function that writes a part for each of some arguments; `done` after each.

    On a cluster workers write, and a part that was lost with a worker is written again. Arguments
    are sent when a worker is about to need them.
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
    """Return how many parts there are, and how many were there before."""
    before = folder.n_parts - n_written
    there = f", {before} of them there already" if before else ""
    return f"{counted(folder.n_parts, 'part')}{there}"


def _record_of(about: Mapping[str, Any], n_parts: int) -> dict[str, Any]:
    """Return what is written of a run, as it is read again."""
    record = {**about, "n_parts": n_parts, "twohot": twohot.__version__}
    return dict(json.loads(json.dumps(record)))


def _place(folder: Any) -> tuple[Any, str]:
    """Return the file system of a folder, and its path there."""
    fsspec = load_extra("fsspec", "parquet", "Parquet files")
    filesystem, path = fsspec.core.url_to_fs(as_url(folder))
    return filesystem, path


def _names(url: str) -> list[str]:
    """Return the names of what a folder holds; files that begin with a dot do not count."""
    filesystem, path = _place(url)
    if not filesystem.isdir(path):
        return []
    filesystem.invalidate_cache(path)
    names = (entry.rstrip("/").rsplit("/", 1)[-1] for entry in filesystem.ls(path, detail=False))
    return sorted(name for name in names if not name.startswith("."))
