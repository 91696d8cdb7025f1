"""Where a command may write: never over what it read, and over other files only by --force."""

from collections.abc import Iterable
from pathlib import Path

from twohot._checks.messages import ArgumentError, FileThereError


def check_feature_file(
    output: Path, inputs: Iterable[Path | None], *, force: bool, name: str = "output"
) -> None:
    """Raise if a feature file may not be written where an option says."""
    if output.suffix != ".features":
        raise ArgumentError({name: output}, "is no feature file", "let its name end in .features.")
    check_new(output, inputs, force=force, name=name)


def check_new(
    output: Path, inputs: Iterable[Path | None], *, force: bool, name: str = "output"
) -> None:
    """Raise if a file may not be written where an option says."""
    option = {name: output}
    if output.resolve() in {given.resolve() for given in inputs if given is not None}:
        raise ArgumentError(option, "is the input itself", "choose another name.")
    if not output.parent.is_dir():
        raise ArgumentError(option, "is in a folder that is not there", "make it.")
    if output.is_dir():
        raise ArgumentError(option, "is a folder", "pass the name of a file.")
    if output.exists() and not force:
        raise FileThereError(option, "is there already", "pass {force} to replace it.", force=True)
