"""Where a file may be written: never over what was read, and known before the work is done."""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from twohot._checks.messages import ArgumentError, FileThereError
from twohot._files import as_url, final_path
from twohot._unfinished import new_unfinished


def check_output(
    path: Path,
    inputs: Iterable[Path | None] = (),
    *,
    force: bool,
    name: str = "output",
    suffixes: Collection[str] = (),
    outputs: Mapping[str, Path | None] | None = None,
) -> None:
    """Raise if a file may not be written where an argument says, or not under such a name.

    `outputs` are other files of the same command, by their arguments.
    """
    argument = {name: path}
    for other, taken in (outputs or {}).items():
        if taken is not None and path.resolve() == taken.resolve():
            problem = "are one file"
            raise ArgumentError({other: taken, **argument}, problem, "choose two names.")
    if path.resolve() in {given.resolve() for given in inputs if given is not None}:
        raise ArgumentError(argument, "is the input itself", "choose another name.")
    if suffixes and path.suffix not in suffixes:
        endings = " or ".join(suffixes)
        raise ArgumentError(argument, f"does not end in {endings}", "choose a name that does.")
    if not path.parent.is_dir() and "://" not in as_url(path):
        raise ArgumentError(argument, "is in a folder that is not there", "make it first.")
    if path.is_dir():
        raise ArgumentError(argument, "is a folder", "pass the name of a file.")
    if path.exists() and not path.is_file():
        problem, advice = "is not a regular file", "pass the name of one, or of none yet."
        raise ArgumentError(argument, problem, advice)
    if path.exists() and not force:
        advice = "pass {force} to replace it."
        raise FileThereError(argument, "is there already", advice, force=True)
    check_writable(final_path(path).parent, argument)


def check_writable(folder: Path, argument: Mapping[str, object]) -> None:
    """Raise if no file can be made in a folder that an argument asks for, which may not be there.

    Permissions alone do not tell: the disk may be one that nobody writes to. So a file is made.
    """
    if "://" in as_url(folder):
        problem = "is no path of this machine"
        raise ArgumentError(argument, problem, "choose a folder here, and copy it there.")
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    if there == folder.absolute() and not there.is_dir():
        raise ArgumentError(argument, "is a file", "pass the name of a folder.")
    if not there.is_dir():
        problem = f"is inside {there}, which is a file"
        raise ArgumentError(argument, problem, "choose another place.")
    try:
        descriptor, made = new_unfinished(there / "twohot")
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise ArgumentError(argument, problem, "choose a folder that you may write to.") from error
    os.close(descriptor)
    made.unlink()
