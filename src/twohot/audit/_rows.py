"""Rows with labels that may be missing, checked: what explanations and forecasts take."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot._checks.labels import Labels, check_two_classes, code_labels
from twohot._types import FloatArray, IntArray, Matrix
from twohot.distill._inputs import check_features
from twohot.distill.estimators import LinearProbe


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Features with the label of each row."""

    X: Matrix  # (n_rows, n_features), as they came in
    classes: NDArray[Any]  # (n_classes,), sorted
    labels: IntArray  # (n_rows,), positions in classes; -1: no label

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """(n_rows,) which rows have a label."""
        return np.asarray(self.labels >= 0)

    @property
    def weights(self) -> FloatArray | None:
        """(n_rows,) one for a row with a label, else zero; None if all have one."""
        return None if self.labelled.all() else self.labelled.astype(np.float64)


def check_labelled_rows(X: Matrix, y: Any) -> LabelledRows:
    """Return features and labels, at least two classes; None, NaN and "" are no label."""
    rows = check_features(LinearProbe(), X, reset=True)
    if isinstance(y, Labels):
        return LabelledRows(rows, *check_label_column(y))
    given = _as_column(y)
    if given.ndim != 1 or len(given) != rows.shape[0]:
        raise ValueError(
            f"y has shape {given.shape} and X has {rows.shape[0]} rows: pass one label per row, "
            "None for a row without."
        )
    classes, labels = check_label_column(given)
    return LabelledRows(rows, classes, labels)


def check_label_column(y: Any, classes: ArrayLike | None = None) -> tuple[NDArray[Any], IntArray]:
    """Return the classes, sorted unless they are given, and where each label stands, or -1."""
    if isinstance(y, Labels):
        coded = y.present() if classes is None else code_labels(y, classes=classes)
        check_two_classes(coded)
        return coded.classes, coded.codes
    given = _as_column(y)
    if given.ndim != 1:
        raise ValueError(
            f"y has shape {given.shape}: pass one label per row, None for a row without."
        )
    labelled = np.array([not is_missing(label) for label in given.tolist()], dtype=bool)
    if not labelled.any():
        raise ValueError(
            f"y has no label in any of its {len(given)} rows: pass labels for rows of at least two "
            "classes."
        )
    try:
        found, index = np.unique(given[labelled], return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"y mixes labels that do not sort ({error}): pass labels of one type, None where there "
            "is none."
        ) from error
    labels = np.full(len(given), -1, dtype=np.intp)
    if classes is not None:
        names = np.asarray(classes)
        labels[labelled] = _places(names, found)[index]
        return names, labels
    if len(found) < 2:
        raise ValueError(
            f"y has one class only ({found.tolist()[0]!r}): pass rows of at least two classes."
        )
    labels[labelled] = index
    # Numbers beside None come as objects, which scikit-learn takes for no labels at all.
    return found if isinstance(found[0], str) else np.array(found.tolist()), labels


def _as_column(y: Any) -> NDArray[Any]:
    """Return labels as an array; a list as one of objects, or NaN among words became a word."""
    return np.asarray(y) if hasattr(y, "dtype") else np.array(y, dtype=object)


def _places(names: NDArray[Any], found: NDArray[Any]) -> IntArray:
    """Return where each label that occurs stands among given names."""
    if names.ndim != 1 or len(set(names.tolist())) < max(2, len(names)):
        raise ValueError(
            f"classes has shape {names.shape} or names a class twice: pass at least two names, "
            "each once, in the order of the columns."
        )
    place = {name: number for number, name in enumerate(names.tolist())}
    unknown = [label for label in found.tolist() if label not in place]
    if unknown:
        shown = ", ".join(repr(label) for label in unknown[:5])
        raise ValueError(
            f"y has {len(unknown)} label(s) that are none of the {len(names)} classes of the judge "
            f"({shown}): make them None, or have a judge that knows them."
        )
    return np.array([place[label] for label in found.tolist()])


def is_missing(label: object) -> bool:
    """Return whether a label is none: None, NaN, pandas' NA or an empty string."""
    if label is None or isinstance(label, str):
        return not label
    try:
        return bool(label != label)  # noqa: PLR0124 - of all values only NaN differs from itself
    except TypeError:  # NA does not even say that
        return True
