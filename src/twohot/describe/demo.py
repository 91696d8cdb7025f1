"""Several probes on scikit-learn's digits with noisy labels, as `twohot demo` compares them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from twohot.judge import AutoProbe
from twohot.noise import corrupt_labels, pair_flip, symmetric
from twohot.probes import DistilledProbe, LinearProbe, PartialLabelProbe

N_ROUNDS = 4
TEST_SHARE = 0.3
DemoNoise: TypeAlias = Literal["mixed", "symmetric"]


@dataclass(frozen=True)
class DemoData:
    """Digits with noisy labels, and a clean test set."""

    features: np.ndarray
    given_labels: np.ndarray
    true_labels: np.ndarray
    test_features: np.ndarray
    test_labels: np.ndarray


@dataclass(frozen=True)
class DemoRow:
    """The results of one method."""

    method: str
    test_errors: int  # errors on the test set
    training_errors: int  # predictions on training rows that differ from the true label
    n_passes: float  # over the training rows


def demo_data(noise_rate: float, seed: int, kind: DemoNoise = "mixed") -> DemoData:
    """Return digits with a share of the training labels replaced by another digit.

    "symmetric" noise uses any other digit. "mixed" noise does so for half of the wrong labels and
    uses the next digit for the other half, so that some mistakes are more frequent than others.
    """
    # Slow imports, only needed for the demo.
    from sklearn.datasets import load_digits  # noqa: PLC0415
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    pixels, digits = load_digits(return_X_y=True)
    features, test_features, true_labels, test_labels = train_test_split(
        pixels, digits, test_size=TEST_SHARE, stratify=digits, random_state=seed
    )
    corruption = symmetric(10, noise_rate)
    if kind == "mixed":
        corruption = (corruption + pair_flip(10, noise_rate)) / 2
    noise = corrupt_labels(true_labels, corruption, exact=True, random_state=seed)
    return DemoData(features, noise.given_labels, true_labels, test_features, test_labels)


def demo_rows(data: DemoData, auto: AutoProbe) -> Iterator[DemoRow]:
    """Yield the results of a plain probe, the teacher, each round, the students and AutoProbe.

    Penalties are the defaults: 50 for the plain probe, 10 for all others except AutoProbe, which
    chooses its own. The test set is not used for any choice.
    """
    yield _fitted_row("plain probe", LinearProbe(), data)
    rounds = DistilledProbe(n_rounds=N_ROUNDS)
    rounds.fit(data.features, data.given_labels)
    both = (data.test_features, data.features)
    stages = zip(rounds.rounds_, *map(rounds.staged_predict_proba, both), strict=True)
    for number, (entry, *outputs) in enumerate(stages, start=1):
        name = "teacher (round 1)" if number == 1 else f"round {number}"
        predicted = [rounds.classes_[part.argmax(axis=1)] for part in outputs]
        yield _row(name, data, predicted, entry.n_passes)
    yield _fitted_row("partial labels (two-hot)", PartialLabelProbe(), data)
    yield _fitted_row("robust loss (GCE)", LinearProbe(loss="gce"), data)
    yield _predicted_row("AutoProbe", auto, data)


def _fitted_row(method: str, probe: Any, data: DemoData) -> DemoRow:
    """Fit a probe and return its results."""
    return _predicted_row(method, probe.fit(data.features, data.given_labels), data)


def _predicted_row(method: str, probe: Any, data: DemoData) -> DemoRow:
    """Return the results of a fitted probe."""
    predicted = [probe.predict(features) for features in (data.test_features, data.features)]
    return _row(method, data, predicted, probe.rounds_[-1].n_passes)


def _row(method: str, data: DemoData, predicted: list[np.ndarray], n_passes: float) -> DemoRow:
    """Return the errors of predictions for the test set and the training set."""
    pairs = zip(predicted, (data.test_labels, data.true_labels), strict=True)
    n_test, n_training = (int(np.sum(labels != true)) for labels, true in pairs)
    return DemoRow(method, n_test, n_training, n_passes)
