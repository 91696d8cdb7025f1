"""The README tells the truth: its demo table is what the demo prints."""

import re
from pathlib import Path

import pytest

from twohot import AutoProbe
from twohot.digits_demo import demo_data, demo_rows

README = Path(__file__).parents[1] / "README.md"


def shown_rows() -> dict[str, list[float]]:
    """Return the rows of the demo table in the README: method, then accuracy and counts."""
    table = README.read_text().split("<!-- demo -->")[1].split("```")[1]
    pattern = re.compile(r"^(\S.*?)  +([\d.]+)%\s+(\d+)\s+(\d+)\s+([\d.]+)$", re.MULTILINE)
    return {name: [float(cell) for cell in cells] for name, *cells in pattern.findall(table)}


def test_the_demo_table_is_the_one_the_demo_prints() -> None:
    data = demo_data(0.7, 0)
    shown = shown_rows()
    rows = list(demo_rows(data, AutoProbe()))
    assert list(shown) == [row.method for row in rows]
    for row in rows:
        accuracy, test_errors, training_errors, n_passes = shown[row.method]
        # Rounding on another machine may move a prediction on the edge, and a pass.
        assert row.test_errors == pytest.approx(test_errors, abs=2)
        assert row.training_errors == pytest.approx(training_errors, abs=3)
        assert row.n_passes == pytest.approx(n_passes, abs=2)
        assert accuracy == pytest.approx(100 * (1 - test_errors / len(data.test_labels)), abs=0.06)


def test_the_share_of_wrong_labels_is_the_one_stated() -> None:
    data = demo_data(0.7, 0)
    n_wrong = (data.given_labels != data.true_labels).sum()
    text = README.read_text()
    assert f"{len(data.true_labels)} images to train on, {n_wrong} of them" in text
    assert f"{len(data.test_labels)} to test on" in text
