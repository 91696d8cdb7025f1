"""Labels to learn from: a data set, a noise, a seed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from benchmarks.audit.data import Data
from benchmarks.audit.runs import Score, Setting
from twohot.noise import asymmetric, corrupt_labels, superclass_noise, symmetric


@dataclass(frozen=True, eq=False)
class NoisyData:
    """What a method is given, and what it is judged by."""

    data: Data
    given_labels: NDArray[np.int64]
    seed: int  # for folds

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return self.given_labels != self.data.true_labels

    @property
    def outvoted(self) -> float:
        """Share of the rows in classes given another label more often than their own.

        Nobody can learn such a class from these labels alone.
        """
        counts = np.zeros((self.data.n_classes, self.data.n_classes), dtype=np.int64)
        np.add.at(counts, (self.data.true_labels, self.given_labels), 1)
        lost = counts.max(axis=1) > counts.diagonal()
        return float(lost[self.data.true_labels].mean())

    def accuracy(self, predicted: NDArray[np.int64]) -> float:
        """Return the share of the test rows that a method got right."""
        return float((predicted == self.data.test_labels).mean())

    def detection(
        self,
        flagged: NDArray[np.bool_],
        quality: NDArray[np.floating],
        accuracy: float | None = None,
    ) -> Score:
        """Return how well the flagged rows, and the rows of low quality, are the wrong ones."""
        precision, recall, f1, _ = precision_recall_fscore_support(
            self.wrong, flagged, average="binary", zero_division=0.0
        )
        ranking = average_precision_score(self.wrong, 1 - quality)
        return Score(accuracy, float(precision), float(recall), float(f1), float(ranking))


def draw_labels(data: Data, setting: Setting, seed: int) -> NoisyData:
    """Return the labels of a setting; a seed gives the same ones to every method."""
    if setting.noise == "human":
        return NoisyData(data, data.human_labels, seed)
    corruption = {
        "symmetric": lambda: symmetric(data.n_classes, setting.rate),
        "asymmetric": lambda: asymmetric(data.n_classes, setting.rate),
        "superclass": lambda: superclass_noise(data.superclass, setting.rate),
    }[setting.noise]()
    drawn = corrupt_labels(data.true_labels, corruption, random_state=seed)
    return NoisyData(data, drawn.given_labels, seed)
