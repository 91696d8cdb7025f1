"""Columns that become features and may be none are named."""

import numpy as np
import pandas as pd
import pytest

from twohot.tables import read_features, read_table, write_features
from twohot.tables.column_roles import outside_series

SERIES = [f"e{i}" for i in range(8)]


def frame(**others) -> pd.DataFrame:
    """Return a table of features e0 … e7 and other columns."""
    rows = np.random.default_rng(0).normal(size=(40, len(SERIES)))
    return pd.DataFrame(
        {**dict(zip(SERIES, rows.T, strict=True)), **others, "label": ["a", "b"] * 20}
    )


AGE = np.linspace(1.5, 2.5, 40)


def test_a_column_unlike_the_others_is_named_in_words_and_in_a_note(tmp_path):
    table = read_table(frame(age=AGE))
    assert table.columns_in_words.startswith("features: 9 columns e0 … e7 and age; label: label")
    write_features(tmp_path / "a.features", table)
    assert read_features(tmp_path / "a.features").notes == table.notes
    (note,) = table.notes
    assert note.startswith("features with unusual names: 'age'. To leave some out, name the col")
    chosen = read_table(frame(age=AGE), feature_column="e*")
    assert chosen.feature_columns == tuple(SERIES)
    assert chosen.notes == ()


def test_a_column_that_hides_the_others_is_named():
    (note,) = read_table(frame(e8=np.linspace(100, 50_000, 40))).notes
    assert note.startswith(
        "features with a spread over 1,000 times the median, which dominate the others: 'e8'. To"
    )
    # A hundred times as wide is not far, and constant columns have no spread to compare with.
    assert read_table(frame(e8=np.linspace(0, 300, 40))).notes == ()
    assert read_table(frame(e8=np.zeros(40), e9=np.zeros(40))).notes == ()


@pytest.mark.parametrize(
    ("names", "stray"),
    [
        ([*SERIES, "extra"], ["extra"]),
        (["0", "1", "2", "3", "age"], ["age"]),
        (["v[0]1", "v[0]2", "v[0]3", "v[0]4", "v01"], ["v01"]),
        ([*SERIES, *(f"t_{i}" for i in range(4)), "age"], ["age"]),  # two series
        ([*SERIES, "age", "height"], ["age", "height"]),
        (["e0", "e1", "e2", "age", "height"], []),  # not nearly all are in a series
        (["age", "height", "weight", "paid"], []),
        (SERIES, []),
    ],
)
def test_strays_are_what_is_in_no_series(names, stray):
    assert list(outside_series(names)) == stray
