"""The exact softmax: two solvers, a plain third one, and the fixed point."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory.dense import (
    Problem,
    circulant,
    exact_round,
    exact_types,
    listed_labels,
    random_problem,
    softmax,
    symmetric,
    top_labels,
)
from theory.problems import FIGURE, FIGURE_L2, SEEDS, examples, few_examples, model_of
from twohot.theory import (
    CorrelationModel,
    LabelAveraging,
    SoftmaxRound,
    outputs_by_round,
    population_partial_labels,
    population_rounds,
    sample_coefficients,
    softmax_error,
    softmax_rounds,
)
from twohot.theory.exact_softmax import softmax_deviations

COUNTS = circulant([50, 17, 17, 16]).astype(int)
GIVEN = listed_labels(COUNTS)
TRUE = np.repeat(np.arange(4), 100)
PRECISE = pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="no more than double precision here"
)


def both_solvers(problem: Problem, l2: float, n_rounds: int) -> Iterator[tuple[SoftmaxRound, Any]]:
    """Rounds by samples and by types, converged and at the fixed point, with equal outputs."""
    averaging = LabelAveraging.from_gram(problem.gram)
    dense = softmax_rounds(averaging, problem.one_hot, l2=l2, n_rounds=n_rounds)
    types = population_rounds(model_of(problem), problem.corruption, l2=l2, n_rounds=n_rounds)
    for by_sample, by_type in zip(dense, types, strict=True):
        assert by_sample.converged
        assert by_type.converged
        assert max(by_sample.residual, by_type.residual) < 1e-12
        listed = by_type.predicted.of(problem.true_labels, problem.given_labels)
        yield by_sample, (by_type, listed)


@pytest.mark.slow
@few_examples
@given(SEEDS)
def test_both_solvers_match_plain_newton(seed: int) -> None:
    problem = random_problem(seed)
    l2, outputs = max(problem.l2, 1e-3), problem.one_hot  # below, undamped Newton diverges
    for by_sample, (_, listed) in both_solvers(problem, l2, 3):
        outputs = exact_round(problem.gram, outputs, l2)
        np.testing.assert_allclose(by_sample.outputs, outputs, rtol=0, atol=1e-10)
        np.testing.assert_allclose(listed, outputs, rtol=0, atol=1e-10)


@few_examples
@given(SEEDS, st.floats(-9, 1))
def test_solvers_satisfy_the_fixed_point_at_any_penalty(seed: int, log_l2: float) -> None:
    """The paper's equation, y = σ(Φ (u - y)/(N l2)), from a cold start at any penalty."""
    problem, l2 = random_problem(seed), 10**log_l2
    slope, targets = len(problem.gram) * l2, problem.one_hot
    for fitted, _ in both_solvers(problem, l2, 2):
        implied = problem.gram @ (targets - fitted.outputs) / slope
        scale = 1 + np.linalg.eigvalsh(problem.gram)[-1] / slope
        np.testing.assert_allclose(fitted.logits, implied, rtol=0, atol=1e-12 * scale)
        targets = fitted.outputs


def test_population_against_dense_newton_at_the_figure_setting() -> None:
    """They agree to 1e-12, in at most 8 Newton steps per round."""
    problem = Problem(FIGURE.correlation, np.ones(4), COUNTS, FIGURE_L2)
    for by_sample, (by_type, listed) in both_solvers(problem, FIGURE_L2, 6):
        np.testing.assert_allclose(listed, by_sample.outputs, rtol=0, atol=1e-12)
        assert max(by_sample.n_steps, by_type.n_steps) <= 8


def test_first_newton_step_equals_linear_theory() -> None:
    gram, targets = FIGURE.gram(), np.eye(4)[GIVEN]
    (first,) = softmax_rounds(
        LabelAveraging.from_gram(gram), targets, l2=FIGURE_L2, n_rounds=1, max_steps=1
    )
    assert not first.converged
    linear = LabelAveraging.from_gram(gram).outputs(targets, l2=FIGURE_L2, n_rounds=1)
    np.testing.assert_allclose((1 + first.logits) / 4, linear, rtol=0, atol=1e-12)


def test_partial_label_student_matches_plain_newton() -> None:
    counts = circulant([5, 3, 1, 1]).astype(int)
    model = FIGURE.with_class_sizes(10)
    given = listed_labels(counts)
    teacher = exact_round(model.gram(), np.eye(4)[given], 3e-3)
    student = exact_round(model.gram(), top_labels(teacher, 2), 3e-3)
    fitted = population_partial_labels(model, counts / 10, l2=3e-3, ties="lowest")
    listed = fitted.predicted.of(np.repeat(np.arange(4), 10), given)
    np.testing.assert_allclose(listed, student, rtol=0, atol=1e-11)


def test_unseen_outputs_follow_from_coefficients() -> None:
    targets = np.eye(4)[GIVEN]
    (fitted,) = population_rounds(FIGURE, COUNTS / 100, l2=FIGURE_L2, n_rounds=1)
    alpha = sample_coefficients(targets, fitted.predicted.of(TRUE, GIVEN), l2=FIGURE_L2)
    logits = FIGURE.correlation[:, TRUE] @ alpha
    np.testing.assert_allclose(fitted.unseen, softmax(logits), rtol=0, atol=1e-12)


@PRECISE
@pytest.mark.parametrize("ridge", [1e-2, 0.5, 50.0])
@pytest.mark.parametrize("sizes", [[1e2] * 3, [1e8] * 3, [1e3, 1e5, 1e8]])
def test_any_number_of_samples_matches_extended_precision(sizes: list[float], ridge: float) -> None:
    correlation = np.array([[0.4, 0.1, 0.02], [0.1, 0.3, 0.05], [0.02, 0.05, 0.5]])
    shares = np.array([[6, 3, 1], [2, 7, 1], [0, 2, 8]]) / 10
    model = CorrelationModel.from_correlation(correlation, class_sizes=sizes)
    l2 = ridge / model.ridge(1.0)
    problem = Problem(correlation, np.ones(3), shares * np.array(sizes)[:, None], l2)
    types, truth = exact_types(problem, 3)
    fitted = population_rounds(model, shares, l2=l2, n_rounds=3)
    for here, there in zip(fitted, truth, strict=True):
        assert here.converged
        listed = here.predicted.of(*types.T)
        np.testing.assert_allclose(listed, there.astype(float), rtol=0, atol=5e-12)


@examples
@given(SEEDS, st.floats(-30, 3))
def test_outputs_are_accurate_near_uniform_and_not_negative(seed: int, log_scale: float) -> None:
    logits = 10**log_scale * np.random.default_rng(seed).normal(size=(5, 3))
    deviations = softmax_deviations(logits)
    wide = logits.astype(np.longdouble)
    grown = np.expm1(wide - wide.max(axis=1, keepdims=True))
    truth = (grown - grown.mean(axis=1, keepdims=True)) / (3 + grown.sum(axis=1, keepdims=True))
    scale = np.abs(deviations).max(axis=1, keepdims=True)
    np.testing.assert_allclose(deviations / scale, (truth / scale).astype(float), atol=1e-14)
    assert (deviations + 1 / 3).min() >= 0
    np.testing.assert_allclose(deviations + 1 / 3, softmax(logits), rtol=0, atol=1e-15)


def test_late_rounds_rank_labels_correctly() -> None:
    """At a ridge of 10⁸, the third round differs from uniform by 10⁻²⁰.

    The softmax is then as linear as can be: the linear theory is the oracle, to many digits.
    """
    l2 = 1e8 / FIGURE.ridge(1.0)
    linear = outputs_by_round(FIGURE, COUNTS / 100, l2=l2, n_rounds=8)
    types = population_rounds(FIGURE, COUNTS / 100, l2=l2, n_rounds=8)
    averaging = LabelAveraging.from_gram(FIGURE.gram())
    dense = softmax_rounds(averaging, np.eye(4)[GIVEN], l2=l2, n_rounds=8)
    assert np.abs(dense[-1].outputs - 0.25).max() < 1e-15
    for theory, by_type, by_sample in zip(linear, types, dense, strict=True):
        scale = np.abs(theory.deviations).max()
        np.testing.assert_allclose(
            by_type.predicted.deviations, theory.deviations, rtol=0, atol=1e-5 * scale
        )
        assert by_type.predicted.accuracy() == pytest.approx(1.0)
        assert (by_sample.logits.argmax(axis=1) == TRUE).all()


@pytest.mark.parametrize("ridge", [1e-14, 1e-10, 1e-6])
def test_tiny_penalties_converge(ridge: float) -> None:
    """Labels are memorised. Logits are accurate to output rounding over the penalty."""
    l2 = ridge / FIGURE.ridge(1.0)
    for by_type in population_rounds(FIGURE, COUNTS / 100, l2=l2, n_rounds=2):
        assert by_type.converged
        np.testing.assert_allclose(by_type.predicted.outputs[0], np.eye(4), atol=20 * ridge + 1e-15)
        assert by_type.predicted.outputs.min() >= 0
    rng = np.random.default_rng(0)
    averaging = LabelAveraging.from_features(rng.normal(size=(60, 5)))  # too few to memorise
    targets = np.eye(4)[rng.integers(4, size=60)]
    fitted = softmax_rounds(averaging, targets, l2=l2, n_rounds=2)
    assert all(each.converged and each.n_steps <= 10 for each in fitted)


def test_softmax_error_table() -> None:
    """Entries of the table behind the paper's figure: K=4, l2=1e-4, symmetric noise of .5."""
    table = {
        1e2: [1.57e-2, 3.10e-2, 4.16e-2, 4.77e-2, 5.01e-2, 5.00e-2],
        1e3: [3.74e-2, 2.18e-2, 1.01e-2, 4.60e-3, 2.48e-3, 1.79e-3],
        1e4: [6.24e-3, 9.54e-4, 7.18e-4, 9.13e-4, 1.13e-3, 1.35e-3],
        1e5: [8.55e-4, 4.67e-4, 6.88e-4, 9.12e-4, 1.13e-3, 1.35e-3],
        1e6: [2.94e-4, 4.61e-4, 6.88e-4, 9.12e-4, 1.13e-3, 1.35e-3],
    }
    for n_per_class, row in table.items():
        errors = softmax_error(
            FIGURE.with_class_sizes(n_per_class), symmetric(4, 0.5), l2=1e-4, n_rounds=6
        )
        np.testing.assert_allclose(errors, row, rtol=5e-3)


def test_reports_unconverged_rounds() -> None:
    (fitted,) = population_rounds(FIGURE, COUNTS / 100, l2=FIGURE_L2, n_rounds=1, max_steps=2)
    assert not fitted.converged
    assert fitted.n_steps == 2
    with pytest.raises(RuntimeError, match="not converge in 2 Newton steps at l2="):
        softmax_error(FIGURE, COUNTS / 100, l2=FIGURE_L2, n_rounds=1, max_steps=2)


def test_uniform_targets_give_uniform_outputs() -> None:
    averaging = LabelAveraging.from_features(np.eye(3))
    (fitted,) = softmax_rounds(averaging, np.full((3, 4), 0.25), l2=0.1, n_rounds=1)
    assert fitted.converged
    np.testing.assert_allclose(fitted.outputs, 0.25, rtol=0, atol=1e-15)
