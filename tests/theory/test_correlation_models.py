"""Correlation models: Gram matrix, spectrum, invalid models."""

import numpy as np
import pytest
from hypothesis import given

from theory.dense import block_correlation, random_problem
from theory.problems import SEEDS, examples, model_of
from twohot.theory import CorrelationModel


@examples
@given(SEEDS)
def test_gram_matrix_and_spectrum_of_any_model(seed: int) -> None:
    problem = random_problem(seed)
    model = model_of(problem)
    np.testing.assert_allclose(model.gram(), problem.gram, rtol=0, atol=1e-14)
    eigenvalues = np.linalg.eigvalsh(problem.gram)[::-1]
    scale = max(1.0, eigenvalues[0])
    np.testing.assert_allclose(model.spectrum().values(), eigenvalues, rtol=0, atol=1e-12 * scale)
    np.testing.assert_array_equal(model.true_labels(), problem.true_labels)
    assert model.ridge(problem.l2) == pytest.approx(problem.ridge)


def test_centred_features_may_correlate_negatively() -> None:
    """CIFAR-100's table has -.03 between superclasses; the paper's e >= 0 would refuse it."""
    model = CorrelationModel.case_5(
        superclass=[0, 0, 1, 1],
        same_class=0.25,
        same_superclass=0.02,
        elsewhere=-0.03,
        n_per_class=500,
    )
    np.testing.assert_allclose(
        model.correlation, block_correlation([0, 0, 1, 1], 0.25, 0.02, -0.03)
    )


def test_valid_correlations_depend_on_class_sizes() -> None:
    """The same correlation is possible for few samples and impossible for many."""
    few = CorrelationModel.from_correlation([[0.3, 0.6], [0.6, 0.3]], class_sizes=1)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        few.with_class_sizes(20)
    larger = CorrelationModel.case_1(n_classes=3, same_class=0.2, n_per_class=10)
    assert larger.with_class_sizes([1, 2, 3e8]).n_samples == 300_000_003
