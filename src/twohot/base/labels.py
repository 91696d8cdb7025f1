"""Labels as integer codes and a list of classes, and checks of labels.

A label is missing if it is None, NaN, NA, NaT, masked, a null of Arrow or polars, or text that is
empty or blank. The texts "NaN", "NA" and "None" are classes, unless the user lists them as texts
that mean no label.

Classes are always sorted: numbers by value, including text that is a whole number, then other text.
Labels that differ only in case or blanks are different classes, and a note lists them.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
from numpy.ma import is_masked
from numpy.typing import NDArray

from twohot.base.arrays import IntArray
from twohot.base.cells import as_cells, as_text, is_missing, order_key, plain
from twohot.base.class_structure import check_codes
from twohot.base.messages import ArgumentError, counted, first_few

NO_LABEL = -1  # the code of a row without a label
# Text with more bytes per cell is not sorted in a numpy array: one long label widens all cells.
WIDE_TEXT = 4096
# Text of a number. A table may have the label "1" in one row and "1.0" in another.
PLAIN_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{0,18})?")
# Blanks that readers overlook: at an end of a quoted name, or next to another blank.
HIDDEN_BLANKS = re.compile(r"(?<=^.) +| +(?=.$)|  +")
# Texts that often mean a missing label, in lower case.
LOOKS_MISSING = {"nan", "na", "n/a", "none", "null", "<na>", "nat"}


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of all rows as integer codes; a row has one label or none."""

    codes: IntArray  # (n_rows,), positions in classes; NO_LABEL where there is no label
    classes: NDArray[Any]  # (n_classes,), distinct and in order

    def __post_init__(self) -> None:
        """Raise unless every code is a position in the classes, or NO_LABEL."""
        object.__setattr__(self, "codes", np.asarray(self.codes))
        object.__setattr__(self, "classes", np.asarray(self.classes))
        check_codes("codes", self.codes, self.codes.size, len(self.classes))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """(n_rows,) True for rows with a label."""
        return np.asarray(self.codes != NO_LABEL)

    @property
    def sizes(self) -> IntArray:
        """(n_classes,) number of rows of each class."""
        return np.bincount(self.codes[self.labelled], minlength=self.n_classes)

    @property
    def values(self) -> NDArray[Any]:
        """(n_rows,) the labels, in the type of the classes.

        If the classes are floats, a missing label is NaN. Else, it is None in an array of objects.
        """
        if self.labelled.all():
            return self.classes[self.codes]
        if self.classes.dtype.kind == "f":
            return np.append(self.classes, self.classes.dtype.type(np.nan))[self.codes]
        return np.array([*self.classes.tolist(), None], dtype=object)[self.codes]

    def take(self, rows: Any) -> "Labels":
        """Return the labels of the given rows, with the same classes."""
        return Labels(self.codes[rows], self.classes)

    def present(self) -> "Labels":
        """Return the same labels, without the classes that no row has."""
        return self._only(self.sizes > 0)

    def without(self, missing: Collection[str]) -> "Labels":
        """Return the labels; a label whose text is in `missing` becomes a missing label."""
        texts = set(missing_texts(missing))
        return self._only(np.array([as_text(name) not in texts for name in self.classes.tolist()]))

    def unknown_to(self, classes: NDArray[Any]) -> dict[str, int]:
        """Return the number of rows of each label that is not in `classes`."""
        known = {as_text(label) for label in classes.tolist()}
        sizes = zip(map(as_text, self.classes.tolist()), self.sizes.tolist(), strict=True)
        return {name: size for name, size in sizes if size and name not in known}

    def _only(self, is_class: NDArray[np.bool_]) -> "Labels":
        """Keep the classes where `is_class` is true; other labels become missing labels."""
        if is_class.all():
            return self
        # Rows without a label have the code -1, which selects the last entry.
        place = np.append(np.where(is_class, np.cumsum(is_class) - 1, NO_LABEL), NO_LABEL)
        return Labels(place[self.codes], self.classes[is_class])

    def among(
        self,
        classes: NDArray[Any],
        /,
        *,
        name: str = "y",
        advice: str = "set these labels to None, or use a probe fitted with these classes.",
        **mentions: object,
    ) -> "Labels":
        """Return the labels with codes for `classes`; labels are matched to classes by their text.

        Raise if a label is not in `classes`. In the error, `name` is the name of the labels.
        """
        place = {as_text(label): number for number, label in enumerate(classes.tolist())}
        moved = [place.get(as_text(label), NO_LABEL) for label in self.classes.tolist()]
        unknown = self.classes[(self.sizes > 0) & (np.array(moved) == NO_LABEL)].tolist()
        if unknown:
            problem = (
                f"has {counted(len(unknown), 'label')} that {'is' if len(unknown) == 1 else 'are'} "
                f"not among the {counted(len(classes), 'class', 'classes')} ({first_few(unknown)})"
            )
            raise ArgumentError(name, problem, advice, **mentions)
        return Labels(np.array([*moved, NO_LABEL], dtype=np.intp)[self.codes], classes)


def code_labels(
    labels: Any,
    *,
    name: str = "y",
    classes: Any = None,
    missing: Collection[str] = (),
    by_name: bool = False,
) -> Labels:
    """Return a column of labels, which are numbers or text, as codes and classes.

    By default, the classes are the sorted distinct labels. If `classes` are passed, labels are
    matched to them by text, so 1 equals "1". Empty or blank text, and the texts in `missing`, mean
    no label. With `by_name`, all labels become text: 1, 1.0 and "1" are the same class, and numbers
    may be mixed with text. In errors, `name` is the name of the column.

    Examples
    --------
    >>> coded = code_labels(["10", None, "2", " ", "10"])
    >>> coded.codes, coded.classes
    (array([ 1, -1,  0, -1,  1]), array(['2', '10'], dtype=object))
    """
    coded = labels if isinstance(labels, Labels) else _coded(labels, name, by_name=by_name)
    coded = coded.without(missing)
    if classes is None:
        return coded
    advice = "list all classes in {classes}, or omit this argument to use the labels that occur."
    return coded.among(check_classes(classes), name=name, advice=advice, classes=...)


def _coded(labels: Any, name: str, *, by_name: bool) -> Labels:
    """Return a column of labels as codes; its classes are the sorted distinct labels."""
    found, index = _distinct(as_cells(labels, name), name)
    values = [None if is_missing(value) else value for value in found.tolist()]
    _check_values(values, name, mixed=by_name)
    if by_name:
        values = [None if value is None else as_text(value) for value in values]
    classes = sorted({value for value in values if value is not None}, key=order_key)
    place = {None: NO_LABEL, **{value: code for code, value in enumerate(classes)}}
    codes = np.array([place[value] for value in values], dtype=np.intp)[index]
    dtype: np.dtype[Any] = np.dtype(object) if by_name else found.dtype
    if dtype.kind == "O" and classes and not isinstance(classes[0], str):
        # An object array of numbers becomes numeric, because scikit-learn requires numeric labels.
        numbers = np.array(classes)
        dtype = numbers.dtype if numbers.tolist() == classes else dtype  # objects if too large
    return Labels(codes, np.array(classes, dtype=dtype))


def missing_texts(missing: Collection[str]) -> tuple[str, ...]:
    """Return `missing`, one text or a collection of texts that mean no label, as a tuple."""
    return (missing,) if isinstance(missing, str) else tuple(missing)


def check_classes(classes: Any) -> NDArray[Any]:
    """Return classes that a user passed, as an array; raise if a name is empty or occurs twice."""
    advice = "pass a one-dimensional list of different, non-empty classes."
    array = as_cells(classes, "classes", advice)
    check_named(array.tolist(), "classes")
    names = [as_text(label) for label in array.tolist()]
    twice = len(set(names)) < len(names)
    if twice or not all(map(str.strip, names)):
        problem = "contains a class twice" if twice else "contains a class with an empty name"
        raise ArgumentError("classes", problem, advice)
    return array


def check_all_labelled(labels: Labels) -> None:
    """Raise if a row has no label; the error counts such rows and states which is the first."""
    without = np.flatnonzero(~labels.labelled)
    if without.size:
        rows = f"{counted(without.size, 'row')} (the first is row {without[0]})"
        raise ArgumentError("y", f"has no label in {rows}", "drop rows without a label.")


def check_some_labelled(labels: Labels, advice: str, *, name: str = "y") -> None:
    """Raise if no row has a label."""
    if not labels.labelled.any():
        n_rows = counted(len(labels.codes), "row")
        raise ArgumentError(name, f"has no label in any of its {n_rows}", advice)


def check_two_classes(labels: Labels) -> None:
    """Raise unless there are labels of at least two classes."""
    check_some_labelled(labels, "pass labels for rows of at least two classes.")
    only, *others = labels.classes.tolist()
    if not others:
        problem = f"has only one class ({only!r})"
        raise ArgumentError("y", problem, "pass rows of at least two classes.")


def label_notes(
    labels: Labels,
    *,
    missing: str = "among `missing`",
    merge: str = "write them alike in your data",
) -> tuple[str, ...]:
    """Return notes on classes that may be spellings of one class, or may mean a missing label.

    The phrase `missing` states where to list texts that mean no label. The phrase `merge` states
    how to merge spellings.

    Examples
    --------
    >>> print(*label_notes(code_labels(["Billing", "billing", "billing", "bug"])))
    1 row has a label that may be another spelling of a class: 'billing' (2 rows) / 'Billing' (1).
    If these spellings mean the same class, write them alike in your data.
    """
    found = labels.present()
    names, notes = [str(label) for label in found.classes.tolist()], []
    groups, sizes = spelling_groups(found), found.sizes.tolist()
    if groups:
        n_rows = sum(sizes[code] for group in groups for code in group[1:])
        have = "row has" if n_rows == 1 else "rows have"
        notes.append(
            f"{n_rows} {have} a label that may be another spelling of a class: "
            f"{first_few([_spelled(names, sizes, group) for group in groups], 3, str)}. "
            f"If these spellings mean the same class, {merge}."
        )
    odd = [name for name in names if name.strip().casefold() in LOOKS_MISSING]
    if odd:
        are = "is a class" if len(odd) == 1 else "are classes"
        means = f"if such a text means that there is no label, list it {missing}."
        notes.append(f"{first_few(odd)} {are} here: {means}")
    return tuple(notes)


def other_spellings(names: Sequence[str]) -> list[list[int]]:
    """Return groups of names that may be spellings of one name, as lists of their positions.

    Such names differ only in case, blanks, zero-width characters, the encoding of accents, or the
    format of a number.

    Examples
    --------
    >>> other_spellings(["Billing", "bug", "billing "]), other_spellings(["1", "1.0", "10"])
    ([[0, 2]], [[0, 1]])
    """
    alike: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        alike.setdefault(_spelling(name), []).append(place)
    return [group for group in alike.values() if len(group) > 1]


def spelling_groups(labels: Labels) -> list[list[int]]:
    """Return groups of classes that may be spellings of one class, as lists of their codes.

    The most frequent spelling comes first. Equally frequent spellings are sorted as classes are.

    Examples
    --------
    >>> spelling_groups(code_labels(["Billing", "bug", "billing", "BILLING ", "billing"]))
    [[2, 0, 1]]
    """
    sizes, classes = labels.sizes.tolist(), labels.classes.tolist()
    groups = other_spellings([as_text(name) for name in classes])
    return [sorted(group, key=lambda k: (-sizes[k], order_key(classes[k]))) for group in groups]


def _spelling(name: str) -> str:
    """Return a text that all spellings of a name have in common."""
    # Remove zero-width characters.
    seen = "".join(char for char in name if unicodedata.category(char) != "Cf")
    text = unicodedata.normalize("NFC", " ".join(seen.split()).casefold())
    return str(Decimal(text).normalize()) if PLAIN_NUMBER.fullmatch(text) else text


def _spelled(names: Sequence[str], sizes: Sequence[int], group: Sequence[int]) -> str:
    """Return text that lists the spellings of one name with the number of rows of each spelling."""
    counts = [counted(sizes[group[0]], "row"), *(str(sizes[code]) for code in group[1:])]
    quoted = told_apart([names[code] for code in group])
    return " / ".join(f"{name} ({count})" for name, count in zip(quoted, counts, strict=True))


def told_apart(names: Sequence[object]) -> list[str]:
    r"""Return names in quotes, so that different names look different.

    A blank at an end of a name, or next to another blank, is shown as ␣. Names that look the same
    are shown with character codes.

    Examples
    --------
    >>> told_apart([" log  in", "log in", "café", "café"])
    ["'␣log␣␣in'", "'log in'", "'caf\\xe9'", "'cafe\\u0301'"]
    """
    looks = [unicodedata.normalize("NFC", str(name)) for name in names]
    return [
        ascii(name)
        if looks.count(look) > 1
        else HIDDEN_BLANKS.sub(lambda found: "␣" * len(found[0]), repr(name))
        for name, look in zip(names, looks, strict=True)
    ]


def _distinct(cells: NDArray[Any], name: str) -> tuple[NDArray[Any], IntArray]:
    """Return the distinct values, and for each cell the index of its value."""
    if cells.dtype.kind == "U" and cells.dtype.itemsize > WIDE_TEXT:
        cells = cells.astype(object)
    if cells.dtype.kind in "cV":
        raise ArgumentError(name, f"has dtype {cells.dtype}", "pass numbers or text.")
    if cells.dtype != object:
        found, index = np.unique(cells, return_inverse=True)
        return found, index
    place: dict[Any, int] = {}
    index = np.empty(len(cells), dtype=np.intp)
    for row, cell in enumerate(cells.tolist()):
        value = plain(cell)
        if isinstance(value, Collection) and not (isinstance(value, str) or is_masked(value)):
            problem = f"holds {value!r} in row {row}, which is not a label"
            raise ArgumentError(name, problem, "pass numbers or text.")
        if not isinstance(value, str) and is_missing(value):
            value = None  # all NaN count as one value, although NaN != NaN
        elif not isinstance(value, str | bool | int | float):
            value = _name_of(value, row, name)
        index[row] = place.setdefault(value, len(place))
    return np.fromiter(place, dtype=object, count=len(place)), index


def check_named(cells: Iterable[Any], name: str) -> None:
    """Raise if a cell is a function or another object that is not a label (see `_name_of`)."""
    for row, cell in enumerate(cells):
        if not isinstance(cell, str | int | float):
            _name_of(cell, row, name)


def _name_of(value: object, row: int, name: str) -> str:
    """Return a date or another object as text; raise for objects that cannot be labels.

    These are functions, complex numbers, and objects whose text contains their memory address.
    """
    text = str(value)
    if callable(value) or isinstance(value, complex) or f"{id(value):x}" in text.lower():
        problem = f"holds {text} in row {row}, which is not a label"
        raise ArgumentError(name, problem, "pass numbers or text.")
    return text


def _check_values(values: list[Any], name: str, *, mixed: bool) -> None:
    """Raise if a label is a fraction or, unless `mixed`, if numbers and text are mixed."""
    if not mixed and len({isinstance(value, str) for value in values if value is not None}) > 1:
        advice = "pass only numbers or only text, and None for rows without a label."
        raise ArgumentError(name, "mixes numbers and text", advice)
    for value in values:
        if isinstance(value, float) and not value.is_integer():
            problem = f"holds {value!r}, which is not a class (Unknown label type: continuous)"
            raise ArgumentError(name, problem, "pass integers or text as labels.")


# Classes as column names of a data frame of probabilities -----------------------------------------


def named_columns(table: Any, classes: NDArray[Any] | None = None) -> NDArray[Any] | None:
    """Return the column names of a data frame as classes; None for an array.

    Also return None for the default names: 0, 1, … of pandas and column_0, column_1, … of polars.
    But if `classes` has these texts too, return the names.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> named_columns(pd.DataFrame([[0.5, 0.5]], columns=["dog", "cat"]))
    array(['dog', 'cat'], dtype='<U3')
    >>> named_columns(pd.DataFrame([[0.5, 0.5]])) is None
    True
    >>> frame = pd.DataFrame([[0.5, 0.5]], columns=["0", "1"])  # as a CSV file has them
    >>> named_columns(frame) is None, named_columns(frame, np.array(["1", "0"])).tolist()
    (True, ['0', '1'])
    """
    frame = nw.from_native(table, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return None
    names = frame.collect_schema().names()
    texts = [as_text(column) for column in names]
    places = range(len(names))
    default = [[str(place) for place in places], [f"column_{place}" for place in places]]
    known = [] if classes is None else classes.tolist()
    are_classes = bool(known) and sorted(names, key=str) == sorted(known, key=str)
    return None if texts in default and not are_classes else check_classes(names)


def check_column_order(name: str, named: NDArray[Any] | None, classes: NDArray[Any]) -> None:
    """Raise if a data frame has one column for each of `classes`, but in another order."""
    if named is None:
        return
    columns, texts = ([as_text(label) for label in names.tolist()] for names in (named, classes))
    if columns != texts and sorted(columns) == sorted(texts):
        problem = f"has its columns in another order ({first_few(columns)}) than classes"
        raise ArgumentError(name, problem, "omit {classes}, or sort the columns.", classes=...)
