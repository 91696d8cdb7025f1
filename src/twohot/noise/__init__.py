"""Replace labels by wrong ones with known probabilities, and make synthetic features."""

from twohot.base import check_corruption
from twohot.noise.boundary import boundary_noise
from twohot.noise.corrupted_table import corrupt_table, corrupt_table_at_boundary, corruption_for
from twohot.noise.corrupted_table import corrupted_rows as corrupted_rows
from twohot.noise.corrupted_table import read_matrix as read_matrix
from twohot.noise.corruption import (
    Corrupted,
    asymmetric,
    corrupt_labels,
    pair_flip,
    superclass_noise,
    symmetric,
)
from twohot.noise.synthetic import SyntheticFeatures, make_features

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
    "pair_flip",
    "superclass_noise",
    "symmetric",
]
