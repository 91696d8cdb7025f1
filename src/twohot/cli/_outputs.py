"""Where a command may write, never over what it read, and files that are written whole."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from twohot._checks.messages import ArgumentError, FileThereError
from twohot._files import whole_file
from twohot.figures.file import write_figure


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


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record as JSON, which has no number that is not finite."""
    with whole_file(path) as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False).encode())


def write_report(path: Path, record: Mapping[str, Any], figures: Mapping[str, Any]) -> list[Path]:
    """Write a record and the figures beside it by the names of their files; return the paths."""
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    write_json(path, record)
    for name, figure in figures.items():
        write_figure(folder / name, figure)
    return [path, *(folder / name for name in figures)]
