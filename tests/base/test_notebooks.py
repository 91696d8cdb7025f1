"""What notebooks show: a bar while something is searched for, and tables."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import problems
from twohot import AutoProbe, DistilledProbe, find_label_issues, forecast
from twohot.base.notebooks import notebook_bar
from twohot.judge.auto_probe import MOST_TRIED

DATA = problems.digits(0.3, 200)


class Cell:
    """What a notebook shows in one place, in the order it came."""

    def __init__(self):
        self.shown = []

    def update(self, html):
        self.shown.append(html)


@pytest.fixture
def notebook(monkeypatch):
    """IPython as it is in a notebook: a shell with a kernel."""
    cell = Cell()
    python, display = ModuleType("IPython"), ModuleType("IPython.display")
    python.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.HTML = str

    def show(html, display_id):
        assert display_id is True
        cell.update(html)
        return cell

    display.display = show
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return cell


def test_a_bar_counts_escapes_and_goes(notebook):
    with notebook_bar(None, "Choosing", 3) as step:
        step("<b>one")
    first, second, last = notebook.shown
    assert first == '<progress value="0" max="3"></progress> Choosing: …'
    assert second == '<progress value="1" max="3"></progress> Choosing: &lt;b&gt;one'
    assert last == ""


def test_a_bar_goes_when_the_work_fails(notebook):
    with pytest.raises(KeyError), notebook_bar(None, "Choosing", 3):
        raise KeyError
    assert notebook.shown[-1] == ""


@pytest.mark.parametrize("search", [find_label_issues, forecast, AutoProbe().fit])
def test_a_search_has_a_bar_in_a_notebook_unless_a_callback_is_given(notebook, search):
    lines = []
    search(DATA.X, DATA.given_labels, callback=lines.append)
    assert notebook.shown == []
    search(DATA.X, DATA.given_labels)
    steps = notebook.shown[1:-1]
    assert len(steps) == len(lines) <= MOST_TRIED
    assert all(line.split(":")[0] in shown for line, shown in zip(lines, steps, strict=True))


def test_a_terminal_has_no_bar(notebook):
    sys.modules["IPython"].get_ipython = SimpleNamespace
    with notebook_bar(None, "Choosing", 3) as step:
        assert step is None
    assert notebook.shown == []


def test_rounds_print_as_a_table_and_stay_a_list():
    probe = DistilledProbe(n_rounds=3).fit(DATA.X, DATA.given_labels)
    rounds = probe.rounds_
    assert isinstance(rounds, list)
    lines = repr(rounds).splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["round", "targets", "loss"],
        ["1", "labels", "ce"],
        ["2", "outputs", "ce"],
        ["3", "outputs", "ce"],
    ]
    shown = rounds._repr_html_()
    assert shown.count("<tr>") == 4
    assert shown.count("<td>yes</td>") == 3


def test_a_forecast_shows_its_advice_and_the_candidates():
    names = np.array([f"<i>{code}" for code in range(10)])
    found = forecast(DATA.X, names[DATA.given_labels])
    shown = found._repr_html_()
    assert found.advice.summary in shown
    assert shown.count("<tr>") == 1 + len(found.comparison.choice.tried)
    assert "<i>" not in shown
