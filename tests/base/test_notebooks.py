"""Output in notebooks: a progress bar during a search, and tables."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import problems
from twohot import AutoProbe, DistilledProbe, find_label_issues, forecast
from twohot.base.notebooks import notebook_bar
from twohot.judge.auto_probe import MOST_TRIED

DATA = problems.digits(0.3, 200)


@pytest.fixture
def shown(monkeypatch):
    """IPython as in a notebook, a shell with a kernel; what it displays, in order."""
    found = []
    python, display = ModuleType("IPython"), ModuleType("IPython.display")
    python.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.HTML = str

    def show(html, display_id):
        assert display_id is True
        found.append(html)
        return SimpleNamespace(update=found.append)

    display.display = show
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return found


def test_bar_counts_steps_and_escapes_text(shown):
    with notebook_bar(None, "Choosing", 3) as step:
        step("<b>one")
    assert shown == [
        '<progress value="0" max="3"></progress> Choosing: …',
        '<progress value="1" max="3"></progress> Choosing: &lt;b&gt;one',
        "",
    ]


def test_bar_is_removed_after_an_error(shown):
    with pytest.raises(KeyError), notebook_bar(None, "Choosing", 3):
        raise KeyError
    assert shown[-1] == ""


@pytest.mark.parametrize("search", [find_label_issues, forecast, AutoProbe().fit])
def test_search_shows_a_bar_unless_a_callback_is_passed(shown, search):
    lines = []
    search(DATA.X, DATA.given_labels, callback=lines.append)
    assert shown == []
    search(DATA.X, DATA.given_labels)
    steps = shown[1:-1]
    assert len(steps) == len(lines) <= MOST_TRIED
    assert all(line.split(":")[0] in step for line, step in zip(lines, steps, strict=True))


def test_terminal_shows_no_bar(shown):
    sys.modules["IPython"].get_ipython = SimpleNamespace
    with notebook_bar(None, "Choosing", 3) as step:
        assert step is None
    assert shown == []


def test_rounds_print_as_a_table():
    rounds = DistilledProbe(n_rounds=3).fit(DATA.X, DATA.given_labels).rounds_
    assert isinstance(rounds, list)
    assert [line.split()[:3] for line in repr(rounds).splitlines()] == [
        ["round", "targets", "loss"],
        ["1", "labels", "ce"],
        ["2", "outputs", "ce"],
        ["3", "outputs", "ce"],
    ]
    html = rounds._repr_html_()
    assert html.count("<tr>") == 4
    assert html.count("<td>yes</td>") == 3


def test_forecast_shows_its_advice_and_the_candidates():
    names = np.array([f"<i>{code}" for code in range(10)])
    found = forecast(DATA.X, names[DATA.given_labels])
    html = found._repr_html_()
    assert found.advice.summary in html
    assert html.count("<tr>") == 1 + len(found.comparison.choice.tried)
    assert "<i>" not in html
