"""The experiment of `twohot demo`: several probes on scikit-learn's digits with noisy labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from twohot.judge import AutoProbe
from twohot.noise import corrupt_labels, pair_flip, symmetric
from twohot.probes import DistilledProbe, LinearProbe, PartialLabelProbe

N_ROUNDS = 4
TEST_FRACTION = 0.3
DemoNoise: TypeAlias = Literal["mixed", "symmetric"]


@dataclass(frozen=True)
class DemoData:
    """Digits with noisy labels, and a test set with right labels."""

    features: np.ndarray
    given_labels: np.ndarray
    true_labels: np.ndarray
    test_features: np.ndarray
    test_labels: np.ndarray


@dataclass(frozen=True)
class DemoRow:
    """The errors and the cost of one method."""

    method: str
    test_errors: int  # errors on the test set
    training_errors: int  # predictions on training rows that differ from the true label
    n_passes: float  # passes over the training rows


def demo_data(noise_rate: float, seed: int, kind: DemoNoise = "mixed") -> DemoData:
    """Return digits; a fraction `noise_rate` of the training labels is replaced by other digits.

    With `kind` "symmetric", a wrong label is any other digit. With "mixed", half of the wrong
    labels are the next digit, so that some mistakes are more frequent than others.
    """
    # Slow imports, only needed for the demo.
    from sklearn.datasets import load_digits  # noqa: PLC0415
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    pixels, digits = load_digits(return_X_y=True)
    features, test_features, true_labels, test_labels = train_test_split(
        pixels, digits, test_size=TEST_FRACTION, stratify=digits, random_state=seed
    )
    corruption = symmetric(10, noise_rate)
    if kind == "mixed":
        corruption = (corruption + pair_flip(10, noise_rate)) / 2
    noise = corrupt_labels(true_labels, corruption, exact=True, random_state=seed)
    return DemoData(features, noise.given_labels, true_labels, test_features, test_labels)


def demo_rows(data: DemoData, auto: AutoProbe) -> Iterator[DemoRow]:
    """Yield the results of a plain probe, of each round of self-distillation, and of other probes.

    `auto` is already fitted. An AutoProbe chooses its own penalties. The other probes have their
    default penalties: a ridge of 50 for the plain probe, and 10 for the others. No penalty is
    chosen on the test set.
    """

    def row(method: str, predictions: Any, n_passes: float) -> DemoRow:
        test, training = predictions
        n_test, n_training = np.sum(test != data.test_labels), np.sum(training != data.true_labels)
        return DemoRow(method, int(n_test), int(n_training), n_passes)

    def fitted(method: str, probe: Any) -> DemoRow:
        return row(method, map(probe.predict, both_sets), probe.rounds_[-1].n_passes)

    training, both_sets = (data.features, data.given_labels), (data.test_features, data.features)
    yield fitted("plain probe", LinearProbe().fit(*training))
    rounds = DistilledProbe(n_rounds=N_ROUNDS).fit(*training)
    stages = map(rounds.staged_predict_proba, both_sets)
    for number, (entry, *outputs) in enumerate(zip(rounds.rounds_, *stages, strict=True), start=1):
        name = "teacher (round 1)" if number == 1 else f"round {number}"
        predictions = (rounds.classes_[each.argmax(axis=1)] for each in outputs)
        yield row(name, predictions, entry.n_passes)
    yield fitted("partial labels (two-hot)", PartialLabelProbe().fit(*training))
    yield fitted("robust loss (GCE)", LinearProbe(loss="gce").fit(*training))
    yield fitted("AutoProbe", auto)
