"""Imports go one way: a part of the package may import only what stands above it."""

import ast
from pathlib import Path

import pytest

import twohot

PACKAGE = Path(twohot.__file__).parent

# Read downwards it is the data flow; `theory` stands beside it and imports nothing of the package
# but the types and the checks of user input.
FOUNDATION = [
    "_extras",
    "_memory",
    "_unfinished",
    "_files",
    "_pages",
    "_notebooks",
    "_types",
    "_ties",
    "_checks",
]
ORDER = [
    *FOUNDATION,
    "theory",
    "figures",
    "rows",
    "tables",
    "classes",
    "noise",
    "extract",
    "solve",
    "distill",
    "judge",
    "review",
    "audit",
    "evaluation",
    "forecast",
    "experiment",
    "reproduce",
    "digits_demo",
    "cli",
]
ASKS_THEORY = {"figures", "forecast", "experiment", "reproduce", "cli"}


# A command is named after what it calls, and so is its module.
COMMANDS = "cli"


def public_names() -> dict[str, list[str]]:
    """Return where every public function and class is defined."""
    places: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        place = str(path.relative_to(PACKAGE))
        if place.startswith(COMMANDS):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(place)
    return places


def test_no_name_means_two_things() -> None:
    assert {name: found for name, found in public_names().items() if len(found) > 1} == {}


def imported_parts(path: Path) -> set[str]:
    """Return the parts that a module imports when it runs; types alone do not count."""
    modules: set[str] = set()
    tree = ast.parse(path.read_text())
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
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
        allowed = {*FOUNDATION, "theory"}
    elif part not in ASKS_THEORY:
        allowed -= {"theory"}
    assert imported_parts(path) <= allowed
