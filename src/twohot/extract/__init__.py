"""From images or texts to features, by a frozen backbone."""

from twohot.extract.backbone import Backbone
from twohot.extract.backbone_registry import load_backbone
from twohot.extract.data_sets import load_data_set
from twohot.extract.folders_and_lists import read_image_folder, read_item_table
from twohot.extract.items import LabelledItems
from twohot.extract.output import Extraction, Skipped
from twohot.extract.plan import ExtractionProgress
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
