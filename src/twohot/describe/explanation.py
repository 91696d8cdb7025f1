"""Explain a prediction by the votes of training rows for their labels.

The softmax is linearised. Round t of self-distillation is then an average of labels (Theorem 3.1,
see `twohot.theory`). At row i, the output for class k, of K classes, is

    y_i[k] = votes[k] + (1 - Σ_l votes[l]) / K,      votes[k] = Σ_{j labelled k} weight(i, j).

So the weight of training row j is its vote for its given label. Let S = Σ_j x_j x_jᵀ over the rows
that have a label, and S = V diag(λ) Vᵀ. Let the penalty p be the ridge times the mean of ‖x_j‖².
Then

    weight(i, j) = x_iᵀ V diag(h) Vᵀ x_j,      h = λᵗ⁻¹ / (p + λ)ᵗ.

This is entry (i, j) of [Φ (p I + Φ)⁻¹]ᵗ, where Φ is the Gram matrix of the rows. Φ is never
computed. The computation needs one pass over the rows and a d × d eigenproblem for d features
(N × N if there are N < d rows). Each requested row then needs one product with all rows.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike, NDArray

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    BoolArray,
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
from twohot.rows import (
    Block,
    Rows,
    Terms,
    count_threads,
    fit_preparation,
    open_rows,
    products_with,
    span_of,
)

# Maximum number of weights in memory (requested rows times training rows), 32 MB.
CHUNK_WEIGHTS = 2**22


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A training row, and its vote in the prediction of the explained row."""

    row: int  # position in X of the training row
    label: Any  # given label of the training row
    weight: float  # vote for this label; negative if the vote is against the label


@dataclass(frozen=True, eq=False)
class Explanation:
    """Votes of the training rows for each class, in the prediction of one row.

    `str` returns a summary as text.
    """

    row: int  # position in X of the explained row
    given_label: Any  # given label of the explained row; None if it has no label
    classes: NDArray[Any]  # (n_classes,)
    votes: FloatArray  # (n_classes,), sum of the weights of the rows with each label
    voters: IntArray  # (n_classes,), number of rows with each label
    own_vote: float  # vote of the explained row for its given label; 0 without a label
    neighbours: tuple[Neighbour, ...]  # the other rows with the largest weights, largest first

    @property
    def outputs(self) -> FloatArray:
        """(n_classes,) outputs for the explained row that the theory predicts; they sum to one."""
        return np.asarray(self.votes + (1 - self.votes.sum()) / len(self.votes))

    @property
    def winner(self) -> Any:
        """The label with the most votes."""
        return self.classes.tolist()[int(self.votes.argmax())]

    def __str__(self) -> str:
        best = int(self.votes.argmax())
        won = f"{self.votes[best]:.3f} from {counted(self.voters[best], 'row')}"
        text = f"row {self.row}: label {self.winner!r} got votes of {won}"
        if self.given_label is None:
            return text
        given, what = self.classes.tolist().index(self.given_label), "which is the given label"
        if given != best:
            lost = f"{self.votes[given]:.3f} from {counted(self.voters[given], 'row')}"
            what = f"the given label {self.given_label!r} got {lost}"
        return f"{text}, {what} (row {self.row} itself gave {self.own_vote:.3f} of it)"


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
    """Return for each requested row the votes of the training rows for each label.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame of shape (n_rows, n_features)
        Features of the training rows.
    y : array, list, series or Labels of shape (n_rows,)
        Given labels. Rows without a label (None, NaN, NA, empty or blank text) do not vote, but
        they can be explained.
    rows : array of int
        Positions in X of the rows to explain.
    ridge : float
        Strength of the penalty, as for the probes. If it is larger, the label of the explained row
        itself has less weight.
    n_rounds : int
        Number of rounds of self-distillation. 1 explains the predictions of the teacher; larger
        numbers explain the predictions of a student.
    n_neighbours : int
        Number of other rows in `Explanation.neighbours`.
    center, normalize : bool
        Whether rows are centred by the mean of the labelled rows, and scaled to unit norm.
    missing, n_jobs
        As for `forecast`. The result does not depend on the number of threads.

    Returns
    -------
    list of Explanation
        One explanation for each requested row, in the order of `rows`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> y[7] = 1  # it is a seven
    >>> (why,) = explain_label(X, y, [7], n_neighbours=3)
    >>> print(why)
    row 7: label 7 got votes of 0.554 from 178 rows, the given label 1 got -0.045 from 183 rows ...
    >>> [neighbour.label for neighbour in why.neighbours]
    [7, 7, 7]
    """
    X, labels = check_rows_and_labels(X, y, missing)
    asked = _check_asked_rows(rows, len(labels.codes))
    ridge, n_rounds = check_positive("ridge", ridge), check_count("n_rounds", n_rounds, 1)
    n_neighbours = check_count("n_neighbours", n_neighbours, 0)
    center, normalize = check_flag("center", center), check_flag("normalize", normalize)
    n_jobs = count_threads(n_jobs)
    # Centre rows by the mean of the labelled rows, as a probe does.
    weights = None if labels.labelled.all() else labels.labelled.astype(np.float64)
    preparation = fit_preparation(
        X, center=center, normalize=normalize, weights=weights, n_jobs=n_jobs
    )
    prepared = open_rows(X, preparation, weights=weights, n_jobs=n_jobs)
    votes = averaging_weights(prepared, labels.labelled, asked, ridge=ridge, n_rounds=n_rounds)
    return [
        _explain(labels, row, votes_at_row, n_neighbours)
        for row, votes_at_row in zip(asked.tolist(), votes, strict=True)
    ]


def averaging_weights(
    rows: Rows, labelled: BoolArray, asked: IntArray, *, ridge: float, n_rounds: int
) -> Iterator[FloatArray]:
    """For each row in `asked`, yield the weights (n_rows,) of all rows.

    A row without a label has weight zero.
    """
    # If there are fewer rows than columns, compute with coordinates in the span of the rows.
    rows = span_of(rows).rows if rows.n_samples < rows.n_columns else rows
    rows.attach("labelled", labelled)
    (moment,) = rows.sum(labelled_moment)
    # As in the probes, the ridge is scaled by the mean squared norm (1 for unit-norm rows).
    penalty = ridge * float(np.trace(moment)) / int(labelled.sum()) or 1.0
    eigenvalues, axes = sl.eigh(moment, overwrite_a=True)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    factors = (eigenvalues / (penalty + eigenvalues)) ** (n_rounds - 1)
    metric = (axes * (factors / (penalty + eigenvalues))) @ axes.T  # V diag(h) Vᵀ
    for weights in products_at(rows, asked, metric):
        yield np.where(labelled, weights, 0.0)


def labelled_moment(block: Block) -> Terms:
    """Return Σ x xᵀ over the labelled rows of a block, for a pass over all blocks."""
    x = block.prepared()[block.columns["labelled"]]
    return (x.T @ x,)


def products_at(
    rows: Rows, asked: IntArray, metric: FloatArray | None = None
) -> Iterator[FloatArray]:
    """For each row i in `asked`, yield x_iᵀ M x_j (n_rows,) for all rows j.

    M is `metric`, by default the identity matrix.
    """
    size = max(1, CHUNK_WEIGHTS // rows.n_samples)
    for first in range(0, len(asked), size):
        chosen = rows.in_memory(asked[first : first + size]).X
        weighted = chosen if metric is None else chosen @ metric
        yield from np.concatenate(list(rows.map(products_with, weighted))).T


def _check_asked_rows(rows: ArrayLike, n_rows: int) -> IntArray:
    """Return the positions of the requested rows; raise unless all are from 0 to n_rows - 1."""
    asked = np.asarray(rows)
    if asked.size == 0:
        return np.zeros(0, dtype=np.intp)
    if asked.ndim != 1 or asked.dtype.kind not in "iu":
        problem = f"has shape {asked.shape} and dtype {asked.dtype}"
        advice = "pass positions of rows as a list of integers (for a mask, np.flatnonzero(mask))."
        raise ArgumentError("rows", problem, advice)
    outside = asked[(asked < 0) | (asked >= n_rows)]
    if outside.size:
        problem = f"contains {outside[0]}, but the data has {n_rows} rows"
        raise ArgumentError("rows", problem, f"pass integers from 0 to {n_rows - 1}.")
    return asked.astype(np.intp)


def _explain(labels: Labels, row: int, weights: FloatArray, n_neighbours: int) -> Explanation:
    """Return the explanation of one row from the weights of all training rows."""
    codes, labelled, names = labels.codes, labels.labelled, labels.classes.tolist()
    others = np.flatnonzero(labelled & (np.arange(len(codes)) != row))
    # The largest weight comes first. Of rows with equal weights, the earlier row comes first.
    nearest = others[np.argsort(-weights[others], kind="stable")[:n_neighbours]].tolist()
    votes = np.bincount(codes[labelled], weights[labelled], labels.n_classes)
    return Explanation(
        row=row,
        given_label=None if codes[row] == NO_LABEL else names[codes[row]],
        classes=labels.classes,
        votes=np.asarray(votes, np.float64),
        voters=labels.sizes,
        own_vote=float(weights[row]),
        neighbours=tuple(Neighbour(i, names[codes[i]], float(weights[i])) for i in nearest),
    )
