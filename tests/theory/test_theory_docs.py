"""The pages on the theory name tests and functions that exist."""

import ast
import re
from pathlib import Path

import pytest

import twohot.theory
from twohot_paper import synthetic_figures
from twohot_paper.exhibit import choose_exhibits

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "theory.md"
THEOREMS = ROOT / "docs" / "reproduction" / "theorems.md"


def named_tests(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text("utf-8"))


@pytest.mark.parametrize(("path", "name"), sorted({*named_tests(PAGE), *named_tests(THEOREMS)}))
def test_named_test_exists(path: str, name: str) -> None:
    module = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}


def test_every_theorem_and_erratum_names_a_test() -> None:
    assert len(named_tests(THEOREMS)) >= THEOREMS.read_text("utf-8").count("\n## ")
    errata = PAGE.read_text().split("## Errata")[1]
    numbered = re.split(r"^\d+\. ", errata, flags=re.MULTILINE)[1:]
    assert len(numbered) >= 14
    assert [entry[:40] for entry in numbered if "::test_" not in entry] == []


def test_every_listed_function_exists() -> None:
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


def test_every_public_name_is_listed_under_its_module() -> None:
    listed = {
        (name, module)
        for module, names in re.findall(
            r"^\| `(\w+)\.py` \| (.+) \|$", PAGE.read_text(), re.MULTILINE
        )
        for name in re.findall(r"`(\w+)`", names)
    }
    defined = {
        (name, getattr(twohot.theory, name).__module__.rsplit(".", 1)[1])
        for name in twohot.theory.__all__
    }
    assert listed == defined


def test_every_figure_lists_its_maker_and_drawing() -> None:
    rows = re.findall(
        r"^\|.*`(fig:\w+)`.*\| `(\w+)` \| `(\w+)` \|$", PAGE.read_text(), re.MULTILINE
    )
    assert len(rows) == 6
    for figure, maker, drawing in rows:
        (exhibit,) = choose_exhibits([figure])
        assert type(exhibit.build()).__name__ == maker
        modules = (synthetic_figures,)
        assert any(callable(getattr(module, drawing, None)) for module in modules)


def test_page_lists_every_equation_of_the_theory() -> None:
    """Labels of the appendices' equations; those of the text are listed by number, 1 to 16."""
    page = PAGE.read_text()
    labels = [
        *("app:alpha", "eqn:opt_numerical", "eqn:alpha_linear", "eqn:inst_feature_corr"),
        *("eqn:gram", "eqn:mP", "eqn:cf_const", "eqn:mQ", "eqn:closed_case4", "eqn:power_t"),
        *("eqn:inv_V", "eqn:superclass_unif", "cond:cond1", "cond:cond3", "eqn:extended_cd"),
    ]
    assert [label for label in labels if f"`{label}`" not in page] == []
    numbers = {
        int(number)
        for cell in re.findall(r"^\| (eq\.[^|]*)\|", page, re.MULTILINE)
        for number in re.findall(r"\d+", cell.split("Assumption")[0])
    }
    assert numbers == set(range(1, 17))
