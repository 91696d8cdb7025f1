"""What is fitted: synthetic features, digits, and real features if a folder with them is given.

The labels of every problem carry 60 % symmetric noise, drawn with exact counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.real_features import real_file
from benchmarks.solver.results import Penalty
from twohot.noise import corrupt_labels, make_features, symmetric

NOISE_RATE = 0.6
SAME_CLASS, SAME_SUPERCLASS, PRINTED_ELSEWHERE = 0.25, 0.02, -0.03  # as the paper prints them
N_SUPERCLASSES = 3
MAIN_NAME, MANY_NAME = "synthetic", "synthetic, many classes"
DIGITS_AS = "digits, "  # float64 or float32
REAL = ("BANKING77", "CIFAR-100", "Flowers-102", "Caltech-101", "StanfordCars")


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows and the labels a learner is given."""

    name: str
    X: NDArray[Any]  # (n_samples, n_features), not prepared; float32, digits float64
    given_labels: NDArray[np.int64]  # 0 … n_classes - 1
    true_labels: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        return int(self.true_labels.max()) + 1

    @property
    def size(self) -> str:
        return f"K={self.n_classes}, N={len(self.X):,}, d={self.X.shape[1]}"

    def l2(self, ridge: float) -> float:
        """Return the strength that a dimensionless ridge stands for, on unit-norm rows."""
        return ridge / (self.n_classes * len(self.X))

    def strength(self, penalty: Penalty) -> float:
        """Return the l2 of a penalty that is given either way."""
        return self.l2(penalty.strength) if penalty.kind == "ridge" else penalty.strength

    def prepared(self, dtype: str = "float64") -> NDArray[Any]:
        """Return centred rows of unit norm, made apart from the package's own preparation."""
        rows = self.X - self.X.mean(axis=0, dtype=np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows.astype(dtype, copy=False)


@dataclass(frozen=True)
class Size:
    """How large a synthetic problem is, and how its superclasses correlate."""

    n_classes: int
    n_samples: int
    n_features: int
    elsewhere: float  # inner product of two superclasses


@dataclass(frozen=True)
class Source:
    """Where the rows of a problem come from."""

    name: str
    size: Size | None = None  # of synthetic rows


Load: TypeAlias = Callable[[Source], Problem]  # what a run gets its rows by

MAIN = Size(100, 50_000, 512, -0.013)
# The more classes, the closer to zero: -same_superclass / (n_superclasses - 1) in the limit.
MANY = Size(1000, 100_000, 512, -0.01)
QUICK_MAIN = Size(20, 4_000, 64, -0.01)
QUICK_MANY = Size(60, 6_000, 64, -0.01)


def load(source: Source, folder: Path | None = None) -> Problem:
    """Return the problem of a source; real features are in a folder."""
    if source.size is not None:
        return _synthetic(source.name, source.size)
    if source.name.startswith(DIGITS_AS):
        return _digits(source.name.removeprefix(DIGITS_AS))
    if folder is None:
        raise ValueError(
            f"{source.name} is made of real features: name their folder by --features."
        )
    return _real(source.name, folder)


def _synthetic(name: str, size: Size) -> Problem:
    """Return features of the paper's correlations, in random order."""
    made = make_features(
        n_classes=size.n_classes,
        n_per_class=size.n_samples // size.n_classes,
        n_features=size.n_features,
        same_class=SAME_CLASS,
        same_superclass=SAME_SUPERCLASS,
        elsewhere=size.elsewhere,
        superclass=np.arange(size.n_classes) % N_SUPERCLASSES,
        random_state=0,
    )
    order = np.random.default_rng(1).permutation(len(made.labels))
    return _noisy(name, made.features[order], made.labels[order])


def why_not_as_printed() -> str:
    """Return what the generator answers to the correlations that the paper prints."""
    try:
        make_features(
            n_classes=MAIN.n_classes,
            n_per_class=1,
            n_features=MAIN.n_features,
            same_class=SAME_CLASS,
            same_superclass=SAME_SUPERCLASS,
            elsewhere=PRINTED_ELSEWHERE,
            superclass=np.arange(MAIN.n_classes) % N_SUPERCLASSES,
        )
    except ValueError as error:
        return str(error)
    return "they do not contradict each other."


def _digits(dtype: str) -> Problem:
    X, y = load_digits(return_X_y=True)
    return _noisy(DIGITS_AS + dtype, X.astype(dtype), y)


def _real(name: str, folder: Path) -> Problem:
    """Return the training rows of a data set."""
    with np.load(real_file(folder, name), allow_pickle=False) as arrays:
        X, y = arrays["X_train"].astype(np.float32), arrays["y_train"].astype(np.int64)
    return _noisy(name, X, y)


def _noisy(name: str, X: NDArray[Any], labels: NDArray[np.int64]) -> Problem:
    corruption = symmetric(int(labels.max()) + 1, NOISE_RATE)
    corrupted = corrupt_labels(labels, corruption, exact=True, random_state=2)
    return Problem(name, X, corrupted.given_labels, labels)
