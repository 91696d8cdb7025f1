"""The first step from zero has the length at which the objective is least."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import problems
import twin
from twohot import LinearProbe
from twohot.distill.targets import LABELS, LabelTargets
from twohot.rows.coordinates import Coordinates, prepare
from twohot.solve import first_step, solver
from twohot.solve.first_step import PRECISION, first_coef
from twohot.solve.objective import FitProblem, pose
from twohot.solve.preconditioner import metrics_at_zero

DATA = problems.digits()


def posed(
    ridge: float, *, weighted: bool = False, block_rows: int | None = None
) -> tuple[FitProblem, Coordinates]:
    _, at = prepare(
        DATA.X,
        center=True,
        normalize=True,
        weights=problems.random_weights(len(DATA.X)) if weighted else None,
        n_jobs=1,
        n_classes=DATA.n_classes,
        block_rows=block_rows,
    )
    at.rows.attach(LABELS, DATA.given_labels)
    return pose(at, LabelTargets(DATA.n_classes), ridge * at.unit_penalty, None), at


def look_at_all_rows(monkeypatch):
    for name in ("LEAST_ROWS", "MOST_ROWS"):
        monkeypatch.setattr(first_step, name, 10**9)


@pytest.mark.parametrize("ridge", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_least_there(monkeypatch, weighted, ridge):
    look_at_all_rows(monkeypatch)
    problem, at = posed(ridge, weighted=weighted)
    coef = at.to_features(first_coef(problem))
    v = problems.random_weights(len(DATA.X)) if weighted else None
    rows, targets = twin.prepare(DATA.X, v=v), twin.one_hot(DATA.given_labels)

    def value(length: float) -> float:
        return float(twin.value(rows, targets, length * coef, ridge * at.unit_penalty, v=v))

    found = minimize_scalar(value, bounds=(0.1, 3), method="bounded", options={"xatol": 1e-6}).x
    assert found == pytest.approx(1, abs=3 * PRECISION)


def test_some_rows_tell_nearly_the_same_as_all(monkeypatch):
    problem, at = posed(10.0)
    before = at.rows.n_row_products
    some = np.linalg.norm(first_coef(problem))
    assert at.rows.n_row_products - before == pytest.approx(first_step.LEAST_ROWS, abs=1)
    look_at_all_rows(monkeypatch)
    assert some == pytest.approx(np.linalg.norm(first_coef(problem)), rel=0.1)


def test_blocks_of_any_size_give_the_same_step():
    first, *others = (first_coef(posed(1.0, block_rows=size)[0]) for size in (None, 64, 100))
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-9, atol=1e-9)


def test_it_is_newtons_step_where_outputs_stay_uniform():
    """With a large penalty logits are tiny, nothing competes, and the metric is the curvature."""
    problem, _ = posed(1e6)
    newton = metrics_at_zero(problem).solve(problem.target_moment)
    np.testing.assert_allclose(first_coef(problem), newton, rtol=2 * PRECISION)


def test_nothing_to_learn_is_no_step():
    problem, _ = posed(1.0)
    problem.target_moment[...] = 0
    assert not first_coef(problem).any()


def test_it_saves_passes(monkeypatch):
    """Beside Newton's whole step, on classes that compete for rows."""
    data = problems.synthetic()
    ended = {}
    for way, first in {
        "found": first_coef,
        "whole": lambda problem: metrics_at_zero(problem).solve(problem.target_moment),
    }.items():
        monkeypatch.setattr(solver, "first_coef", first)
        ended[way] = LinearProbe(ridge=1.0).fit(data.X, data.given_labels).rounds_[0]
        assert ended[way].converged
    np.testing.assert_allclose(ended["found"].coef, ended["whole"].coef, rtol=1e-3, atol=1e-4)
    assert ended["found"].n_passes < ended["whole"].n_passes
