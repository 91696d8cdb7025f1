"""Records of a review: the rows of the data, and the summary of the audit.

A label is a position in `classes`, or NO_LABEL if there is none. A row is *flagged* if its label is
probably wrong (`is_label_issue`): a person should review it. A flagged row is *undecided* if two
classes are about equally probable (a close call).
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

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

NO_ROW = -1  # used in place of the position of a row, if there is no row
ITEM_KINDS = ("image", "text", "")
# Hexadecimal digits in the name of a report: 80 bits, so names of different reports differ.
ID_DIGITS = 20


@dataclass(frozen=True)
class RowCounts:
    """The number of rows: all, unlabelled, flagged, undecided, and per class."""

    n_rows: int
    n_unlabelled: int
    n_flagged: int
    n_undecided: int
    full_table: str = ""  # folder with all rows, if the page contains only a part of them
    class_sizes: tuple[int, ...] = ()  # (n_classes,), number of rows with each given label


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ReviewRows:
    """All rows of the data, with the verdicts of the audit on their labels."""

    classes: tuple[str, ...]
    ids: RowIds  # (n_rows,), ids of the rows in the user's data
    given_labels: IntArray  # (n_rows,), positions in classes; NO_LABEL: no label
    suggested_labels: IntArray  # (n_rows,), labels suggested by the audit
    second_labels: IntArray  # (n_rows,), second most probable labels; NO_LABEL: none
    label_quality: FloatArray  # (n_rows,), probability that the label is right; NaN: no label
    confidence: FloatArray  # (n_rows,), probability of the suggested label
    second_confidence: FloatArray  # (n_rows,), probability of the second label; NaN: unknown
    is_label_issue: NDArray[np.bool_]  # (n_rows,), whether the row is flagged
    is_undecided: NDArray[np.bool_]  # (n_rows,), whether two labels are about equally probable
    items: Sequence[str] | None = None  # (n_rows,), image path or text of each row
    item_kind: str = ""  # "image" (items are paths), "text", or "" if unknown
    report: str = ""  # name of the report of all rows, if these rows are only a part of them
    # Spellings that were merged when the user's data was read → classes that they became.
    spellings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("item_kind", self.item_kind, ITEM_KINDS)
        for name, count in Counter(self.classes).items():
            if count > 1 or not name or readable(name) != name:
                fault = f"{count} times" if count > 1 else "as text that is not valid UTF-8"
                problem = f"has {name!r} {fault}" if name else "has an empty name"
                advice = "name every class once, by non-empty text in valid UTF-8."
                raise ArgumentError("classes", problem, advice)
        scores = ("label_quality", "confidence", "second_confidence")
        for name in (*scores, "is_label_issue", "is_undecided", "items"):
            column = getattr(self, name)
            if column is not None and len(column) != self.n_rows:
                entries = counted(len(column), "entry", "entries")
                problem = f"has {entries}, but ids has {self.n_rows}"
                raise ArgumentError(name, problem, "pass one entry per row.")
        for name, least in (("given_labels", -1), ("suggested_labels", 0), ("second_labels", -1)):
            check_codes(name, getattr(self, name), self.n_rows, len(self.classes), least=least)
        for name, count in Counter(self.id_texts()).most_common(1):
            if count > 1:
                problem, advice = f"has {name!r} {count} times", "pass a different id for each row."
                raise ArgumentError("ids", problem, advice)
        unlabelled = np.flatnonzero(self.is_label_issue & (self.given_labels == NO_LABEL))
        if unlabelled.size:
            problem = f"flags row {self.ids[unlabelled[0]]}, which has no label"
            raise ArgumentError("is_label_issue", problem, "flag only rows with a given label.")

    def __repr__(self) -> str:
        rows, n_flagged = f"{self.n_rows} rows of {len(self.classes)} classes", len(self.flagged)
        return f"<ReviewRows: {rows}, {n_flagged} flagged>"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.ids)

    @property
    def n_unlabelled(self) -> int:
        """Number of rows without a given label."""
        return int(np.sum(self.given_labels == NO_LABEL))

    @property
    def probability_wrong(self) -> FloatArray:
        """Probability that the label is wrong, of shape (n_rows,); NaN: no label."""
        return 1 - self.label_quality

    @property
    def flagged(self) -> IntArray:
        """Positions of the flagged rows, most suspicious first."""
        positions = np.flatnonzero(self.is_label_issue)
        return positions[np.argsort(self.label_quality[positions], kind="stable")]

    def take(self, positions: IntArray) -> "ReviewRows":
        """Return the rows at these positions; they keep the report name of all rows."""
        columns: dict[str, Any] = {
            name: column[positions]
            for name, column in vars(self).items()
            if isinstance(column, np.ndarray)
        }
        items = None if self.items is None else [self.items[row] for row in positions]
        report = self.report_id()
        return replace(self, ids=self.ids.take(positions), items=items, report=report, **columns)

    def counts(self) -> RowCounts:
        """Return the number of rows: all, unlabelled, flagged, undecided, and per class."""
        labelled = self.given_labels[self.given_labels != NO_LABEL]
        sizes = np.bincount(labelled, minlength=len(self.classes)).tolist()
        n_undecided = int(np.sum(self.is_label_issue & self.is_undecided))
        n_flagged = len(self.flagged)
        return RowCounts(
            self.n_rows, self.n_unlabelled, n_flagged, n_undecided, class_sizes=tuple(sizes)
        )

    def id_texts(self) -> list[str]:
        """Return the ids as valid UTF-8 text."""
        return list(self._id_texts)

    @cached_property
    def _id_texts(self) -> list[str]:
        return [readable(text) for text in self.ids]

    def item(self, position: int) -> str:
        """Return the item (text or image path) of a row as valid UTF-8 text; empty if unknown."""
        return readable(self.items[position]) if self.items is not None else ""

    def label_name(self, code: int) -> str:
        """Return the name of a label, empty for NO_LABEL."""
        return "" if code == NO_LABEL else self.classes[code]

    def report_id(self) -> str:
        """Return the name of the report of these rows: the same rows give the same name.

        The name does not depend on scores, whose last digits may differ between machines.
        """
        return self.report or self._report_id

    @cached_property
    def _report_id(self) -> str:
        labels = (self.given_labels, self.suggested_labels, self.second_labels)
        content = [
            *(list(self.classes), self.id_texts(), *(codes.tolist() for codes in labels)),
            np.flatnonzero(self.is_label_issue).tolist(),
            None if self.items is None else [self.item(i) for i in range(self.n_rows)],
        ]
        # With a letter in front, spreadsheets do not read the name as a number.
        return "r" + hashlib.sha256(json.dumps(content).encode()).hexdigest()[:ID_DIGITS]

    def given_labels_digest(self) -> str:
        """Return the sha256 of the names of the given labels."""
        return label_names_digest([self.label_name(code) for code in self.given_labels.tolist()])


def label_names_digest(names: Sequence[str]) -> str:
    """Return the sha256 of a sequence of names."""
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


@dataclass(frozen=True)
class Method:
    """A method that predicts labels, and its agreement.

    Agreement is the fraction of held-out labels that equal the prediction: the method was fitted
    without these labels.
    """

    name: str
    agreement: float  # in [0, 1]
    standard_error: float = 0.0  # of the agreement
    chosen: bool = False  # whether the audit chose this method
    method: str = ""  # methods with the same text have the same colour; by default the name


@dataclass(frozen=True)
class Curve:
    """The agreement of one method for several values of a parameter."""

    name: str
    points: tuple[tuple[float, float], ...]  # x: the parameter, y: the agreement in [0, 1]
    method: str = ""  # curves with the same text have the same colour; by default the name
    whiten: bool = False  # whether features are half-whitened: a dashed line with open marks


@dataclass(frozen=True)
class ChoiceCurve:
    """The agreement of all methods that `AutoProbe` chose from."""

    x_name: str  # name of the parameter, such as "ridge"
    curves: tuple[Curve, ...]
    levels: tuple[Method, ...] = ()  # methods without this parameter, drawn as horizontal lines


@dataclass(frozen=True, eq=False)
class NearestRows:
    """The nearest rows of each explained row, nearest first."""

    rows: IntArray  # (n_explained, n_nearest), positions in the data; NO_ROW: no further row
    alike: FloatArray  # (n_explained, n_nearest), cosine similarities of features; NaN: no row


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """For each explained row, the nearest rows with the suggested and with the given label."""

    rows: IntArray  # (n_explained,), positions of the explained rows in the data
    suggested: NearestRows  # nearest rows with the suggested label
    given: NearestRows  # nearest rows with the given label


@dataclass(frozen=True, eq=False)
class RowFinding:
    """Rows with one kind of issue, such as outliers, and their scores."""

    name: str  # name of the issue
    meaning: str  # description of the issue and of the score
    rows: IntArray  # (n_found,), positions in the data, most suspicious row first
    scores: FloatArray  # (n_found,), scores as described in `meaning`
    related: tuple[IntArray, ...] = ()  # (n_found,), near-duplicates of each row; or empty
    groups: IntArray | None = None  # (n_found,), number of the group of near-duplicates


@dataclass(frozen=True)
class AlikeClasses:
    """Two overlapping classes: rows of one class are among the nearest rows of the other class."""

    first: int  # position in the classes
    second: int  # position in the classes
    # Fraction of neighbours in the other class, divided by its expectation if the two classes were
    # random halves of one class.
    mixing: float


@dataclass(frozen=True, eq=False)
class EmbeddingMap:
    """Rows as points in two dimensions."""

    method: str  # "pca" or "umap"
    rows: IntArray  # (n_mapped,), positions in the data, ascending
    coordinates: FloatArray  # (n_mapped, 2)
    variance: float  # fraction explained by two principal components; NaN if all rows are equal
    groups: Sequence[str] | None = None  # (n_mapped,), name of the user's group of each row


@dataclass(frozen=True)
class WrongShare:
    """The expected number of wrong labels among the rows of one given label or one group."""

    name: str  # the given label or the group
    n_rows: int  # number of rows with a label
    n_wrong: float  # expected number of wrong labels

    @property
    def share(self) -> float:
        """The expected fraction of wrong labels."""
        return self.n_wrong / self.n_rows


@dataclass(frozen=True, eq=False, kw_only=True)
class ReviewSummary:
    """The summary of an audit. A page does not show fields that are None or empty."""

    title: str = "Label audit"
    counts: RowCounts | None = None  # counts of all rows, if a page contains only a part of them
    noise_rate: float | None = None  # estimated fraction of wrong labels
    # Lower and upper bound of noise_rate, each with a margin of two standard errors.
    noise_interval: tuple[float, float] | None = None
    corruption: FloatArray | None = None  # (n_classes, n_classes), row true, column given
    methods: tuple[Method, ...] = ()
    choice: ChoiceCurve | None = None
    correlation: FloatArray | None = None  # (n_classes, n_classes); NaN: too few rows
    class_order: IntArray | None = None  # (n_classes,), order of classes in both matrices
    label_shares: tuple[WrongShare, ...] = ()  # per given label, largest fraction first
    group_shares: tuple[WrongShare, ...] = ()  # per group of the user's data, if there are groups
    evidence: Evidence | None = None  # nearest rows of the flagged rows
    findings: tuple[RowFinding, ...] = ()  # rows with other issues
    alike_classes: tuple[AlikeClasses, ...] = ()  # pairs of overlapping classes
    embedding_map: EmbeddingMap | None = None  # all rows, or a sample of them
    # On a page to settle disputed rows: position of a row → pairs of reviewer and label (None if
    # the reviewer excluded the row).
    verdicts: Mapping[int, Sequence[tuple[str, str | None]]] = field(default_factory=dict)
    messages: tuple[str, ...] = ()  # notes, as sentences
    details: Mapping[str, str] = field(default_factory=dict)  # versions and settings


def readable(text: str) -> str:
    r"""Return text that UTF-8 can encode: lone surrogates become escapes.

    Examples
    --------
    >>> readable("caf\u00e9"), readable("half \ud83d")
    ('café', 'half \\ud83d')
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
