"""Explain a label by the training rows that support each class at one row.

With the softmax linearised, round t is label averaging (Theorem 3.1, see `twohot.theory`): at row i
the output for class k is

    y_i[k] = votes[k] + (1 - Σ_l votes[l]) / K,      votes[k] = Σ_{j labelled k} weight(i, j),

so that the weight of each training row is its vote for its own label (see `AveragingWeights`).
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot.audit.neighbours import AveragingWeights, prepared_rows
from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
    IntArray,
    Labels,
    Matrix,
    check_count,
    check_flag,
    check_positive,
    counted,
)
from twohot.judge import check_rows_and_labels
from twohot.probes import STUDENT_RIDGE
from twohot.rows import count_threads


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A training row and its vote at another row."""

    row: int  # position in X
    label: Any  # its given label
    weight: float  # its vote for this label; a negative vote is against it


@dataclass(frozen=True, eq=False)
class Explanation:
    """Votes for each class at one row; `str` returns a summary in words."""

    row: int  # position in X
    given_label: Any  # None if the row has none
    classes: NDArray[Any]  # (n_classes,)
    votes: FloatArray  # (n_classes,), sum of the weights of the rows with each label
    voters: IntArray  # (n_classes,), number of rows with each label
    own_vote: float  # vote of the row's own label; 0 without a label
    neighbours: tuple[Neighbour, ...]  # the other rows of largest weight, largest first

    @property
    def outputs(self) -> FloatArray:
        """(n_classes,) outputs of the probe that the theory predicts; they sum to one."""
        return np.asarray(self.votes + (1 - self.votes.sum()) / len(self.votes))

    @property
    def winner(self) -> Any:
        """The label with the most votes."""
        return self.classes.tolist()[int(self.votes.argmax())]

    def __str__(self) -> str:
        """Return the votes in words."""
        names = self.classes.tolist()
        best = int(self.votes.argmax())
        won = f"{self.votes[best]:.3f} from {counted(self.voters[best], 'row')}"
        text = f"row {self.row}: label {names[best]!r} got {won}"
        if self.given_label is None:
            return text
        given, what = names.index(self.given_label), "which is the given label"
        if given != best:
            lost = f"{self.votes[given]:.3f} from {self.voters[given]}"
            what = f"the given label {self.given_label!r} got {lost}"
        return f"{text}, {what} ({self.own_vote:.3f} of it from this row itself)"


def explain_label(
    X: Matrix,
    y: Any,
    rows: ArrayLike,
    *,
    missing: Collection[str] = (),
    ridge: float = STUDENT_RIDGE,
    n_rounds: int = 1,
    n_neighbours: int = 10,
    center: bool = True,
    normalize: bool = True,
    n_jobs: int | None = None,
) -> list[Explanation]:
    """Return which training rows vote for which label at the requested rows.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame of shape (n_rows, n_features)
    y : array, list, series or Labels of shape (n_rows,)
        Given labels. Rows without a label (None, NaN, NA, empty or blank text) do not vote, and
        may be requested.
    rows : array of int
        Positions in X of the rows to explain.
    ridge : float
        Strength of the penalty, as for the probes. A larger value lowers the weight of a row's own
        label.
    n_rounds : int
        1 explains the teacher, 2 and more explain the students.
    n_neighbours : int
        Number of other rows to return.
    center, normalize : bool
        Whether rows are centred by the mean of the labelled rows, and scaled to unit norm.
    missing, n_jobs
        As for `forecast`. The result does not depend on the number of threads.

    Returns
    -------
    list of Explanation
        One for each requested row, in the same order.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> y[7] = 1  # it is a seven
    >>> (why,) = explain_label(X, y, [7], n_neighbours=3)
    >>> print(why)
    row 7: label 7 got 0.554 from 178 rows, the given label 1 got -0.045 from 183 (0.017 of it ...
    >>> [neighbour.label for neighbour in why.neighbours]
    [7, 7, 7]
    """
    X, labels = check_rows_and_labels(X, y, missing)
    asked = check_asked_rows(rows, len(labels.codes))
    strength = check_positive("ridge", ridge)
    n_rounds = check_count("n_rounds", n_rounds, 1)
    n_neighbours = check_count("n_neighbours", n_neighbours, 0)
    center, normalize = check_flag("center", center), check_flag("normalize", normalize)
    labelled, n_jobs = labels.labelled, count_threads(n_jobs)
    prepared = prepared_rows(X, labelled, center=center, normalize=normalize, n_jobs=n_jobs)
    weights = AveragingWeights(prepared, labelled, ridge=strength, n_rounds=n_rounds)
    return [
        _explain(labels, row, found, n_neighbours)
        for row, found in zip(asked.tolist(), weights.of(asked), strict=True)
    ]


def check_asked_rows(rows: ArrayLike, n_rows: int) -> IntArray:
    """Return positions of rows: one dimension, each from 0 to n_rows - 1."""
    asked = np.asarray(rows)
    if asked.size == 0:
        return np.zeros(0, dtype=np.intp)
    if asked.ndim != 1 or asked.dtype.kind not in "iu":
        problem = f"has shape {asked.shape} and dtype {asked.dtype}"
        advice = "pass positions of rows: integers in one dimension (np.flatnonzero of a mask)."
        raise ArgumentError("rows", problem, advice)
    outside = asked[(asked < 0) | (asked >= n_rows)]
    if outside.size:
        problem = f"holds {outside[0]}, and the data has {n_rows} rows"
        raise ArgumentError("rows", problem, f"pass integers from 0 to {n_rows - 1}.")
    return asked.astype(np.intp)


def _explain(labels: Labels, row: int, weights: FloatArray, n_neighbours: int) -> Explanation:
    """Count the votes of one row."""
    codes, voting, names = labels.codes, labels.labelled, labels.classes.tolist()
    others = np.flatnonzero(voting & (np.arange(len(codes)) != row))
    # The largest weight first; ties: the earlier row.
    nearest = others[np.argsort(-weights[others], kind="stable")[:n_neighbours]]
    votes = np.bincount(codes[voting], weights[voting], labels.n_classes)
    return Explanation(
        row=row,
        given_label=None if codes[row] == NO_LABEL else names[codes[row]],
        classes=labels.classes,
        votes=np.asarray(votes, np.float64),
        voters=labels.sizes,
        own_vote=float(weights[row]),
        neighbours=tuple(
            Neighbour(int(place), names[codes[place]], float(weights[place])) for place in nearest
        ),
    )
