"""What comes in: feature files and tables, data sets, and features from images and texts."""

from twohot.data.backbone import Backbone
from twohot.data.blocks import FeatureBlocks
from twohot.data.datasets import load
from twohot.data.extraction import extract
from twohot.data.extraction_output import Extraction, Skipped
from twohot.data.files import read_features, write_features
from twohot.data.labelled import LabelledItems
from twohot.data.noise import corrupt_table, noise_matrix
from twohot.data.readers import read_table
from twohot.data.registry import load_backbone
from twohot.data.sources import read_image_folder, read_item_table
from twohot.data.table import FeatureTable

__all__ = [
    "Backbone",
    "Extraction",
    "FeatureBlocks",
    "FeatureTable",
    "LabelledItems",
    "Skipped",
    "corrupt_table",
    "extract",
    "load",
    "load_backbone",
    "noise_matrix",
    "read_features",
    "read_image_folder",
    "read_item_table",
    "read_table",
    "write_features",
]
