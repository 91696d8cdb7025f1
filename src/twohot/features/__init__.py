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
from twohot.features.superclasses import ClassCorrelation, class_correlation
from twohot.features.synthetic import SyntheticFeatures, make_features

__all__ = [
    "ClassCorrelation",
    "Corrupted",
    "SyntheticFeatures",
    "asymmetric",
    "check_corruption",
    "class_correlation",
    "corrupt_labels",
    "make_features",
    "pair_flip",
    "superclass_noise",
    "symmetric",
]
