"""Features of any scale and about any offset give one and the same probe, or are refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from twohot import AutoProbe, DiscriminantProbe, DistilledProbe, LinearProbe
from twohot.rows.open import MEAN_ROUNDING, fit_preparation
from twohot.rows.preparation import row_norms
from twohot.rows.selected import SelectedRows

# Few digits, so that an offset costs none of them.
X, Y = load_iris(return_X_y=True)
X = np.round(4 * X) / 4
PROBES = {
    "linear": LinearProbe(),
    "not centred": LinearProbe(center=False),
    "distilled": DistilledProbe(n_rounds=2),
    "discriminant": DiscriminantProbe(),
}


def probabilities(probe, rows, new_rows=None):
    return probe.fit(rows, Y).predict_proba(rows if new_rows is None else new_rows)


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("power", [-1000, -660, -60, 60, 660, 1000])
@pytest.mark.parametrize("name", PROBES)
def test_a_power_of_two_changes_no_bit(name, power, stored):
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
            for offset in (1e6, 1e9, 1e12)
        ),
        ("linear", np.float32, 2.0**20, 0.05),
    ],
)
def test_an_offset_changes_nothing_but_rounding(name, stored, offset, atol):
    found = probabilities(PROBES[name], stored(X + offset))
    np.testing.assert_allclose(found, probabilities(PROBES[name], X), atol=atol)


def test_a_constant_column_of_any_size_hides_no_row():
    single = np.column_stack([X, np.full(len(X), 1e30)]).astype(np.float32)
    plain = np.column_stack([X, np.zeros(len(X))]).astype(np.float32)
    found = probabilities(LinearProbe(), single)
    np.testing.assert_allclose(found, probabilities(LinearProbe(), plain), atol=1e-5)


def test_an_outlier_is_not_what_rows_are_measured_from():
    rows = np.vstack([np.full((1, 4), 1e12), X])
    fitted = fit_preparation(
        rows, center=True, normalize=True, weights=np.repeat([0.0, 1], [1, 150])
    )
    np.testing.assert_allclose(fitted.mean, X.mean(axis=0), rtol=1e-12)


def test_a_mean_about_an_offset_has_all_its_digits():
    """By numbers of few digits, whose sums are exact; the plain sum is off in the fifth digit."""
    rows = np.random.default_rng(0).integers(0, 4, (100_000, 2)) + 2.0**45
    fitted = fit_preparation(rows, center=True, normalize=True, weights=None)
    exact = (rows - 2.0**45).sum(axis=0) / len(rows)
    np.testing.assert_allclose(fitted.mean - 2.0**45, exact, rtol=0, atol=2.0**-8)
    assert fitted.mean_error < 0.05


def test_rows_are_at_the_mean_by_how_they_differ_not_by_what_they_share():
    spread = MEAN_ROUNDING * np.linalg.norm(np.abs(X - np.median(X, axis=0)).mean(axis=0))
    fitted = fit_preparation(X + 1000, center=True, normalize=True, weights=None)
    assert fitted.mean_error < 2 * spread + 1e-12


@pytest.mark.parametrize(
    ("rows", "dtype", "normalize", "message"),
    [
        (X * 2e307, None, True, r"norm inf, and float64 computes with 4e-307 to 1e\+307"),
        (X * 1e-310, None, True, "multiply X by a constant"),
        (X * 1e200, None, False, r"norm 4e\+200, .* or pass normalize=True"),
        (X * 1e-200, None, False, "or pass normalize=True, which removes the scale"),
        (X.astype(np.float32) * np.float32(1e-40), None, True, "and float32 computes with 2e-37"),
        (X.astype(np.float32) * np.float32(1e25), None, False, "and float32 computes with 4e-16"),
        (X * 1e200, "float32", True, r"norm 4e\+200, and float32 computes with"),
        (X + 1e16, None, True, r"from a mean row of norm 2e\+16, and float64 has too few"),
    ],
)
def test_what_cannot_be_computed_with_is_refused(rows, dtype, normalize, message):
    with pytest.raises(ValueError, match=message):
        LinearProbe(dtype=dtype, normalize=normalize).fit(rows, Y)


@pytest.mark.parametrize("value", [0.0, 1e-320, 3.7, 1e300])
def test_rows_that_are_all_the_same_are_no_error(value):
    found = probabilities(LinearProbe(), np.full_like(X, value))
    np.testing.assert_array_equal(found, 1 / 3)


def test_norms_of_any_size_beside_each_other():
    rows = np.array([[3.0, 4.0]]) * np.array([[1e-320], [1e-200], [1.0], [1e200], [1e307], [0.0]])
    norms = row_norms(rows)
    np.testing.assert_allclose(norms[1:], [5e-200, 5.0, 5e200, 5e307, 0.0], rtol=1e-15)
    np.testing.assert_allclose(norms[0], 5e-320, rtol=1e-3)  # so small a number has few digits


@pytest.mark.filterwarnings("ignore:X has row .* of norm:UserWarning")  # of a placeholder
@pytest.mark.parametrize("period", [2, 3, 7])
def test_no_order_of_rows_makes_a_fit_refuse_them(period):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200 * period, 4)) + 1
    rows[::period] = 1e6 + 1e-10 * rng.normal(size=(200, 4))  # placeholders
    labels = np.arange(len(rows)) % 2
    order = rng.permutation(len(rows))
    found = LinearProbe().fit(rows, labels)
    shuffled = LinearProbe().fit(rows[order], labels[order])
    np.testing.assert_allclose(
        found.preparation_.mean_error, shuffled.preparation_.mean_error, rtol=0.5
    )
    np.testing.assert_allclose(found.predict_proba(rows), shuffled.predict_proba(rows), atol=1e-5)


def outlying(factor, row=123):
    y = np.arange(400) % 4
    X = np.random.default_rng(0).normal(size=(400, 20)) + 4 * np.eye(20)[y]
    X[row] *= factor
    return X, y


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, np.float32])
def test_a_row_beside_which_all_others_vanish_is_named(kind, normalize):
    X, y = outlying(1e8)
    message = r"X has row 123 of norm 5e\+08, and half of the rows have 6 or less"
    probe = LinearProbe(normalize=normalize, dtype="float64")
    with pytest.warns(UserWarning, match=message):
        probe.fit(kind(X), y)
    X[5, 3] = 1e13
    with pytest.warns(UserWarning, match=r"X has row 5 of norm 1e\+13"):
        probe.fit(X, y)


def test_a_row_is_named_by_its_place_in_the_users_data():
    X, _ = outlying(1e12)
    rows = SelectedRows(X, np.arange(100, 400))
    with pytest.warns(UserWarning, match="X has row 123 of norm"):
        fit_preparation(rows, center=True, normalize=True, weights=None)


@pytest.mark.parametrize("factor", [1, 10, 100])
def test_longer_rows_that_spoil_nothing_are_not_warned_of(factor):
    X, y = outlying(factor)
    assert LinearProbe().fit(X, y).score(*outlying(1)) > 0.95
    LinearProbe().fit(np.abs(X), y)  # all on one side


@pytest.mark.filterwarnings("ignore:X has row 123 of norm:UserWarning")
@pytest.mark.parametrize("factor", [1e20, 1e100, 1e200, 1e307])
@pytest.mark.parametrize("probe", [LinearProbe(normalize=False, dtype="float64"), AutoProbe()])
def test_a_fit_in_which_all_other_rows_vanish_is_refused(probe, factor):
    with pytest.raises(ValueError, match=r"X has (rows at distance|row 123 of norm)"):
        probe.fit(*outlying(factor))


def test_a_row_without_weight_moves_no_mean():
    X, y = outlying(1e12)
    LinearProbe().fit(X, y, sample_weight=np.arange(400) != 123)
