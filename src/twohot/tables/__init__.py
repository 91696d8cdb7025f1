"""Tables of features and labels, read from and written to files and frames."""

from twohot.base import Labels
from twohot.rows import SelectedRows
from twohot.tables.column_roles import LABELS as LABELS
from twohot.tables.column_roles import ColumnChoice as ColumnChoice
from twohot.tables.column_roles import ColumnRoles as ColumnRoles
from twohot.tables.column_roles import Columns as Columns
from twohot.tables.column_roles import assign_roles as assign_roles
from twohot.tables.column_roles import both_meant as both_meant
from twohot.tables.column_roles import pick as pick
from twohot.tables.columns import check_same_index as check_same_index
from twohot.tables.columns import code_splits as code_splits
from twohot.tables.columns import counts_up as counts_up
from twohot.tables.columns import frame_columns as frame_columns
from twohot.tables.columns import pandas_index as pandas_index
from twohot.tables.csv_file import DELIMITERS as DELIMITERS
from twohot.tables.csv_file import SAFE_COLUMN as SAFE_COLUMN
from twohot.tables.csv_file import csv_columns as csv_columns
from twohot.tables.csv_file import find_delimiter as find_delimiter
from twohot.tables.csv_file import guarded as guarded
from twohot.tables.csv_file import read_csv as read_csv
from twohot.tables.csv_file import unguarded as unguarded
from twohot.tables.csv_file import write_csv as write_csv
from twohot.tables.feature_file import FeatureBlocks, read_features, write_features
from twohot.tables.feature_file import map_tensors as map_tensors
from twohot.tables.formats import CORRECTABLE_ENDINGS as CORRECTABLE_ENDINGS
from twohot.tables.formats import CSV as CSV
from twohot.tables.formats import FEATURE_ENDINGS as FEATURE_ENDINGS
from twohot.tables.formats import LABEL_ENDINGS as LABEL_ENDINGS
from twohot.tables.formats import file_cells as file_cells
from twohot.tables.formats import format_of as format_of
from twohot.tables.formats import table_header as table_header
from twohot.tables.label_file import with_used_classes as with_used_classes
from twohot.tables.numpy_files import map_array as map_array
from twohot.tables.parquet_files import SUFFIX as SUFFIX
from twohot.tables.parquet_files import ParquetFiles as ParquetFiles
from twohot.tables.parquet_files import is_parquet_source as is_parquet_source
from twohot.tables.parquet_files import open_files as open_files
from twohot.tables.parquet_files import read_record as read_record
from twohot.tables.parts import PartFolder as PartFolder
from twohot.tables.parts import SourceParts as SourceParts
from twohot.tables.parts import as_dask as as_dask
from twohot.tables.parts import begin_parts as begin_parts
from twohot.tables.parts import blocks_of_rows as blocks_of_rows
from twohot.tables.parts import check_parts as check_parts
from twohot.tables.parts import features_opener as features_opener
from twohot.tables.parts import known_by as known_by
from twohot.tables.parts import parts_in_words as parts_in_words
from twohot.tables.parts import remove_parts as remove_parts
from twohot.tables.parts import source_parts as source_parts
from twohot.tables.parts import write_part as write_part
from twohot.tables.parts import write_parts as write_parts
from twohot.tables.read import errors_named as errors_named
from twohot.tables.read import read_table
from twohot.tables.row_ids import COLUMN as COLUMN
from twohot.tables.row_ids import ID_KINDS as ID_KINDS
from twohot.tables.row_ids import PATH as PATH
from twohot.tables.row_ids import RowIds
from twohot.tables.table import ALL_ROWS as ALL_ROWS
from twohot.tables.table import POSITIONS as POSITIONS
from twohot.tables.table import TRAINING as TRAINING
from twohot.tables.table import FeatureTable
from twohot.tables.table import code_given_and_true as code_given_and_true

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
