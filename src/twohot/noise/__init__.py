"""Labels with a known noise, and synthetic features to try things on."""

from twohot._checks.classes import check_corruption
from twohot.noise.boundary import boundary_noise
from twohot.noise.corrupt_table import (
    corrupt_table,
    corrupt_table_at_boundary,
    corruption_for,
)
from twohot.noise.corruption import (
    Corrupted,
    asymmetric,
    corrupt_labels,
    pair_flip,
    superclass_noise,
    symmetric,
)
from twohot.noise.gaussian_classes import make_gaussians
from twohot.noise.synthetic_features import SyntheticFeatures, make_features

__all__ = [
    "Corrupted",
    "SyntheticFeatures",
    "asymmetric",
    "boundary_noise",
    "check_corruption",
    "corrupt_labels",
    "corrupt_table",
    "corrupt_table_at_boundary",
    "corruption_for",
    "make_features",
    "make_gaussians",
    "pair_flip",
    "superclass_noise",
    "symmetric",
]
