"""Corruption matrices, and noisy labels that follow such a matrix.

A corruption matrix C contains the probability of each given label in each true class:

    C[k, k'] = fraction of the samples of true class k whose given label is k'.

Rows sum to one. With K classes and noise rate η, the diagonal is 1 - η. In row k, the other entries
are

    symmetric    η / (K - 1)
    asymmetric   2η / K in column confused_with[k], η / K in the other columns
    pair flip    η in column confused_with[k], 0 in the other columns
    superclass   η / (size - 1) in columns of the same superclass, 0 in the other columns

where `size` is the number of classes of the superclass.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from twohot.base import (
    FloatArray,
    IntArray,
    Labels,
    RandomState,
    check_confused_with,
    check_corruption,
    check_count,
    check_generator,
    check_real,
    check_some_labelled,
    check_superclass,
    check_within,
    code_labels,
)


@dataclass(frozen=True, eq=False)
class Corrupted:
    """Labels after corruption, and a record of the changes."""

    given_labels: NDArray[Any]  # (n_samples,), noisy labels for training; None: no label
    flipped: NDArray[np.bool_]  # (n_samples,), whether the given label differs from the true label
    corruption: NDArray[np.float64]  # (n_classes, n_classes), counts divided by their row sums
    counts: NDArray[np.int64]  # (n_classes, n_classes), samples by true class and given label
    classes: NDArray[Any]  # (n_classes,), the label of each row and column of the matrices

    @property
    def noise_rate(self) -> float:
        """Fraction of given labels that differ from the true labels."""
        return float(self.flipped.sum() / self.counts.sum())


# Corruption matrices ------------------------------------------------------------------------------


def symmetric(n_classes: int, noise_rate: float) -> NDArray[np.float64]:
    """Return the corruption matrix in which all wrong labels of a class are equally likely.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    noise_rate : float
        Fraction of labels that change, from 0 to 1.

    Returns
    -------
    array of shape (n_classes, n_classes)
        Row true class, column given label.

    Examples
    --------
    >>> symmetric(3, 0.5)
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """
    one_superclass = np.zeros(check_count("n_classes", n_classes, 2), dtype=int)
    return superclass_noise(one_superclass, noise_rate)


def asymmetric(
    n_classes: int, noise_rate: float, confused_with: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the corruption matrix in which one wrong label is twice as likely as the others.

    Parameters
    ----------
    n_classes, noise_rate
        As for `symmetric`.
    confused_with : array of shape (n_classes,), optional
        For each class, its most likely wrong label. By default it is the next class, and for the
        last class the first. If the true classes are balanced, the given labels are balanced only
        if `confused_with` is a permutation.

    Returns
    -------
    array of shape (n_classes, n_classes), as for `symmetric`

    Examples
    --------
    >>> asymmetric(3, 0.6)
    array([[0.4, 0.4, 0.2],
           [0.2, 0.4, 0.4],
           [0.4, 0.2, 0.4]])
    """
    n_classes = check_count("n_classes", n_classes, 2)
    noise_rate = check_within("noise_rate", noise_rate, 0, 1)
    corruption = np.full((n_classes, n_classes), noise_rate / n_classes)
    corruption[np.arange(n_classes), check_confused_with(n_classes, confused_with)] *= 2
    np.fill_diagonal(corruption, 1 - noise_rate)
    return corruption


def pair_flip(
    n_classes: int, noise_rate: float, confused_with: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the corruption matrix in which each class has only one wrong label.

    Parameters
    ----------
    n_classes, noise_rate
        As for `symmetric`.
    confused_with : array of shape (n_classes,), optional
        The wrong label of each class. By default it is the next class, and for the last class the
        first.

    Returns
    -------
    array of shape (n_classes, n_classes), as for `symmetric`

    Examples
    --------
    >>> pair_flip(3, 0.25, confused_with=[1, 0, 0])
    array([[0.75, 0.25, 0.  ],
           [0.25, 0.75, 0.  ],
           [0.25, 0.  , 0.75]])
    """
    n_classes = check_count("n_classes", n_classes, 2)
    noise_rate = check_within("noise_rate", noise_rate, 0, 1)
    corruption = (1 - noise_rate) * np.eye(n_classes)
    corruption[np.arange(n_classes), check_confused_with(n_classes, confused_with)] = noise_rate
    return corruption


def superclass_noise(superclass: ArrayLike, noise_rate: float) -> NDArray[np.float64]:
    """Return the corruption matrix in which wrong labels stay within the superclass.

    Parameters
    ----------
    superclass : array of shape (n_classes,)
        The superclass of each class, numbered 0, 1, … without gaps.
    noise_rate : float
        Fraction of labels that change, from 0 to 1. If a superclass has one class, the labels of
        this class do not change.

    Returns
    -------
    array of shape (n_classes, n_classes), as for `symmetric`

    Examples
    --------
    >>> superclass_noise([0, 0, 1], 0.5)
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    noise_rate = check_within("noise_rate", noise_rate, 0, 1)
    superclass = check_superclass(superclass)
    size = np.bincount(superclass)[superclass]
    rate = np.where(size > 1, noise_rate, 0.0)
    same_superclass = superclass[:, np.newaxis] == superclass
    corruption = same_superclass * (rate / np.maximum(size - 1, 1))[:, np.newaxis]
    np.fill_diagonal(corruption, 1 - rate)
    return np.asarray(corruption)


# Labels that follow a matrix ----------------------------------------------------------------------


def corrupt_labels(
    labels: ArrayLike,
    corruption: ArrayLike,
    *,
    exact: bool = False,
    random_state: RandomState = None,
    classes: ArrayLike | None = None,
) -> Corrupted:
    """Return labels that follow a corruption matrix.

    Parameters
    ----------
    labels : array, list or series of shape (n_samples,)
        True labels: integers or text. Samples without a label (None, NaN, empty) stay unlabelled.
    corruption : array of shape (n_classes, n_classes)
        Corruption matrix: row true class, column given label. Rows sum to one.
    exact : bool, default False
        If False, the given label of each sample is drawn independently, with the probabilities in
        the row of its true class. If True, two kinds of counts are their expectations, rounded up
        or down: of samples with true class k and given label k', and of samples with given label
        k'. Then only the rounding and the choice of the samples are random.
    random_state : int, numpy.random.Generator or None
        The same seed gives the same labels.
    classes : array of shape (n_classes,), optional
        The label of each row of `corruption`; by default the sorted distinct labels. Pass `classes`
        if a class has no sample, or if the rows of `corruption` have another order.

    Returns
    -------
    Corrupted
        `given_labels`, the mask `flipped`, `counts` by true class and given label, `classes`, and
        `corruption`, the counts divided by the size of the true class. If a class has no samples,
        its row of `corruption` is the row of the argument.

    Examples
    --------
    >>> corrupted = corrupt_labels(
    ...     ["cat"] * 4 + ["dog"] * 4, symmetric(2, 0.25), exact=True, random_state=0
    ... )
    >>> corrupted.counts
    array([[3, 1],
           [1, 3]])
    >>> corrupted.noise_rate
    0.25
    """
    true = code_labels(labels, name="labels", classes=classes)
    check_some_labelled(true, "pass one label per sample.", name="labels")
    check_real("corruption", corruption)
    matrix = check_corruption(corruption, true.n_classes)
    generator = check_generator(random_state)
    if exact:
        counts = controlled_rounding(true.sizes[:, np.newaxis] * matrix, true.sizes, generator)
    else:
        # Independent draws are multinomial counts in random order.
        counts = generator.multinomial(true.sizes, matrix)
    shuffled = generator.permutation(np.flatnonzero(true.labelled))
    by_class = shuffled[np.argsort(true.codes[shuffled], kind="stable")]
    given = true.codes.copy()
    given[by_class] = np.repeat(np.tile(np.arange(len(counts)), len(counts)), counts.ravel())
    return corrupted_to(true, given, matrix)


def corrupted_to(true: Labels, given: IntArray, matrix: FloatArray) -> Corrupted:
    """Return the record of the changes; a class without samples gets its row of `matrix`."""
    counts = np.zeros((true.n_classes, true.n_classes), dtype=np.int64)
    np.add.at(counts, (true.codes[true.labelled], given[true.labelled]), 1)
    sizes = true.sizes[:, np.newaxis]
    corruption = np.divide(counts, sizes, out=np.array(matrix), where=sizes > 0)
    given_labels = Labels(given, true.classes).values
    return Corrupted(given_labels, given != true.codes, corruption, counts, true.classes)


# Controlled rounding: round a table of expected counts, but keep its row and column sums ----------
# Given expected counts E (n_rows, n_columns) whose row sums are whole, find whole counts X with
#
#     X[i, j]        the floor or the ceiling of E[i, j],
#     Σ_j X[i, j]  = Σ_j E[i, j],
#     Σ_i X[i, j]    the floor or the ceiling of Σ_i E[i, j].
#
# Such an X exists for every E: the remainders E - floor(E) are a fractional flow from rows to
# columns, through arcs of capacity one. If a flow problem with whole capacities has a fractional
# solution, it also has a whole solution.
#
# A maximum flow alone finds such an X, but it may round up cells with small remainders. So there
# are two steps. `_diffuse` rounds row after row, and adds the rounding errors of each column to the
# next row. Then the probability that a cell is rounded up is near its remainder, and column sums
# are nearly right. `_repair` corrects the column sums by a maximum flow.

# An expected count at most this far from a whole number counts as whole. The value is far above the
# rounding error of n_per_class * corruption. It is so small that the errors of 1000 × 1000 cells
# sum to less than one, so that the flow problem with whole capacities has a solution.
WHOLE = 1e-7


def controlled_rounding(
    expected: FloatArray, row_sums: IntArray, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return whole counts X for the expected counts E; `row_sums` are the row sums of both."""
    floor = np.floor(expected + WHOLE)
    remainder = expected - floor
    remainder[remainder < WHOLE] = 0.0
    counts: NDArray[np.int64] = floor.astype(np.int64)
    rounded_up = _diffuse(remainder, row_sums - counts.sum(axis=1), generator)
    return counts + _repair(remainder, rounded_up)


def _diffuse(
    remainder: FloatArray, n_up: IntArray, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Round up `n_up[i]` cells of each row i; return 1 for these cells, and 0 for the others."""
    rounded_up = np.zeros(remainder.shape, dtype=np.int64)
    # The initial errors are random, so that the first rows do not always favour the same columns.
    error = generator.uniform(-0.5, 0.5, remainder.shape[1])
    for row in generator.permutation(len(remainder)):
        claim = np.where(remainder[row] > 0, remainder[row] + error, -np.inf)
        if n_up[row] > 0:
            rounded_up[row, np.argpartition(-claim, n_up[row] - 1)[: n_up[row]]] = 1
        error += remainder[row] - rounded_up[row]
    return rounded_up


def _repair(remainder: FloatArray, rounded_up: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rounding, changed so that column sums are the floor or ceiling of expectations.

    A cell (row, column) that is rounded up has one unit. A maximum flow moves units within rows.
    Units flow from the source to the columns, and from a column to the sink if the column keeps the
    unit. A column has arcs to the rows in which its cell is rounded up. A row has arcs to the
    columns whose cell in this row is rounded down. If a unit flows from a column to a row and on to
    another column, it moves from the first column to the second.
    """
    n_rows, n_columns = remainder.shape
    column_sums = rounded_up.sum(axis=0)
    # n_rows · WHOLE is an upper bound of the error in the sum of a column of remainders.
    slack = n_rows * WHOLE
    lowest = np.floor(remainder.sum(axis=0) + slack).astype(np.int64)
    highest = np.ceil(remainder.sum(axis=0) - slack).astype(np.int64)
    if np.all((lowest <= column_sums) & (column_sums <= highest)):
        return rounded_up

    columns = n_rows + np.arange(n_columns)
    source, sink, above_floor = n_rows + n_columns + np.arange(3)
    row, column = np.nonzero(remainder)
    is_up = rounded_up[row, column] > 0
    arcs: list[tuple[ArrayLike, ArrayLike, ArrayLike]] = [  # tail, head, capacity
        (*np.where(is_up, (columns[column], row), (row, columns[column])), 1),
        (source, columns, column_sums),
        (columns, sink, lowest),
        # Units above the floors of the column sums share one node. Its capacity is the number of
        # units minus the sum of the floors. So a flow of all units reaches every floor.
        (columns, above_floor, highest - lowest),
        (above_floor, sink, column_sums.sum() - lowest.sum()),
    ]
    listed = [np.reshape(np.broadcast_arrays(*arc), (3, -1)) for arc in arcs]
    # Older versions of scipy accept only int32 indices in a network.
    tail, head, capacity = np.hstack(listed).astype(np.int32)
    network = csr_array((capacity, (tail, head)), shape=(n_rows + n_columns + 3,) * 2)
    flow = maximum_flow(network, source, sink).flow
    # A flow from a row to a column rounds the cell up; a flow from column to row rounds it down.
    return np.asarray(rounded_up + flow[:n_rows, n_rows : n_rows + n_columns].toarray())
