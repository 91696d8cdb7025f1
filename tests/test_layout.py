"""Imports go one way: a part of the package may import only what stands above it."""

import ast
from pathlib import Path

import pytest

import twohot

PACKAGE = Path(twohot.__file__).parent

# Read downwards it is the data flow; `theory` stands beside it and imports nothing of the package
# but the types and the checks of user input.
ORDER = [
    "_extras",
    "_files",
    "_palette",
    "_types",
    "_validation",
    "theory",
    "features",
    "data",
    "solve",
    "distill",
    "audit",
    "experiment",
    "report",
    "cli",
]
FOUNDATION = {"_extras", "_files", "_palette", "_types", "_validation"}


def imported_parts(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in modules if name.startswith("twohot.")}


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_go_one_way(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part in {"__init__", "__main__"}:
        return
    allowed = set(ORDER[: ORDER.index(part) + 1])
    if part == "theory":
        allowed = FOUNDATION | {"theory"}
    elif part not in {"audit", "experiment", "report", "cli"}:
        allowed -= {"theory"}
    assert imported_parts(path) <= allowed
