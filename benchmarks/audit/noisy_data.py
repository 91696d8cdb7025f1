"""Labels to learn from: a data set, a noise, a seed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from benchmarks.audit.data import Data
from benchmarks.audit.runs import Score, Setting
from benchmarks.audit.thinning import thin
from twohot import LinearProbe
from twohot.noise import (
    asymmetric,
    boundary_noise,
    corrupt_labels,
    pair_flip,
    superclass_noise,
    symmetric,
)
from twohot.select.out_of_fold import out_of_fold_probabilities

IDN_RIDGE = 4.0  # of the probe that says which rows are near a boundary; it has clean labels


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
        """Return how well the flagged rows, and the rows of low quality, are the wrong ones.

        Where no label is wrong there is nothing to find, and only the share of flags counts.
        """
        share = float(flagged.mean())
        if not self.wrong.any():
            return Score(accuracy, flagged=share)
        precision, recall, f1, _ = precision_recall_fscore_support(
            self.wrong, flagged, average="binary", zero_division=0.0
        )
        ranking = average_precision_score(self.wrong, 1 - quality)
        return Score(accuracy, float(precision), float(recall), float(f1), float(ranking), share)


def draw_labels(data: Data, setting: Setting, seed: int) -> NoisyData:
    """Return the labels of a setting; a seed gives the same ones to every method."""
    if setting.thinning:
        data = thin(data, setting.thinning, seed)
    return NoisyData(data, GIVEN_LABELS[setting.kind](data, setting.rate, seed), seed)


def _drawn(corruption: Callable[[Data, float], NDArray[np.float64]]) -> "GivenLabels":
    """Return what draws labels by a matrix."""

    def draw(data: Data, rate: float, seed: int) -> NDArray[np.int64]:
        matrix = corruption(data, rate)
        classes = np.arange(data.n_classes)
        drawn = corrupt_labels(data.true_labels, matrix, random_state=seed, classes=classes)
        return drawn.given_labels

    return draw


def _idn(data: Data, rate: float, seed: int) -> NDArray[np.int64]:
    return boundary_noise(
        data.true_labels, clean_probabilities(data), rate, random_state=seed
    ).given_labels


@lru_cache(maxsize=1)  # runs of one data set follow each other
def clean_probabilities(data: Data) -> NDArray[np.float64]:
    """Return what a probe with clean labels says of rows it has not seen; all seeds share it."""
    probe = LinearProbe(ridge=IDN_RIDGE, n_jobs=1)
    return out_of_fold_probabilities(probe, data.raw, data.true_labels, random_state=0)


GivenLabels = Callable[[Data, float, int], NDArray[np.int64]]
# By kind of noise: labels from a data set, a rate and a seed.
GIVEN_LABELS: dict[str, GivenLabels] = {
    "clean": lambda data, rate, seed: data.true_labels,  # noqa: ARG005
    "human": lambda data, rate, seed: data.human_labels,  # noqa: ARG005
    "symmetric": _drawn(lambda data, rate: symmetric(data.n_classes, rate)),
    "asymmetric": _drawn(lambda data, rate: asymmetric(data.n_classes, rate)),
    "superclass": _drawn(lambda data, rate: superclass_noise(data.superclass, rate)),
    "pair": _drawn(lambda data, rate: pair_flip(data.n_classes, rate)),
    # Drawn from all classes, the true one too: so many of K stay right by chance.
    "uniform": _drawn(
        lambda data, rate: symmetric(data.n_classes, rate * (1 - 1 / data.n_classes))
    ),
    "idn": _idn,
}
