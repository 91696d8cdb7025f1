"""Why a label is outvoted: the training rows that speak for each class at one row.

With the softmax linearised, round t is label averaging (Theorem 3.1, see `twohot.theory`): at row i
the output for class k is

    y_i[k] = votes[k] + (1 - Σ_l votes[l]) / K,      votes[k] = Σ_{j labelled k} weight(i, j),

so that every training row has a weight, its vote for its own label. With S = Σ_j x_j x_jᵀ over the
rows that have a label, S = V diag(λ) Vᵀ and x = ridge,

    weight(i, j) = x_iᵀ V diag(h) Vᵀ x_j,      h = λᵗ⁻¹ / (x + λ)ᵗ.

This is row i of [Φ (x I + Φ)⁻¹]ᵗ, Φ the Gram matrix, which is never formed: the set-up is one pass
and a d × d eigenproblem (N × N where there are fewer rows than features), and a row asked for then
costs one product with all rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike, NDArray

from twohot._checks.numbers import check_count, check_positive
from twohot._types import FloatArray, IntArray, Matrix
from twohot.audit._rows import LabelledRows, check_labelled_rows
from twohot.distill.estimators import STUDENT_RIDGE
from twohot.rows.preparation import FeatureSet, fit_preparation
from twohot.rows.span import reduce_rows
from twohot.rows.threads import Terms, count_jobs, map_blocks, sum_over_blocks

# Weights held at once: some rows asked for times all training rows, 32 MB.
CHUNK_WEIGHTS = 2**22


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A training row and what it says about another."""

    row: int  # its place in X
    label: Any  # its given label
    weight: float  # its vote for this label; below zero it speaks against it


@dataclass(frozen=True, eq=False)
class Explanation:
    """Who voted for what at one row; `str` of it says so in words."""

    row: int  # its place in X
    given_label: Any  # None if the row has none
    classes: NDArray[Any]  # (n_classes,)
    votes: FloatArray  # (n_classes,), sum of the weights of the rows with each label
    voters: IntArray  # (n_classes,), number of rows with each label
    own_vote: float  # what the row's own label adds to votes; 0 without one
    neighbours: tuple[Neighbour, ...]  # the other rows of largest weight, largest first

    @property
    def outputs(self) -> FloatArray:
        """(n_classes,) what the theory predicts as output of the probe; they sum to one."""
        return np.asarray(self.votes + (1 - self.votes.sum()) / len(self.votes))

    @property
    def winner(self) -> Any:
        """The label with the most votes."""
        return self.classes.tolist()[int(self.votes.argmax())]

    def __str__(self) -> str:
        """Return the vote in words."""
        names = self.classes.tolist()
        best = int(self.votes.argmax())
        text = (
            f"row {self.row}: label {names[best]!r} got {self.votes[best]:.3f} "
            f"from {self.voters[best]} rows"
        )
        if self.given_label is None:
            return text
        given = names.index(self.given_label)
        what = (
            "which is the given label"
            if given == best
            else (
                f"the given label {self.given_label!r} got {self.votes[given]:.3f} "
                f"from {self.voters[given]}"
            )
        )
        return f"{text}, {what} ({self.own_vote:.3f} of it from this row itself)"


def explain_label(
    X: Matrix,
    y: ArrayLike,
    rows: ArrayLike,
    *,
    ridge: float = STUDENT_RIDGE,
    n_rounds: int = 1,
    n_neighbours: int = 10,
    center: bool = True,
    normalize: bool = True,
    n_jobs: int | None = None,
) -> list[Explanation]:
    """Say which training rows speak for which label at the rows asked for.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        Given labels; a row of None, NaN or "" has none, votes for nothing, and may be asked for.
    rows : array of int
        Places in X of the rows to explain.
    ridge : float
        Strength of the penalty, as for the probes; a row's own label weighs less the larger it is.
    n_rounds : int
        1 explains the teacher, 2 and up the students.
    n_neighbours : int
        How many other rows to name.
    center, normalize : bool
        Whether rows are centred by the mean of the labelled ones, and scaled to unit norm.
    n_jobs : int, optional
        Threads; by default all cores. The result is the same for any number.

    Returns
    -------
    list of Explanation
        One for each row asked for, in their order.

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
    data = check_labelled_rows(X, y)
    asked = check_asked_rows(rows, len(data.labels))
    strength = check_positive("ridge", ridge)
    n_rounds = check_count("n_rounds", n_rounds, 1)
    n_neighbours = check_count("n_neighbours", n_neighbours, 0)
    features = _prepared(data, center=center, normalize=normalize)
    weights = _AveragingWeights(features, data.labelled, strength, n_rounds, count_jobs(n_jobs))
    return [
        _explain(data, row, found, n_neighbours)
        for row, found in zip(asked.tolist(), weights.of(asked), strict=True)
    ]


def check_asked_rows(rows: ArrayLike, n_rows: int) -> IntArray:
    """Return places of rows, one dimension, each from 0 to n_rows - 1."""
    asked = np.asarray(rows)
    if asked.size == 0:
        return np.zeros(0, dtype=np.intp)
    if asked.ndim != 1 or asked.dtype.kind not in "iu":
        raise ValueError(
            f"rows has shape {asked.shape} and dtype {asked.dtype}: pass places of rows, integers "
            "in one dimension (np.flatnonzero of a mask)."
        )
    outside = asked[(asked < 0) | (asked >= n_rows)]
    if outside.size:
        raise ValueError(
            f"rows asks for row {outside[0]} of {n_rows}: pass integers from 0 to {n_rows - 1}."
        )
    return asked.astype(np.intp)


def _prepared(data: LabelledRows, *, center: bool, normalize: bool) -> FeatureSet:
    """Return the rows as a probe sees them, in at most as many coordinates as there are rows."""
    weights = data.weights
    features = FeatureSet(
        data.X,
        fit_preparation(data.X, center=center, normalize=normalize, weights=weights),
        dtype=np.dtype(np.float64),
        n_classes=data.n_classes,
        weights=weights,
    )
    few = features.n_samples < features.n_columns
    return reduce_rows(features).features if few else features


class _AveragingWeights:
    """Rows of the averaging matrix: the weight of every training row at the rows asked for."""

    def __init__(
        self,
        features: FeatureSet,
        labelled: NDArray[np.bool_],
        ridge: float,
        n_rounds: int,
        n_jobs: int,
    ) -> None:
        self.features, self.labelled, self.n_jobs = features, labelled, n_jobs

        def terms_of(block: int) -> Terms:
            x = features.block(block).prepared()[labelled[features.rows(block)]]
            return (x.T @ x,)

        (moment,) = sum_over_blocks(terms_of, features.n_blocks, n_jobs)
        # The probes scale a ridge by the mean squared norm, 1 for rows of unit norm.
        penalty = ridge * float(np.trace(moment)) / int(labelled.sum()) or 1.0
        eigenvalues, axes = sl.eigh(moment, overwrite_a=True)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        factors = (eigenvalues / (penalty + eigenvalues)) ** (n_rounds - 1)
        self.filter = (axes * (factors / (penalty + eigenvalues))) @ axes.T  # V diag(h) Vᵀ

    def of(self, asked: IntArray) -> Iterator[FloatArray]:
        """Yield the weights (n_rows,) at each row asked for; zero for rows without a label."""
        size = max(1, CHUNK_WEIGHTS // self.features.n_samples)
        for first in range(0, len(asked), size):
            yield from self._chunk(asked[first : first + size])

    def _chunk(self, asked: IntArray) -> FloatArray:
        features = self.features
        place = asked // features.block_rows
        x = np.empty((len(asked), features.n_columns))
        for block in np.unique(place):
            inside = place == block
            first = features.rows(int(block)).start
            x[inside] = features.block(int(block)).prepared()[asked[inside] - first]
        projected = x @ self.filter

        def terms_of(block: int) -> Terms:
            return (projected @ features.block(block).prepared().T,)

        blocks = map_blocks(terms_of, features.n_blocks, self.n_jobs)
        weights = np.concatenate([terms[0] for terms in blocks], axis=1)
        return np.where(self.labelled, weights, 0.0)


def _explain(data: LabelledRows, row: int, weights: FloatArray, n_neighbours: int) -> Explanation:
    """Count the votes of one row."""
    voting = data.labelled
    labels, names = data.labels, data.classes.tolist()
    others = np.flatnonzero(voting & (np.arange(len(labels)) != row))
    # Largest weight first, between equals the earlier row.
    nearest = others[np.argsort(-weights[others], kind="stable")[:n_neighbours]]
    return Explanation(
        row=row,
        given_label=names[labels[row]] if labels[row] >= 0 else None,
        classes=data.classes,
        votes=np.asarray(np.bincount(labels[voting], weights[voting], data.n_classes), np.float64),
        voters=np.bincount(labels[voting], None, data.n_classes),
        own_vote=float(weights[row]),
        neighbours=tuple(
            Neighbour(int(place), names[labels[place]], float(weights[place])) for place in nearest
        ),
    )
