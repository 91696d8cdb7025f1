"""Fits on the same rows, one after the other: what one has learnt serves the next."""

import numpy as np
import pytest

import problems
from twohot.distill.targets import LABELS, LabelTargets
from twohot.rows.coordinates import Coordinates, prepare
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy
from twohot.solve.solver import Settings, Solver

DATA = problems.digits(noise_rate=0.3)
GIVEN = LabelTargets(DATA.n_classes)
ROBUST = GeneralizedCrossEntropy()


def coordinates() -> Coordinates:
    _, at = prepare(
        DATA.X, center=True, normalize=True, weights=None, n_jobs=1, n_classes=DATA.n_classes
    )
    at.rows.attach(LABELS, DATA.given_labels)
    return at


def solver_at(tol: float, **settings: int) -> Solver:
    return Solver(coordinates(), Settings(tol=tol, max_iter=500, **settings))


@pytest.mark.parametrize("loss", [CrossEntropy(), ROBUST], ids=str)
@pytest.mark.parametrize("ridges", [(30, 10), (10, 30)])
def test_another_penalty_ends_where_it_would_have_alone(loss, ridges):
    solver = solver_at(1e-8)
    unit = solver.coordinates.unit_penalty
    first, second = (ridge * unit for ridge in ridges)
    last = solver.fit(loss, GIVEN, first).evaluation
    found = solver.fit(loss, GIVEN, second, last)
    alone = solver_at(1e-8).fit(loss, GIVEN, second, last)
    assert found.converged
    assert alone.converged
    scale = np.abs(alone.evaluation.coef).max()
    np.testing.assert_allclose(found.evaluation.coef, alone.evaluation.coef, atol=1e-4 * scale)


def test_what_was_learnt_saves_passes():
    ridges = (10, 4, 1.6, 0.64)

    def passes(*, keep: bool) -> float:
        solver, last = solver_at(1e-4), None
        n_passes = 0.0
        for ridge in ridges:
            rows = solver.coordinates.rows
            before = rows.n_passes
            l2 = ridge * solver.coordinates.unit_penalty
            last = solver.fit(CrossEntropy(), GIVEN, l2, last).evaluation
            n_passes += rows.n_passes - before
            solver = solver if keep else solver_at(1e-4)
        return n_passes

    assert passes(keep=True) < 0.9 * passes(keep=False)


def test_where_only_the_penalty_differs_the_start_takes_no_pass():
    solver = solver_at(0.1, min_iter=1)
    unit, rows = solver.coordinates.unit_penalty, solver.coordinates.rows
    last = solver.fit(ROBUST, GIVEN, 10 * unit).evaluation
    solver.settings = Settings(tol=1e9, max_iter=500)  # the start is the end
    before = rows.n_passes
    known = solver.fit(ROBUST, GIVEN, 4 * unit, last).evaluation
    assert rows.n_passes == before
    # Other targets take one; and it says the same.
    looked = solver.fit(ROBUST, LabelTargets(DATA.n_classes), 4 * unit, last).evaluation
    assert rows.n_passes == before + 1
    assert known.value == pytest.approx(looked.value, rel=1e-12)
    np.testing.assert_allclose(known.gradient, looked.gradient, atol=1e-12)


def test_what_a_fit_learns_near_its_floor_is_forgotten():
    solver = solver_at(1e-4)
    l2 = 10 * solver.coordinates.unit_penalty
    solver.fit(CrossEntropy(), GIVEN, l2)
    assert solver._learnt
    solver.settings = Settings(tol=0, max_iter=500)  # down to rounding
    assert not solver.fit(CrossEntropy(), GIVEN, l2).converged
    assert not solver._learnt
