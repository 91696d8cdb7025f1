"""What a reproduction writes: figures as SVG and PNG, tables as CSV, Markdown and LaTeX."""

from pathlib import Path

from twohot._files import whole_file
from twohot.figures.file import write_figure
from twohot.reproduce.maker import Made


def write_made(folder: Path, made: Made) -> list[Path]:
    """Write figures and tables into a folder, each file whole or not at all; return the paths."""
    if not made.figures and not made.tables:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for stem, figure in made.figures.items():
        for suffix in (".svg", ".png"):
            written.append(folder / f"{stem}{suffix}")
            write_figure(written[-1], figure)
    for stem, table in made.tables.items():
        texts = {".csv": table.to_csv(), ".md": table.to_markdown(), ".tex": table.to_latex()}
        for suffix, text in texts.items():
            written.append(write_text(folder / f"{stem}{suffix}", text))
    return written


def write_text(path: Path, text: str) -> Path:
    """Write a text as a whole file, its folder made if need be; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return path
