"""What comes in: labels with a known noise."""

from twohot.features._checks import check_corruption
from twohot.features.corruption import (
    Corrupted,
    asymmetric,
    corrupt_labels,
    pair_flip,
    superclass_noise,
    symmetric,
)

__all__ = [
    "Corrupted",
    "asymmetric",
    "check_corruption",
    "corrupt_labels",
    "pair_flip",
    "superclass_noise",
    "symmetric",
]
