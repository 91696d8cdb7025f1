"""Davis-Kahan and the repair of perturbed Gram matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theory.problems import SEEDS, examples
from twohot.theory import (
    CorrelationModel,
    LabelAveraging,
    davis_kahan,
    repair_gram,
    uniform_perturbation,
)


@examples
@given(SEEDS, st.floats(0.001, 1.0))
def test_subspace_turns_no_more_than_davis_and_kahan_allow(seed: int, amplitude: float) -> None:
    rng = np.random.default_rng(seed)
    size, leading = int(rng.integers(3, 12)), 2
    factor = rng.normal(size=(size, size))
    gram = factor @ factor.T
    noise = uniform_perturbation(size, amplitude=amplitude, seed=rng)
    shift = davis_kahan(gram, gram + noise, n_leading=leading)
    values, vectors = np.linalg.eigh(gram)
    assert shift.eigengap == pytest.approx(values[-2] - values[-3])
    assert shift.perturbation_norm == pytest.approx(np.linalg.norm(noise, 2))
    turned = np.linalg.eigh(gram + noise)[1][:, -leading:]
    projection = vectors[:, -leading:] @ vectors[:, -leading:].T
    sine = np.linalg.norm(turned - projection @ turned, 2)
    assert shift.sin_angle == pytest.approx(sine, abs=1e-7)
    assert shift.bound == pytest.approx(2 * shift.perturbation_norm / shift.eigengap)
    assert shift.sin_angle <= shift.bound + 1e-12


def test_a_rotation_by_a_known_angle() -> None:
    angle = 0.3
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    gram = np.diag([2.0, 1.0])
    shift = davis_kahan(gram, turn @ gram @ turn.T, n_leading=1)
    assert shift.sin_angle == pytest.approx(np.sin(angle))


def test_the_figures_perturbation_leaves_the_classes_in_place() -> None:
    model = CorrelationModel.case_3(
        n_classes=4, same_class=0.4, same_superclass=0.1, n_per_class=100
    )
    gram = model.gram()
    noise = uniform_perturbation(400, amplitude=0.05, seed=0)
    shift = davis_kahan(gram, gram + noise, n_leading=4)
    assert shift.eigengap == pytest.approx(30.0)
    assert shift.sin_angle < shift.bound < 0.1
    # and is no Gram matrix: 31 negative eigenvalues, the smallest -.20, at seed 0
    assert np.linalg.eigvalsh(gram + noise)[0] < -0.1
    with pytest.raises(ValueError, match="repair it with repair_gram"):
        LabelAveraging.from_gram(gram + noise)
    repaired = repair_gram(gram + noise)
    values = np.linalg.eigvalsh(repaired)
    assert values[0] > -1e-12
    np.testing.assert_array_equal(np.diag(repaired), 1)
    within = repaired[:100, :100][~np.eye(100, dtype=bool)].mean()
    assert within == pytest.approx(0.397, abs=0.003)
    assert repaired[:100, 100:].mean() == pytest.approx(0.099, abs=0.001)


def test_a_gram_matrix_is_left_as_it_is() -> None:
    model = CorrelationModel.case_1(n_classes=2, same_class=0.3, n_per_class=5)
    np.testing.assert_allclose(repair_gram(model.gram()), model.gram(), atol=1e-14)


def test_perturbation_is_reproducible_and_bounded() -> None:
    first = uniform_perturbation(20, amplitude=0.1, seed=3)
    np.testing.assert_array_equal(first, uniform_perturbation(20, amplitude=0.1, seed=3))
    np.testing.assert_array_equal(first, first.T)
    assert 0.05 < np.abs(first).max() <= 0.1
    assert not np.diag(first).any()
