"""What a review needs to know: the rows of the data, and what the audit found overall.

Labels are positions in `classes`; NO_LABEL stands where there is none. A row is *flagged* where
`is_label_issue` holds: flagged rows are the ones a person looks at.
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

NO_ROW = -1  # in the place of the position of a row
ITEM_KINDS = ("image", "text", "")
# Digits of the hash that name a report: 80 bits, so no two reports on earth share them by chance.
ID_DIGITS = 20


@dataclass(frozen=True)
class RowCounts:
    """How many rows there are of each kind."""

    n_rows: int
    n_unlabelled: int
    n_flagged: int
    n_undecided: int  # of those that are flagged
    full_table: str = ""  # beside the page: where all rows are, if the page has only some of them
    class_sizes: tuple[int, ...] = ()  # (n_classes,), rows with each given label


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ReviewRows:
    """Every row of the data, with the verdict of the audit on its label."""

    classes: tuple[str, ...]
    ids: RowIds  # (n_rows,), what each row is called in the user's data
    given_labels: IntArray  # (n_rows,), positions in classes; NO_LABEL: none
    suggested_labels: IntArray  # (n_rows,), what the audit takes for right
    second_labels: IntArray  # (n_rows,), its second candidate; NO_LABEL: none
    label_quality: FloatArray  # (n_rows,), in [0, 1], probability of being right; NaN without one
    confidence: FloatArray  # (n_rows,), in [0, 1], of the suggestion
    second_confidence: FloatArray  # (n_rows,), in [0, 1], of the second candidate; NaN: not known
    is_label_issue: NDArray[np.bool_]  # (n_rows,), flagged: to be looked at
    is_undecided: NDArray[np.bool_]  # (n_rows,), the top two candidates are close
    items: Sequence[str] | None = None  # (n_rows,), the path or text that each row came from
    item_kind: str = ""  # "image" (items are paths), "text", or "" if not known
    report: str = ""  # name of the report that some of these rows are in, or that they are some of
    # How the user's data spell some labels, and the class that each was merged into when read.
    spellings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("item_kind", self.item_kind, ITEM_KINDS)
        for name, count in Counter(self.classes).items():
            if count > 1 or not name or readable(name) != name:
                problem = f"has {name!r} {counted(count, 'time')}"
                advice = "name every class once, by text that is not empty and that UTF-8 can hold."
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
            advice = "flag rows with a given label only (the others cannot be wrong)."
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
        """(n_rows,) how probable it is that the label is wrong; NaN without one."""
        return 1 - self.label_quality

    @property
    def flagged(self) -> IntArray:
        """Positions of the flagged rows, the most suspicious first."""
        positions = np.flatnonzero(self.is_label_issue)
        return positions[np.argsort(self.label_quality[positions], kind="stable")]

    def take(self, positions: IntArray) -> "ReviewRows":
        """Return some of the rows, of the same report."""
        columns = {
            each.name: getattr(self, each.name)[positions]
            for each in fields(self)
            if isinstance(getattr(self, each.name), np.ndarray)
        }
        items = None if self.items is None else [self.items[row] for row in positions]
        report = self.report_id()
        return replace(self, ids=self.ids.take(positions), items=items, report=report, **columns)

    def counts(self) -> RowCounts:
        """Return how many rows there are of each kind."""
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
        """Return the ids as text that any file can hold."""
        return list(self._id_texts)

    @cached_property
    def _id_texts(self) -> list[str]:
        return [readable(text) for text in self.ids]

    def item(self, position: int) -> str:
        """Return what a row came from as text that any file can hold, empty if not known."""
        return readable(self.items[position]) if self.items is not None else ""

    def label_name(self, code: int) -> str:
        """Return the name of a label, empty for NO_LABEL."""
        return "" if code == NO_LABEL else self.classes[code]

    def report_id(self) -> str:
        """Return the name of the report of these rows: the same rows give the same name.

        Scores do not count: they may differ in the last digit between two machines, and what a
        person decided does not depend on them.
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
        # A letter in front: no spreadsheet takes the name for a number and rounds it.
        return "r" + hashlib.sha256(json.dumps(content).encode()).hexdigest()[:ID_DIGITS]

    def given_labels_digest(self) -> str:
        """Return the sha256 of the given labels by name."""
        return label_names_digest([self.label_name(code) for code in self.given_labels.tolist()])


def label_names_digest(names: Sequence[str]) -> str:
    """Return the sha256 of names in their order, of labels for instance."""
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


@dataclass(frozen=True)
class Method:
    """How well one way to learn agrees with labels it has not seen."""

    name: str
    agreement: float  # in [0, 1]
    standard_error: float = 0.0
    chosen: bool = False
    method: str = ""  # by which it has its colour; its name by default


@dataclass(frozen=True)
class Curve:
    """One line of the choice curve."""

    name: str
    points: tuple[tuple[float, float], ...]  # x, and y in [0, 1]
    method: str = ""  # by which it has its colour; its name by default
    whiten: bool = False  # on half-whitened rows: open marks, a broken line


@dataclass(frozen=True)
class ChoiceCurve:
    """What was tried on the way to the choice."""

    x_name: str  # what was varied, for instance "ridge", over orders of magnitude
    curves: tuple[Curve, ...]
    levels: tuple[Method, ...] = ()  # what has no x: level lines


@dataclass(frozen=True, eq=False)
class NearestRows:
    """The rows most alike some rows, the nearest first."""

    rows: IntArray  # (n_explained, n_nearest), positions in the data; NO_ROW: no more of them
    alike: FloatArray  # (n_explained, n_nearest), cosines of the features; NaN without a row


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """The nearest rows of two classes, for each of the rows that are explained."""

    rows: IntArray  # (n_explained,), positions in the data
    suggested: NearestRows  # of those labelled as the suggestion says
    given: NearestRows  # of those that have the same label as the row


@dataclass(frozen=True, eq=False)
class RowFinding:
    """Rows that are worth a look for one reason."""

    name: str  # of the kind, a few words
    meaning: str  # one sentence: what it is, and what to do
    rows: IntArray  # (n_found,), positions in the data, the most striking first
    scores: FloatArray  # (n_found,), how striking; what it is, `meaning` says
    related: tuple[IntArray, ...] = ()  # (n_found,) other rows that the finding is about, or empty
    groups: IntArray | None = None  # (n_found,), numbers of groups of rows that belong together


@dataclass(frozen=True)
class AlikeClasses:
    """Two classes whose rows are neighbours of each other, as if they were one."""

    first: int  # positions in the classes
    second: int
    mixing: float  # neighbours across them, of those to expect if they were one class


@dataclass(frozen=True, eq=False)
class EmbeddingMap:
    """Rows as points in two dimensions."""

    method: str  # "pca" or "umap"
    rows: IntArray  # (n_mapped,), positions in the data, ascending
    coordinates: FloatArray  # (n_mapped, 2)
    variance: float  # share of it that two principal components hold; NaN: there is none
    groups: Sequence[str] | None = None  # (n_mapped,), names of the groups of the rows


@dataclass(frozen=True)
class WrongShare:
    """How many labels of some rows are wrong."""

    name: str  # of the rows: their label, or their group
    n_rows: int  # that have a label
    n_wrong: float  # expected

    @property
    def share(self) -> float:
        """The expected share of wrong labels."""
        return self.n_wrong / self.n_rows


@dataclass(frozen=True, eq=False, kw_only=True)
class ReviewSummary:
    """What the audit found overall; parts that are None or empty are not shown."""

    title: str = "Label audit"
    counts: RowCounts | None = None  # of all rows, where a page has only some of them
    noise_rate: float | None = None  # estimated share of the labels that are wrong
    noise_interval: tuple[float, float] | None = None  # the least and the most that it may be
    corruption: FloatArray | None = None  # (n_classes, n_classes), row true, column given
    methods: tuple[Method, ...] = ()
    choice: ChoiceCurve | None = None
    correlation: FloatArray | None = None  # (n_classes, n_classes); NaN: too few rows for one
    class_order: IntArray | None = None  # (n_classes,), in which the correlation map shows them
    label_shares: tuple[WrongShare, ...] = ()  # given labels, those wrong most often first
    group_shares: tuple[WrongShare, ...] = ()  # likewise the groups of rows, if they have any
    evidence: Evidence | None = None  # the nearest rows of those that are flagged
    findings: tuple[RowFinding, ...] = ()  # rows worth a look for other reasons
    alike_classes: tuple[AlikeClasses, ...] = ()  # pairs that look like one
    embedding_map: EmbeddingMap | None = None  # all rows, or a sample of many
    # What reviewers decided, who do not agree: by position of the row, pairs of a reviewer's name
    # and a label, None if excluded; the page is then there to settle these rows.
    verdicts: Mapping[int, Sequence[tuple[str, str | None]]] = field(default_factory=dict)
    messages: tuple[str, ...] = ()  # plain sentences: the recommendation, what was not counted, …
    details: Mapping[str, str] = field(default_factory=dict)  # for the record: versions, settings


def readable(text: str) -> str:
    r"""Return text that UTF-8 can hold: half characters are spelt out, all else stays.

    Examples
    --------
    >>> readable("caf\u00e9"), readable("half \ud83d")
    ('café', 'half \\ud83d')
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
