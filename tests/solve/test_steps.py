"""One length for all classes: it becomes the one that suits directions that are too long."""

from types import SimpleNamespace

import numpy as np
import pytest

from twohot.solve.steps import FIRST_LENGTH, WholeSteps

DIRECTION = 1.8  # times what leads to the optimum: steps of length one are accepted all the same


class Quadratic:
    """Half the square of the coefficients, whose optimum is zero."""

    def __init__(self, *, is_convex: bool = True) -> None:
        axes = SimpleNamespace(variances=np.ones(1))
        rows = SimpleNamespace(dtype=np.dtype(np.float64))
        self.problem = SimpleNamespace(axes=axes, rows=rows)
        self.loss = SimpleNamespace(is_convex=is_convex)

    def evaluate(self, coef: np.ndarray) -> SimpleNamespace:
        return SimpleNamespace(coef=coef, gradient=coef, value=0.5 * float(np.sum(coef**2)))


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
    # A step that is too long is accepted, as long as it is not too steep at its end.
    far = way.begin(np.full((1, 1), 3.0))
    there, shortened = way.take(far, -DIRECTION * far.gradient, 10)
    assert there is not None
    assert not shortened


def test_the_first_step_is_shorter_where_classes_compete() -> None:
    way = WholeSteps(Quadratic())
    far, near = np.full((1, 1), 3.0), np.full((1, 1), 1e-3)
    assert way._first_length(far) == FIRST_LENGTH
    assert way._first_length(near) == 1
