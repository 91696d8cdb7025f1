"""Where a file may be written: never over what was read, and known before the work is done."""

from collections.abc import Collection, Iterable
from pathlib import Path

from twohot._checks.messages import ArgumentError, FileThereError


def check_output(
    path: Path,
    inputs: Iterable[Path | None] = (),
    *,
    force: bool,
    name: str = "output",
    suffixes: Collection[str] = (),
) -> None:
    """Raise if a file may not be written where an argument says, or not under such a name."""
    argument = {name: path}
    if path.resolve() in {given.resolve() for given in inputs if given is not None}:
        raise ArgumentError(argument, "is the input itself", "choose another name.")
    if suffixes and path.suffix not in suffixes:
        endings = " or ".join(suffixes)
        raise ArgumentError(argument, f"does not end in {endings}", "choose a name that does.")
    if not path.parent.is_dir():
        raise ArgumentError(argument, "is in a folder that is not there", "make it first.")
    if path.is_dir():
        raise ArgumentError(argument, "is a folder", "pass the name of a file.")
    if path.exists() and not path.is_file():
        problem, advice = "is not a regular file", "pass the name of one, or of none yet."
        raise ArgumentError(argument, problem, advice)
    if path.exists() and not force:
        advice = "pass {force} to replace it."
        raise FileThereError(argument, "is there already", advice, force=True)
