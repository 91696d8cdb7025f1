"""Files that are written completely or not at all, checks of output paths, and JSON."""

import hashlib
import json
import math
import os
import platform
import re
import stat
import tempfile
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from twohot.base.messages import ArgumentError, FileThereError
from twohot.base.optional import load_extra

# Unfinished files, and their removal if the process that wrote them has died -------------------
# A file is first written next to its target, as `.a.csv.1f2e3d4c-4711-ab12.unfinished` for example.
# The name contains the target, the machine, the process and random characters. If the process is
# killed, the file remains. The next process that writes to the folder removes the file.

NAME = re.compile(r"\..*\.(?P<machine>[0-9a-f]{8})-(?P<process>[0-9]{1,10})-\w+\.unfinished")
NAME_BYTES = 255  # maximum of a file name on common disks
KEPT = 40  # characters that a shortened name keeps of the target's name


def name_beside(target: Path, suffix: str) -> Path:
    """Return the path of `target` with a suffix added; a name that is too long is shortened.

    Examples
    --------
    >>> name_beside(Path("probe.safetensors"), ".checkpoint").name
    'probe.safetensors.checkpoint'
    >>> len(name_beside(Path("p" * 250), ".checkpoint").name)
    68
    """
    name = f"{target.name}{suffix}"
    if len(os.fsencode(name)) > NAME_BYTES:
        digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
        name = f"{target.name[:KEPT]}.{digest}{suffix}"
    return target.with_name(name)


def new_unfinished(target: Path) -> tuple[int, Path]:
    """Create an empty unfinished file for a target; return its open descriptor and its path."""
    remove_abandoned(target.parent.resolve())
    prefix = f".{target.name[:KEPT]}.{_machine()}-{os.getpid()}-"
    try:
        descriptor, path = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=".unfinished")
    except OSError as error:  # name the target, because users do not know the unfinished file
        raise OSError(error.errno, error.strerror, str(target)) from error
    return descriptor, Path(path)


@cache  # list a folder once, not at every write
def remove_abandoned(folder: Path) -> None:
    """Remove the unfinished files that dead processes of this machine left in a folder."""
    for path in folder.glob(".*.unfinished"):
        name = NAME.fullmatch(path.name)
        if name and name["machine"] == _machine() and not _is_alive(int(name["process"])):
            with suppress(OSError):  # another user's file, or one that was just removed
                path.unlink()


@cache
def _machine() -> str:
    """Return an identifier of this machine, for the names of unfinished files."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # on other systems signal 0 ends the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's process
        pass
    return True


# pathlib removes one of the two slashes of a URL.
SHORT_URL = re.compile(r"^([a-z][a-z0-9+]+):/(?=[^/])")


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file next to `path` for writing, and rename it to `path` if no error is raised.

    Readers never see a partial file. If the body of `with` raises an error, the old file stays
    unchanged. If `path` is a link, the file that it links to is replaced. The new file has the
    permissions of the old file.

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
    """Open a file for writing as `whole_file` does, at a path or at a URL that fsspec supports."""
    filesystem, path = _place(url)
    if filesystem is None:
        with whole_file(path) as file:
            yield file
        return
    # The name is unique, because two workers may write the same file at the same time.
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
    """Open the file at a path or fsspec URL for reading; yield None if there is no such file."""
    filesystem, path = _place(url)
    if not (Path(path).exists() if filesystem is None else filesystem.exists(path)):
        yield None
        return
    with Path(path).open("rb") if filesystem is None else filesystem.open(path, "rb") as file:
        yield file


def why_not_written(url: str) -> str:
    """Return why no file can be written at a path or URL; if a file can be written, empty text.

    Examples
    --------
    >>> why_not_written("."), why_not_written("nowhere/fit.npz"), why_not_written("fit.npz")
    ('is a folder', 'is in a folder that does not exist', '')
    """
    filesystem, path = _place(url)
    if Path(path).is_dir() if filesystem is None else filesystem.isdir(path):
        return "is a folder"
    if filesystem is None and not Path(path).parent.is_dir():
        return "is in a folder that does not exist"
    return ""


def as_url(source: Any) -> str:
    """Return a path as text; restore the second slash of a URL, which pathlib removes.

    Examples
    --------
    >>> as_url(Path("s3://bucket/x")), as_url("data/x")
    ('s3://bucket/x', 'data/x')
    """
    return SHORT_URL.sub(r"\1://", str(source))


def file_system(url: str) -> tuple[Any, str]:
    """Return the fsspec file system for a path or URL, and the path in this file system.

    Examples
    --------
    >>> file_system("memory://bucket/x")[1]
    '/bucket/x'
    """
    fsspec = load_extra("fsspec", "parquet", "URLs and Parquet files")
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        protocol = url.split("://", maxsplit=1)[0]
        known = import_module("fsspec.registry").known_implementations
        package = known[protocol]["class"].split(".")[0]
        if package == "fsspec":  # a package that fsspec needs for this URL is not installed
            package = f"fsspec[{protocol.replace('https', 'http')}]"
        raise ImportError(f'{url} needs {package}: pip install "{package}"') from error
    except ValueError as error:
        advice = "pass a local path, or a URL that fsspec supports."
        raise ArgumentError("", f"{url} cannot be opened ({error})", advice) from error
    return filesystem, path


def _place(url: str) -> tuple[Any, str]:
    """Return the same as `file_system`, but None instead of the local file system."""
    if "://" not in url:
        return None, url
    filesystem, path = file_system(url)
    return (None if "file" in filesystem.protocol else filesystem), path


def on_other_host(path: str, root: str | os.PathLike[str]) -> bool:
    r"""Return whether a path is on another machine than the root folder.

    Windows contacts the machine of a path such as \\host\share\x.png and sends the user's name to
    that machine.
    On systems other than Windows, the result is always False.

    Examples
    --------
    >>> on_other_host("cats/1.png", "pets")
    False
    """
    drive, root_drive = (
        os.path.splitdrive(place)[0].replace("/", "\\").lower()
        for place in (path, os.path.abspath(root))  # noqa: PTH100
    )
    return drive.startswith("\\\\") and drive != root_drive


def final_path(path: str | os.PathLike[str]) -> Path:
    """Return a path with its links resolved; raise if it is a folder, a pipe or a device.

    A file that is renamed to an unresolved path would replace the link or the device.
    """
    target = Path(path)
    if target.is_symlink():
        target = Path(os.path.realpath(target))
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "a pipe or a device"
        raise OSError(f"{path} is {what}: pass the name of a file on disk.")
    return target


def check_regular(path: Path) -> None:
    """Raise if a path is a pipe or a device, because reading it could wait forever."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(f"{path} is a pipe or a device: pass a file on disk.")


def put_in_place(finished: Path, target: Path) -> None:
    """Rename a finished file to its target, with the mode of the file that it replaces."""
    if target.exists():
        mode = stat.S_IMODE(target.stat().st_mode)
    else:
        # Only the owner can read an unfinished file. The umask sets the mode of a new file.
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    finished.chmod(mode)
    finished.replace(target)


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 digest of a file as hexadecimal text."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    """Write a record as JSON; raise if a number is not finite."""
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    with whole_file(path) as file:
        # UTF-8 cannot encode an unpaired surrogate, so a surrogate is written as a JSON escape.
        file.write(text.encode("utf-8", "backslashreplace"))


def parse_json(text: str) -> Any:
    """Return the content of untrusted JSON text; raise ValueError if it is not valid JSON.

    Examples
    --------
    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ValueError: lists or objects are nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("lists or objects are nested too deeply") from error


def json_safe(value: Any) -> Any:
    """Convert a value to JSON types: arrays to lists, and numbers that are not finite to None.

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


# Checks of output paths before any computation ----------------------------------------------------


def check_output(
    path: Path,
    inputs: Iterable[Path | None] = (),
    *,
    force: bool,
    name: str = "output",
    suffixes: Collection[str] = (),
    outputs: Mapping[str, Path | None] | None = None,
) -> None:
    """Raise if an output file exists, is an input, has the wrong ending, or cannot be written.

    If `force`, the output file may exist. `name` is the name of the argument in errors. `outputs`
    maps other arguments of the command to their output files, which must differ from `path`.
    """
    argument = {name: path}
    for other, taken in (outputs or {}).items():
        if taken is not None and path.resolve() == taken.resolve():
            problem = "are the same file"
            raise ArgumentError({other: taken, **argument}, problem, "choose different names.")
    if path.resolve() in {given.resolve() for given in inputs if given is not None}:
        raise ArgumentError(argument, "is the input file", "choose another name.")
    if suffixes and path.suffix not in suffixes:
        endings = " or ".join(suffixes)
        raise ArgumentError(argument, f"does not end in {endings}", "pass a name with this ending.")
    if not path.parent.is_dir() and "://" not in as_url(path):
        raise ArgumentError(argument, "is in a folder that does not exist", "create the folder.")
    if path.is_dir():
        raise ArgumentError(argument, "is a folder", "pass the name of a file.")
    if path.exists() and not path.is_file():
        problem, advice = "is a pipe or a device", "pass the name of a file on disk."
        raise ArgumentError(argument, problem, advice)
    if path.exists() and not force:
        advice = "pass {force} to replace the file."
        raise FileThereError(argument, "already exists", advice, force=True)
    check_writable(final_path(path).parent, argument)


def check_writable(folder: Path, argument: Mapping[str, object]) -> None:
    """Raise if no file can be created in a folder, which may not exist yet.

    A test file is written, because permissions do not show that a disk is read-only.
    """
    if "://" in as_url(folder):
        problem = "is not a local path"
        raise ArgumentError(argument, problem, "pass a local path, and copy the output afterwards.")
    absolute = folder.absolute()
    nearest = next(path for path in (absolute, *absolute.parents) if path.exists())
    if nearest == absolute and not nearest.is_dir():
        raise ArgumentError(argument, "is a file", "pass the name of a folder.")
    if not nearest.is_dir():
        problem = f"is inside {nearest}, which is a file"
        raise ArgumentError(argument, problem, "choose another folder.")
    try:
        descriptor, made = new_unfinished(nearest / "twohot")
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise ArgumentError(argument, problem, "choose a folder that you may write to.") from error
    os.close(descriptor)
    made.unlink()
