"""The rooms of the package: imports go one way, and between rooms only through their doors."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import twohot

SOURCES = Path(twohot.__file__).parents[1]

# A room may import the rooms above it. Theory needs no data and no solver: it imports base alone.
ROOMS = {
    "base": set(),
    "rows": {"base"},
    "tables": {"base", "rows"},
    "solve": {"base", "rows"},
    "probes": {"base", "rows", "tables", "solve"},
    "judge": {"base", "rows", "tables", "solve", "probes"},
    "theory": {"base"},
    "noise": {"base", "rows", "tables", "solve", "probes"},
    "extract": {"base", "rows", "tables"},
    "describe": {"base", "rows", "tables", "solve", "probes", "judge", "theory", "noise"},
    "review": {"base", "rows", "tables", "judge"},
    "audit": {"base", "rows", "tables", "solve", "probes", "judge", "describe", "review"},
}
MODULES = sorted(SOURCES.glob("twohot*/**/*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(SOURCES).as_posix()


def room_of(path: Path) -> str:
    """Return the room of a module of the package, or the package beside it."""
    parts = path.relative_to(SOURCES).parts
    return parts[1] if parts[0] == "twohot" and len(parts) > 2 else parts[0]


def imports(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield what a module imports from the project when it runs; types alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("twohot"):
            yield str(node.module), [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from ((name, []) for name in names if name.startswith("twohot"))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way_through_doors(path):
    room = room_of(path)
    if room == "twohot" or path.parent.name == "twohot":
        return  # the door of the whole package
    for module, names in imports(path):
        package, *parts = module.split(".")
        if package != "twohot":
            beside = {"twohot_command", "twohot_paper"}
            assert room in beside, f"{module} is beside the package"
            assert package == room or (room, package) == ("twohot_paper", "twohot_command")
        elif parts and parts[0] != room:
            assert len(parts) == 1, f"{module} is behind the door of {parts[0]}"
            assert room not in ROOMS or parts[0] in ROOMS[room], f"{room} comes before {parts[0]}"
        elif not parts and room in ROOMS:
            assert names == [], "a room imports no name from the door of the whole package"


def test_there_is_no_other_room():
    doors = (SOURCES / "twohot").glob("*/__init__.py")
    assert {path.parent.name for path in doors} == set(ROOMS)


def public_names() -> dict[str, list[str]]:
    """Return where every public function and class is defined."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        if room_of(path) == "twohot_command":
            continue  # a command is named after what it calls
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name_of(path))
    return places


def test_no_name_means_two_things():
    assert {name: found for name, found in public_names().items() if len(found) > 1} == {}


def test_importing_the_package_loads_nothing_else():
    script = """
import sys, twohot
assert not {"numpy", "sklearn"} & set(sys.modules)
assert twohot.theory.__name__ == "twohot.theory"
assert set(twohot.__all__) <= set(dir(twohot))
assert {getattr(twohot, name).__name__ for name in twohot.__all__} == set(twohot.__all__)
try:
    twohot.no_such_name
except AttributeError as error:
    assert "no_such_name" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603
