"""What comes in: feature files and tables, data sets, and features from images and texts."""

from twohot.data.table import FeatureTable

__all__ = ["FeatureTable"]
