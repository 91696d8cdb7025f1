"""The principal axes are those of a brute-force second moment."""

import numpy as np
import pytest

import twin
from prepared import prepared_rows
from twohot.rows.principal_axes import measure_axes


def rows_both_ways(
    n_rows=300, *, weights=None, intercept=False, dtype="float64", normalize=True, n_jobs=1
):
    X = np.random.default_rng(0).normal(size=(n_rows, 6)) @ np.diag([3, 2, 1, 1, 0.5, 0.1]) + 0.3
    X = X.astype(dtype)
    rows = prepared_rows(
        X, normalize=normalize, weights=weights, intercept=intercept, n_jobs=n_jobs
    )
    return twin.prepare(X, v=weights, normalize=normalize), rows


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_second_moment_is_diagonal_along_the_axes(dtype, weighted, intercept):
    v = np.random.default_rng(1).random(300) if weighted else None
    rows, prepared = rows_both_ways(weights=v, intercept=intercept, dtype=dtype, n_jobs=2)
    found = measure_axes(prepared)
    v = np.ones(300) if v is None else v
    moment, mean = (rows.T * v) @ rows / v.sum(), v @ rows / v.sum()
    if intercept:
        # An axis of its own: it is not mixed with the others.
        moment = np.block([[moment, np.zeros((6, 1))], [np.zeros((1, 6)), np.ones((1, 1))]])
        mean = np.append(mean, 1)
    tolerance = {"rtol": 0, "atol": 1e-6 if dtype == "float32" else 1e-13}
    basis = found.basis.columns(0)
    np.testing.assert_allclose(basis.T @ basis, np.eye(len(mean)), **tolerance)
    along_axes = basis.T @ moment @ basis
    np.testing.assert_allclose(along_axes, np.diag(found.variances), **tolerance)
    np.testing.assert_allclose(found.mean_row, mean @ basis, **tolerance)
    assert found.mean_square == pytest.approx(1)


def test_mean_square_is_weighted_and_leaves_out_the_intercept():
    v = np.random.default_rng(1).random(300)
    rows, prepared = rows_both_ways(weights=v, intercept=True, normalize=False)
    found = measure_axes(prepared)
    expected = np.average(np.sum(rows**2, axis=1), weights=v)
    assert found.mean_square == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_are_sampled_evenly_across_blocks(weighted):
    n_rows = 30_000
    v = np.random.default_rng(1).random(n_rows) if weighted else None
    rows, prepared = rows_both_ways(n_rows, weights=v)
    found = measure_axes(prepared)
    # About a third, and of every second row about a third too; plain integers are the oracle.
    chosen = np.array([i * 2_654_435_769 % 2**32 < 2**32 // 3 for i in range(n_rows)])
    assert [chosen[first::2].sum() for first in (0, 1)] == pytest.approx([5000, 5000], abs=3)
    sampled = rows[chosen]
    v = np.ones(n_rows) if v is None else v
    moment = (sampled.T * v[chosen]) @ sampled / v[chosen].sum()
    basis = found.basis.columns(0)
    np.testing.assert_allclose(
        basis @ np.diag(found.variances) @ basis.T, moment, rtol=0, atol=1e-13
    )
    # The mean and the mean square are those of all rows.
    np.testing.assert_allclose(found.mean_row, v @ rows / v.sum() @ basis, atol=1e-13)


def test_the_axes_are_the_same_for_any_number_of_threads():
    one, three = (
        measure_axes(rows_both_ways(dtype="float32", n_jobs=n_jobs)[1]) for n_jobs in (1, 3)
    )
    np.testing.assert_array_equal(one.basis.columns(0), three.basis.columns(0))
    np.testing.assert_array_equal(one.variances, three.variances)
