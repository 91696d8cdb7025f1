"""Rows with labels that may be missing, checked: what explanations and forecasts take."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def check_labelled_rows(X: Matrix, y: ArrayLike) -> LabelledRows:
    """Return features and labels, at least two classes; None, NaN and "" are no label."""
    rows = check_features(LinearProbe(), X, reset=True)
    given = np.asarray(y)
    if given.ndim != 1 or len(given) != rows.shape[0]:
        raise ValueError(
            f"y has shape {given.shape} and X has {rows.shape[0]} rows: pass one label per row, "
            "None for a row without."
        )
    classes, labels = check_label_column(given)
    return LabelledRows(rows, classes, labels)


def check_label_column(
    y: ArrayLike, classes: ArrayLike | None = None
) -> tuple[NDArray[Any], IntArray]:
    """Return the classes, sorted unless they are given, and where each label stands, or -1."""
    given = np.asarray(y)
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
    names = found if classes is None else np.asarray(classes)
    if len(names) < 2:
        raise ValueError(
            f"y has one class only ({found.tolist()[0]!r}): pass rows of at least two classes."
        )
    labels = np.full(len(given), -1, dtype=np.intp)
    labels[labelled] = index if classes is None else _places(names, found)[index]
    return names, labels


def _places(names: NDArray[Any], found: NDArray[Any]) -> IntArray:
    """Return where each label that occurs stands among given names."""
    place = {name: number for number, name in enumerate(names.tolist())}
    unknown = [label for label in found.tolist() if label not in place]
    if unknown or len(place) < len(names):
        raise ValueError(
            f"classes names a class twice or misses the label {unknown[:1]}: pass every label of y "
            "once, in the order of the columns."
        )
    return np.array([place[label] for label in found.tolist()])


def is_missing(label: object) -> bool:
    """Return whether a label is none: None, NaN or an empty string."""
    return label is None or label == "" or (isinstance(label, float) and math.isnan(label))
