"""The bound for estimated correlations, by drawing the rows many times."""

import numpy as np
import pytest

from theory.dense import symmetric
from twohot.base.messages import ArgumentError
from twohot.theory import (
    CorrelationModel,
    PredictionBound,
    TypeOutputs,
    prediction_bound,
    prediction_spread,
    type_outputs,
)

N_CLASSES, N_FEATURES = 4, 300
SAME_CLASS, BETWEEN = 0.5, 0.1
NOISE = symmetric(N_CLASSES, 0.4)


def class_means() -> np.ndarray:
    levels = BETWEEN + (SAME_CLASS - BETWEEN) * np.eye(N_CLASSES)
    means = np.zeros((N_CLASSES, N_FEATURES))
    means[:, :N_CLASSES] = np.linalg.cholesky(levels)
    return means


def spectrum(decay: float) -> np.ndarray:
    """Variances inside classes, of sum 1 - SAME_CLASS."""
    values = np.arange(1.0, N_FEATURES + 1) ** -decay
    return (1 - SAME_CLASS) * values / values.sum()


def estimated(rows: np.ndarray) -> CorrelationModel:
    """Mean products of pairs, from rows[class, sample, feature]."""
    n_per_class = rows.shape[1]
    means = rows.mean(axis=1)
    norms = (rows**2).sum(axis=2).mean(axis=1)
    correlation = means @ means.T
    own = (n_per_class * np.diag(correlation) - norms) / (n_per_class - 1)
    np.fill_diagonal(correlation, own)
    return CorrelationModel.from_correlation(
        correlation, class_sizes=n_per_class, squared_norms=norms
    )


SETTINGS = pytest.mark.parametrize(
    ("n_per_class", "ridge", "n_rounds", "decay", "unit_norm"),
    [(50, 0.5, 3, 0.0, False), (50, 5.0, 2, 1.0, False), (400, 0.5, 5, 0.5, False),
     (20, 0.5, 1, 0.0, False), (100, 1.0, 3, 0.0, True)],
)  # fmt: skip


def true_model(n_per_class: int) -> CorrelationModel:
    return CorrelationModel.case_3(
        n_classes=N_CLASSES,
        same_class=SAME_CLASS,
        same_superclass=BETWEEN,
        n_per_class=n_per_class,
    )


def drawn(
    rng: np.random.Generator, n_per_class: int, decay: float, *, unit_norm: bool
) -> np.ndarray:
    """Rows of all classes; of unit norm they are neither Gaussian nor exactly of these means."""
    rows = rng.normal(size=(N_CLASSES, n_per_class, N_FEATURES)) * np.sqrt(spectrum(decay))
    rows += class_means()[:, None, :]
    return rows / np.linalg.norm(rows, axis=2, keepdims=True) if unit_norm else rows


def error_of(predicted: TypeOutputs, right: TypeOutputs) -> np.ndarray:
    """Largest error of an output of the samples of each class."""
    return np.abs(predicted.outputs - right.outputs).max(axis=(1, 2))


def accuracy_is_inside(bound: PredictionBound, right: TypeOutputs) -> bool:
    rounding = 1e-12
    least, most = bound.lowest_accuracy - rounding, bound.highest_accuracy + rounding
    return least <= right.accuracy() <= most


@SETTINGS
def test_predictions_are_within_the_bound(
    n_per_class: int, ridge: float, n_rounds: int, decay: float, *, unit_norm: bool
) -> None:
    """95 % of 100 draws must be; nearly all are, as the bound is for the worst covariance."""
    rng = np.random.default_rng(0)
    truth = true_model(n_per_class)
    how = {"l2": ridge / truth.ridge(1.0), "n_rounds": n_rounds}
    right = type_outputs(truth, NOISE, **how)
    covered, sizes, errors = [], [], []
    for _ in range(100):
        model = estimated(drawn(rng, n_per_class, decay, unit_norm=unit_norm))
        largest = float(spectrum(decay).max())
        bound = prediction_bound(model, NOISE, within_norm=largest, **how)
        error = error_of(type_outputs(model, NOISE, **how), right)
        covered.append((error <= bound.outputs).all() and accuracy_is_inside(bound, right))
        sizes.append(bound.outputs.max())
        errors.append(error.max())
    assert np.mean(covered) >= 0.95
    assert np.median(sizes) < 40 * np.median(errors)


@SETTINGS
def test_predictions_are_within_the_spread_of_halves(
    n_per_class: int, ridge: float, n_rounds: int, decay: float, *, unit_norm: bool
) -> None:
    """95 % are expected of 60 data sets: fewer than 88 % are as rare as one in a hundred."""
    rng = np.random.default_rng(0)
    truth = true_model(n_per_class)
    how = {"l2": ridge / truth.ridge(1.0), "n_rounds": n_rounds}
    right = type_outputs(truth, NOISE, **how)
    labels = np.repeat(np.arange(N_CLASSES), n_per_class)
    covered, sizes, errors = [], [], []
    for _ in range(60):
        rows = drawn(rng, n_per_class, decay, unit_norm=unit_norm)
        features = rows.reshape(len(labels), -1)
        spread = prediction_spread(features, labels, NOISE, n_draws=50, **how)
        error = error_of(type_outputs(estimated(rows), NOISE, **how), right)
        covered.append((error <= spread.outputs).all() and accuracy_is_inside(spread, right))
        sizes.append(spread.outputs.max())
        errors.append(error.max())
    assert np.mean(covered) >= 0.88
    assert np.median(sizes) < 4 * np.median(errors)


def test_the_spread_is_that_of_the_gram_matrix_and_of_the_outputs_too() -> None:
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(3), [30, 8, 15])
    rows = rng.normal(size=(len(labels), 10)) + 2 * np.eye(3, 10)[labels]
    order = rng.permutation(len(labels))
    how = {"l2": 0.01, "n_rounds": 2, "n_draws": 20}
    corruption = symmetric(3, 0.3)
    found = prediction_spread(rows[order], labels[order], corruption, **how)
    surer = prediction_spread(rows, labels, corruption, confidence=0.5, **how)
    assert 0 < surer.outputs.max() < found.outputs.max() < 1
    assert 0 < surer.gram_error < found.gram_error
    assert found.lowest_accuracy <= found.accuracy <= found.highest_accuracy
    again = prediction_spread(rows[order], labels[order], corruption, **how)
    assert again.outputs.tolist() == found.outputs.tolist()


def test_halves_need_pairs() -> None:
    rows, labels = np.random.default_rng(0).normal(size=(9, 4)), [0, 0, 0, 1, 1, 1, 1, 1, 1]
    with pytest.raises(ArgumentError, match="has a class with fewer than 4 rows"):
        prediction_spread(rows, labels, symmetric(2, 0.3), l2=0.01, n_rounds=1)


def test_the_bound_falls_with_the_rows_and_grows_with_the_confidence() -> None:
    model = CorrelationModel.case_1(n_classes=3, same_class=0.5, n_per_class=100)
    corruption = symmetric(3, 0.3)

    def bound(n_per_class: float, confidence: float = 0.95) -> float:
        found = prediction_bound(
            model.with_class_sizes(n_per_class),
            corruption,
            l2=0.5 / (9 * n_per_class),
            n_rounds=2,
            within_norm=0.01,
            confidence=confidence,
        )
        assert found.lowest_accuracy <= found.accuracy <= found.highest_accuracy
        return float(found.outputs.max())

    sizes = [bound(n) for n in (50, 200, 800, 3200, 1e6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-3
    assert bound(200, 0.5) < bound(200, 0.95) < bound(200, 0.9999)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5])
def test_a_confidence_is_a_probability(confidence: float) -> None:
    model = CorrelationModel.case_1(n_classes=3, same_class=0.5, n_per_class=100)
    with pytest.raises(ArgumentError, match="confidence="):
        prediction_bound(
            model, symmetric(3, 0.3), l2=1e-3, n_rounds=1, within_norm=0.01, confidence=confidence
        )


def test_single_rows_estimate_no_correlation() -> None:
    model = CorrelationModel.case_1(n_classes=3, same_class=0.5, n_per_class=[1, 5, 5])
    with pytest.raises(ArgumentError, match="fewer than 2 rows"):
        prediction_bound(model, symmetric(3, 0.3), l2=1e-3, n_rounds=1, within_norm=0.01)
