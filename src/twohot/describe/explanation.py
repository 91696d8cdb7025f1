"""Explain a prediction by the votes of training rows for their labels.

The softmax is linearised. Round t is then label averaging (Theorem 3.1, see `twohot.theory`): at
row i the output for class k is

    y_i[k] = votes[k] + (1 - Σ_l votes[l]) / K,      votes[k] = Σ_{j labelled k} weight(i, j),

so that the weight of each training row is its vote for its given label. With S = Σ_j x_j x_jᵀ over
the rows that have a label, S = V diag(λ) Vᵀ and penalty p (the ridge times the mean of ‖x_j‖²),

    weight(i, j) = x_iᵀ V diag(h) Vᵀ x_j,      h = λᵗ⁻¹ / (p + λ)ᵗ.

This is row i of [Φ (p I + Φ)⁻¹]ᵗ. The Gram matrix Φ is never formed. The set-up needs one pass
and a d × d eigenproblem (N × N if there are fewer rows than features). Each requested row then
costs one product with all rows.
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

# Maximum weights in memory (requested rows times training rows), 32 MB.
CHUNK_WEIGHTS = 2**22


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A training row and its vote for its label when another row is predicted."""

    row: int  # position in X
    label: Any  # its given label
    weight: float  # its vote for this label; may be negative


@dataclass(frozen=True, eq=False)
class Explanation:
    """Votes of the training rows for each class of one row; `str` returns a summary in words."""

    row: int  # position in X
    given_label: Any  # None if the row has none
    classes: NDArray[Any]  # (n_classes,)
    votes: FloatArray  # (n_classes,), sum of the weights of the rows with each label
    voters: IntArray  # (n_classes,), number of rows with each label
    own_vote: float  # vote of the explained row for its given label; 0 without a label
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
        best = int(self.votes.argmax())
        won = f"{self.votes[best]:.3f} from {counted(self.voters[best], 'row')}"
        text = f"row {self.row}: label {self.winner!r} got {won}"
        if self.given_label is None:
            return text
        given, what = self.classes.tolist().index(self.given_label), "which is the given label"
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
    """Return for each requested row the votes of the training rows for each label.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame of shape (n_rows, n_features)
    y : array, list, series or Labels of shape (n_rows,)
        Given labels. Rows without a label (None, NaN, NA, empty or blank text) do not vote, but
        may be requested.
    rows : array of int
        Positions in X of the rows to explain.
    ridge : float
        Strength of the penalty, as for the probes. With a larger value, the label of the explained
        row itself has less weight.
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
    """Yield the weights (n_rows,) at each requested row; zero for rows without a label."""
    # If there are fewer rows than columns, work in the span of the rows.
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
    """Return Σ x xᵀ over the labelled rows of a block; a kernel for a pass over the rows."""
    x = block.prepared()[block.columns["labelled"]]
    return (x.T @ x,)


def products_at(
    rows: Rows, asked: IntArray, metric: FloatArray | None = None
) -> Iterator[FloatArray]:
    """Yield x_iᵀ M x_j (n_rows,) for each requested row i and all rows j; M is I by default."""
    size = max(1, CHUNK_WEIGHTS // rows.n_samples)
    for first in range(0, len(asked), size):
        chosen = rows.in_memory(asked[first : first + size]).X
        weighted = chosen if metric is None else chosen @ metric
        yield from np.concatenate(list(rows.map(products_with, weighted))).T


def _check_asked_rows(rows: ArrayLike, n_rows: int) -> IntArray:
    """Return the positions of the requested rows; raise unless each is from 0 to n_rows - 1."""
    asked = np.asarray(rows)
    if asked.size == 0:
        return np.zeros(0, dtype=np.intp)
    if asked.ndim != 1 or asked.dtype.kind not in "iu":
        problem = f"has shape {asked.shape} and dtype {asked.dtype}"
        advice = "pass positions of rows: integers in one dimension (np.flatnonzero of a mask)."
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
    # The largest weight first; ties: the earlier row.
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
