"""Rows written along their own axes: the same fits, fewer products."""

import numpy as np
import pytest

from twohot.probes.rounds import LABELS, LabelTargets
from twohot.rows.coordinates import Coordinates, prepare
from twohot.solve.lbfgs import Solution
from twohot.solve.losses import CrossEntropy
from twohot.solve.solver import Settings, Solver


@pytest.fixture(params=[False, True], ids=["plain", "intercept"])
def coordinates(request: pytest.FixtureRequest) -> Coordinates:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 12)) @ generator.normal(size=(12, 12)) + 3
    _, made = prepare(
        X,
        center=False,
        normalize=False,
        weights=generator.uniform(1, 2, 300),
        n_jobs=1,
        dtype=np.dtype(np.float64),
        n_classes=4,
        intercept=request.param,
        block_rows=64,
    )
    made.rows.attach(LABELS, generator.integers(4, size=300))
    return made


def fit(coordinates: Coordinates) -> Solution:
    solver = Solver(coordinates, Settings(tol=1e-10, max_iter=500))
    return solver.fit(CrossEntropy(), LabelTargets(4), 1e-3)


def test_a_fit_is_the_same(coordinates: Coordinates) -> None:
    along = coordinates.in_axes()
    assert along.axes.basis is None
    expected = coordinates.to_features(fit(coordinates).evaluation.coef)
    found = along.to_features(fit(along).evaluation.coef)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_some_of_the_axes_are_read_where_all_are_stored(coordinates: Coordinates) -> None:
    along = coordinates.in_axes()
    few = along.leading(5)
    intercept = coordinates.rows.intercept
    assert few.axes.basis is None
    assert np.shares_memory(few.rows.X, along.rows.X)
    assert few.rows.n_columns == 5
    coef = np.random.default_rng(1).normal(size=(4, 5 + intercept))
    expected = coordinates.to_features(coordinates.axes.extend(coef))
    np.testing.assert_allclose(few.to_features(coef), expected, atol=1e-12)
    np.testing.assert_allclose(few.from_features(expected), coef, atol=1e-12)
    np.testing.assert_allclose(
        few.rows.block(1).project(few.on_rows(coef)),
        along.rows.block(1).project(along.on_rows(along.axes.extend(coef))),
        atol=1e-12,
    )


def test_second_moment_is_diagonal(coordinates: Coordinates) -> None:
    along = coordinates.in_axes()
    rows = np.asarray(along.rows.X)
    moment = rows.T @ (along.rows.weights[:, np.newaxis] * rows) / len(rows)
    np.testing.assert_allclose(np.diag(moment), along.axes.variances[: rows.shape[1]], rtol=1e-8)
    np.testing.assert_allclose(moment, np.diag(np.diag(moment)), atol=1e-8 * moment.max())


def test_rows_are_read_where_they_are(coordinates: Coordinates) -> None:
    along = coordinates.in_axes()
    assert np.shares_memory(along.rows.block(1).x, along.rows.X)


def test_rows_in_axes_already_stay(coordinates: Coordinates) -> None:
    along = coordinates.in_axes()
    assert along.in_axes() is along
