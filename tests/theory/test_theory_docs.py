"""docs/theory.md names tests and functions that exist."""

import ast
import re
from pathlib import Path

import pytest

import twohot.theory
import twohot.theory.as_printed

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "theory.md"
NAMED_TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text())))


@pytest.mark.parametrize(("path", "name"), NAMED_TESTS)
def test_named_test_exists(path: str, name: str) -> None:
    module = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}


def test_every_erratum_names_a_test() -> None:
    errata = PAGE.read_text().split("## Errata")[1]
    numbered = re.split(r"^\d+\. ", errata, flags=re.MULTILINE)[1:]
    without = [entry[:40] for entry in numbered if "::test_" not in entry]
    assert without == [entry[:40] for entry in numbered if entry.startswith("Slips without")]


def test_every_function_the_paper_is_led_to_exists() -> None:
    table = PAGE.read_text().split("## Paper → code")[1].split("## Figures")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "`" in line]
    names = set()
    for row in rows:
        names |= set(re.findall(r"`([A-Za-z_]\w*(?:\.\w+)*)(?:\(.*?\))?`", row.rsplit("|", 2)[1]))
    assert len(names) > 40
    for name in names:
        found: object = twohot.theory
        for part in name.split("."):
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[part] if part in fields else getattr(found, part)


def test_every_public_name_is_on_the_page() -> None:
    page = PAGE.read_text()
    records = {"NoiseTolerance", "RoundsNeeded", "RoundsCondition", "Guarantee", "SubspaceShift"}
    missing = {name for name in twohot.theory.__all__ if name not in page}
    assert missing <= records


def test_figures_of_the_page_are_there() -> None:
    for name in re.findall(r"\((figures/\w+\.png)\)", PAGE.read_text()):
        picture = PAGE.parent / name
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 100_000
