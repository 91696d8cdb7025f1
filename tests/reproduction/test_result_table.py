"""Tables of results as Markdown and CSV."""

import csv
import io

import numpy as np
import pytest

from twohot_paper.table import Mean, Table, mean_of

HOSTILE = "a|b & 50% <script>_x\\{~^"


def test_tables_escape_any_text():
    table = Table(HOSTILE, ("η", HOSTILE), ((HOSTILE, 1.0),))
    assert r"a\|b" in table.to_markdown()
    assert list(csv.reader(io.StringIO(table.to_csv())))[1] == [HOSTILE, "1.0"]


def test_one_draw_has_no_spread():
    assert "71.0 |" in Table("", ("a",), ((Mean(71.0, 0.0, 1),),)).to_markdown()


def test_mean_and_spread_match_numpy():
    values = [0.1, 0.4, 0.7]
    mean = mean_of(values, factor=100)
    assert (mean.mean, mean.std) == pytest.approx((40, 100 * np.std(values)))
    assert mean_of([]) is None
