"""The error due to estimated correlations, measured by drawing the rows many times."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from theory.dense import symmetric
from twohot.theory import (
    CorrelationModel,
    PredictionBound,
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


def drawn(
    rng: np.random.Generator, n_per_class: int, decay: float, *, unit_norm: bool
) -> np.ndarray:
    """Rows of all classes. Rows of unit norm are not Gaussian, and their means differ slightly."""
    rows = rng.normal(size=(N_CLASSES, n_per_class, N_FEATURES)) * np.sqrt(spectrum(decay))
    rows += class_means()[:, None, :]
    return rows / np.linalg.norm(rows, axis=2, keepdims=True) if unit_norm else rows


def coverage(
    predict: Callable[..., PredictionBound], n_draws: int, setting: tuple[float, ...]
) -> tuple[float, float]:
    """Proportion of the draws with all errors within the bound, and bound over error (medians)."""
    n_per_class, ridge, n_rounds, decay, unit_norm = setting
    known = {"n_classes": N_CLASSES, "same_class": SAME_CLASS, "same_superclass": BETWEEN}
    truth = CorrelationModel.case_3(**known, n_per_class=n_per_class)
    rng = np.random.default_rng(0)
    how = {"l2": ridge / truth.ridge(1.0), "n_rounds": n_rounds}
    right = type_outputs(truth, NOISE, **how)
    covered, sizes, errors = [], [], []
    for _ in range(n_draws):
        rows = drawn(rng, n_per_class, decay, unit_norm=unit_norm)
        model = estimated(rows)
        bound = predict(rows, model, decay, **how)
        error = np.abs(type_outputs(model, NOISE, **how).outputs - right.outputs).max(axis=(1, 2))
        least, most = bound.lowest_accuracy - 1e-12, bound.highest_accuracy + 1e-12
        inside = least <= right.accuracy() <= most
        covered.append((error <= bound.outputs).all() and inside)
        sizes.append(bound.outputs.max())
        errors.append(error.max())
    return np.mean(covered), np.median(sizes) / np.median(errors)


def by_bound(_: np.ndarray, model: CorrelationModel, decay: float, **how: Any) -> PredictionBound:
    largest = float(spectrum(decay).max())
    return prediction_bound(model, NOISE, within_norm=largest, **how)


def by_halves(rows: np.ndarray, _: CorrelationModel, __: float, **how: Any) -> PredictionBound:
    labels = np.repeat(np.arange(N_CLASSES), rows.shape[1])
    return prediction_spread(rows.reshape(len(labels), -1), labels, NOISE, n_draws=50, **how)


SETTINGS = pytest.mark.parametrize(
    "setting",  # rows per class, ridge, rounds, decay of the spectrum, of unit norm
    [(50, 0.5, 3, 0.0, False), (50, 5.0, 2, 1.0, False), (400, 0.5, 5, 0.5, False),
     (20, 0.5, 1, 0.0, False), (100, 1.0, 3, 0.0, True)],
)  # fmt: skip


@SETTINGS
def test_predictions_are_within_the_bound(setting: tuple[float, ...]) -> None:
    """The bound must cover 95 % of 100 draws. It covers nearly all: it is for any covariance."""
    covered, width = coverage(by_bound, 100, setting)
    assert covered >= 0.95
    assert width < 40


@SETTINGS
def test_predictions_are_within_the_spread(setting: tuple[float, ...]) -> None:
    """95 % of 60 datasets are expected. Fewer than 88 % have a probability of 1 %."""
    covered, width = coverage(by_halves, 60, setting)
    assert covered >= 0.88
    assert width < 4


def test_spread_grows_with_confidence_and_repeats() -> None:
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


def test_bound_falls_with_rows_and_grows_with_confidence() -> None:
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
