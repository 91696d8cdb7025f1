"""Tables of results, as every reader gets them."""

import csv
import io

import numpy as np
import pytest

from twohot_paper.table import Mean, Table, mean_of

HOSTILE = "a|b & 50% <script>_x\\{~^"


def test_any_text_is_shown_as_it_is():
    table = Table(HOSTILE, ("η", HOSTILE), ((HOSTILE, 1.0),))
    assert "<script>" not in table.to_html()
    assert "&lt;script&gt;" in table.to_html()
    assert r"a\|b" in table.to_markdown()
    assert list(csv.reader(io.StringIO(table.to_csv())))[1] == [HOSTILE, "1.0"]
    latex = table.to_latex()
    assert r"a\textbar{}b \& 50\% \textless{}script\textgreater{}\_x" in latex
    assert r"\_x\textbackslash{}\{\textasciitilde{}\textasciicircum{}" in latex
    assert r"$\eta$" in latex


def test_every_line_of_latex_has_all_columns():
    table = Table("Accuracy", ("η", "teacher", "two-hot"), ((0.5, Mean(71.25, 1.0, 3), None),))
    lines = [line for line in table.to_latex().splitlines() if line.endswith(r"\\")]
    assert [line.count("&") for line in lines] == [2, 2]
    assert r"71.2 $\pm$ 1.0 & --" in lines[1]


def test_a_mean_of_one_draw_shows_no_spread():
    assert "71.0 |" in Table("", ("a",), ((Mean(71.0, 0.0, 1),),)).to_markdown()


def test_mean_and_spread_are_those_of_numpy():
    values = [0.1, 0.4, 0.7]
    mean = mean_of(values, factor=100)
    assert (mean.mean, mean.std) == pytest.approx((40, 100 * np.std(values)))
    assert mean_of([]) is None


def test_one_draw_has_no_deviation_in_csv():
    table = Table("Gain", ("two-hot",), ((Mean(1.5, 0.0, 1),), (Mean(2.5, 0.0, 2),)))
    assert table.to_csv().splitlines()[1:] == ["1.5,,1", "2.5,0.0,2"]
