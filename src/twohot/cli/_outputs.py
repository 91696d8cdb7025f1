"""Files that commands write, each whole or not at all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twohot._files import write_json
from twohot.figures.file import write_figure


def write_report(path: Path, record: Mapping[str, Any], figures: Mapping[str, Any]) -> list[Path]:
    """Write a record and the figures beside it by the names of their files; return the paths."""
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    write_json(path, record)
    for name, figure in figures.items():
        write_figure(folder / name, figure)
    return [path, *(folder / name for name in figures)]
