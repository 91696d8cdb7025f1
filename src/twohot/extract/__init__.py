"""Extract features from images or texts with a frozen backbone."""

from twohot.extract.backbones import Backbone, load_backbone
from twohot.extract.backbones import check_backbone as check_backbone
from twohot.extract.data_sets import NAMES as NAMES
from twohot.extract.data_sets import load_data_set
from twohot.extract.decoding import ExtractionProgress
from twohot.extract.image_files import not_taken_notes as not_taken_notes
from twohot.extract.items import LabelledItems, read_image_folder, read_item_table
from twohot.extract.output import Extraction, Skipped
from twohot.extract.output import FeatureOrigin as FeatureOrigin
from twohot.extract.run import extract

__all__ = [
    "Backbone",
    "Extraction",
    "ExtractionProgress",
    "LabelledItems",
    "Skipped",
    "extract",
    "load_backbone",
    "load_data_set",
    "read_image_folder",
    "read_item_table",
]
