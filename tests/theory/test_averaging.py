"""Theorem 3.1 in all its forms against repeated dense solves."""

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from theory.dense import AT_MOST, PER_CONDITION, rounds
from theory.problems import ROUNDS, SEEDS, examples
from twohot.theory import LabelAveraging, average_labels, softmax_rounds


def random_data(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Features with more rows than columns or fewer, soft targets, a penalty."""
    rng = np.random.default_rng(seed)
    n_samples, n_features, n_classes = rng.integers([3, 1, 2], [25, 25, 6])
    features = rng.normal(size=(n_samples, n_features)) / np.sqrt(n_features)
    targets = rng.dirichlet(np.ones(n_classes), size=n_samples)
    return features, targets, 10 ** rng.uniform(-5, 0)


def expected(features: np.ndarray, targets: np.ndarray, l2: float, n_rounds: int):
    gram = features @ features.T
    ridge = targets.size * l2
    condition = np.linalg.cond(ridge * np.eye(len(gram)) + gram)
    return rounds(gram, targets, ridge, n_rounds), min(PER_CONDITION * condition, AT_MOST)


@examples
@given(SEEDS, ROUNDS)
def test_all_forms_match_dense_solves(seed: int, n_rounds: int) -> None:
    features, targets, l2 = random_data(seed)
    truth, tolerance = expected(features, targets, l2, n_rounds)
    gram = features @ features.T
    forms = [
        average_labels(gram, targets, l2=l2, n_rounds=n_rounds),
        LabelAveraging.from_gram(gram).outputs(targets, l2=l2, n_rounds=n_rounds),
        LabelAveraging.from_features(features).outputs(targets, l2=l2, n_rounds=n_rounds),
    ]
    for outputs in forms:
        np.testing.assert_allclose(outputs, truth, rtol=0, atol=tolerance)


@examples
@given(SEEDS, st.integers(1, 5))
def test_unseen_outputs_match_kernel_ridge_regression(seed: int, n_rounds: int) -> None:
    features, targets, l2 = random_data(seed)
    before, tolerance = expected(features, targets, l2, n_rounds - 1)
    unseen = np.random.default_rng(seed + 1).normal(size=(4, features.shape[1]))
    n_classes, ridge = targets.shape[1], targets.size * l2
    gram = features @ features.T
    weights = np.linalg.solve(ridge * np.eye(len(gram)) + gram, before - 1 / n_classes)
    truth = 1 / n_classes + unseen @ features.T @ weights
    averaging = LabelAveraging.from_features(features)
    outputs = averaging.unseen_outputs(unseen, targets, l2=l2, n_rounds=n_rounds)
    np.testing.assert_allclose(outputs, truth, rtol=0, atol=tolerance)


@examples
@given(SEEDS, st.integers(0, 4))
def test_averaging_matrix_is_a_power_of_one_round(seed: int, n_rounds: int) -> None:
    features, targets, l2 = random_data(seed)
    gram, ridge = features @ features.T, targets.size * l2
    one = np.eye(len(gram)) - np.linalg.inv(np.eye(len(gram)) + gram / ridge)
    averaging = LabelAveraging.from_features(features)
    np.testing.assert_allclose(
        averaging.matrix(ridge=ridge, n_rounds=n_rounds),
        np.linalg.matrix_power(one, n_rounds),
        rtol=0,
        atol=1e-9,
    )


def test_features_form_no_gram_matrix() -> None:
    """3,000 samples of 4 features are 96 kB; a square matrix of them would be 72 MB."""
    rng = np.random.default_rng(0)
    features, targets = rng.normal(size=(3000, 4)), np.eye(3)[rng.integers(3, size=3000)]
    tracemalloc.start()
    averaging = LabelAveraging.from_features(features)
    averaging.outputs(targets, l2=1e-3, n_rounds=3)
    averaging.unseen_outputs(features, targets, l2=1e-3, n_rounds=3)
    softmax_rounds(averaging, targets, l2=1e-3, n_rounds=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30 * features.nbytes
