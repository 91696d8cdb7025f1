"""Small tables with wrong labels as CSV files, and the command line that reads them."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from twohot.tables.csv_file import read_csv, write_csv
from twohot_command.commands import app

N_FEATURES = 6
# As strings "10" sorts before "2"; as classes of a table it comes after.
NAMES = ("2", "10", "30")


def run(*arguments: object, columns: str = "400"):
    """Run a command in a terminal, by default so wide that no message is broken."""
    environment = {"COLUMNS": columns, "NO_COLOR": "1", "TERM": "dumb"}
    return CliRunner().invoke(app, [*map(str, arguments)], env=environment)


def done(*arguments: object, columns: str = "400"):
    """Run a command that must succeed; return its result."""
    result = run(*arguments, columns=columns)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: object) -> str:
    """Run a command that must fail; return what it prints."""
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    return result.output


def run_python(script: str, **options):
    """Run a script in a process of its own, with the imports of this one."""
    return subprocess.run(  # noqa: S603 (our own scripts)
        [sys.executable, "-c", textwrap.dedent(script)],
        check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options,
    )


def blobs(n_rows: int = 150, n_classes: int = 3, seed: int = 0):
    """Return features of well separated classes in turn, and the class of each row."""
    true = np.arange(n_rows) % n_classes
    noise = np.random.default_rng(seed).normal(0, 0.15, (n_rows, N_FEATURES))
    return np.eye(n_classes, N_FEATURES)[true] + noise, true


def wrong_every(labels, step: int, names=NAMES) -> list[str]:
    """Return names of labels, every so many of them that of the next class."""
    shifted = np.where(np.arange(len(labels)) % step == 0, labels + 1, labels)
    return [names[label % len(names)] for label in shifted]


def write_table(target: Path, features, **columns) -> Path:
    """Write features x0, x1, … and other columns as CSV."""
    header = [*(f"x{i}" for i in range(features.shape[1])), *columns]
    rows = zip(features.tolist(), *columns.values(), strict=True)
    write_csv(target, header, ([*map(repr, row), *rest] for row, *rest in rows))
    return target


def column(path: Path, name: str) -> list[str]:
    """Return one column of a CSV file."""
    header, *lines = read_csv(path)
    return [line[header.index(name)] for line in lines]


def everything(folder: Path) -> dict[Path, bytes]:
    """Return all files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
