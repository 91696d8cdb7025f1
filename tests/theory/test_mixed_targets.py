"""Rounds on mixtures of given labels and outputs, against repeated solves and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory.dense import random_problem, rounds
from theory.problems import FIGURE, FIGURE_L2, SEEDS, SKEWED, few_examples, model_of
from twohot.theory import CorrelationModel, best_mix, mixed_outputs, type_outputs
from twohot.theory.outputs import top_of_lowest


@few_examples
@given(SEEDS, st.integers(0, 5), st.sampled_from([0.0, 0.2, 0.7, 1.0]))
def test_mixed_rounds_match_repeated_solves(seed: int, n_rounds: int, mix: float) -> None:
    problem = random_problem(seed)
    outputs = problem.one_hot
    for t in range(n_rounds):
        targets = mix * problem.one_hot + (1 - mix) * outputs if t else problem.one_hot
        outputs = rounds(problem.gram, targets, problem.ridge, 1)
    found = mixed_outputs(
        model_of(problem), problem.corruption, l2=problem.l2, n_rounds=n_rounds, mix=mix
    )
    by_sample = found.of(problem.true_labels, problem.given_labels)
    np.testing.assert_allclose(by_sample, outputs, rtol=0, atol=10 * problem.tolerance())


@pytest.mark.parametrize("mix", [0.05, 0.3, 0.9])
def test_many_mixed_rounds_equal_a_teacher_at_a_larger_penalty(mix: float) -> None:
    mixed = mixed_outputs(FIGURE, SKEWED, l2=FIGURE_L2, n_rounds=10**9, mix=mix)
    teacher = type_outputs(FIGURE, SKEWED, l2=FIGURE_L2 / mix, n_rounds=1)
    np.testing.assert_allclose(mixed.outputs, teacher.outputs, rtol=0, atol=1e-12)


def test_top_of_lowest_beats_a_grid() -> None:
    rng, grid = np.random.default_rng(1), np.linspace(0, 1, 1001)[:, None]
    inside = 0
    for _ in range(200):
        at_zero, at_one = rng.normal(size=(2, int(rng.integers(1, 8))))
        where = top_of_lowest(at_zero, at_one)
        reached = ((1 - where) * at_zero + where * at_one).min()
        assert reached >= ((1 - grid) * at_zero + grid * at_one).min(axis=1).max() - 1e-12
        inside += 0 < where < 1
    assert inside > 40


def test_best_mix_beats_a_grid() -> None:
    """For some random models the best mix lies between teacher and student, and beats both."""
    rng = np.random.default_rng(0)
    between = 0
    for _ in range(80):
        sizes = rng.integers(20, 200, size=4)
        model = CorrelationModel.case_3(
            n_classes=4, same_class=0.5, same_superclass=0.2, n_per_class=sizes
        )
        corruption = 0.5 * np.eye(4) + 0.5 * rng.dirichlet(np.ones(4), size=4)
        l2 = 10 ** rng.uniform(-4, 8)  # margins of very different sizes
        found = best_mix(model, corruption, l2=l2)
        reached, *on_grid = [
            mixed_outputs(model, corruption, l2=l2, n_rounds=2, mix=mix).margins_over_labels().min()
            for mix in (found.mix, *np.linspace(0, 1, 11))
        ]
        largest = max(map(abs, on_grid))
        assert found.margin == pytest.approx(reached, abs=1e-9 * largest)
        assert reached >= max(on_grid) - 1e-9 * largest
        assert found.gain >= 0
        between += 0 < found.mix < 1
    assert between > 0
