"""Features with their labels, from and to files and frames."""

from twohot._checks.labels import Labels
from twohot.rows.selected import SelectedRows
from twohot.tables.feature_file import read_features, write_features
from twohot.tables.feature_stream import FeatureBlocks
from twohot.tables.read import read_table
from twohot.tables.row_ids import RowIds
from twohot.tables.table import FeatureTable

__all__ = [
    "FeatureBlocks",
    "FeatureTable",
    "Labels",
    "RowIds",
    "SelectedRows",
    "read_features",
    "read_table",
    "write_features",
]
