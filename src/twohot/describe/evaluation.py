"""The accuracy of a probe on rows with trusted labels: for all rows, and per class.

confusion[a, b]   number of rows of class a predicted as b
recall[a]         fraction of the rows of class a that are predicted as a
precision[b]      fraction of the rows predicted as b that are of class b
f1[a]             2 / (1/recall[a] + 1/precision[a])
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix

from twohot.base import (
    ArgumentError,
    FloatArray,
    IntArray,
    Matrix,
    as_text,
    code_labels,
    counted,
    first_few,
    json_safe,
    new_figure,
)
from twohot.describe.figures import name_classes
from twohot.judge import check_sliceable, labelled_rows
from twohot.probes import FittedProbe
from twohot.tables import check_same_index, pandas_index

# Maximum number of classes for which the cells of the figure show numbers of rows.
COUNTED_CLASSES = 15
# Maximum number of confusions that are printed.
SHOWN_CONFUSIONS = 3


@dataclass(frozen=True, eq=False)
class ProbeEvaluation:
    """Counts of correct and wrong predictions of a probe; a fraction of zero rows is NaN."""

    classes: NDArray[Any]  # (n_classes,), classes of the probe
    confusion: IntArray  # (n_classes, n_classes), numbers of rows: row true class, column predicted
    # Number of rows with each label that is no class of the probe
    unknown: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of evaluated rows: their label is a class of the probe."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Fraction of the evaluated rows that are predicted correctly."""
        return int(np.trace(self.confusion)) / self.n_rows

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the accuracy on rows of the same distribution (Wilson)."""
        found = binomtest(int(np.trace(self.confusion)), self.n_rows).proportion_ci(method="wilson")
        return float(found.low), float(found.high)

    @property
    def class_sizes(self) -> IntArray:
        """Number of rows of each class."""
        return np.asarray(self.confusion.sum(axis=1))

    @property
    def recall(self) -> FloatArray:
        """Fraction of the rows of each class that are predicted as this class."""
        return _ratios(self.confusion.diagonal(), self.class_sizes)

    @property
    def precision(self) -> FloatArray:
        """Fraction of the rows predicted as each class that are of this class."""
        return _ratios(self.confusion.diagonal(), self.confusion.sum(axis=0))

    @property
    def f1(self) -> FloatArray:
        """Harmonic mean of recall and precision of each class."""
        n_true_and_predicted = self.class_sizes + self.confusion.sum(axis=0)
        return _ratios(2 * self.confusion.diagonal(), n_true_and_predicted)

    @property
    def mean_recall(self) -> float:
        """Mean recall of the classes that have rows: balanced accuracy."""
        return float(np.nanmean(self.recall))

    def __str__(self) -> str:
        low, high = self.interval
        interval = f"95% confidence interval: {low:.1%} to {high:.1%}"
        lines = [f"Accuracy {self.accuracy:.1%} ({interval}), on {self.n_rows} rows"]
        lines += [
            f"  {as_text(label)} predicted as {as_text(predicted)}: {counted(count, 'row')}"
            for label, predicted, count in self.confusions()[:SHOWN_CONFUSIONS]
        ]
        return "\n".join(lines)

    def confusions(self) -> list[tuple[Any, Any, int]]:
        """Return tuples (class, predicted class, number of rows) of errors, most frequent first."""
        wrong = self.confusion - np.diag(self.confusion.diagonal())
        pairs = sorted(np.argwhere(wrong).tolist(), key=lambda pair: -wrong[tuple(pair)])
        return [(self.classes[a], self.classes[b], int(wrong[a, b])) for a, b in pairs]

    def class_records(self) -> list[dict[str, Any]]:
        """Return one dict per class, for a data frame."""
        columns = (self.classes, self.class_sizes, self.recall, self.precision, self.f1)
        return [
            {"class": as_text(label), "rows": size, "recall": recall, "precision": right, "f1": f1}
            for label, size, recall, right, f1 in zip(*map(np.ndarray.tolist, columns), strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return all fields as numbers and text."""
        record = {
            "n_rows": self.n_rows,
            "accuracy": self.accuracy,
            "accuracy_interval": self.interval,
            "mean_recall": self.mean_recall,
            "classes": self.class_records(),
            "confusion": self.confusion,
            "unknown": self.unknown,
        }
        return dict(json_safe(record))


def evaluate_probe(
    probe: FittedProbe, X: Matrix, y: Any, *, missing: Collection[str] = ()
) -> ProbeEvaluation:
    """Return an evaluation of a probe's predictions against trusted labels.

    Parameters
    ----------
    probe : fitted probe
        The probe to evaluate.
    X : array, memory map, sparse matrix or data frame of shape (n_rows, n_features)
        Features of rows on which the probe was not fitted. On its training rows, the accuracy would
        be too high, because a probe may memorise their labels.
    y : array, list, series or Labels of shape (n_rows,)
        Trusted labels. Rows without a label are not used. If a label is no class of the probe, it
        cannot be predicted. Rows with such labels are not evaluated, but counted in `unknown`.
    missing : collection of str
        Texts that mean a missing label, such as "NA". Any other text is a class.

    Returns
    -------
    ProbeEvaluation

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import LinearProbe, evaluate_probe
    >>> X, y = load_digits(return_X_y=True)
    >>> found = evaluate_probe(LinearProbe(ridge=4).fit(X[:1200], y[:1200]), X[1200:], y[1200:])
    >>> found.n_rows, bool(found.accuracy > 0.85)
    (597, True)
    >>> low, high = found.interval
    >>> bool(low < found.accuracy < high)
    True
    >>> print(str(found).splitlines()[0])
    Accuracy ...% (95% confidence interval: ...% to ...%), on 597 rows
    """
    check_same_index("y", y, "X", pandas_index(X))
    given_labels = code_labels(y, missing=missing)
    X = check_sliceable(X, given_labels)
    unknown = given_labels.unknown_to(probe.classes_)
    labels = given_labels.without(unknown).among(probe.classes_)
    if not labels.labelled.any():
        what = f"only labels that the probe does not know ({first_few(unknown)})"
        problem = f"has {what if unknown else 'no label'}"
        raise ArgumentError("y", problem, "pass trusted labels of the probe's classes.")
    codes = {label: code for code, label in enumerate(probe.classes_.tolist())}
    predicted = [codes[label] for label in probe.predict(labelled_rows(X, labels)).tolist()]
    given = labels.codes[labels.labelled]
    counts = confusion_matrix(given, predicted, labels=np.arange(len(codes)))
    return ProbeEvaluation(probe.classes_, counts, unknown)


def _ratios(part: IntArray, whole: IntArray) -> FloatArray:
    """Return ratios of counts, NaN where the denominator is zero."""
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0))


def confusion_figure(confusion: IntArray, classes: Sequence[str], accuracy: float) -> Any:
    """Draw the fraction of each class (row) that is predicted as each class (column).

    If there are few classes, the cells also show numbers of rows. A class without rows has blank
    cells.
    """
    fractions = _ratios(confusion, confusion.sum(axis=1, keepdims=True))
    figure = new_figure(6.4, 5.4)
    axes = figure.subplots()
    image = axes.imshow(fractions, cmap="Blues", vmin=0, vmax=1)
    figure.colorbar(image, ax=axes, shrink=0.85, label="fraction of the rows of the class")
    name_classes(axes, classes)
    title = f"Accuracy {accuracy:.1%} on {confusion.sum()} rows"
    axes.set(xlabel="predicted", ylabel="class", title=title)
    if len(classes) <= COUNTED_CLASSES:
        for (row, column), count in np.ndenumerate(confusion):
            colour = "white" if fractions[row, column] > 0.5 else "black"
            axes.text(column, row, str(count) if count else "", ha="center", va="center", c=colour)
    return figure
