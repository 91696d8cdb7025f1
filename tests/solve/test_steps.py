"""One length for all classes: it shortens where directions are too long, and that saves passes."""

from types import SimpleNamespace

import numpy as np
import pytest

from twohot.solve.steps import FIRST_LENGTH, STEEPEST_END, WholeSteps

DIRECTION = 1.8  # times what leads to the optimum: steps of length one are accepted all the same
SMALL = 1e-6


class Quadratic:
    """Half the square of the coefficients, whose optimum is zero; it counts its passes."""

    def __init__(self, *, is_convex: bool = True) -> None:
        axes = SimpleNamespace(variances=np.ones(1))
        rows = SimpleNamespace(dtype=np.dtype(np.float64))
        self.problem = SimpleNamespace(axes=axes, rows=rows)
        self.loss = SimpleNamespace(is_convex=is_convex)
        self.n_passes = 0

    def evaluate(self, coef: np.ndarray) -> SimpleNamespace:
        self.n_passes += 1
        return SimpleNamespace(coef=coef, gradient=coef, value=0.5 * float(np.sum(coef**2)))


class LengthOne(WholeSteps):
    """Steps that try length one first, whatever suited the last."""

    def _first_length(self, end: np.ndarray) -> float:  # noqa: ARG002
        return 1.0

    def _learn(self, usual: float, suited: float) -> None:
        pass


def passes_to_the_optimum(way: WholeSteps) -> int:
    """Take steps that overshoot until the gradient is small; return the passes they took."""
    here = way.begin(np.full((1, 1), 3.0))
    while np.abs(here.gradient).max() > SMALL:
        there, _ = way.take(here, -DIRECTION * here.gradient, 10)
        assert there is not None
        here = there
    return way.objective.n_passes


def test_steps_that_overshoot_get_shorter_and_fewer() -> None:
    assert DIRECTION - 1 < STEEPEST_END  # how steep it is at the end of a step of length one
    found = passes_to_the_optimum(WholeSteps(Quadratic()))
    assert found < 0.5 * passes_to_the_optimum(LengthOne(Quadratic()))


def test_the_usual_length_becomes_the_one_that_suits() -> None:
    way = WholeSteps(Quadratic())
    here = way.begin(np.full((1, 1), 3.0))
    for _ in range(40):
        there, shortened = way.take(here, -DIRECTION * here.gradient, 10)
        assert there is not None
        assert not shortened
        here = there
    assert way.usual_length == pytest.approx(1 / DIRECTION)


def test_steps_that_are_not_convex_begin_at_length_one_each_time() -> None:
    way = WholeSteps(Quadratic(is_convex=False))
    here = way.begin(np.full((1, 1), 3.0))
    for _ in range(3):
        there, _ = way.take(here, -here.gradient, 10)
        assert there is not None
        np.testing.assert_array_equal(there.coef, 0)
    assert way.usual_length is None


def test_the_first_step_is_shorter_where_classes_compete() -> None:
    way = WholeSteps(Quadratic())
    far, near = np.full((1, 1), 3.0), np.full((1, 1), 1e-3)
    assert way._first_length(far) == FIRST_LENGTH
    assert way._first_length(near) == 1
