"""What comes in: labels with a known noise, and synthetic features to try things on."""

from twohot.features._checks import check_corruption
from twohot.features.corruption import (
    Corrupted,
    asymmetric,
    corrupt_labels,
    pair_flip,
    superclass_noise,
    symmetric,
)
from twohot.features.pairs import PairGroup, PairStatistics, pair_statistics
from twohot.features.superclasses import (
    ClassCorrelation,
    Superclasses,
    class_correlation,
    cluster_classes,
)
from twohot.features.synthetic import SyntheticFeatures, make_features

__all__ = [
    "ClassCorrelation",
    "Corrupted",
    "PairGroup",
    "PairStatistics",
    "Superclasses",
    "SyntheticFeatures",
    "asymmetric",
    "check_corruption",
    "class_correlation",
    "cluster_classes",
    "corrupt_labels",
    "make_features",
    "pair_flip",
    "pair_statistics",
    "superclass_noise",
    "symmetric",
]
