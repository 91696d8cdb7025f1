"""Generated classes that overlap; every method gets their rows as they come.

A seed draws the rows too. In few dimensions unit norm would leave little of a row but its angle, so
here nothing is prepared for anybody.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.audit.data import Data
from twohot.noise import make_gaussians

# With a seed it draws these rows: not those of the noise, which is drawn by the seed alone.
STREAM = 1
TEST_ROWS = 10  # for each training row, so that the test rows add next to nothing to the error

N_CLASSES, N_ROWS, N_FEATURES = 4, 2_000, 20
SPREAD = 0.7  # standard deviation along every axis
LENGTHS = (1.0, 1.5, 2.5)  # of the class means: from much overlap to hardly any

MEANS = ((3, 2), (7, 7), (0, 8))
COVARIANCES = (((5, -1.5), (-1.5, 1)), ((1, 0.5), (0.5, 4)), ((5, 1), (1, 5)))
CLASS_SIZES = (400, 200, 200)


def overlap(length: float, seed: int) -> Data:
    """Return classes around means of one length in random directions."""
    generator = np.random.default_rng([STREAM, seed])
    means = generator.normal(size=(N_CLASSES, N_FEATURES))
    means *= length / np.linalg.norm(means, axis=1, keepdims=True)
    sizes = (N_ROWS // N_CLASSES,) * N_CLASSES
    covariance = SPREAD**2 * np.eye(N_FEATURES)
    return _drawn(overlap_name(length), means, covariance, sizes, generator)


def gaussians(seed: int) -> Data:
    """Return three classes in the plane."""
    generator = np.random.default_rng([STREAM, seed])
    return _drawn(GAUSSIANS, MEANS, COVARIANCES, CLASS_SIZES, generator)


def overlap_name(length: float) -> str:
    return f"overlap {length:g}"


def _drawn(
    name: str,
    means: ArrayLike,
    covariances: ArrayLike,
    sizes: tuple[int, ...],
    generator: np.random.Generator,
) -> Data:
    train = make_gaussians(means, covariances, sizes, random_state=generator)
    test_sizes = [TEST_ROWS * size for size in sizes]
    test = make_gaussians(means, covariances, test_sizes, random_state=generator)
    return Data(
        name=name,
        raw=train.features,
        X=train.features,
        true_labels=train.labels,
        raw_test=test.features,
        X_test=test.features,
        test_labels=test.labels,
        superclass=train.superclass,
        human_labels=None,
    )


GAUSSIANS = "Gaussians"
# How to draw each with a seed.
GENERATED: dict[str, Callable[[int], Data]] = {
    **{overlap_name(length): partial(overlap, length) for length in LENGTHS},
    GAUSSIANS: gaussians,
}
