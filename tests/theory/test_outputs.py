"""Outputs per type against outputs of single samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory.dense import AT_MOST, Problem, margins, random_problem, rounds, symmetric, top_labels
from theory.problems import FIGURE, SEEDS, SKEWED, examples, model_of
from twohot.theory import (
    ClassReduction,
    CorrelationModel,
    Verdict,
    evolving_outputs,
    judge,
    partial_label_condition,
    partial_label_outputs,
    type_outputs,
    unseen_outputs,
)


@examples
@given(SEEDS, st.integers(0, 6))
def test_outputs_of_any_model_match_dense_solves(seed: int, n_rounds: int) -> None:
    """Outputs, class means, unseen samples and verdicts against dense solves of all samples."""
    problem = random_problem(seed)
    model, tolerance, uniform = model_of(problem), problem.tolerance(), 1 / problem.n_classes
    before = rounds(problem.gram, problem.one_hot, problem.ridge, max(n_rounds - 1, 0))
    truth = rounds(problem.gram, before, problem.ridge, min(n_rounds, 1))
    how = {"l2": problem.l2, "n_rounds": n_rounds}
    predicted = type_outputs(model, problem.corruption, **how)
    types = (problem.true_labels, problem.given_labels)
    np.testing.assert_allclose(predicted.of(*types), truth, rtol=0, atol=tolerance)
    np.testing.assert_allclose(predicted.of(*types), predicted.outputs[types], rtol=0, atol=1e-15)
    of_class = [problem.true_labels == a for a in range(problem.n_classes)]
    deviations = ClassReduction(model, l2=problem.l2).class_means(
        problem.corruption - uniform, n_rounds=n_rounds
    )
    means = [truth[each].mean(axis=0) for each in of_class]
    np.testing.assert_allclose(uniform + deviations, means, rtol=0, atol=tolerance)
    if n_rounds:
        system = problem.ridge * np.eye(len(truth)) + problem.gram
        weights = np.linalg.solve(system, before - uniform)
        unseen = uniform + problem.correlation[:, problem.true_labels] @ weights
        found = unseen_outputs(model, problem.corruption, **how)
        np.testing.assert_allclose(found, unseen, rtol=0, atol=tolerance)
    verdict, by_sample = judge(predicted), margins(truth, problem.true_labels)
    smallest = [by_sample[each].min() for each in of_class]
    np.testing.assert_allclose(verdict.margins, smallest, rtol=0, atol=2 * tolerance)
    if (np.abs(by_sample) > 1e-8).all():
        assert verdict.accuracy == pytest.approx((by_sample > 0).mean())
        expected = [Verdict.RIGHT if margin > 0 else Verdict.WRONG for margin in smallest]
        assert list(verdict.verdicts) == expected
        assert verdict.holds == (min(smallest) > 0)
        assert smallest[verdict.weakest_class] == pytest.approx(min(smallest), abs=1e-9)


@examples
@given(SEEDS, st.integers(1, 3))
def test_partial_label_student_matches_dense_solves(seed: int, n_candidates: int) -> None:
    problem = random_problem(seed)
    n_candidates = min(n_candidates, problem.n_classes)
    teacher = rounds(problem.gram, problem.one_hot, problem.ridge, 1)
    targets = top_labels(teacher, n_candidates)
    truth = rounds(problem.gram, targets, problem.ridge, 1)
    predicted = partial_label_outputs(
        model_of(problem),
        problem.corruption,
        l2=problem.l2,
        n_candidates=n_candidates,
        ties="lowest",
    )
    types = (problem.true_labels, problem.given_labels)
    np.testing.assert_array_equal(predicted.rows[types], targets)
    np.testing.assert_allclose(predicted.of(*types), truth, rtol=0, atol=problem.tolerance())


@pytest.mark.parametrize("n_candidates", [1, 2, 3, 4])
@pytest.mark.parametrize("ties", ["spread", "lowest"])
def test_condition_matches_outputs_with_ties(n_candidates: int, ties: str) -> None:
    how = {"l2": 3e-4, "n_candidates": n_candidates, "ties": ties}
    for corruption in (symmetric(4, 0.4), np.eye(4), SKEWED):
        found = partial_label_condition(FIGURE, corruption, **how)
        student = partial_label_outputs(FIGURE, corruption, **how)
        verdict = judge(student)
        assert found.verdicts == verdict.verdicts
        np.testing.assert_allclose(found.class_slack, verdict.margins, rtol=0, atol=1e-12)
        if ties == "spread":
            classes = np.arange(4)
            full = student.rows[classes, :, classes] == student.rows.max(axis=2)
            contained = (full | ~student.occurs).all(axis=1)
            assert found.truth_is_candidate.tolist() == contained.tolist()


@pytest.mark.parametrize("exponent", [*range(-50, -20, 6), *range(-19, -2)])
def test_student_is_right_at_any_small_penalty(exponent: int) -> None:
    """Second places and margins are of the order of the ridge. The student stays right."""
    l2 = 10.0**exponent
    found = partial_label_condition(FIGURE, SKEWED, l2=l2)
    verdict = judge(partial_label_outputs(FIGURE, SKEWED, l2=l2))
    assert found.holds
    assert verdict.accuracy == 1.0
    if exponent < -6:  # in first order x (1/δ - 1/λ_q) (1 - C_kk - C_kỹ)/2
        first = 16 * 100 * l2 * 0.5 * 0.3 * (1 / 0.6 - 1 / 30.6)
        np.testing.assert_allclose(verdict.margins, first, rtol=2e-3)


@examples
@given(SEEDS, st.integers(1, 4))
def test_evolving_outputs_match_dense_solves(seed: int, n_rounds: int) -> None:
    """Every round has another Gram matrix. They do not commute, so the order matters."""
    first = random_problem(seed)
    rng = np.random.default_rng(seed)
    truth, models, tolerance = first.one_hot, [], 0.0
    for _ in range(n_rounds):
        means = rng.normal(size=(first.n_classes, 2)) * 0.4
        correlation = means @ means.T
        norms = np.diag(correlation) + rng.uniform(0.05, 1.5, size=first.n_classes)
        problem = Problem(correlation, norms, first.counts, first.l2)
        truth = rounds(problem.gram, truth, problem.ridge, 1)
        tolerance += problem.tolerance()
        models.append(model_of(problem))
    predicted = evolving_outputs(models, first.corruption, l2=first.l2)
    outputs = predicted.of(first.true_labels, first.given_labels)
    np.testing.assert_allclose(outputs, truth, rtol=0, atol=min(tolerance, AT_MOST))


def test_round_zero_returns_given_labels() -> None:
    model = CorrelationModel.case_1(n_classes=3, same_class=0.3, n_per_class=10)
    predicted = type_outputs(model, symmetric(3, 0.3), l2=0.01, n_rounds=0)
    np.testing.assert_allclose(predicted.outputs[1], np.eye(3), atol=1e-15)
    assert predicted.accuracy() == pytest.approx(0.7)
    # Also where features are all the same, and no later round keeps anything.
    alike = CorrelationModel.from_correlation(np.ones((3, 3)), class_sizes=10)
    given_labels = type_outputs(alike, symmetric(3, 0.3), l2=0.01, n_rounds=0)
    np.testing.assert_allclose(given_labels.outputs[1], np.eye(3), atol=1e-15)
    assert given_labels.accuracy() == pytest.approx(0.7)


def test_outputs_converge_for_many_samples() -> None:
    """At fixed ridge the outputs have a limit; 10¹² samples reach it to 1e-9."""
    model = CorrelationModel.case_3(
        n_classes=4, same_class=0.4, same_superclass=0.1, n_per_class=1e12
    )
    predicted = type_outputs(model, symmetric(4, 0.5), l2=0.5 / (16 * 1e12), n_rounds=3)
    p = (0.6 / 1.1) ** 3
    limit = p * np.eye(4)[1] + (1 - p) * np.array([0.5, 1 / 6, 1 / 6, 1 / 6])
    np.testing.assert_allclose(predicted.outputs[0, 1], limit, rtol=0, atol=1e-9)


def test_accuracy_weights_types_and_excludes_ties() -> None:
    model = CorrelationModel.case_1(n_classes=2, same_class=0.3, n_per_class=[30, 10])
    predicted = type_outputs(model, [[0.8, 0.2], [0.5, 0.5]], l2=0.01, n_rounds=0)
    np.testing.assert_allclose(predicted.class_accuracy(), [0.8, 0.5])
    assert predicted.accuracy() == pytest.approx((30 * 0.8 + 10 * 0.5) / 40)
    # Half and half, class means tie exactly; the margin is the sample's own label.
    tie = type_outputs(model.with_class_sizes(10), [[0.5, 0.5], [0.5, 0.5]], l2=0.01, n_rounds=1)
    np.testing.assert_allclose(tie.class_accuracy(), [0.5, 0.5])
