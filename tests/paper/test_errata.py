"""The errata of docs/theory.md, each by a counterexample."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from paper.as_printed import algorithm_1, case_3_balanced, printed_condition
from theory.dense import circulant, listed_labels, softmax, symmetric
from theory.problems import FIGURE, FIGURE_L2
from twohot import theory as th
from twohot.theory import CorrelationModel, PairLevels, Verdict, judge, type_outputs


def test_slips_in_the_matrices_of_the_proofs() -> None:
    n, groups = 5, np.array([0, 0, 1])
    samples = np.kron(np.eye(3), np.ones(n))  # P, (K, K n)
    members = np.eye(2)[groups].T  # Q = [e(h(1)) … e(h(K))], (R, K)
    np.testing.assert_array_equal(samples @ samples.T, n * np.eye(3))  # printed n I_Kn
    assert members.shape == (2, 3)  # printed with R columns
    model = CorrelationModel.case_4(
        superclass=groups, same_class=0.5, same_superclass=0.2, n_per_class=n
    )
    for q, size in zip(members, members.sum(axis=1), strict=True):
        v = samples.T @ q / np.sqrt(size * n)
        assert v @ v == pytest.approx(1)
        value = 0.5 + n * 0.3 + size * n * 0.2
        np.testing.assert_allclose(model.gram() @ v, value * v, atol=1e-12)
    # Case II: Φ = Σ c_i p_i p_iᵀ + diag(1 - c), p_i the column of P's row i; p_iᵀ p_i is a number
    c = np.array([0.5, 0.3, 0.2])
    outer = sum(level * np.outer(p, p) for level, p in zip(c, samples, strict=True))
    own = np.diag(np.repeat(1 - c, n))
    second = CorrelationModel.case_2(same_class=c, n_per_class=n)
    np.testing.assert_allclose(outer + own, second.gram(), atol=1e-15)
    # The CLAIM: (PᵀUP/n + vI)ᵗ = Pᵀ[(U + vI)ᵗ - vᵗI]P/n + vᵗI, by a sum over i = 0 … t - 1
    u, v, t = np.random.default_rng(0).normal(size=(3, 3)), 0.7, 4
    inside = u + v * np.eye(3)
    total = sum(np.linalg.matrix_power(inside, i) * v ** (t - 1 - i) for i in range(t))
    np.testing.assert_allclose(
        u @ total, np.linalg.matrix_power(inside, t) - v**t * np.eye(3), atol=1e-12
    )
    left = samples.T @ u @ samples / n + v * np.eye(3 * n)
    right = samples.T @ (u @ total) @ samples / n + v**t * np.eye(3 * n)
    np.testing.assert_allclose(np.linalg.matrix_power(left, t), right, atol=1e-11)


def test_eigenvalue_of_the_theorem_needs_a_superclass_of_two() -> None:
    n, c, d = 20, 0.5, 0.2
    claimed = 1 - c + n * (c - d)
    known = {"same_class": c, "same_superclass": d, "n_per_class": n}
    for superclass, there in (([0, 0, 1], True), ([0, 1, 2], False)):
        gram = CorrelationModel.case_4(superclass=superclass, **known).gram()
        assert np.isclose(np.linalg.eigvalsh(gram), claimed).any() == there
    kept = th.shrinkage(superclass=[0, 0], **{**known, "same_superclass": 0.0}, l2=1e-3)
    assert kept.superclass_mean[0] == pytest.approx(kept.class_mean)  # r_s = q at d = 0


def test_case_3_last_line_needs_balanced_given_labels() -> None:
    known = {"same_class": 0.5, "same_superclass": 0.3, "n_per_class": 20, "l2": 2e-3}
    balanced = circulant([0.6, 0.3, 0.1])
    tilted = np.array([[1.0, 0, 0], [0.4, 0.6, 0], [0.4, 0, 0.6]])
    for corruption, wrong in ((balanced, False), (tilted, True)):
        short = case_3_balanced(corruption, **known, n_rounds=3)
        full = th.case_3_outputs(corruption, **known, n_rounds=3)
        assert (np.abs(short - full).max() > 1e-2) == wrong


def student_of(
    model: CorrelationModel, corruption: np.ndarray, l2: float, **how: Any
) -> th.Guarantee:
    """Judge the two-hot student, for a corruption that satisfies the printed condition."""
    assert printed_condition(corruption).all()
    return judge(th.partial_label_outputs(model, corruption, l2=l2, **how))


def test_printed_theorem_5_1_fails_by_superclass_means() -> None:
    """Teacher 100 % right, student 25 %: candidates do not average to uniform."""
    model = CorrelationModel.case_3(
        n_classes=4, same_class=0.4, same_superclass=0.3, n_per_class=100
    )
    counts = np.array([[40, 21, 20, 19], [20, 50, 16, 14], [20, 14, 50, 16], [20, 15, 14, 51]])
    assert th.partial_label_condition(model, counts / 100, l2=0.01).truth_is_candidate.all()
    assert type_outputs(model, counts / 100, l2=0.01, n_rounds=1).accuracy() == 1.0
    assert student_of(model, counts / 100, 0.01).accuracy == pytest.approx(0.25)


def test_printed_theorem_5_1_fails_if_the_given_label_is_no_candidate() -> None:
    """With more data the student ties: at n = 5000 every sample has the same two candidates."""
    corruption = circulant([0.5, 0.25, 0.15, 0.1])
    some, more = (
        student_of(FIGURE.with_class_sizes(n_per_class), corruption, 1e-4)
        for n_per_class in (2000, 5000)
    )
    assert some.holds
    assert some.margins.min() == pytest.approx(0.105, abs=1e-3)
    assert set(more.verdicts) == {Verdict.TIE}
    teacher = type_outputs(FIGURE.with_class_sizes(5000), corruption, l2=1e-4, n_rounds=1)
    assert teacher.accuracy() == pytest.approx(1.0)


def test_printed_theorem_5_1_fails_with_one_confusable_class() -> None:
    """C_kk + C_kỹ = 1: the printed "less than or equal to 1, hence the maximum" is a tie."""
    pairs = CorrelationModel.case_4(
        superclass=[0, 0, 1, 1], same_class=0.4, same_superclass=0.1, n_per_class=100
    )
    swapped = np.kron(np.eye(2), [[0.7, 0.3], [0.3, 0.7]])
    for model, corruption in ((FIGURE, circulant([0.7, 0.3, 0, 0])), (pairs, swapped)):
        assert set(student_of(model, corruption, FIGURE_L2).verdicts) == {Verdict.TIE}


def test_printed_theorem_5_1_fails_on_clean_labels_with_argsort_ties() -> None:
    lowest = student_of(FIGURE, np.eye(4), FIGURE_L2, ties="lowest")
    assert lowest.accuracy == pytest.approx(0.25)
    assert student_of(FIGURE, np.eye(4), FIGURE_L2, ties="spread").holds


def test_three_candidates_tie_if_two_succeed() -> None:
    """Without ties, ỹ is in every set of three or more, so the true label ties with it."""
    model = CorrelationModel.case_3(
        n_classes=6, same_class=0.4, same_superclass=0.1, n_per_class=100
    )
    corruption = circulant([0.4, 0.22, 0.15, 0.1, 0.08, 0.05])
    two, *more = (student_of(model, corruption, 0.5 / 3600, n_candidates=k) for k in (2, 3, 4, 5))
    assert two.holds
    assert all(set(each.verdicts) == {Verdict.TIE} for each in more)


@pytest.mark.parametrize("learning_rate", [1e-1, 1e-2, 1e-3, 1e-4])
def test_printed_algorithm_1_does_not_converge(learning_rate: float) -> None:
    """Newton needs 5 steps for 1e-14. After 1,500 descent steps, the error exceeds 0.01."""
    counts = circulant([13, 4, 4, 4]).astype(int)
    model = FIGURE.with_class_sizes(25)
    given = listed_labels(counts)
    gram, targets, l2 = model.gram(), np.eye(4)[given], 4 * FIGURE_L2
    how = {"l2": l2, "learning_rate": learning_rate, "tolerance": 1e-6, "seed": 0}
    descent = algorithm_1(gram, targets, max_iter=1500, **how)
    (newton,) = th.softmax_rounds(th.LabelAveraging.from_gram(gram), targets, l2=l2, n_rounds=1)
    assert newton.converged
    assert newton.n_steps <= 8
    assert not descent.converged
    assert np.abs(descent.outputs - newton.outputs).max() > 1e-2
    assert descent.losses[-100:].min() > 1e-2


def test_algorithm_1_approaches_the_solution_in_many_small_steps() -> None:
    """A thousand steps leave an error. 66,667 smaller steps of the same total length remove it."""
    model = FIGURE.with_class_sizes(5)
    given = listed_labels(circulant([2, 1, 1, 1]).astype(int))
    gram, targets, l2 = model.gram(), np.eye(4)[given], 20 * FIGURE_L2
    (newton,) = th.softmax_rounds(th.LabelAveraging.from_gram(gram), targets, l2=l2, n_rounds=1)
    descend = partial(algorithm_1, gram, targets, l2=l2, tolerance=0.0, seed=0)
    near, far = (
        np.abs(descend(learning_rate=rate, max_iter=steps).outputs - newton.outputs).max()
        for rate, steps in ((3e-4, 66_667), (2e-2, 1000))
    )
    assert near < 1e-3
    assert far > 1e-2


def test_algorithm_1_descends_on_the_gradient_of_its_loss() -> None:
    """The coded step is the derivative of the printed loss."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(6, 3))
    gram, targets, l2 = features @ features.T, np.eye(3)[[0, 1, 2, 0, 1, 2]], 0.3
    step = partial(algorithm_1, gram, targets, l2=l2, seed=4)
    start, moved = (step(learning_rate=rate, max_iter=1, tolerance=0.0) for rate in (1e-300, 1.0))
    gradient = start.outputs - moved.outputs

    def loss(outputs: np.ndarray) -> float:
        logits = gram @ (targets - outputs) / (6 * l2)
        implied = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return float(np.linalg.norm(outputs - implied))

    assert loss(start.outputs) == pytest.approx(start.losses[0])
    satisfied = step(learning_rate=1.0, max_iter=9, tolerance=10.0)
    assert satisfied.converged
    assert satisfied.losses.size == 1
    for index in np.ndindex(gradient.shape):
        shift = np.zeros_like(gradient)
        shift[index] = 1e-6
        numerical = (loss(start.outputs + shift) - loss(start.outputs - shift)) / 2e-6
        assert gradient[index] == pytest.approx(numerical, abs=1e-7)


def test_fixed_penalty_and_many_samples_is_degenerate() -> None:
    """n → ∞ at fixed l2: p → 0, q/p → ∞, and the teacher is perfect."""
    separations = [
        th.separation_at(PairLevels(4, n_per_class, 0.4, 0.1), l2=1e-4)
        for n_per_class in (1e2, 1e4, 1e6)
    ]
    assert separations[0] < 1.5
    assert separations[1] > 25
    known = (FIGURE.with_class_sizes(1e4), symmetric(4, 0.5))
    (exact,) = th.population_rounds(*known, l2=1e-4, n_rounds=1)
    for teacher in (type_outputs(*known, l2=1e-4, n_rounds=1), exact.predicted):
        assert teacher.accuracy() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("levels", "claimed", "factor"),
    [
        pytest.param(PairLevels(100, 500.0, 0.25, 0.02), 1e-4, 658, id="CIFAR-100"),
        pytest.param(PairLevels(101, 6942 / 101, 0.42, 0.03), 1e-3, 1158, id="Caltech-101"),
        pytest.param(PairLevels(256, 23824 / 256, 0.35, 0.02), 1e-4, 899, id="Caltech-256"),
        pytest.param(PairLevels(102, 6149 / 102, 0.36, 0.03), 1e-3, 919, id="Flowers-102"),
        pytest.param(PairLevels(101, 750.0, 0.17, 0.01), 1e-4, 909, id="Food-101"),
        pytest.param(PairLevels(196, 8144 / 196, 0.21, 0.06), 1e-3, 1566, id="StanfordCars"),
    ],
)
def test_claimed_penalties_are_a_thousand_times_too_large(
    levels: PairLevels, claimed: float, factor: float
) -> None:
    needed = th.l2_for_separation(levels, separation=2.0)
    assert claimed / needed == pytest.approx(factor, rel=1e-3)
    assert th.separation_at(levels, l2=claimed) > 0.8 * th.largest_separation(levels)


def test_coefficients_scale_with_the_temperature() -> None:
    """The text says "the same optimal θ". Minimisation gives equal outputs and a scaled θ."""
    features = np.array([[1.0, 0.2], [0.1, 1.0], [0.8, 0.9]])
    targets, l2 = np.eye(2)[[0, 1, 1]], 0.1

    def objective(flat: np.ndarray, temperature: float) -> float:
        logits = features @ flat.reshape(2, 2).T / temperature
        losses = logsumexp(logits, axis=1) - (targets * logits).sum(axis=1)
        return float(temperature**2 * losses.mean() + l2 / 2 * flat @ flat)

    optimum = {
        temperature: minimize(objective, np.zeros(4), args=(temperature,), tol=1e-10).x
        for temperature in (1.0, 4.0)
    }
    cold, hot = (optimum[temperature].reshape(2, 2) for temperature in (1.0, 4.0))
    np.testing.assert_allclose(hot, 4 * cold, atol=1e-4)
    assert np.abs(hot - cold).max() > 1
    averaging = th.LabelAveraging.from_features(features)
    (fitted,) = th.softmax_rounds(averaging, targets, l2=l2, n_rounds=1)
    for temperature, coef in ((1.0, cold), (4.0, hot)):
        np.testing.assert_allclose(
            softmax(features @ coef.T / temperature), fitted.outputs, atol=1e-5
        )
        alpha = th.sample_coefficients(targets, fitted.outputs, l2=l2, temperature=temperature)
        np.testing.assert_allclose(alpha.T @ features, coef, atol=1e-4)
        # Of the linear theory, whose logits are K (y - 1/K) at any temperature.
        linear = averaging.coef(targets, l2=l2, n_rounds=2, temperature=temperature)
        outputs = averaging.outputs(targets, l2=l2, n_rounds=2)
        np.testing.assert_allclose((1 + features @ linear.T / temperature) / 2, outputs)


@pytest.mark.parametrize(
    ("superclass", "wrong_shares", "limit"),
    [
        ([0, 0, 0, 0], circulant([0, 1, 1, 1]) / 3, 3 / 4),  # symmetric: (K - 1)/K
        ([0, 0, 0, 0], circulant([0, 2, 1, 1]) / 4, 4 / 6),  # asymmetric: K/(K + 2)
        ([0, 0, 1, 1], np.kron(np.eye(2), [[0, 1], [1, 0]]), 1 / 2),  # superclass: (K_s - 1)/K_s
    ],
    ids=["symmetric", "asymmetric", "superclass"],
)
def test_noise_rates_that_many_rounds_tolerate(
    superclass: list[int], wrong_shares: np.ndarray, limit: float
) -> None:
    """The noise rates at which C_kk > C_kk' ends, which the paper does not state."""
    model = CorrelationModel.case_4(
        superclass=superclass, same_class=0.4, same_superclass=0.1, n_per_class=100
    )
    tolerated = th.noise_tolerated(
        lambda rate: (1 - rate) * np.eye(4) + rate * wrong_shares,
        lambda shares: type_outputs(model, shares, l2=FIGURE_L2, n_rounds=40),
    )
    np.testing.assert_allclose(tolerated.highest, limit, atol=1e-6)
