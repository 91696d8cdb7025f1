"""The rows of an audit as the parts of a source come by, with the labels that a review gave them.

Rows of an audit in memory are found by their ids. Those of an audit in parts are in the order of
the source that was audited, and are read beside it: a part is held, and no more.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot._checks.column_cells import as_text
from twohot._checks.labels import NO_LABEL
from twohot._checks.messages import ArgumentError, cause_of, counted, first_few
from twohot._extras import load_extra
from twohot._types import IntArray
from twohot.audit.audit_folder import ISSUE_PARTS, read_audit_folder
from twohot.audit.decisions import (
    DECISIONS,
    Applied,
    Decision,
    accept_above,
    apply_decisions,
    not_in_audit,
)
from twohot.review.records import ReviewRows
from twohot.tables.parquet_files import ParquetFiles, open_files
from twohot.tables.row_ids import RowIds


@dataclass(frozen=True, eq=False)
class ReviewedRows:
    """Some rows that were audited, where they are among those asked for, and their labels now."""

    place: IntArray
    rows: ReviewRows
    applied: Applied


class Review(ABC):
    """The rows of an audit, and what was decided about them.

    Parameters
    ----------
    report : str
        The name of the report that was reviewed.
    decisions : sequence of Decision
        What was decided there.
    accept_all : float, optional
        Suggestions that are at least so probable are accepted too.
    """

    ids: RowIds  # of what kind they are, and of which column
    classes: tuple[str, ...]  # of the audit
    n_rows: int  # of the audit

    def __init__(
        self, report: str, decisions: Sequence[Decision], accept_all: float | None
    ) -> None:
        self.accept_all = accept_all
        self.decisions: dict[str, list[Decision]] = {}
        for decision in decisions:
            decision.check_report(report)
            self.decisions.setdefault(decision.id, []).append(decision)
        made_up = (each.label for each in decisions if each.decision == "new_class")
        self.new_classes = tuple(name.strip() for name in made_up)

    @abstractmethod
    def find(
        self, ids_of_parts: Iterable[Sequence[str]]
    ) -> Iterator[tuple[Sequence[int], ReviewRows]]:
        """Yield for each part of a source, by the ids of its rows, which of them were audited."""

    def parts(self, ids_of_parts: Iterable[Sequence[str]]) -> Iterator[ReviewedRows]:
        """Yield for each part of a source, by the ids of its rows, what became of their labels."""
        undecided = {*self.decisions}
        for place, rows in self.find(ids_of_parts):
            undecided.difference_update(rows.id_texts())
            yield ReviewedRows(np.array(place, dtype=np.intp), rows, self._applied(rows))
        for name in undecided:
            raise not_in_audit(name, self.n_rows)

    def _applied(self, rows: ReviewRows) -> Applied:
        """Return the labels of some rows, with the classes of all decisions."""
        report = rows.report_id()
        made = [
            replace(decision, report=report)
            for name in rows.id_texts()
            for decision in self.decisions.get(name, ())
        ]
        if self.accept_all is not None:
            made += accept_above(rows, self.accept_all, made)
        return apply_decisions(rows, made, new_classes=self.new_classes)


class HeldReview(Review):
    """A review of an audit in memory; its rows are found by their ids, in any order."""

    def __init__(
        self, rows: ReviewRows, decisions: Sequence[Decision], accept_all: float | None
    ) -> None:
        super().__init__(rows.report_id(), decisions, accept_all)
        self.rows = rows
        self.ids, self.classes, self.n_rows = rows.ids, rows.classes, rows.n_rows

    def find(
        self, ids_of_parts: Iterable[Sequence[str]]
    ) -> Iterator[tuple[Sequence[int], ReviewRows]]:
        """Yield for each part of a source, by the ids of its rows, which of them were audited."""
        names = self.rows.id_texts()
        position = {name: number for number, name in enumerate(names)}
        n_found = np.zeros(self.n_rows, dtype=int)
        for ids in ids_of_parts:
            place = [number for number, name in enumerate(ids) if name in position]
            where = np.array([position[ids[number]] for number in place], dtype=np.intp)
            n_found[where] += 1
            yield place, self.rows.take(where)
        for wrong, said in {0: "lacks", 2: "has more than once"}.items():
            rows = np.flatnonzero(np.minimum(n_found, 2) == wrong)
            if rows.size:
                few = first_few([names[row] for row in rows.tolist()])
                raise _other_rows(f"{said} {counted(rows.size, 'row')} of the audit ({few})", self)


class PartedReview(Review):
    """A review of an audit in parts; its rows are read in the order of the source."""

    def __init__(
        self,
        folder: Path,
        fields: Mapping[str, Any],
        decisions: Sequence[Decision],
        accept_all: float | None,
    ) -> None:
        super().__init__(fields["report"], decisions, accept_all)
        self.files = open_files([folder / ISSUE_PARTS])
        self.n_rows = int(self.files.bounds[-1])
        self.item_kind: str = fields["item_kind"]
        self.ids = RowIds((), fields["id_kind"], fields["id_column"])
        self.classes = tuple(fields["classes"])

    def find(
        self, ids_of_parts: Iterable[Sequence[str]]
    ) -> Iterator[tuple[Sequence[int], ReviewRows]]:
        """Yield for each part of a source, by the ids of its rows, which of them were audited."""
        waiting = _WaitingRows(self.files)
        for ids in ids_of_parts:
            place_of = {name: place for place, name in enumerate(ids)}
            rows = self._read(waiting.take_while(place_of))
            yield [place_of[name] for name in rows.id_texts()], rows
        left = waiting.next_id()
        if left is not None:
            raise _other_rows(f"lacks row {left} of the audit, or has it in another place", self)

    def _read(self, table: Any) -> ReviewRows:
        try:
            return self._rows(table)
        except (LookupError, ValueError, TypeError) as error:
            problem = f"{self.files.paths[0]} or another part was changed ({cause_of(error)})"
            raise ValueError(f"{problem}: run the audit again.") from error

    def _rows(self, table: Any) -> ReviewRows:
        code: dict[str | None, int] = {name: number for number, name in enumerate(self.classes)}
        code[None] = NO_LABEL

        def codes(name: str) -> IntArray:
            return np.array([code[label] for label in table[name].to_pylist()], dtype=np.intp)

        def numbers(name: str, dtype: Any) -> Any:
            return np.array(table[name].to_pylist(), dtype=dtype)

        return ReviewRows(
            classes=self.classes,
            ids=replace(self.ids, values=table["id"].to_pylist()),
            given_labels=codes("given_label"),
            suggested_labels=codes("predicted_label"),
            second_labels=codes("second_label"),
            label_quality=numbers("label_quality", np.float64),
            confidence=np.minimum(numbers("confidence", np.float64), 1),
            second_confidence=numbers("second_confidence", np.float64),
            is_label_issue=numbers("is_label_issue", bool),
            is_undecided=numbers("is_undecided", bool),
            item_kind=self.item_kind,
        )


def open_review(
    folder: Path,
    fields: Mapping[str, Any],
    decisions: Sequence[Decision],
    accept_all: float | None,
) -> Review:
    """Return the review of an audit, by the fields of its summary."""
    if fields["issues"] == ISSUE_PARTS:
        return PartedReview(folder, fields, decisions, accept_all)
    return HeldReview(read_audit_folder(folder), decisions, accept_all)


class _WaitingRows:
    """The rows of an audit in their order, of which a row group is held."""

    def __init__(self, files: ParquetFiles) -> None:
        self._files = files
        self._unread = iter(range(len(files.groups)))
        self._table: Any = files.schema.empty_table()
        self._ids: list[str] = []  # of the rows in the table

    def next_id(self) -> str | None:
        """Return the id of the next row; None after the last."""
        while not self._ids:
            number = next(self._unread, None)
            if number is None:
                return None
            self._table = self._files.read_group(number, None)
            self._ids = [as_text(each) for each in self._table["id"].to_pylist()]
        return self._ids[0]

    def take_while(self, known: Container[str]) -> Any:
        """Return the next rows, up to one whose id is not known, as a table of pyarrow."""
        arrow = load_extra("pyarrow", "parquet", "Parquet files")
        taken = [self._table.slice(0, 0)]
        while self.next_id() in known:
            others = (place for place, name in enumerate(self._ids) if name not in known)
            n_known = next(others, len(self._ids))
            taken.append(self._table.slice(0, n_known))
            self._table, self._ids = self._table.slice(n_known), self._ids[n_known:]
        return arrow.concat_tables(taken)


def _other_rows(problem: str, review: Review) -> ArgumentError:
    where = f"{problem}, where ids are {review.ids.in_words()}"
    return ArgumentError("to", where, "pass the files that were audited, in the same order.")


def count_together(parts: Sequence[Applied]) -> Applied:
    """Return what happened in all parts; labels and notes of single rows are left out."""
    n_decided: Counter[str] = Counter()
    for each in parts:
        n_decided.update(each.n_decided)
    return Applied(
        classes=parts[0].classes,
        labels=np.empty(0, dtype=np.intp),
        excluded=np.array([each.excluded.any() for each in parts]),
        notes={},
        n_decided={decision: n_decided[decision] for decision in DECISIONS},
        n_changed=sum(each.n_changed for each in parts),
        n_open=sum(each.n_open for each in parts),
    )
