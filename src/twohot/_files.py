"""Files that are whole or not there at all, and what JSON can hold."""

import hashlib
import json
import math
import os
import re
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from twohot._extras import load_extra
from twohot._unfinished import KEPT, new_unfinished

# What a path of pathlib has made of a URL: one of two slashes is gone.
SHORT_URL = re.compile(r"^([a-z][a-z0-9+]+):/(?=[^/])")


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file beside `path` for writing, and rename it to `path` when the block ends well.

    No reader sees half a file, and what stood at `path` stays there if the block raises. A link is
    followed, and a file that is replaced keeps its mode.

    Examples
    --------
    >>> with whole_file("table.csv") as file:
    ...     _ = file.write(b"row,label")
    >>> Path("table.csv").read_text()
    'row,label'
    """
    target = final_path(path)
    descriptor, unfinished = new_unfinished(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        put_in_place(unfinished, target)
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(unfinished)):
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise


@contextmanager
def whole_stored_file(url: str) -> Iterator[BinaryIO]:
    """Open a file as `whole_file` does, at any path that fsspec writes."""
    filesystem, path = _place(url)
    if filesystem is None:
        with whole_file(path) as file:
            yield file
        return
    # A name of its own: two workers may write the same file, one that was taken for lost too.
    folder, name = path.rsplit("/", maxsplit=1)
    unfinished = f"{folder}/.{name[:KEPT]}.{uuid.uuid4().hex}.unfinished"
    try:
        with filesystem.open(unfinished, "wb") as file:
            yield file
        filesystem.mv(unfinished, path)
    except BaseException:
        if filesystem.exists(unfinished):
            filesystem.rm_file(unfinished)
        raise


@contextmanager
def stored_file(url: str) -> Iterator[BinaryIO | None]:
    """Open a file for reading, at any path that fsspec reads; None if it is not there."""
    filesystem, path = _place(url)
    if not (Path(path).exists() if filesystem is None else filesystem.exists(path)):
        yield None
        return
    with Path(path).open("rb") if filesystem is None else filesystem.open(path, "rb") as file:
        yield file


def why_not_written(url: str) -> str:
    """Return why no file can be written at a path, in words; nothing if one can.

    Examples
    --------
    >>> why_not_written("."), why_not_written("nowhere/fit.npz"), why_not_written("fit.npz")
    ('is a folder', 'is in a folder that is not there', '')
    """
    filesystem, path = _place(url)
    if Path(path).is_dir() if filesystem is None else filesystem.isdir(path):
        return "is a folder"
    if filesystem is None and not Path(path).parent.is_dir():
        return "is in a folder that is not there"
    return ""


def as_url(source: Any) -> str:
    """Return a path as text; of a URL both slashes.

    Examples
    --------
    >>> as_url(Path("s3://bucket/x")), as_url("data/x")
    ('s3://bucket/x', 'data/x')
    """
    return SHORT_URL.sub(r"\1://", str(source))


def _place(url: str) -> tuple[Any, str]:
    """Return the file system of fsspec, None for that of this machine, and the path there."""
    if "://" not in url:
        return None, url
    filesystem, path = load_extra("fsspec", "parquet", "URLs").core.url_to_fs(url)
    return (None if "file" in filesystem.protocol else filesystem), path


def final_path(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path leads to, through links; it must be a regular file, or none yet.

    Renaming a file to a link would replace the link, and renaming one to a device the device.
    """
    target = Path(path)
    if target.is_symlink():
        target = Path(os.path.realpath(target))
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file: pass the name of one, or of none yet.")
    return target


def check_regular(path: Path) -> None:
    """Raise if a path leads to a pipe or a device, which a reader would wait for without end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(f"{path} is not a regular file: pass the name of one.")


def put_in_place(finished: Path, target: Path) -> None:
    """Rename a finished file to its target, with the mode of what stands there."""
    if target.exists():
        mode = stat.S_IMODE(target.stat().st_mode)
    else:
        # An unfinished file is for the owner alone; a new one gets what the umask leaves.
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    finished.chmod(mode)
    finished.replace(target)


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    """Write a record as JSON, which has no number that is not finite."""
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    with whole_file(path) as file:
        # A half character has no UTF-8: it is spelt out, which in JSON is its escape.
        file.write(text.encode("utf-8", "backslashreplace"))


def parse_json(text: str) -> Any:
    """Return what JSON from anyone says; ValueError for all that is none.

    Examples
    --------
    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ValueError: lists or objects stand too deep in each other
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("lists or objects stand too deep in each other") from error


def json_safe(value: Any) -> Any:
    """Return a value as JSON has it: arrays as lists, and None for what is not finite.

    Examples
    --------
    >>> json_safe({"rate": np.float64(0.5), "rounds": (1, float("inf")), "means": np.eye(1)})
    {'rate': 0.5, 'rounds': [1, None], 'means': [[1.0]]}
    """
    if isinstance(value, Mapping):
        return {str(key): json_safe(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [json_safe(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
