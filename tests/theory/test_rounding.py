"""Verdicts against exact fractions: rounding neither decides nor hides a margin."""

import numpy as np
import pytest
from hypothesis import given

from theory.dense import block_correlation, circulant, listed_labels, symmetric
from theory.fractions_twin import exact_rounds
from theory.problems import FIGURE, LATE, SEEDS, SKEWED, THREE, THREE_CORRUPTION, examples
from twohot.theory import (
    CorrelationModel,
    LabelAveraging,
    judge,
    outputs_by_round,
    population_partial_labels,
    population_rounds,
    softmax_rounds,
    type_outputs,
)


def verdicts(model: CorrelationModel, corruption: np.ndarray, l2: float, n_rounds: int) -> list:
    predicted = outputs_by_round(model, corruption, l2=l2, n_rounds=n_rounds)
    return [[str(each) for each in judge(outputs).verdicts] for outputs in predicted]


@pytest.mark.parametrize("name", LATE)
def test_verdicts_of_late_rounds_match_fractions(name: str) -> None:
    correlation, size, corruption, l2, only = LATE[name]
    model = CorrelationModel.from_correlation(correlation, class_sizes=size)
    expected = exact_rounds(correlation, [size] * len(corruption), corruption, l2, 20)
    assert verdicts(model, corruption, l2, 20) == expected
    assert {each for row in expected for each in row} == {only}


def test_margins_far_below_the_output_range_count() -> None:
    correlation, size, corruption, l2, _ = LATE["right for ever"]
    model = CorrelationModel.from_correlation(correlation, class_sizes=size)
    for n_rounds in (12, 13, 300):
        assert type_outputs(model, corruption, l2=l2, n_rounds=n_rounds).accuracy() == 1.0
    late = type_outputs(model, corruption, l2=l2, n_rounds=13)
    q = 10.5 / (72 + 10.5)
    p = 0.5 / (72 + 0.5)
    expected = 0.2 * (q**13 - p**13) - p**13
    np.testing.assert_allclose(judge(late).margins, expected, rtol=1e-12)
    exact = population_rounds(model, corruption, l2=l2, n_rounds=13)
    assert [each.predicted.accuracy() for each in exact] == [1.0] * 13


@examples
@given(SEEDS)
def test_verdicts_match_fractions(seed: int) -> None:
    """Correlations, shares and penalties of one or two decimals, where ties are common."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    superclass = sorted(rng.integers(0, 2, size=n_classes))
    superclass = (np.cumsum(np.diff(superclass, prepend=superclass[0]) > 0)).tolist()
    e, d, c = np.sort(rng.integers(0, 10, size=3)) / 10
    correlation = block_correlation(superclass, c, d, e)
    sizes = rng.integers(1, 40, size=n_classes)
    if rng.random() < 0.5:
        sizes[:] = sizes[0]
    counts = rng.multinomial(10, np.full(n_classes, 1 / n_classes), size=n_classes)
    corruption = counts / 10 if rng.random() < 0.5 else circulant((counts[0] / 10).tolist())
    l2 = float(rng.choice([0.5, 0.01, 1e-3, 1e-5]))
    model = CorrelationModel.from_correlation(correlation, class_sizes=sizes)
    expected = exact_rounds(correlation, sizes.tolist(), corruption, l2, 12)
    assert verdicts(model, corruption, l2, 12) == expected


@pytest.mark.parametrize("exponent", [-19, *range(-17, -2)])
def test_exact_partial_label_student_at_small_penalties(exponent: int) -> None:
    """At 1e-19, margins are below rounding."""
    student = population_partial_labels(FIGURE, SKEWED, l2=10.0**exponent)
    assert student.converged or exponent == -19
    expected = "tie" if exponent == -19 else "right"
    assert {str(each) for each in judge(student.predicted).verdicts} == {expected}


@pytest.mark.parametrize("l2", [1e-20, 1e-22])
def test_converged_rounds_are_at_the_fixed_point(l2: float) -> None:
    """Logits of 10²⁰ move by small fractions of themselves long before they are right."""
    given_labels = listed_labels(circulant([6, 2, 2, 2]).astype(int))
    averaging = LabelAveraging.from_gram(FIGURE.with_class_sizes(12).gram())
    (fitted,) = softmax_rounds(averaging, np.eye(4)[given_labels], l2=l2, n_rounds=1)
    assert fitted.residual <= 1e-8 or not fitted.converged


def test_accuracy_is_at_most_one() -> None:
    """Shares of 0.7, 0.2 and 0.1 sum to one and an ulp."""
    found = judge(type_outputs(THREE, THREE_CORRUPTION, l2=2e-4, n_rounds=4))
    assert found.holds
    assert found.accuracy == 1.0
    for rate in np.arange(0, 0.5, 0.01):
        predicted = type_outputs(THREE, symmetric(3, rate), l2=2e-4, n_rounds=6)
        assert predicted.class_accuracy().max() <= 1.0
