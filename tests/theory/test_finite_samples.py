"""The error due to estimated correlations, measured by drawing the rows many times."""

import numpy as np
import pytest

from theory.dense import symmetric
from twohot.theory import CorrelationModel, prediction_spread, type_outputs

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
    "setting",  # rows a class, ridge, rounds, decay of the spectrum, of unit norm
    [(50, 0.5, 3, 0.0, False), (50, 5.0, 2, 1.0, False), (400, 0.5, 5, 0.5, False),
     (20, 0.5, 1, 0.0, False), (100, 1.0, 3, 0.0, True)],
)  # fmt: skip


def drawn(
    rng: np.random.Generator, n_per_class: int, decay: float, *, unit_norm: bool
) -> np.ndarray:
    """Rows of all classes. Rows of unit norm are not Gaussian, and their means differ slightly."""
    rows = rng.normal(size=(N_CLASSES, n_per_class, N_FEATURES)) * np.sqrt(spectrum(decay))
    rows += class_means()[:, None, :]
    return rows / np.linalg.norm(rows, axis=2, keepdims=True) if unit_norm else rows


@SETTINGS
def test_predictions_are_within_the_spread(setting: tuple[float, ...]) -> None:
    """95 % of 60 datasets are expected. Fewer than 88 % have a probability of 1 %."""
    n_per_class, ridge, n_rounds, decay, unit_norm = setting
    rng = np.random.default_rng(0)
    truth = CorrelationModel.case_3(
        n_classes=N_CLASSES, same_class=SAME_CLASS, same_superclass=BETWEEN, n_per_class=n_per_class
    )
    how = {"l2": ridge / truth.ridge(1.0), "n_rounds": n_rounds}
    right = type_outputs(truth, NOISE, **how)
    labels = np.repeat(np.arange(N_CLASSES), n_per_class)
    covered, sizes, errors = [], [], []
    for _ in range(60):
        rows = drawn(rng, n_per_class, decay, unit_norm=unit_norm)
        found = prediction_spread(rows.reshape(len(labels), -1), labels, NOISE, n_draws=50, **how)
        model = estimated(rows)
        error = np.abs(type_outputs(model, NOISE, **how).outputs - right.outputs).max()
        least, most = found.lowest_accuracy - 1e-12, found.highest_accuracy + 1e-12
        covered.append(error <= found.output_error and least <= right.accuracy() <= most)
        sizes.append(found.output_error)
        errors.append(error)
    assert np.mean(covered) >= 0.88
    assert np.median(sizes) < 4 * np.median(errors)


def test_spread_grows_with_confidence_and_repeats() -> None:
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(3), [30, 8, 15])
    rows = rng.normal(size=(len(labels), 10)) + 2 * np.eye(3, 10)[labels]
    order = rng.permutation(len(labels))
    how = {"l2": 0.01, "n_rounds": 2, "n_draws": 20}
    corruption = symmetric(3, 0.3)
    found = prediction_spread(rows[order], labels[order], corruption, **how)
    surer = prediction_spread(rows, labels, corruption, confidence=0.5, **how)
    assert 0 < surer.output_error < found.output_error < 1
    assert found.lowest_accuracy <= found.accuracy <= found.highest_accuracy
    again = prediction_spread(rows[order], labels[order], corruption, **how)
    assert again == found
