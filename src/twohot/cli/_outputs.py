"""Files that commands write, each whole or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twohot._files import whole_file
from twohot.figures.file import write_figure


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
