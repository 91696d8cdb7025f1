"""Features of any scale and offset give the same probe, or an error or warning names the cause."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from stored import memory_map, zarr_array
from twohot import AutoProbe, DiscriminantProbe, DistilledProbe, LinearProbe, find_label_issues
from twohot.judge import out_of_fold_probabilities
from twohot.rows import SelectedRows, calling_rows
from twohot.rows.open import MEAN_ROUNDING, fit_preparation
from twohot.rows.preparation import row_norms
from twohot.tables import FeatureTable, RowIds, read_features, write_features

# Few digits, so that an offset costs none of them.
X, Y = load_iris(return_X_y=True)
X = np.round(4 * X) / 4
PROBES = {
    "linear": LinearProbe(),
    "not centred": LinearProbe(center=False),
    "distilled": DistilledProbe(n_rounds=2),
    "discriminant": DiscriminantProbe(),
}


def probabilities(probe, rows):
    return probe.fit(rows, Y).predict_proba(rows)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("power", [-1000, -60, 60, 660])
@pytest.mark.parametrize("name", PROBES)
def test_power_of_two_changes_no_bit(name, power, stored):
    rows = stored(X)
    if stored is np.float32:
        power //= 9
    scaled = probabilities(PROBES[name], rows * 2.0**power)
    np.testing.assert_array_equal(scaled, probabilities(PROBES[name], rows))


@pytest.mark.parametrize(
    ("name", "stored", "offset", "atol"),
    [
        *(  # an offset of 1e12 leaves four digits after the point
            (name, stored, offset, 1e-3)
            for name in ("linear", "distilled", "discriminant")
            for stored in (np.asarray, sp.csr_array)
            for offset in (1e6, 1e12)
        ),
        ("linear", np.float32, 2.0**20, 0.05),
    ],
)
def test_offset_changes_only_rounding(name, stored, offset, atol):
    found = probabilities(PROBES[name], stored(X + offset))
    np.testing.assert_allclose(found, probabilities(PROBES[name], X), atol=atol)


def test_large_constant_column_changes_nothing():
    large, zero = (np.column_stack([X, np.full(150, x)]).astype(np.float32) for x in (1e30, 0))
    found, expected = (probabilities(LinearProbe(), rows) for rows in (large, zero))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_mean_does_not_depend_on_a_row_without_weight():
    rows, weights = np.vstack([np.full((1, 4), 1e12), X]), np.repeat([0.0, 1], [1, 150])
    fitted = fit_preparation(rows, center=True, normalize=True, weights=weights)
    np.testing.assert_allclose(fitted.mean, X.mean(axis=0), rtol=1e-12)


def test_mean_about_an_offset_keeps_all_digits():
    """Numbers of few digits have exact sums; the plain sum is off in the fifth digit."""
    rows = np.random.default_rng(0).integers(0, 4, (100_000, 2)) + 2.0**45
    fitted = fit_preparation(rows, center=True, normalize=True, weights=None)
    exact = (rows - 2.0**45).sum(axis=0) / len(rows)
    np.testing.assert_allclose(fitted.mean - 2.0**45, exact, rtol=0, atol=2.0**-8)
    assert fitted.mean_error < 0.05


def test_error_of_the_mean_is_relative_to_the_spread():
    spread = MEAN_ROUNDING * np.linalg.norm(np.abs(X - np.median(X, axis=0)).mean(axis=0))
    fitted = fit_preparation(X + 1000, center=True, normalize=True, weights=None)
    assert fitted.mean_error < 2 * spread + 1e-12


@pytest.mark.parametrize(
    ("rows", "dtype", "normalize", "message"),
    [
        (X * 2e307, None, True, r"norm inf; a fit in float64 needs norms of 4e-307 to 1e\+307"),
        (X * 1e-310, None, True, "multiply X by a constant"),
        (X * 1e200, None, False, r"norm 4e\+200; .* or pass normalize=True"),
        (X * 1e-200, None, False, "or pass normalize=True, which removes the scale"),
        (X.astype(np.float32) * np.float32(1e-40), None, True, "float32 needs norms of 2e-37"),
        (X.astype(np.float32) * np.float32(1e25), None, False, "float32 needs norms of 4e-16"),
        (X * 1e200, "float32", True, r"norm 4e\+200; a fit in float32 needs"),
        (X + 1e16, None, True, r"\(norm 2e\+16\) by 2, which float64 cannot represent"),
    ],
)
def test_refuses_scales_beyond_the_precision(rows, dtype, normalize, message):
    with pytest.raises(ValueError, match=message):
        LinearProbe(dtype=dtype, normalize=normalize).fit(rows, Y)


@pytest.mark.parametrize("value", [0.0, 1e-320, 3.7, 1e300])
def test_equal_rows_give_uniform_outputs(value):
    np.testing.assert_array_equal(probabilities(LinearProbe(), np.full_like(X, value)), 1 / 3)


def test_norms_of_very_different_size():
    rows = np.array([[3.0, 4.0]]) * np.array([[1e-320], [1e-200], [1.0], [1e200], [1e307], [0.0]])
    norms = row_norms(rows)
    np.testing.assert_allclose(norms[1:], [5e-200, 5.0, 5e200, 5e307, 0.0], rtol=1e-15)
    np.testing.assert_allclose(norms[0], 5e-320, rtol=1e-3)  # so small a number has few digits


@pytest.mark.filterwarnings("ignore:X has row .* of norm:UserWarning")  # of a placeholder
@pytest.mark.parametrize("period", [2, 7])
def test_order_of_rows_changes_no_check(period):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200 * period, 4)) + 1
    rows[::period] = 1e6 + 1e-10 * rng.normal(size=(200, 4))  # placeholders
    labels, order = np.arange(len(rows)) % 2, rng.permutation(len(rows))
    found = LinearProbe().fit(rows, labels)
    shuffled = LinearProbe().fit(rows[order], labels[order])
    errors = (probe.preparation_.mean_error for probe in (found, shuffled))
    np.testing.assert_allclose(*errors, rtol=0.5)
    np.testing.assert_allclose(found.predict_proba(rows), shuffled.predict_proba(rows), atol=1e-5)


# One row so far from the others that they are indistinguishable -----------------------------------

ROW, GIVEN = 123, np.arange(240) % 3
PLAIN = np.random.default_rng(0).normal(size=(240, 6)) + 4 * np.eye(3, 6)[GIVEN]
WARNED = rf"X has row {ROW} of norm 1e\+08; the median norm is \d: .* Correct or remove"
REFUSED = rf"X has row {ROW} of norm (1e\+30|\de\+100); .*: correct or remove the row"
IDS = [f"T{number}" for number in range(240)]


def with_outlier(value):
    """Return rows of which one has a large value, or is multiplied by 1e100."""
    rows = PLAIN.copy()
    if value == "whole row":
        rows[ROW] *= 1e100
    else:
        rows[ROW, 4] = value
    return rows


CONTAINERS = {
    "array": lambda rows, _: rows,
    "list": lambda rows, _: rows.tolist(),
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "sparse": lambda rows, _: sp.csr_array(rows),
    "memory map": memory_map,
    "Zarr": lambda rows, folder: zarr_array(rows, folder, 50),
    "Dask": lambda rows, _: da.from_array(rows, chunks=(100, 6)),
}
CALLS = {
    "fit": LinearProbe().fit,
    "not normalized": LinearProbe(normalize=False, dtype="float64").fit,
    "AutoProbe": AutoProbe().fit,
    "audit": find_label_issues,
}


@pytest.mark.parametrize(
    ("container", "call"),
    [
        *((container, "fit") for container in CONTAINERS),
        *((container, "not normalized") for container in ("array", "sparse")),
        *((container, call) for container in ("array", "Dask") for call in ("AutoProbe", "audit")),
    ],
)
def test_outlier_is_named(container, call, tmp_path):
    rows = CONTAINERS[container](with_outlier(1e8), tmp_path)
    with pytest.warns(UserWarning, match=WARNED):
        CALLS[call](rows, GIVEN)
    for value in (1e30, "whole row"):
        rows = CONTAINERS[container](with_outlier(value), tmp_path)
        with pytest.raises(ValueError, match=REFUSED):
            CALLS[call](rows, GIVEN)


@pytest.mark.parametrize("container", ["array", "pandas", "sparse", "Dask"])
def test_outlier_has_the_name_of_the_user(container, tmp_path):
    labels = [None if row % 4 == 0 else label for row, label in enumerate(GIVEN.tolist())]
    rows = CONTAINERS[container](with_outlier(1e30), tmp_path)
    with pytest.raises(ValueError, match=REFUSED):
        find_label_issues(rows, labels)
    with pytest.raises(ValueError, match="X has row T123 of norm"):
        find_label_issues(rows, labels, ids=IDS)


def test_outlier_of_a_fold_has_its_position_in_the_data():
    with pytest.warns(UserWarning, match="X has row") as said:
        out_of_fold_probabilities(LinearProbe(), with_outlier(1e8), GIVEN)
    assert {str(warning.message).split()[3] for warning in said} == {str(ROW)}


def test_outlier_of_selected_rows_is_named(tmp_path):
    whole = FeatureTable(features=with_outlier(1e30), labels=GIVEN, classes=("a", "b", "c"))
    write_features(tmp_path / "x.features", whole)
    table = read_features(tmp_path / "x.features").take(np.delete(np.arange(100, 240), 7))
    assert isinstance(table.features, SelectedRows)
    ids = RowIds.of_column("id", IDS[100:107] + IDS[108:])
    with calling_rows(table.features, ids), pytest.raises(ValueError, match="X has row T123 of"):
        LinearProbe().fit(table.features, table.coded)
    with pytest.raises(ValueError, match="X has row 123 of"):
        LinearProbe().fit(table.features, table.coded)


@pytest.mark.parametrize("factor", [1, 10, 100])
def test_longer_row_without_effect_causes_no_warning(factor):
    rows = PLAIN.copy()
    rows[ROW] *= factor
    assert LinearProbe().fit(rows, GIVEN).score(PLAIN, GIVEN) > 0.95
    LinearProbe().fit(np.abs(rows), GIVEN)  # all on one side


def test_outlier_without_weight_or_effect_causes_no_warning():
    LinearProbe().fit(with_outlier(1e12), GIVEN, sample_weight=np.arange(240) != ROW)
    LinearProbe(center=False).fit(with_outlier(1e8), GIVEN)  # rows are scaled one by one
