"""The README tells the truth: its tables are what the demo prints, its chart is of the records."""

import csv
import importlib.util
import re
from pathlib import Path

import pytest

from twohot import AutoProbe
from twohot.digits_demo import demo_data, demo_rows

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
# The marks before the tables, and the data of each.
DEMOS = {"demo": (0.3, 0, "mixed"), "demo 70 %": (0.7, 0, "symmetric")}


def shown_table(mark: str) -> str:
    """Return the block of the README behind a mark."""
    return README.read_text(encoding="utf-8").split(f"<!-- {mark} -->")[1].split("```")[1]


def shown_rows(mark: str) -> dict[str, list[float]]:
    """Return the rows of a table: method, then accuracy and counts."""
    pattern = re.compile(r"^(\S.*?)  +([\d.]+)%\s+(\d+)\s+(\d+)\s+([\d.]+)$", re.MULTILINE)
    found = pattern.findall(shown_table(mark))
    return {name: [float(cell) for cell in cells] for name, *cells in found}


@pytest.mark.parametrize("mark", DEMOS)
def test_the_demo_tables_are_those_that_the_demo_prints(mark: str) -> None:
    data = demo_data(*DEMOS[mark])
    shown = shown_rows(mark)
    rows = list(demo_rows(data, AutoProbe()))
    assert list(shown) == [row.method for row in rows]
    for row in rows:
        accuracy, test_errors, training_errors, n_passes = shown[row.method]
        # Rounding on another machine may move a prediction on the edge, and a pass.
        assert row.test_errors == pytest.approx(test_errors, abs=2)
        assert row.training_errors == pytest.approx(training_errors, abs=3)
        assert row.n_passes == pytest.approx(n_passes, abs=2)
        assert accuracy == pytest.approx(100 * (1 - test_errors / len(data.test_labels)), abs=0.06)


@pytest.mark.parametrize("mark", DEMOS)
def test_the_shares_of_wrong_labels_are_those_stated(mark: str) -> None:
    data = demo_data(*DEMOS[mark])
    n_wrong = (data.given_labels != data.true_labels).sum()
    text = shown_table(mark)
    assert f"{len(data.true_labels)} images to train on, {n_wrong} of them" in text
    assert f"{len(data.test_labels)} to test on" in text


def test_the_chart_has_the_numbers_of_the_records() -> None:
    spec = importlib.util.spec_from_file_location("readme_figures", ROOT / "docs/readme_figures.py")
    assert spec is not None
    assert spec.loader is not None
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    with figures.NUMBERS.open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == figures.HEADER
    # If this fails the records have changed: run `python docs/readme_figures.py`.
    assert rows == figures.chart_rows()


def test_what_the_readme_says_of_its_chart_is_in_the_numbers() -> None:
    with (ROOT / "docs/figures/readme_comparison.csv").open(encoding="utf-8") as file:
        rows = {(row["setting"], row["method"]): row for row in csv.DictReader(file)}

    def score(setting: str, method: str, name: str) -> float:
        return float(rows[setting, method][name])

    clean, boundary = "digits, clean", "digits, 40 % where classes meet"
    at_random = "digits, 30 % at random"
    plain = score(clean, "LogisticRegression", "accuracy")
    assert plain >= score(clean, "twohot", "accuracy")  # "plain regression is as good or better"
    gained = [
        score(each, "twohot", "f1") - score(each, "cleanlab", "f1")
        for each in (boundary, at_random)
    ]
    assert gained[0] < gained[1]  # "the gain is small"
    assert gained[0] < 1
