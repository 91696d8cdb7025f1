"""Records of a review: the rows of the data, and the summary of the audit.

Labels are positions in `classes`; NO_LABEL means no label. Rows with `is_label_issue` are
*flagged*: a person reviews them.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
    IntArray,
    check_choice,
    check_codes,
    counted,
)
from twohot.tables import RowIds

NO_ROW = -1  # instead of a row's position, if there is no row
ITEM_KINDS = ("image", "text", "")
# Digits of the hash in a report's name: with 80 bits, names of different reports differ.
ID_DIGITS = 20


@dataclass(frozen=True)
class RowCounts:
    """Numbers of all, unlabelled, flagged and undecided rows, and of rows per class."""

    n_rows: int
    n_unlabelled: int
    n_flagged: int
    n_undecided: int  # flagged rows that are a close call
    full_table: str = ""  # folder with all rows, if the page has only some
    class_sizes: tuple[int, ...] = ()  # (n_classes,), rows with each given label


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ReviewRows:
    """All rows of the data, with the verdicts of the audit on their labels."""

    classes: tuple[str, ...]
    ids: RowIds  # (n_rows,), ids of the rows in the user's data
    given_labels: IntArray  # (n_rows,), positions in classes; NO_LABEL: no label
    suggested_labels: IntArray  # (n_rows,), labels suggested by the audit
    second_labels: IntArray  # (n_rows,), second candidates; NO_LABEL: none
    label_quality: FloatArray  # (n_rows,), probability that the label is right; NaN: no label
    confidence: FloatArray  # (n_rows,), probability of the suggestion
    second_confidence: FloatArray  # (n_rows,), probability of the second candidate; NaN: unknown
    is_label_issue: NDArray[np.bool_]  # (n_rows,), flagged for review
    is_undecided: NDArray[np.bool_]  # (n_rows,), a close call between two candidates
    items: Sequence[str] | None = None  # (n_rows,), image path or text of each row
    item_kind: str = ""  # "image" (items are paths), "text", or "" if unknown
    report: str = ""  # if these are only some of the rows: name of the report of all rows
    # Spellings in the user's data that were merged when it was read, and their classes.
    spellings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("item_kind", self.item_kind, ITEM_KINDS)
        for name, count in Counter(self.classes).items():
            if count > 1 or not name or readable(name) != name:
                problem = f"has {name!r} {counted(count, 'time')}"
                advice = "name every class once, by non-empty text in valid UTF-8."
                raise ArgumentError("classes", problem, advice)
        scores = ("label_quality", "confidence", "second_confidence")
        for name in (*scores, "is_label_issue", "is_undecided", "items"):
            column = getattr(self, name)
            if column is not None and len(column) != self.n_rows:
                found = counted(len(column), "entry", "entries")
                problem = f"has {found} and ids has {self.n_rows}"
                raise ArgumentError(name, problem, "pass one per row.")
        n_classes = len(self.classes)
        check_codes("given_labels", self.given_labels, self.n_rows, n_classes)
        check_codes("suggested_labels", self.suggested_labels, self.n_rows, n_classes, least=0)
        check_codes("second_labels", self.second_labels, self.n_rows, n_classes)
        name, count = next(iter(Counter(self.id_texts()).most_common(1)), ("", 0))
        if count > 1:
            problem = f"has {name!r} {counted(count, 'time')}"
            raise ArgumentError("ids", problem, "name every row once.")
        unlabelled = np.flatnonzero(self.is_label_issue & (self.given_labels == NO_LABEL))
        if unlabelled.size:
            problem = f"flags row {self.ids[unlabelled[0]]}, which has no label"
            advice = "flag only rows with a given label."
            raise ArgumentError("is_label_issue", problem, advice)

    def __repr__(self) -> str:
        n_flagged = int(self.is_label_issue.sum())
        return (
            f"<ReviewRows: {self.n_rows} rows of {len(self.classes)} classes, {n_flagged} flagged>"
        )

    @property
    def n_rows(self) -> int:
        """Number of rows, flagged or not."""
        return len(self.ids)

    @property
    def n_unlabelled(self) -> int:
        """Number of rows without a given label."""
        return int(np.sum(self.given_labels == NO_LABEL))

    @property
    def probability_wrong(self) -> FloatArray:
        """(n_rows,) probability that the label is wrong; NaN: no label."""
        return 1 - self.label_quality

    @property
    def flagged(self) -> IntArray:
        """Positions of the flagged rows, most suspicious first."""
        positions = np.flatnonzero(self.is_label_issue)
        return positions[np.argsort(self.label_quality[positions], kind="stable")]

    def take(self, positions: IntArray) -> "ReviewRows":
        """Return some of the rows; the name of the report stays the same."""
        columns = {
            each.name: getattr(self, each.name)[positions]
            for each in fields(self)
            if isinstance(getattr(self, each.name), np.ndarray)
        }
        items = None if self.items is None else [self.items[row] for row in positions]
        report = self.report_id()
        return replace(self, ids=self.ids.take(positions), items=items, report=report, **columns)

    def counts(self) -> RowCounts:
        """Return the numbers of all, unlabelled, flagged and undecided rows, and by class."""
        n_undecided = int(np.sum(self.is_label_issue & self.is_undecided))
        labelled = self.given_labels[self.given_labels != NO_LABEL]
        sizes = np.bincount(labelled, minlength=len(self.classes)).tolist()
        return RowCounts(
            self.n_rows,
            self.n_unlabelled,
            int(self.is_label_issue.sum()),
            n_undecided,
            class_sizes=tuple(sizes),
        )

    def id_texts(self) -> list[str]:
        """Return the ids as valid UTF-8 text."""
        return list(self._id_texts)

    @cached_property
    def _id_texts(self) -> list[str]:
        return [readable(text) for text in self.ids]

    def item(self, position: int) -> str:
        """Return the item of a row as valid UTF-8 text; empty if unknown."""
        return readable(self.items[position]) if self.items is not None else ""

    def label_name(self, code: int) -> str:
        """Return the name of a label, empty for NO_LABEL."""
        return "" if code == NO_LABEL else self.classes[code]

    def report_id(self) -> str:
        """Return the name of the report of these rows: the same rows give the same name.

        It does not depend on scores, which may differ in the last digit between machines.
        """
        return self.report or self._report_id

    @cached_property
    def _report_id(self) -> str:
        content = [
            *(list(self.classes), self.id_texts(), self.given_labels.tolist()),
            *(self.suggested_labels.tolist(), self.second_labels.tolist()),
            np.flatnonzero(self.is_label_issue).tolist(),
            None if self.items is None else [self.item(i) for i in range(self.n_rows)],
        ]
        # The first letter prevents that spreadsheets read the name as a number.
        return "r" + hashlib.sha256(json.dumps(content).encode()).hexdigest()[:ID_DIGITS]

    def given_labels_digest(self) -> str:
        """Return the sha256 of the given labels by name."""
        return label_names_digest([self.label_name(code) for code in self.given_labels.tolist()])


def label_names_digest(names: Sequence[str]) -> str:
    """Return the sha256 of names in their order, such as labels."""
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


@dataclass(frozen=True)
class Method:
    """One method and its agreement: the share of held-out labels that it predicts."""

    name: str
    agreement: float  # in [0, 1]
    standard_error: float = 0.0
    chosen: bool = False
    method: str = ""  # key of its colour; its name by default


@dataclass(frozen=True)
class Curve:
    """The agreement of one method for several values of the varied parameter."""

    name: str
    points: tuple[tuple[float, float], ...]  # x, and y in [0, 1]
    method: str = ""  # key of its colour; its name by default
    whiten: bool = False  # half-whitened features: open marks, a dashed line


@dataclass(frozen=True)
class ChoiceCurve:
    """The agreement of all candidates that `AutoProbe` chose from, as curves."""

    x_name: str  # name of the varied parameter, such as "ridge"
    curves: tuple[Curve, ...]
    levels: tuple[Method, ...] = ()  # methods without x: horizontal lines


@dataclass(frozen=True, eq=False)
class NearestRows:
    """The nearest rows of each explained row, nearest first."""

    rows: IntArray  # (n_explained, n_nearest), positions in the data; NO_ROW: no more rows
    alike: FloatArray  # (n_explained, n_nearest), cosines of the features; NaN: no row


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """For each explained row, the nearest rows with the suggested and with the given label."""

    rows: IntArray  # (n_explained,), positions in the data
    suggested: NearestRows  # with the suggested label
    given: NearestRows  # with the given label


@dataclass(frozen=True, eq=False)
class RowFinding:
    """Rows with one kind of issue, such as outliers, and their scores."""

    name: str  # name of the issue
    meaning: str  # description of the issue and of the score
    rows: IntArray  # (n_found,), positions in the data, most suspicious first
    scores: FloatArray  # (n_found,), scores as described in `meaning`
    related: tuple[IntArray, ...] = ()  # (n_found,) related rows, such as copies; or empty
    groups: IntArray | None = None  # (n_found,), group numbers of rows that belong together


@dataclass(frozen=True)
class AlikeClasses:
    """Two overlapping classes: their rows are neighbours of each other."""

    first: int  # positions in the classes
    second: int
    mixing: float  # share of neighbour pairs across them; 1: as for one class split at random


@dataclass(frozen=True, eq=False)
class EmbeddingMap:
    """Rows as points in two dimensions."""

    method: str  # "pca" or "umap"
    rows: IntArray  # (n_mapped,), positions in the data, ascending
    coordinates: FloatArray  # (n_mapped, 2)
    variance: float  # share explained by two principal components; NaN: no variance
    groups: Sequence[str] | None = None  # (n_mapped,), names of the groups of the rows


@dataclass(frozen=True)
class WrongShare:
    """The expected number of wrong labels among some rows."""

    name: str  # given label or group of the rows
    n_rows: int  # rows with a label
    n_wrong: float  # expected number of wrong labels

    @property
    def share(self) -> float:
        """The expected share of wrong labels."""
        return self.n_wrong / self.n_rows


@dataclass(frozen=True, eq=False, kw_only=True)
class ReviewSummary:
    """The summary of an audit. Parts that are None or empty are not shown."""

    title: str = "Label audit"
    counts: RowCounts | None = None  # of all rows, if a page has only some of them
    noise_rate: float | None = None  # estimated share of wrong labels
    noise_interval: tuple[float, float] | None = None  # lower and upper bound of noise_rate
    corruption: FloatArray | None = None  # (n_classes, n_classes), row true, column given
    methods: tuple[Method, ...] = ()
    choice: ChoiceCurve | None = None
    correlation: FloatArray | None = None  # (n_classes, n_classes); NaN: too few rows
    class_order: IntArray | None = None  # (n_classes,), order of the correlation map
    label_shares: tuple[WrongShare, ...] = ()  # by given label, largest share first
    group_shares: tuple[WrongShare, ...] = ()  # by group, if there are groups
    evidence: Evidence | None = None  # nearest rows of the flagged rows
    findings: tuple[RowFinding, ...] = ()  # rows with other issues
    alike_classes: tuple[AlikeClasses, ...] = ()  # pairs of overlapping classes
    embedding_map: EmbeddingMap | None = None  # all rows, or a sample of many
    # Decisions of reviewers who disagree: from the position of a row to pairs of reviewer and label
    # (None if excluded). The page is then for settling these rows.
    verdicts: Mapping[int, Sequence[tuple[str, str | None]]] = field(default_factory=dict)
    messages: tuple[str, ...] = ()  # notes, as sentences
    details: Mapping[str, str] = field(default_factory=dict)  # versions and settings


def readable(text: str) -> str:
    r"""Return text as valid UTF-8, with lone surrogates written as escapes.

    Examples
    --------
    >>> readable("caf\u00e9"), readable("half \ud83d")
    ('café', 'half \\ud83d')
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
