"""The corrected Theorem 5.1 against students trained sample by sample."""

import numpy as np
import pytest

from theory.dense import circulant, margins, random_problem, rounds, symmetric, top_labels
from theory.problems import FIGURE, model_of
from twohot.theory import (
    CorrelationModel,
    Verdict,
    judge,
    partial_label_condition,
    partial_label_guarantee,
    partial_label_outputs,
)

# A margin or a difference of outputs below this may be rounding of the dense solves.
CLEAR = 1e-7


def disagreements(seeds: range) -> tuple[int, int, int]:
    """Classes that were compared, of them right by samples, and verdicts that differ.

    Problems whose teacher or student has a tie, within rounding, decide nothing.
    """
    compared = right = wrong_verdicts = 0
    for seed in seeds:
        problem = random_problem(seed)
        n_candidates = 1 + seed % problem.n_classes
        gram = problem.gram
        teacher = rounds(gram, problem.one_hot, problem.ridge, 1)
        ordered = np.sort(teacher, axis=1)[:, ::-1]
        if n_candidates < problem.n_classes:
            apart = ordered[:, n_candidates - 1] - ordered[:, n_candidates]
            if apart.min() < CLEAR:
                continue
        targets = top_labels(teacher, n_candidates)
        found = partial_label_condition(
            model_of(problem), problem.corruption, l2=problem.l2, n_candidates=n_candidates
        )
        by_sample = margins(rounds(gram, targets, problem.ridge, 1), problem.true_labels)
        for a, verdict in enumerate(found.verdicts):
            smallest = by_sample[problem.true_labels == a].min()
            if abs(smallest) < CLEAR:
                continue
            compared += 1
            right += smallest > 0
            wrong_verdicts += (verdict is Verdict.RIGHT) != (smallest > 0)
            wrong_verdicts += abs(found.class_slack[a] - smallest) > CLEAR
    return compared, right, wrong_verdicts


def test_no_verdict_differs_from_samples_counted_one_by_one() -> None:
    compared, right, wrong_verdicts = disagreements(range(200))
    assert wrong_verdicts == 0
    assert compared > 400
    assert 50 < right < compared - 50


@pytest.mark.slow
def test_no_verdict_differs_on_a_thousand_problems() -> None:
    compared, _, wrong_verdicts = disagreements(range(200, 1400))
    assert wrong_verdicts == 0
    assert compared > 2400


@pytest.mark.parametrize("n_candidates", [1, 2, 3, 4])
@pytest.mark.parametrize("ties", ["spread", "lowest"])
def test_with_ties_it_is_what_the_outputs_say(n_candidates: int, ties: str) -> None:
    how = {"l2": 3e-4, "n_candidates": n_candidates, "ties": ties}
    for corruption in (symmetric(4, 0.4), np.eye(4), circulant([0.4, 0.3, 0.2, 0.1])):
        found = partial_label_condition(FIGURE, corruption, **how)
        verdict = judge(partial_label_outputs(FIGURE, corruption, **how))
        assert found.verdicts == verdict.verdicts
        np.testing.assert_allclose(found.class_slack, verdict.margins, rtol=0, atol=1e-12)
        exact = partial_label_guarantee(FIGURE, corruption, **how).truth_in_candidates
        if ties == "spread":
            assert found.truth_is_candidate.tolist() == exact.tolist()


@pytest.mark.parametrize("exponent", range(-50, -2, 6))
def test_the_condition_holds_at_any_small_penalty(exponent: int) -> None:
    found = partial_label_condition(FIGURE, circulant([0.4, 0.3, 0.2, 0.1]), l2=10.0**exponent)
    assert found.holds


def test_the_terms_name_what_goes_wrong() -> None:
    """R17: other classes. A weak teacher: no candidate. One confusable class: a tie."""
    model = CorrelationModel.case_3(
        n_classes=4, same_class=0.4, same_superclass=0.3, n_per_class=100
    )
    outweighed = [[0.4, 0.21, 0.2, 0.19], [0.2, 0.5, 0.16, 0.14], [0.2, 0.14, 0.5, 0.16]]
    outweighed += [[0.2, 0.15, 0.14, 0.51]]
    found = partial_label_condition(model, outweighed, l2=0.01)
    assert found.other_classes[1, 0] < 0 < found.own_class[1, 0]
    assert found.truth_is_candidate.all()
    lost = partial_label_condition(FIGURE, circulant([0.2, 0.35, 0.3, 0.15]), l2=3e-4)
    assert not lost.truth_is_candidate.any()
    assert (lost.own_candidates.min(axis=1) < 0).all()
    swaps = np.kron(np.eye(2), [[0.7, 0.3], [0.3, 0.7]])
    pairs = partial_label_condition(FIGURE, swaps, l2=3e-4)
    assert set(pairs.verdicts) == {Verdict.TIE}
    terms = pairs.own_candidates + pairs.own_class + pairs.other_classes
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(terms[off], pairs.slack[off], rtol=0, atol=1e-12)
