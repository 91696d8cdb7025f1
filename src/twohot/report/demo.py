"""The main job on data that ships with scikit-learn: digits, many of their labels made wrong."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from twohot.distill.estimators import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.distill.probe import Probe
from twohot.features.corruption import corrupt_labels, symmetric

N_ROUNDS = 4
TEST_SHARE = 0.3


@dataclass(frozen=True)
class DemoData:
    """Digits with wrong labels, and a clean test set."""

    features: np.ndarray
    given_labels: np.ndarray
    true_labels: np.ndarray
    test_features: np.ndarray
    test_labels: np.ndarray


@dataclass(frozen=True)
class DemoRow:
    """How one method did."""

    method: str
    test_errors: int  # of the rows never seen
    training_errors: int  # predictions on training rows that differ from the true label
    n_passes: float  # over the training rows
    converged: bool


def demo_data(noise_rate: float, seed: int) -> DemoData:
    """Return digits, a share of the training labels replaced by another digit."""
    pixels, digits = load_digits(return_X_y=True)
    features, test_features, true_labels, test_labels = train_test_split(
        pixels, digits, test_size=TEST_SHARE, stratify=digits, random_state=seed
    )
    noise = corrupt_labels(true_labels, symmetric(10, noise_rate), exact=True, random_state=seed)
    return DemoData(features, noise.given_labels, true_labels, test_features, test_labels)


def demo_rows(data: DemoData) -> Iterator[DemoRow]:
    """Yield a plain probe, the teacher, every round, the partial-label student and a robust fit.

    Penalties are the defaults: 50 for the plain probe, 10 for all others. Nothing here is chosen
    by looking at the test set.
    """
    yield _fitted_row("plain probe", LinearProbe(), data)
    rounds = DistilledProbe(n_rounds=N_ROUNDS)
    rounds.fit(data.features, data.given_labels)
    stages = zip(
        rounds.rounds_,
        rounds.staged_predict_proba(data.test_features),
        rounds.staged_predict_proba(data.features),
        strict=True,
    )
    for number, (entry, test, training) in enumerate(stages, start=1):
        yield DemoRow(
            "teacher (round 1)" if number == 1 else f"round {number}",
            int(np.sum(rounds.classes_[test.argmax(axis=1)] != data.test_labels)),
            int(np.sum(rounds.classes_[training.argmax(axis=1)] != data.true_labels)),
            entry.n_passes,
            entry.converged,
        )
    yield _fitted_row("partial labels (two-hot)", PartialLabelProbe(), data)
    yield _fitted_row("robust loss (GCE)", LinearProbe(loss="gce"), data)


def _fitted_row(method: str, probe: Probe, data: DemoData) -> DemoRow:
    probe.fit(data.features, data.given_labels)
    return DemoRow(
        method,
        int(np.sum(probe.predict(data.test_features) != data.test_labels)),
        int(np.sum(probe.predict(data.features) != data.true_labels)),
        probe.rounds_[-1].n_passes,
        probe.rounds_[-1].converged,
    )
