"""The bound for estimated correlations, by drawing the rows many times."""

import numpy as np
import pytest

from theory.dense import symmetric
from twohot._checks.messages import ArgumentError
from twohot.theory import CorrelationModel, prediction_bound, type_outputs

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


@pytest.mark.parametrize(
    ("n_per_class", "ridge", "n_rounds", "decay", "unit_norm"),
    [(50, 0.5, 3, 0.0, False), (50, 5.0, 2, 1.0, False), (400, 0.5, 5, 0.5, False),
     (20, 0.5, 1, 0.0, False), (100, 1.0, 3, 0.0, True)],
)  # fmt: skip
def test_predictions_are_within_the_bound(
    n_per_class: int, ridge: float, n_rounds: int, decay: float, *, unit_norm: bool
) -> None:
    """95 % of 100 draws must be; nearly all are, as the bound is for the worst covariance."""
    rng = np.random.default_rng(0)
    truth = CorrelationModel.case_3(
        n_classes=N_CLASSES,
        same_class=SAME_CLASS,
        same_superclass=BETWEEN,
        n_per_class=n_per_class,
    )
    l2 = ridge / truth.ridge(1.0)
    how = {"l2": l2, "n_rounds": n_rounds}
    right = type_outputs(truth, NOISE, **how)
    variances = spectrum(decay)
    covered, sizes, errors = [], [], []
    for _ in range(100):
        rows = rng.normal(size=(N_CLASSES, n_per_class, N_FEATURES)) * np.sqrt(variances)
        rows += class_means()[:, None, :]
        if unit_norm:  # neither Gaussian any more nor exactly with these means
            rows /= np.linalg.norm(rows, axis=2, keepdims=True)
        model = estimated(rows)
        bound = prediction_bound(model, NOISE, within_norm=float(variances.max()), **how)
        predicted = type_outputs(model, NOISE, **how)
        error = np.abs(predicted.outputs - right.outputs).max(axis=(1, 2))
        rounding = 1e-12
        inside = bound.lowest_accuracy - rounding <= right.accuracy()
        inside &= right.accuracy() <= bound.highest_accuracy + rounding
        covered.append((error <= bound.outputs).all() and inside)
        sizes.append(bound.outputs.max())
        errors.append(error.max())
    assert np.mean(covered) >= 0.95
    assert np.median(sizes) < 40 * np.median(errors)


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
