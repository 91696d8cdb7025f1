"""A column of labels, coded once where it enters and handed on.

A label is missing where it is None, NaN, NA, NaT, masked, a null of Arrow or polars, or text that
is empty or blank. The texts "NaN", "NA" and "None" are classes like any other, unless they are
named among the texts that mean no label.

Classes stand in one order everywhere: numbers by value, text that is a whole number among them,
then all other text. Labels that differ in case or blanks alone are kept apart, and said.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from twohot._checks.messages import ArgumentError, counted, first_few
from twohot._types import IntArray

NO_LABEL = -1  # the code of a row without a label

WHOLE_NUMBER = re.compile(r"[+-]?\d{1,18}")  # more digits are no count of anything
# Texts that often mean that there is no label, and are classes here unless somebody says so.
LOOKS_MISSING = {"nan", "na", "n/a", "none", "null", "<na>", "nat"}


@dataclass(frozen=True, eq=False)
class Labels:
    """One label for every row, or none."""

    codes: IntArray  # (n_rows,), positions in classes; NO_LABEL where there is no label
    classes: NDArray[Any]  # (n_classes,), each once, in order

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """(n_rows,) which rows have a label."""
        return np.asarray(self.codes != NO_LABEL)

    @property
    def sizes(self) -> IntArray:
        """(n_classes,) rows of each class."""
        return np.bincount(self.codes[self.labelled], minlength=self.n_classes)

    @property
    def values(self) -> NDArray[Any]:
        """(n_rows,) the labels themselves; None where there is none, and then of type object."""
        if self.labelled.all():
            return self.classes[self.codes]
        return np.array([*self.classes.tolist(), None], dtype=object)[self.codes]

    def take(self, rows: Any) -> "Labels":
        """Return the labels of some rows; the classes stay."""
        return Labels(self.codes[rows], self.classes)

    def present(self) -> "Labels":
        """Return the same labels without the classes that no row has."""
        found = np.flatnonzero(self.sizes)
        return self if len(found) == self.n_classes else self.among(self.classes[found])

    def among(self, classes: NDArray[Any], *, name: str = "y") -> "Labels":
        """Return the same labels coded as positions in other classes, by their text."""
        place = {as_text(label): number for number, label in enumerate(classes.tolist())}
        present = np.flatnonzero(self.sizes)
        names = [as_text(label) for label in self.classes.tolist()]
        unknown = [self.classes.tolist()[code] for code in present if names[code] not in place]
        if unknown:
            raise ArgumentError(
                name,
                f"has {counted(len(unknown), 'label')} that {'is' if len(unknown) == 1 else 'are'} "
                f"none of the {len(classes)} classes ({first_few(unknown)})",
                "leave these rows without a label, or take a probe that knows them.",
            )
        moved = [place.get(label, NO_LABEL) for label in names]
        return Labels(np.array([*moved, NO_LABEL], dtype=np.intp)[self.codes], classes)


def code_labels(
    labels: Any,
    *,
    name: str = "y",
    classes: Any = None,
    missing: Collection[str] = (),
) -> Labels:
    """Return a column of labels as codes and classes; what is coded already stays as it is.

    Parameters
    ----------
    labels : array, masked array, list, series, one-column frame, Arrow array or Labels
        Numbers or text, one type.
    name : str
        What an error calls the labels.
    classes : array, optional
        The classes in their order; by default the labels that occur, in order.
    missing : collection of str
        Texts that mean no label, beside those that are empty or blank.

    Examples
    --------
    >>> coded = code_labels(["10", None, "2", " ", "10"])
    >>> coded.codes, coded.classes
    (array([ 1, -1,  0, -1,  1]), array(['2', '10'], dtype=object))
    """
    if isinstance(labels, Labels):
        return labels if classes is None else labels.among(np.asarray(classes), name=name)
    cells = as_cells(labels, name)
    found, index = _distinct(cells, name)
    values = found.tolist()
    kept = [k for k, value in enumerate(values) if not is_missing(value, missing)]
    _check_one_type([values[k] for k in kept], name)
    kept.sort(key=lambda k: order_key(values[k]))
    place = np.full(len(values), NO_LABEL, dtype=np.intp)
    place[kept] = np.arange(len(kept))
    coded = Labels(place[index], _as_classes(found, kept))
    return coded if classes is None else coded.among(np.asarray(classes), name=name)


def check_all_labelled(labels: Labels, *, name: str = "y") -> None:
    """Raise if a row has no label, with their number and the first of them."""
    without = np.flatnonzero(~labels.labelled)
    if without.size:
        raise ArgumentError(
            name,
            f"has no label in {counted(without.size, 'row')}, the first is row {without[0]}",
            "drop these rows before fitting.",
        )


def check_two_classes(labels: Labels, *, name: str = "y") -> None:
    """Raise unless rows of at least two classes have a label."""
    if not labels.labelled.any():
        raise ArgumentError(
            name,
            f"has no label in any of its {counted(len(labels.codes), 'row')}",
            "pass labels for rows of at least two classes.",
        )
    if labels.n_classes < 2:
        only = labels.classes.tolist()[0]
        raise ArgumentError(
            name, f"has one class only ({only!r})", "pass rows of at least two classes."
        )


def is_missing(label: object, missing: Collection[str] = ()) -> bool:
    """Return whether a value is no label; `missing` names texts that mean none.

    Examples
    --------
    >>> [is_missing(label) for label in (None, float("nan"), "  ", "NaN", 0)]
    [True, True, True, False, False]
    """
    if isinstance(label, str):
        return not label.strip() or label in missing
    if label is None or label is np.ma.masked:
        return True
    try:
        return bool(label != label)  # noqa: PLR0124 - of all values NaN and NaT alone do that
    except (TypeError, ValueError):  # NA does not even say that
        return True


def as_text(label: object) -> str:
    """Return a label as text: nothing for a missing one, and whole floats as integers."""
    if isinstance(label, np.generic):
        label = label.item()
    if not isinstance(label, str) and is_missing(label):
        return ""
    if isinstance(label, float) and label.is_integer():
        # Integers beside missing ones often come as floats.
        label = int(label)
    return label.decode() if isinstance(label, bytes) else str(label)


def order_key(label: Any) -> tuple[int, Any, str]:
    """Return what labels are sorted by: numbers by value, then text."""
    if isinstance(label, str):
        if WHOLE_NUMBER.fullmatch(label):
            return 0, int(label), label
        return 1, 0, label
    if isinstance(label, bool | int | float):
        return 0, label, ""
    return 2, 0, str(label)


def label_notes(labels: Labels, *, missing: str = "among `missing`") -> tuple[str, ...]:
    """Say which classes may be other spellings of one, and which may mean that there is no label.

    `missing` says how a text is named that means none.

    Examples
    --------
    >>> label_notes(code_labels(["Billing", "billing", "billing", "bug"]))
    ("1 label looks like another spelling: 'Billing' / 'billing'.",)
    """
    names = [str(label) for label in labels.classes.tolist()]
    sizes = labels.sizes
    alike: dict[str, list[int]] = {}
    for code, name in enumerate(names):
        alike.setdefault(" ".join(name.split()).casefold(), []).append(code)
    groups = [group for group in alike.values() if len(group) > 1]
    notes = []
    if groups:
        n_rows = sum(int(sizes[group].sum() - sizes[group].max()) for group in groups)
        pairs = [" / ".join(repr(names[code]) for code in group) for group in groups]
        shown = ", ".join(pairs[:3]) + (" and more" if len(pairs) > 3 else "")
        looks = "looks like another spelling" if n_rows == 1 else "look like other spellings"
        notes.append(f"{counted(n_rows, 'label')} {looks}: {shown}.")
    odd = [name for name, size in zip(names, sizes, strict=True) if _looks_missing(name) and size]
    if odd:
        notes.append(
            f"{first_few(odd)} {'is a class' if len(odd) == 1 else 'are classes'} here: name "
            f"such a text {missing} if it means that there is no label."
        )
    return tuple(notes)


def check_known_labels(labels: Labels, classes: NDArray[Any]) -> None:
    """Raise if a label is none of a probe's classes."""
    unknown = [label for label in labels.classes.tolist() if label not in classes.tolist()]
    if unknown:
        raise ArgumentError(
            "y",
            f"has {counted(len(unknown), 'label')} that the probe was not fitted on "
            f"({first_few(unknown)})",
            f"score only rows of its {len(classes)} classes (see classes_), or fit again with "
            "these labels.",
        )


def as_cells(labels: Any, name: str) -> NDArray[Any]:
    """Return any column as an array in one dimension, of objects where a value may be missing."""
    if isinstance(labels, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(labels)
        labels = _objects(labels.tolist()) if masked.any() else labels.data
    elif not isinstance(labels, np.ndarray):
        labels = _native(labels)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ArgumentError(
            name, f"has shape {labels.shape}", "pass one label per row, None for a row without."
        )
    return np.asarray(labels)


def _native(labels: Any) -> NDArray[Any]:
    """Return a list, series, frame or anything that numpy can read as an array."""
    if isinstance(labels, Sequence) and not isinstance(labels, str):
        return _objects(labels)
    column = nw.from_native(labels, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(column, nw.DataFrame) and len(column.columns) == 1:
        column = column[column.columns[0]]
    if not isinstance(column, nw.Series):
        # Arrays of pyarrow and of nullable types, which narwhals does not take.
        listed = getattr(labels, "to_pylist", None) or getattr(labels, "tolist", None)
        return np.asarray(labels) if listed is None else _objects(listed())
    # Nullable types keep their integers only as objects.
    plain = column.to_native()
    if isinstance(getattr(plain, "dtype", None), np.dtype) and plain.dtype != object:
        return np.asarray(plain)
    return _objects(column.to_list())


def _objects(cells: Iterable[Any]) -> NDArray[Any]:
    """Return values as an array of plain text or numbers where they are, else of objects."""
    listed = list(cells)
    kinds = {type(cell) for cell in listed}
    if len(kinds) == 1 and kinds <= {str, int, bool, float}:
        plain = np.array(listed)
        # Text of fixed width loses zeros at its end, and large integers become other things.
        if plain.dtype.kind in "iubf" or (kinds == {str} and plain.tolist() == listed):
            return plain
    if any(isinstance(cell, list | tuple | np.ndarray) for cell in listed):
        return np.array(listed, dtype=object)
    objects = np.empty(len(listed), dtype=object)
    objects[:] = listed
    return objects


def _distinct(cells: NDArray[Any], name: str) -> tuple[NDArray[Any], IntArray]:
    """Return the distinct values, and where each cell stands among them."""
    if cells.dtype != object:
        found, index = np.unique(cells, return_inverse=True)
        return found, index
    place: dict[Any, int] = {}
    index = np.empty(len(cells), dtype=np.intp)
    for row, cell in enumerate(cells.tolist()):
        value = cell.item() if isinstance(cell, np.generic) else cell
        value = None if not isinstance(value, str) and is_missing(value) else value
        try:
            index[row] = place.setdefault(value, len(place))
        except TypeError as error:
            raise ArgumentError(
                name, f"holds {value!r} in row {row}, which is no label", "pass numbers or text."
            ) from error
    return _objects_of(list(place)), index


def _objects_of(values: list[Any]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _as_classes(found: NDArray[Any], kept: list[int]) -> NDArray[Any]:
    """Return the classes; numbers among objects as numbers, for scikit-learn takes no others."""
    classes = found[kept]
    if classes.dtype == object and kept and not isinstance(classes[0], str):
        return np.array(classes.tolist())
    return classes


def _check_one_type(values: list[Any], name: str) -> None:
    """Raise if labels mix numbers and text, or are numbers that count nothing."""
    texts = sum(isinstance(value, str) for value in values)
    if 0 < texts < len(values):
        raise ArgumentError(
            name,
            "mixes numbers and text",
            "pass labels of one type, None where there is none.",
        )
    broken = [value for value in values if isinstance(value, float) and not value.is_integer()]
    if broken:
        raise ArgumentError(
            name,
            f"holds {broken[0]!r}, which is no class (Unknown label type: continuous)",
            "pass integers or text as labels.",
        )


def _looks_missing(name: str) -> bool:
    return name.strip().casefold() in LOOKS_MISSING
