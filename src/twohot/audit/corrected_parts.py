"""Corrected labels in a copy of Parquet files, one part for each of theirs.

All parts are read twice: first ids and labels, to see that they are those that were audited, then
everything, to be written again. Nothing is written before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot._checks.messages import ArgumentError, counted, first_few
from twohot._extras import load_extra
from twohot._types import IntArray
from twohot.audit.corrected_file import (
    CorrectedFile,
    LabelReading,
    check_id_column,
    choose_reading,
    corrected_cells,
    read_labels,
)
from twohot.audit.decisions import Applied
from twohot.review.records import ReviewRows
from twohot.tables.column_roles import pick
from twohot.tables.own_file import OwnParquet
from twohot.tables.parquet_files import ParquetFiles
from twohot.tables.part_folder import PartFolder, write_part
from twohot.tables.row_ids import COLUMN, RowIds

NOTHING = np.empty(0)  # of columns whose names alone are asked for


class CorrectedParts:
    """Parquet files that are written again with the labels of a review.

    Parameters
    ----------
    files : ParquetFiles
        Those that were audited, in any order.
    path : path
        What the user called them.
    rows : ReviewRows
        The rows that were audited.
    applied : Applied
        Their labels now.
    label_column : str, optional
        The column of labels; by default the one that holds those that were audited.
    drop_excluded : bool
        Leave rows that are excluded out.
    """

    def __init__(
        self,
        files: ParquetFiles,
        path: Path,
        rows: ReviewRows,
        applied: Applied,
        *,
        label_column: str | None,
        drop_excluded: bool,
    ) -> None:
        self.files, self.path, self.rows, self.applied = files, path, rows, applied
        self.drop_excluded = drop_excluded
        check_id_column(rows.ids, path, files.schema.names)
        self.position = {name: number for number, name in enumerate(rows.id_texts())}
        self.column = choose_reading(_together(list(self._check(label_column))), path)
        self._check_new_classes()

    def about(self) -> CorrectedFile:
        """Return which column holds what."""
        n_rows = int(self.files.bounds[-1])
        before = OwnParquet(self.path, self.files.schema.empty_table()).before
        new = self.column.spelling(self.applied.classes)[len(self.rows.classes) :]
        return CorrectedFile(self.column.name, before, n_rows - self.rows.n_rows, new)

    def write(self, folder: PartFolder, done: Callable[[], None]) -> None:
        """Write the parts that are not there yet; `done` is called after each."""
        for number in folder.missing():
            file = OwnParquet(self.path, self.files.read_part(number))
            place, audited = self._audited(number)
            applied = replace(
                self.applied,
                labels=self.applied.labels[audited],
                excluded=self.applied.excluded[audited],
            )
            cells = corrected_cells(
                file,
                self.column,
                self.rows.take(audited),
                applied,
                place,
                drop_excluded=self.drop_excluded,
            )
            write_part(folder.path_of(number), [file.changed(self.column.name, cells)])
            done()

    def _check(self, label_column: str | None) -> Iterator[list[LabelReading]]:
        """Yield for each part how its columns may be read; in the end, each row was there once."""
        names = _columns_of_labels(self.files.head())
        if label_column is not None:
            pick("label_column", label_column, (), dict.fromkeys(self.files.schema.names, NOTHING))
            names = [label_column]
        n_found = np.zeros(self.rows.n_rows, dtype=np.intp)
        for number in range(len(self.files.parts)):
            place, audited = self._audited(number)
            np.add.at(n_found, audited, 1)
            file = OwnParquet(self.path, self.files.read_part(number, names))
            yield read_labels(file, self.rows.take(audited), place, label_column)
        for is_wrong, said in ((n_found == 0, "lacks"), (n_found > 1, "has more than once")):
            wrong = np.flatnonzero(is_wrong).tolist()
            if wrong:
                few = first_few([self.rows.ids[row] for row in wrong])
                problem = f"{said} {counted(len(wrong), 'row')} of the audit ({few})"
                where = f"{problem}, where ids are {self.rows.ids.in_words()}"
                raise ArgumentError("to", where, "pass the files that were audited.")

    def _audited(self, number: int) -> tuple[IntArray, IntArray]:
        """Return which rows of a part were audited, and where they are in the audit."""
        ids = self._ids_of(number)
        place = [row for row, name in enumerate(ids) if name in self.position]
        audited = [self.position[ids[row]] for row in place]
        return np.array(place, dtype=np.intp), np.array(audited, dtype=np.intp)

    def _ids_of(self, number: int) -> list[str]:
        """Return the ids of the rows of a part."""
        ids, groups = self.rows.ids, self.files.parts[number]
        if ids.kind == COLUMN:
            cells = OwnParquet(self.path, self.files.read_part(number, [ids.column]))
            return list(RowIds.of_column(ids.column, cells.cells(ids.column)))
        first, end = self.files.bounds[[groups[0], groups[-1] + 1]].tolist()
        return list(map(str, range(first, end)))

    def _check_new_classes(self) -> None:
        """Raise if the column cannot hold a class that a reviewer named."""
        one_row = OwnParquet(self.path, self.files.head().slice(0, 1))
        for name in self.about().new_classes:
            one_row.changed(self.column.name, [name])


def _columns_of_labels(head: Any) -> list[str]:
    """Return the columns that may hold labels: neither features nor lists, by some rows."""
    kinds = load_extra("pyarrow", "parquet", "Parquet files").types
    texts = [kinds.is_string, kinds.is_large_string, kinds.is_dictionary]
    usual = [kinds.is_integer, kinds.is_boolean, *texts]
    return [
        column.name
        for column in head.schema
        if any(is_one(column.type) for is_one in usual)
        or (kinds.is_floating(column.type) and _are_whole(head[column.name].drop_null()))
    ]


def _are_whole(column: Any) -> bool:
    """Return whether numbers are whole, as classes are where some rows have none; NaN is none."""
    cells = column.to_numpy()
    return bool(np.all(np.isnan(cells) | (cells == np.floor(cells))))


def _together(parts: Sequence[Sequence[LabelReading]]) -> list[LabelReading]:
    """Return the readings of all parts as one of each column."""
    first, *others = parts
    found = list(first)
    for more in others:
        found = [one.with_more(other) for one, other in zip(found, more, strict=True)]
    return found
