"""Columns that may have become features by mistake are named."""

import numpy as np
import pandas as pd
import pytest

from twohot.tables import read_features, read_table, write_features
from twohot.tables.column_roles import outside_series

SERIES = [f"e{i}" for i in range(8)]
AGE = np.linspace(1.5, 2.5, 40)


def frame(**others):
    """Return a table of features e0 … e7 and other columns."""
    rows = np.random.default_rng(0).normal(size=(8, 40))
    return pd.DataFrame(dict(zip(SERIES, rows, strict=True)) | others | {"label": ["a", "b"] * 20})


def test_unusual_names_are_noted(tmp_path):
    table = read_table(frame(age=AGE))
    assert table.columns_in_words.startswith("features: 9 columns e0 … e7 and age; label: label")
    write_features(tmp_path / "a.features", table)
    assert read_features(tmp_path / "a.features").notes == table.notes
    (note,) = table.notes
    assert note.startswith("features with unusual names: 'age'. To choose the features, name")
    chosen = read_table(frame(age=AGE), feature_column="e*")
    assert (chosen.feature_columns, chosen.notes) == (tuple(SERIES), ())


def test_wide_columns_are_noted():
    (note,) = read_table(frame(e8=np.linspace(100, 50_000, 40))).notes
    wide = "features with a standard deviation over 1,000 times the median, which dominate the "
    assert note.startswith(wide)
    # A hundred times the median is not far, and constant columns have no spread to compare with.
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
        (["e0", "e1", "e2", "age", "height"], []),  # many names are outside the series
        (["age", "height", "weight", "paid"], []),
        (SERIES, []),
    ],
)
def test_names_outside_series(names, stray):
    assert list(outside_series(names)) == stray
