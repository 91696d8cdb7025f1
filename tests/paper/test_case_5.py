"""Case V: the printed formula, and the wrong steps of its proof."""

from types import SimpleNamespace

import numpy as np
import pytest

from paper.as_printed import case_5_printed
from theory.dense import Problem, block_correlation, circulant, rounds
from twohot.theory import case_5_outputs

CASE_5 = {"same_class": 0.6, "same_superclass": 0.3, "n_per_class": 30, "l2": 1e-3, "n_rounds": 3}
SIZES = {"equal": [2, 2, 2], "unequal": [3, 2, 1]}


def steps(sizes: list[int], elsewhere: float = 0.1) -> SimpleNamespace:
    """Return the symbols of the proof: α, β, γ, p, q, s, K_i, Q and both displays of δ."""
    n_classes, n, c, d, e = sum(sizes), 30, 0.6, 0.3, elsewhere
    x = n_classes**2 * n * 1e-3
    between = 1 - c + n * (c - d)
    k = np.array(sizes, dtype=float)
    alpha, beta, gamma = 1 + between / x, n * e / x, n * (d - e) / x
    inside = gamma / alpha - k * beta * gamma / (alpha * (alpha + n_classes * beta))
    middle = (n_classes - k) / alpha + k / (alpha + n_classes * beta)
    return SimpleNamespace(
        n_classes=n_classes,
        alpha=alpha,
        beta=beta,
        gamma=gamma,
        p=(1 - c) / (x + 1 - c),
        q=between / (x + between),
        s=(between + n_classes * n * e) / (x + between + n_classes * n * e),
        sizes=k,
        members=np.repeat(np.eye(len(sizes)), sizes, axis=1),  # Q, (R, K)
        delta=inside / (alpha + k * (beta + gamma)),
        delta_middle=-inside / (alpha + k * (beta + gamma)),
        delta_third=gamma / n_classes * middle / (alpha + k * (beta + gamma)),
        first=-beta / (alpha * (alpha + n_classes * beta)),  # coefficient of 1 in the inverse
        one=np.ones((n_classes, n_classes)),
    )


@pytest.mark.parametrize("superclass", [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2]])
def test_case_5_as_printed_is_wrong(superclass: list[int]) -> None:
    correlation = block_correlation(superclass, 0.6, 0.3, 0.1)
    counts = 24 * np.eye(6, dtype=int)
    counts[np.arange(6), [1, 0, 3, 2, 5, 4]] = 6
    problem = Problem(correlation, np.ones(6), counts, CASE_5["l2"])
    truth = rounds(problem.gram, problem.one_hot, problem.ridge, 3)
    known = {**CASE_5, "superclass": superclass, "elsewhere": 0.1}
    types = (problem.true_labels, problem.given_labels)
    printed = case_5_printed(problem.corruption, **known)[types]
    assert np.abs(printed - truth).max() > 1e-2
    corrected = case_5_outputs(problem.corruption, **known)[types]
    np.testing.assert_allclose(corrected, truth, rtol=0, atol=1e-12)


def test_case_5_as_printed_is_right_without_correlation_elsewhere() -> None:
    """The code of the printed formula agrees in the cases in which the formula is right."""
    corruption = np.random.default_rng(0).dirichlet(np.ones(6), size=6)
    known = {**CASE_5, "superclass": [0, 0, 0, 1, 1, 2], "elsewhere": 0.0}
    np.testing.assert_allclose(
        case_5_printed(corruption, **known), case_5_outputs(corruption, **known), atol=1e-13
    )
    balanced = circulant([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    one = {**CASE_5, "superclass": [0] * 6, "elsewhere": 0.1}
    np.testing.assert_allclose(
        case_5_printed(balanced, **one), case_5_outputs(balanced, **one), atol=1e-13
    )


def test_case_5_identity_behind_the_printed_inverse_is_false() -> None:
    """1·QᵀQ is Qᵀ 1 diag(K_i) Q, not Qᵀ diag(K_i) Q. All later steps use the false identity."""
    members = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 1]], dtype=float)
    sizes = np.diag([3.0, 2.0, 1.0])
    left = np.ones((6, 6)) @ members.T @ members
    assert np.abs(left - members.T @ sizes @ members).max() == 3
    np.testing.assert_array_equal(left, members.T @ np.ones((3, 3)) @ sizes @ members)


def test_case_5_other_steps_of_the_printed_proof() -> None:
    """The sign of the coefficient of 1, the last form of δ, and ν(t)."""
    known, t = steps([2, 2, 2]), 3
    alpha, beta, q, s, one = known.alpha, known.beta, known.q, known.s, known.one
    assert known.first == pytest.approx((q - s) / 6)  # printed (s - q)/K
    # d = e: all of V is αI + β1, and I - V⁻¹ = qI + (s - q)/K 1
    kept = np.eye(6) - np.linalg.inv(alpha * np.eye(6) + beta * one)
    np.testing.assert_allclose(kept, q * np.eye(6) + (s - q) / 6 * one, atol=1e-14)
    powers = np.linalg.matrix_power(kept, t)
    assert powers[0, 1] == pytest.approx((s**t - q**t) / 6)
    assert abs(powers[0, 1] - ((q + (q - s) / 6) ** t - q**t)) > 1e-3  # printed ν(t)
    # The last form of δ_i divides by K_i d - K e, here 2 · 0.3 - 6 · 0.1 = 0, the first does not.
    given = {**CASE_5, "superclass": [0, 0, 1, 1, 2, 2], "elsewhere": 0.1}
    assert np.isfinite(case_5_printed(np.eye(6), **given)).all()


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_case_5_middle_display_of_delta_has_the_other_sign(sizes: list[int]) -> None:
    """The definition and the last forms agree. The line between them is their negative."""
    known = steps(sizes)
    np.testing.assert_allclose(known.delta_third, known.delta, rtol=1e-12)
    assert (known.delta > 1e-3).all()
    assert (known.delta_middle < -1e-3).all()
    # For e > 0, neither sign inverts αI + β1 + γQᵀQ. For e = 0, that of the definition does.
    for elsewhere, inverts in ((0.1, False), (0.0, True)):
        known = steps(sizes, elsewhere)
        matrix = known.beta * known.one + known.gamma * known.members.T @ known.members
        matrix += known.alpha * np.eye(known.n_classes)
        truth = np.linalg.inv(matrix) - known.first * known.one - np.eye(6) / known.alpha
        right, wrong = (
            np.abs(-known.members.T @ np.diag(delta) @ known.members - truth).max()
            for delta in (known.delta, known.delta_middle)
        )
        assert (right < 1e-14) == inverts
        assert wrong > right + 1e-3


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_case_5_binomial_step_is_false(sizes: list[int]) -> None:
    """((q - s)/K 1 + QᵀDQ)ʲ: the two terms commute for equal K_i only, and 1 is not QᵀQ."""
    known = steps(sizes)
    members, n_classes = known.members, known.n_classes
    shift = (known.q - known.s) / n_classes
    one = shift * known.one
    groups = members.T @ np.diag(known.delta) @ members
    commute = np.abs(one @ groups - groups @ one).max() < 1e-15
    assert commute == (len(set(sizes)) == 1)
    for j in (2, 3):
        truth = np.linalg.matrix_power(one + groups, j)
        # As printed: (q - s)ʲ/K 1 + Qᵀ D(K_iʲ⁻¹ {((q - s)/K + δ_i)ʲ - ((q - s)/K)ʲ}) Q
        inner = known.sizes ** (j - 1) * ((shift + known.delta) ** j - shift**j)
        printed = (known.q - known.s) ** j / n_classes * np.ones((n_classes, n_classes))
        printed += members.T @ np.diag(inner) @ members
        assert np.abs(printed - truth).max() > 1e-5
        # Without the false identity, the sum over both orders of every product is right.
        products = [one, groups]
        for _ in range(j - 1):
            products = [left @ right for left in products for right in (one, groups)]
        np.testing.assert_allclose(sum(products), truth, atol=1e-15)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_case_5_correcting_one_sign_is_not_sufficient(sizes: list[int]) -> None:
    """The code has (q - s)/K as printed. The right sign alone, (s - q)/K, is not sufficient."""
    known = steps(sizes)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    corruption = np.roll(np.eye(6), 1, axis=1) * 0.3 + 0.7 * np.eye(6)
    given = {**CASE_5, "superclass": groups, "elsewhere": 0.1}
    means = known.members @ corruption / known.sizes[:, None]
    truth = case_5_outputs(corruption, **given)
    p, q, t, k = known.p, known.q, 3, known.sizes
    for sign, as_printed in ((1, True), (-1, False)):
        shift = sign * (q - known.s) / 6
        mu = (q + k * (shift + known.delta)) ** t - (q + k * shift) ** t
        rest = mu[:, None] * means + (1 - mu - q**t)[:, None] / 6
        by_class = (q**t - p**t) * corruption + rest[groups]
        outputs = p**t * np.eye(6) + by_class[:, None, :]
        printed = case_5_printed(corruption, **given)
        assert (np.abs(outputs - printed).max() < 1e-13) == as_printed
        assert np.abs(outputs - truth).max() > 5e-3
