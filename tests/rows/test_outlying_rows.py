"""A row beside which all others look alike is called by its name, whatever rows came in."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import zarr

from stored import memory_map
from twohot import AutoProbe, LinearProbe, find_label_issues
from twohot.judge import out_of_fold_probabilities
from twohot.rows import SelectedRows, calling_rows
from twohot.tables import FeatureTable, RowIds, read_features, write_features

Y = np.arange(240) % 3
PLAIN = np.random.default_rng(0).normal(size=(240, 6)) + 4 * np.eye(3, 6)[Y]
ROW = 123
WARNED = (
    rf"X has row {ROW} of norm 1e\+08, and half of the rows have \d or less.* Correct or remove"
)
REFUSED = rf"X has row {ROW} of norm (1e\+30|\de\+100), and .*: correct or remove the row"
IDS = [f"T{number}" for number in range(240)]


def with_outlier(change):
    rows = PLAIN.copy()
    if change == "one row":
        rows[ROW] *= 1e100
    else:
        rows[ROW, 4] = change
    return rows


def in_zarr(rows, folder):
    stored = zarr.create_array(
        folder / "x.zarr", shape=rows.shape, chunks=(50, 6), dtype="f8", overwrite=True
    )
    stored[:] = rows
    return stored


CONTAINERS = {
    "array": lambda rows, _: rows,
    "list": lambda rows, _: rows.tolist(),
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "sparse": lambda rows, _: sp.csr_array(rows),
    "memory map": memory_map,
    "Zarr": in_zarr,
    "Dask": lambda rows, _: da.from_array(rows, chunks=(100, 6)),
}
CALLS = {
    "fit": LinearProbe().fit,
    "AutoProbe": AutoProbe().fit,
    "audit": find_label_issues,
}


@pytest.mark.parametrize(
    ("container", "call"),
    [
        *((container, "fit") for container in CONTAINERS),
        *((container, call) for container in ("array", "Dask") for call in ("AutoProbe", "audit")),
    ],
)
def test_every_container_names_the_row(container, call, tmp_path):
    rows = CONTAINERS[container](with_outlier(1e8), tmp_path)
    with pytest.warns(UserWarning, match=WARNED):
        CALLS[call](rows, Y)
    for change in (1e30, "one row"):
        rows = CONTAINERS[container](with_outlier(change), tmp_path)
        with pytest.raises(ValueError, match=REFUSED):
            CALLS[call](rows, Y)


@pytest.mark.parametrize("container", ["array", "pandas", "sparse", "Dask"])
def test_rows_without_a_label_move_no_name(container, tmp_path):
    labels = [None if row % 4 == 0 else label for row, label in enumerate(Y.tolist())]
    rows = CONTAINERS[container](with_outlier(1e30), tmp_path)
    with pytest.raises(ValueError, match=REFUSED):
        find_label_issues(rows, labels)
    with pytest.raises(ValueError, match="X has row T123 of norm"):
        find_label_issues(rows, labels, ids=IDS)


def test_a_fold_calls_a_row_by_its_place_in_the_data():
    with pytest.warns(UserWarning, match="X has row") as said:
        out_of_fold_probabilities(LinearProbe(), with_outlier(1e8), Y)
    assert {str(warning.message).split()[3] for warning in said} == {str(ROW)}


def test_names_belong_to_the_rows_that_were_named(tmp_path):
    """Not to their places in the file, of which these are some."""
    whole = FeatureTable(features=with_outlier(1e30), labels=Y, classes=("a", "b", "c"))
    write_features(tmp_path / "x.features", whole)
    table = read_features(tmp_path / "x.features").take(np.delete(np.arange(100, 240), 7))
    assert isinstance(table.features, SelectedRows)
    ids = RowIds.of_column("id", IDS[100:107] + IDS[108:])
    with calling_rows(table.features, ids), pytest.raises(ValueError, match="X has row T123 of"):
        LinearProbe().fit(table.features, table.coded)


def test_rows_that_are_scaled_each_by_itself_do_not_hide_each_other():
    LinearProbe(center=False).fit(with_outlier(1e8), Y)
