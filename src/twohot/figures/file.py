"""Pictures: begun empty, and written whole or not at all."""

from pathlib import Path
from typing import Any

from twohot._extras import load_extra
from twohot._files import whole_file

# Dots an inch: names of classes in small print can be read, and files stay below half a MB.
DPI = 150

# By the end of the name: what would make two files of the same picture differ, left out.
METADATA = {".png": {"Software": None}, ".svg": {"Date": None}}


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of so many inches."""
    matplotlib = load_extra("matplotlib.figure", "plot", "figures")
    return matplotlib.Figure(figsize=(width, height), layout="constrained")


def write_figure(path: Path, figure: Any) -> None:
    """Write a figure of matplotlib in the format that the name says."""
    matplotlib = load_extra("matplotlib", "plot", "figures")
    # A salt of its own names the parts of an SVG at random.
    with whole_file(path) as file, matplotlib.rc_context({"svg.hashsalt": "twohot"}):
        figure.savefig(file, format=path.suffix[1:], dpi=DPI, metadata=METADATA[path.suffix])
