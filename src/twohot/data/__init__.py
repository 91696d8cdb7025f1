"""What comes in: feature files and tables, data sets, and features from images and texts."""

from twohot.data.blocks import FeatureBlocks
from twohot.data.files import read_features, write_features
from twohot.data.noise import corrupt_table, noise_matrix
from twohot.data.readers import read_table
from twohot.data.table import FeatureTable

__all__ = [
    "FeatureBlocks",
    "FeatureTable",
    "corrupt_table",
    "noise_matrix",
    "read_features",
    "read_table",
    "write_features",
]
