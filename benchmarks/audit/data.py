"""Data sets: rows as they come, which AutoProbe gets, and prepared ones, which the others get.

Prepared is centred by the training mean, of unit norm, float32: what AutoProbe does by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.real_features import FILES, real_file
from twohot.classes import class_correlation, cluster_classes

DIGITS = "digits"
TEST_SHARE = 0.3  # of digits: 1257 rows to train on, 540 to test on


@dataclass(frozen=True, eq=False)
class Data:
    """A data set with its true labels."""

    name: str
    raw: NDArray[Any]  # (n_samples, n_features), as they come
    X: NDArray[np.float32]  # the same rows, prepared; `raw` itself if they were generated
    true_labels: NDArray[np.int64]  # 0 … n_classes - 1
    raw_test: NDArray[Any]
    X_test: NDArray[np.float32]  # prepared alike, with the mean of the training rows
    test_labels: NDArray[np.int64]
    superclass: NDArray[np.int64]  # (n_classes,): official where there are any, else clustered
    human_labels: NDArray[np.int64] | None  # labels that people gave, if there are any

    @property
    def n_classes(self) -> int:
        return len(self.superclass)

    @property
    def is_prepared(self) -> bool:
        """Whether X has unit norm."""
        return self.X is not self.raw

    def take(self, rows: NDArray[np.intp]) -> "Data":
        """Return some of the training rows of data that were not generated, prepared anew."""
        human = None if self.human_labels is None else self.human_labels[rows]
        return prepared(
            self.name,
            self.raw[rows],
            self.true_labels[rows],
            self.raw_test,
            self.test_labels,
            superclass=self.superclass,
            y_train_human=human,
        )


def loaders(folder: Path | None) -> dict[str, Callable[[], Data]]:
    """Return how to load every stored data set: digits, and those of a folder if it is given."""
    found: dict[str, Callable[[], Data]] = {DIGITS: digits}
    for name in FILES if folder is not None else ():
        found[name] = partial(real, name, real_file(folder, name))
    return found


def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    rows, test_rows, labels, test_labels = train_test_split(
        X / 16, y, test_size=TEST_SHARE, stratify=y, random_state=0
    )
    return prepared(DIGITS, rows, labels, test_rows, test_labels)


def real(name: str, path: Path) -> Data:
    with np.load(path, allow_pickle=False) as arrays:
        labels = {key: arrays[key].astype(np.int64) for key in ("y_train", "y_test")}
        extra = {
            key: arrays[key].astype(np.int64)
            for key in ("superclass", "y_train_human")
            if key in arrays
        }
        rows, test_rows = arrays["X_train"], arrays["X_test"]
    return prepared(name, rows, labels["y_train"], test_rows, labels["y_test"], **extra)


def prepared(
    name: str,
    rows: NDArray[Any],
    labels: NDArray[np.int64],
    test_rows: NDArray[Any],
    test_labels: NDArray[np.int64],
    *,
    superclass: NDArray[np.int64] | None = None,
    y_train_human: NDArray[np.int64] | None = None,
) -> Data:
    mean = rows.mean(axis=0, dtype=np.float64)
    X, X_test = (_unit_norm(each - mean) for each in (rows, test_rows))
    if superclass is None:
        superclass = cluster_classes(class_correlation(X, labels).means).superclass
    return Data(name, rows, X, labels, test_rows, X_test, test_labels, superclass, y_train_human)


def _unit_norm(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)
