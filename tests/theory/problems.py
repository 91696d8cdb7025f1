"""Settings and strategies that several tests of the theory use."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from theory.dense import Problem, block_correlation, circulant, symmetric
from twohot.theory import CorrelationModel

# The same examples in every run: a failure is reproduced by running the test again.
examples = settings(
    derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
few_examples = settings(examples, max_examples=15)

SEEDS = st.integers(0, 2**32 - 1)
ROUNDS = st.integers(0, 7)

# The setting of the paper's figures: x = .5, p = .5455, q = .9839.
FIGURE = CorrelationModel.case_3(n_classes=4, same_class=0.4, same_superclass=0.1, n_per_class=100)
FIGURE_L2 = 3.125e-4
FIGURE_SEPARATION = 1.8038585209003217

SKEWED = circulant([0.4, 0.3, 0.2, 0.1])

# Three different classes, as of centred features.
THREE = CorrelationModel.from_correlation(
    [[0.45, 0.12, -0.03], [0.12, 0.30, -0.02], [-0.03, -0.02, 0.38]], class_sizes=[400, 150, 250]
)
THREE_CORRUPTION = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]])

# Settings in which differences between classes decay fast: correlation, samples per class,
# corruption, l2, and the verdict of every round.
LATE = {
    "wrong for ever": (
        block_correlation([0] * 4, 0.5, 0.45, 0.0),
        200,
        circulant([0.3, 0.5, 0.1, 0.1]),
        0.05,
        "wrong",
    ),
    "right for ever": (
        block_correlation([0, 0, 0, 1, 1, 1], 0.5, 0.45, 0.0),
        200,
        np.kron(np.eye(2), circulant([0.5, 0.3, 0.2])),
        0.01,
        "right",
    ),
    "no features": (np.ones((3, 3)), 20, symmetric(3, 0.3), 1e-3, "tie"),
    "no features, no noise": (np.ones((3, 3)), 20, np.eye(3), 1e-3, "tie"),
}


def model_of(problem: Problem) -> CorrelationModel:
    return CorrelationModel.from_correlation(
        problem.correlation, class_sizes=problem.class_sizes, squared_norms=problem.squared_norms
    )
