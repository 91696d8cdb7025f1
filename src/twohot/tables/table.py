"""The feature table: features, labels, ids, splits and other columns of the same rows."""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot.base import (
    NO_LABEL,
    WHOLE_NUMBER,
    ArgumentError,
    IntArray,
    Labels,
    Matrix,
    as_cells,
    as_text,
    check_classes,
    check_codes,
    check_names,
    code_labels,
    counted,
    first_few,
    holds_numbers,
    is_missing,
    missing_texts,
    order_key,
    spelling_groups,
)
from twohot.rows import GatheredRows, SelectedRows
from twohot.tables.row_ids import RowIds

ALL_ROWS = "all"  # name of a split that selects all rows
TRAINING = "train"  # the default split
# Default of `ids`: the positions of the rows.
POSITIONS = RowIds(())


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FeatureTable:
    """Features and labels of the same rows.

    `labels` are the given labels, which are used for training and may be wrong. `true_labels` are
    labels known to be correct: a person checked the labels, or noise was added to them later.
    True labels are used only on request.

    Examples
    --------
    >>> table = FeatureTable(
    ...     features=np.eye(3), labels=np.array([1, -1, 0]), classes=("cat", "dog"),
    ...     split=np.array([0, 0, 1]), split_names=("train", "test"),
    ... )
    >>> table
    <FeatureTable: 3 rows of 3 features, 2 classes ('cat', 'dog'), 1 row without a label>
    >>> table.given_labels.tolist()
    ['dog', None, 'cat']
    >>> test = table.take(table.rows_of_split("test"))
    >>> test.labels, list(test.ids)
    (array([0]), ['2'])
    """

    features: Matrix  # (n_rows, n_features), floats; may be a read-only memory map
    labels: IntArray  # (n_rows,), positions in classes; -1: no label
    classes: tuple[str, ...]
    superclass: IntArray | None = None  # (n_classes,), positions in superclass_names
    superclass_names: tuple[str, ...] = ()
    split: IntArray | None = None  # (n_rows,), positions in split_names
    split_names: tuple[str, ...] = ()  # for instance ("train", "test")
    items: Sequence[str] | None = None  # (n_rows,), the path or text of each row
    item_kind: str = ""  # "image" (items are paths), "text", or "" if unknown
    true_labels: IntArray | None = None  # (n_rows,), positions in classes; -1: unknown
    ids: RowIds = POSITIONS  # (n_rows,), the name of each row in the user's data
    groups: NDArray[Any] | None = None  # (n_rows,), group of each row; not stored in feature files
    provenance: Mapping[str, Any] = field(default_factory=dict)  # how the table was made, as JSON

    def __repr__(self) -> str:
        n_rows, n_features = self.features.shape
        size = f"{counted(n_rows, 'row')} of {counted(n_features, 'feature')}"
        classes = f"{counted(len(self.classes), 'class', 'classes')} ({first_few(self.classes)})"
        unlabelled = int(np.count_nonzero(self.labels < 0))
        rest = f", {counted(unlabelled, 'row')} without a label" if unlabelled else ""
        return f"<FeatureTable: {size}, {classes}{rest}>"

    def __post_init__(self) -> None:
        """Raise if fields differ in their numbers of rows or classes."""
        if len(self.features.shape) != 2:
            advice = "pass a two-dimensional array: one row per sample, one column per feature."
            raise ArgumentError("features", f"has shape {tuple(self.features.shape)}", advice)
        for name in ("classes", "superclass_names", "split_names"):
            check_names(name, getattr(self, name))
        n_rows, n_classes = self.n_rows, len(self.classes)
        check_codes("labels", self.labels, n_rows, n_classes)
        if self.true_labels is not None:
            check_codes("true_labels", self.true_labels, n_rows, n_classes)
        if self.superclass is not None:
            n_groups = len(self.superclass_names)
            check_codes("superclass", self.superclass, n_classes, n_groups, least=0)
        if self.split is not None:
            check_codes("split", self.split, n_rows, len(self.split_names), least=0)
        if self.ids is POSITIONS:
            object.__setattr__(self, "ids", RowIds.by_position(n_rows))
        for name, entries in (("items", self.items), ("groups", self.groups), ("ids", self.ids)):
            if entries is not None and len(entries) != n_rows:
                problem = f"has {counted(len(entries), 'entry', 'entries')} for {n_rows} rows"
                raise ArgumentError(name, problem, "pass one entry per row.")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.features.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    @property
    def columns_in_words(self) -> str:
        """The roles of the columns in the user's table, as text."""
        words = str(self.provenance.get("columns") or f"id: {self.ids.in_words()}")
        if words.startswith("features: "):
            return words
        return f"features: {counted(self.n_features, 'number')} a row; {words}"

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """The user's columns of the features, in order; empty if they had no names."""
        return tuple(self.provenance.get("feature_columns", ()))

    @property
    def label_column(self) -> str:
        """The user's column of the labels; empty if unknown."""
        return str(self.provenance.get("label_column", ""))

    @property
    def item_column(self) -> str:
        """The user's column of the items; empty if unknown."""
        return str(self.provenance.get("item_column", ""))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on columns that may have become features by mistake."""
        return tuple(self.provenance.get("notes", ()))

    @property
    def missing(self) -> tuple[str, ...]:
        """Texts that meant a missing label when the table was made."""
        return tuple(self.provenance.get("missing", ()))

    @property
    def skipped_ids(self) -> tuple[str, ...]:
        """Ids of rows of the user that could not be read and are not in the table."""
        return tuple(entry["id"] for entry in self.provenance.get("skipped", ()) if "id" in entry)

    @property
    def coded(self) -> Labels:
        """The given labels as a `Labels` record, which probes, audits and forecasts accept as y."""
        return Labels(self.labels.astype(np.intp), np.array(self.classes, dtype=object))

    @property
    def given_labels(self) -> NDArray[Any]:
        """The names of the given labels (n_rows,); None for rows without a label."""
        return self.coded.values

    def chosen_split(self, split: str | None = None) -> str | None:
        """Return the name of the split that `split` selects, or None for all rows.

        By default, the split is "train" if the table has such a split. Else, all rows are selected.
        "all" selects all rows, unless the table has a split of this name.
        """
        if split is None:
            return TRAINING if TRAINING in self.split_names else None
        if split in self.split_names:
            return split
        if split == ALL_ROWS:
            return None
        known = f"the splits {first_few(self.split_names)}" if self.split_names else "no splits"
        raise ArgumentError({"split": split}, f"is not in this table, which has {known}.")

    def rows_of_split(self, split: str | None = None) -> NDArray[np.intp]:
        """Return the positions of the rows of a split, in order; see `chosen_split`."""
        chosen = self.chosen_split(split)
        if chosen is None:
            return np.arange(self.n_rows)
        return np.flatnonzero(self.split == self.split_names.index(chosen))

    @property
    def spellings(self) -> dict[str, str]:
        """The class of each spelling that was merged, for instance {'Cat': 'cat'}."""
        return dict(self.provenance.get("spellings", {}))

    def merge_spellings(self) -> "FeatureTable":
        """Return the table with one class for labels that differ only in spelling.

        The class has the most frequent spelling. If several are equally frequent, it has the
        spelling that is first among the classes.

        Examples
        --------
        >>> labels = np.array([0, 1, 1, 2])
        >>> table = FeatureTable(features=np.eye(4), labels=labels, classes=("Cat", "cat", "dog"))
        >>> merged = table.merge_spellings()
        >>> merged.classes, merged.labels.tolist(), merged.spellings
        (('cat', 'dog'), [0, 0, 0, 1], {'Cat': 'cat'})
        """
        merged_into = np.arange(len(self.classes))
        for first, *others in spelling_groups(Labels(self.all_labels, self.coded.classes)):
            merged_into[others] = first
        remains = merged_into == np.arange(len(merged_into))
        if remains.all():
            return self
        merged = np.flatnonzero(~remains)
        spellings = {self.classes[code]: self.classes[merged_into[code]] for code in merged}
        table = self.with_classes(remains, merged_into)
        return replace(table, provenance={**self.provenance, "spellings": spellings})

    @property
    def all_labels(self) -> IntArray:
        """The given labels, then the true labels if there are any."""
        if self.true_labels is None:
            return self.labels
        return np.concatenate([self.labels, self.true_labels])

    def with_classes(
        self, is_kept: NDArray[np.bool_], merged_into: IntArray | None = None
    ) -> "FeatureTable":
        """Return the table with fewer classes: those where `is_kept` (n_classes,) is true.

        Labels of other classes become missing. But if `merged_into` (n_classes,) is given, labels
        of a class k become labels of the class at the position `merged_into[k]`.
        """
        place = np.where(is_kept, np.cumsum(is_kept) - 1, NO_LABEL)
        if merged_into is not None:
            place = place[merged_into]
        # Rows without a label have the code -1, which selects the last entry.
        place = np.append(place, NO_LABEL)
        return replace(
            self,
            labels=place[self.labels],
            classes=tuple(compress(self.classes, is_kept)),
            superclass=None if self.superclass is None else self.superclass[is_kept],
            true_labels=None if self.true_labels is None else place[self.true_labels],
        )

    def take(self, rows: ArrayLike) -> "FeatureTable":
        """Return the table of the selected rows; `rows` is a mask, or positions in any order.

        Features are not copied. Consecutive rows are a view of the same array or memory map. Other
        rows, and rows of a source that is read in parts, are read when they are used.
        """
        # An empty list would become an array of floats.
        chosen = np.arange(self.n_rows)[np.asarray(rows) if np.size(rows) else slice(0)]
        first = chosen[0] if chosen.size else 0
        are_consecutive = np.array_equal(chosen, np.arange(first, first + len(chosen)))
        if are_consecutive and len(chosen) == self.n_rows:
            features = self.features
        elif are_consecutive and chosen.size and not isinstance(self.features, GatheredRows):
            features = self.features[first : first + len(chosen)]
        else:
            features = SelectedRows(self.features, chosen)
        names = ("labels", "split", "true_labels", "groups")
        arrays = {name: getattr(self, name) for name in names}
        taken = {name: array[chosen] for name, array in arrays.items() if array is not None}
        items = None if self.items is None else tuple(self.items[row] for row in chosen)
        ids = self.ids.take(chosen)
        return replace(self, features=features, items=items, ids=ids, **taken)


# Labels by the names of classes, or by positions in a list of classes -----------------------------


def code_by_name(
    labels: Any,
    classes: Iterable[object] | None = None,
    *,
    name: str = "labels",
    missing: Collection[str] = (),
    extend: bool = False,
) -> Labels:
    """Return coded labels, like `code_labels`, but with the names of classes as text.

    If `classes` are given and none of their names is a whole number, labels that are whole numbers
    are positions in `classes`, and -1 means no label. The numbers may be text, as in a CSV file. If
    `extend`, unknown names become new classes after the others. If all names are unknown, an error
    is raised, because the labels probably belong to other rows.

    Examples
    --------
    >>> code_by_name(["b", 10, 2.0]).classes.tolist()
    ['2', '10', 'b']
    >>> code_by_name(["yak", "cat"], ["dog", "cat"], extend=True).classes.tolist()
    ['dog', 'cat', 'yak']
    >>> code_by_name(["1", "0", "-1"], ["dog", "cat"]).values.tolist()
    ['cat', 'dog', None]
    """
    if classes is None:
        return code_labels(labels, name=name, missing=missing, by_name=True)
    listed = classes if isinstance(classes, np.ndarray) else list(classes)
    names = [as_text(entry) for entry in check_classes(listed).tolist()]
    positions = code_positions(labels, names, name, missing)
    if positions is not None:
        return positions
    if extend:
        found = code_labels(labels, name=name, missing=missing, by_name=True)
        new = [label for label in found.classes.tolist() if label not in names]
        if len(new) == found.n_classes:
            advice = "pass labels that belong to these rows: at least one class must be known."
            return found.among(np.array(names, dtype=object), name=name, advice=advice)
        names += new
    return code_labels(labels, name=name, classes=names, missing=missing, by_name=True)


def code_given_and_true(
    columns: Mapping[str, Any],
    label: str,
    true_label: str | None,
    classes: Iterable[object] | None = None,
    *,
    missing: Collection[str] = (),
    extend: bool = False,
) -> tuple[Labels, Labels | None]:
    """Return given labels, and true labels or None, with the same classes.

    `label` and `true_label` are names of columns. Other parameters are those of `code_by_name`.
    """
    how: dict[str, Any] = {"missing": missing, "extend": extend}
    names = [name for name in (label, true_label) if name is not None]
    if missing:
        cells = [as_cells(columns[name], name).tolist() for name in names]
        # If labels are positions in the classes, the texts are names of classes.
        named = () if classes is None else classes
        warn_of_unused(missing_texts(missing), chain(*cells, named), label)
    given, *others = (
        code_by_name(columns[name], classes, name=f"column {name!r}", **how) for name in names
    )
    if not others:
        return given, None
    # A class may occur only among the true labels.
    true = others[0]
    found = list(dict.fromkeys([*given.classes.tolist(), *true.classes.tolist()]))
    both = np.array(sorted(found, key=order_key) if classes is None else found, dtype=object)
    return given.among(both), true.among(both)


def warn_of_unused(missing: Iterable[str], labels: Iterable[object], label: str) -> None:
    """Warn if a text in `missing` does not occur in a column of labels: it may be misspelt."""
    present = {as_text(cell) for cell in labels if not is_missing(cell)}
    unused = [text for text in missing if text not in present]
    if unused:
        occur = "occurs" if len(unused) == 1 else "occur"
        nowhere = f"{first_few(unused)} {occur} nowhere in the label column {label!r}"
        warnings.warn(f"{nowhere}: check the spelling of texts that mean no label.", stacklevel=2)


def code_positions(
    labels: Any, names: list[str], name: str, missing: Collection[str] = ()
) -> Labels | None:
    """Return coded labels if the labels are positions in `names`; None if they are names.

    Raise if a position is out of range.
    """
    if any(map(_is_whole, names)):
        return None
    are_numbers = holds_numbers(as_cells(labels, name))
    coded = code_labels(labels, name=name, missing=missing, by_name=not are_numbers)
    if not are_numbers and not (coded.n_classes and all(map(_is_whole, coded.classes.tolist()))):
        return None
    positions = coded.classes.astype(np.intp)
    outside = np.flatnonzero((positions < NO_LABEL) | (positions >= len(names)))
    if outside.size:
        row = int(np.argmax(np.isin(coded.codes, outside)))
        what = f"not a position among the {len(names)} classes"
        problem = f"holds {positions[coded.codes[row]]} in row {row}, which is {what}"
        last = len(names) - 1
        advice = f"pass integers from 0 to {last}, -1 for no label, or the names of classes."
        raise ArgumentError(name, problem, advice)
    codes = np.append(positions, NO_LABEL)[coded.codes]
    return Labels(codes, np.array(names, dtype=object)).without(missing)


def _is_whole(label: str) -> bool:
    return WHOLE_NUMBER.fullmatch(label) is not None


def new_classes(classes: Sequence[str], known: Sequence[str], *, grouped: bool) -> str:
    """Return a note on classes that a label file adds; raise if such a class needs a superclass."""
    new = [name for name in classes if name not in known]
    if new and grouped:
        are = f"{first_few(new)} {'is' if len(new) == 1 else 'are'}"
        problem = f"{are} in none of the superclasses of the table"
        advice = "remove labels of these classes, or pass features without superclasses."
        raise ArgumentError("", problem, advice)
    return f"new classes: {first_few(new)}" if new else ""
