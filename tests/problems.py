"""Problems that the tests share, all small, seeded and with labels of known noise."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.datasets import load_digits

from twohot.noise import corrupt_labels, make_features, symmetric


@dataclass(frozen=True, eq=False)
class Labelled:
    """Raw features with true and given labels 0 … K - 1, and a clean test set."""

    X: np.ndarray
    true_labels: np.ndarray
    given_labels: np.ndarray
    X_test: np.ndarray
    test_labels: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(self.true_labels.max()) + 1


@cache
def digits(noise_rate: float = 0.5, n_train: int = 1000) -> Labelled:
    """Handwritten digits in their own order, float64; some of the 64 columns are constant."""
    X, labels = load_digits(return_X_y=True)
    given = corrupt_labels(labels[:n_train], symmetric(10, noise_rate), exact=True, random_state=0)
    return _frozen(X[:n_train], labels[:n_train], given.given_labels, X[n_train:], labels[n_train:])


@cache
def synthetic(
    n_classes: int = 5,
    n_per_class: int = 60,
    n_features: int = 12,
    noise_rate: float = 0.4,
    dtype: type = np.float64,
    *,
    seed: int = 0,
) -> Labelled:
    """Classes in three superclasses, correlated as the paper's features of CIFAR-100 are."""
    made = make_features(
        n_classes=n_classes,
        n_per_class=2 * n_per_class,
        n_features=n_features,
        same_class=0.25,
        same_superclass=0.02,
        elsewhere=-0.013,
        superclass=np.arange(n_classes) % 3,
        random_state=seed,
        dtype=dtype,
    )
    order = np.random.default_rng(seed).permutation(len(made.labels))
    X, labels = made.features[order], made.labels[order]
    half = len(labels) // 2
    noise = symmetric(n_classes, noise_rate)
    given = corrupt_labels(labels[:half], noise, exact=True, random_state=seed)
    return _frozen(X[:half], labels[:half], given.given_labels, X[half:], labels[half:])


def _frozen(*arrays: np.ndarray) -> Labelled:
    # Shared by tests, so nothing may write to them.
    for array in arrays:
        array.flags.writeable = False
    return Labelled(*arrays)


def random_targets(n_samples: int, n_classes: int, seed: int = 0) -> np.ndarray:
    """Rows of probabilities."""
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes), n_samples)


def random_weights(n_samples: int, seed: int = 1) -> np.ndarray:
    """Whole numbers from 0 to 3, so that weights can be read as repetitions."""
    return np.random.default_rng(seed).integers(0, 4, n_samples).astype(float)
