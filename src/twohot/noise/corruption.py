"""Corruption matrices, and labels that follow one.

A corruption matrix C says how often a sample of each class is given each label:

    C[k, k'] = share of the samples of true class k whose given label is k'.

Rows sum to one. With K classes and noise rate η the diagonal is 1 - η, and off it stands

    symmetric    η / (K - 1)
    asymmetric   2η / K at confused_with[k], η / K elsewhere
    pair flip    η at confused_with[k], 0 elsewhere
    superclass   η / (size - 1) on the other classes of the same superclass, 0 elsewhere
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot._checks.classes import (
    RandomState,
    check_confused_with,
    check_corruption,
    check_generator,
    check_superclass,
)
from twohot._checks.labels import Labels, check_some_labelled, code_labels
from twohot._checks.numbers import check_count, check_within
from twohot._types import IntArray
from twohot.noise.controlled_rounding import controlled_rounding


@dataclass(frozen=True, eq=False)
class Corrupted:
    """Labels after corruption, and what happened to them."""

    given_labels: NDArray[Any]  # (n_samples,), what a learner sees; None where there is no label
    flipped: NDArray[np.bool_]  # (n_samples,), given label differs from true label
    corruption: NDArray[np.float64]  # (n_classes, n_classes), realised; see corrupt_labels
    counts: NDArray[np.int64]  # (n_classes, n_classes), samples by true class and given label
    classes: NDArray[Any]  # (n_classes,), the label of each row and column

    @property
    def noise_rate(self) -> float:
        """Share of the labels that differ from the true ones."""
        return float(self.flipped.sum() / self.counts.sum())


def symmetric(n_classes: int, noise_rate: float) -> NDArray[np.float64]:
    """Return the matrix of noise that falls on all other classes alike.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    noise_rate : float
        Share of the labels that change, from 0 to 1.

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
    """Return the matrix of noise that falls on one other class twice as often as on the rest.

    Parameters
    ----------
    n_classes, noise_rate
        As for `symmetric`.
    confused_with : array of shape (n_classes,), optional
        The class each class is most often taken for; by default the next one, and the first for
        the last. Given labels stay balanced only if it is a permutation.

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
    """Return the matrix of noise that takes each class for one other class only.

    Parameters
    ----------
    n_classes, noise_rate
        As for `symmetric`.
    confused_with : array of shape (n_classes,), optional
        The class each class is taken for; by default the next one, and the first for the last.

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
    """Return the matrix of noise that stays inside superclasses.

    Parameters
    ----------
    superclass : array of shape (n_classes,)
        The superclass of each class, numbered 0, 1, … without a hole.
    noise_rate : float
        Share of the labels that change, from 0 to 1. A superclass of one class stays clean.

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
    # A class alone has nobody to be taken for: its rate is zero, and so is any share of it.
    rate = np.where(size > 1, noise_rate, 0.0)
    same_superclass = superclass[:, np.newaxis] == superclass
    share = rate / np.maximum(size - 1, 1)
    corruption: NDArray[np.float64] = same_superclass * share[:, np.newaxis]
    np.fill_diagonal(corruption, 1 - rate)
    return corruption


def corrupt_labels(
    labels: ArrayLike,
    corruption: ArrayLike,
    *,
    exact: bool = False,
    random_state: RandomState = None,
    classes: ArrayLike | None = None,
) -> Corrupted:
    """Give labels that follow a corruption matrix.

    Parameters
    ----------
    labels : array, list or series of shape (n_samples,)
        True labels: integers or text. Samples without a label (None, NaN, empty) stay without.
    corruption : array of shape (n_classes, n_classes)
        Row true class, column given label; rows sum to one.
    exact : bool, default False
        False draws each given label independently from the row of its true class. True fixes the
        counts: every number of samples of class k given label k' is its expectation rounded up or
        down, and so is every number of samples given label k'. Equally large classes stay equally
        large if the columns of `corruption` sum to one as well. Chance only decides which samples
        of a class get which label, and which of the expectations that are not whole go up.
    random_state : int, numpy.random.Generator or None
        The same seed gives the same labels.
    classes : array of shape (n_classes,), optional
        The label of each row of `corruption`; by default the labels that occur, in order. Needed
        where a class has no sample or another order is meant.

    Returns
    -------
    Corrupted
        `given_labels`, the mask `flipped`, the realised `corruption` (fractions of each true
        class; a class without samples keeps the row asked for), its integer `counts`, `classes`.

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
    asked = check_corruption(corruption, true.n_classes)
    generator = check_generator(random_state)
    class_sizes = true.sizes
    if exact:
        counts = controlled_rounding(class_sizes[:, np.newaxis] * asked, class_sizes, generator)
    else:
        # Independent draws are multinomial counts in random order.
        counts = generator.multinomial(class_sizes, asked)
    given = true.codes.copy()
    given[true.labelled] = _in_random_order(true.codes[true.labelled], counts, generator)
    return corrupted_to(true, given, asked)


def corrupted_to(true: Labels, given: IntArray, asked: NDArray[np.float64]) -> Corrupted:
    """Return the record of labels that became others; a class without samples keeps its row asked.

    Examples
    --------
    >>> true = Labels(np.array([0, 0, 1]), np.array(["cat", "dog"]))
    >>> corrupted_to(true, np.array([0, 1, 1]), np.eye(2)).corruption
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    counts = np.zeros((true.n_classes, true.n_classes), dtype=np.int64)
    np.add.at(counts, (true.codes[true.labelled], given[true.labelled]), 1)
    sampled = true.sizes > 0
    realised = asked.copy()
    realised[sampled] = counts[sampled] / true.sizes[sampled, np.newaxis]
    given_labels = Labels(given, true.classes).values
    return Corrupted(given_labels, given != true.codes, realised, counts, true.classes)


def _in_random_order(
    true_index: IntArray, counts: NDArray[np.int64], generator: np.random.Generator
) -> IntArray:
    """Hand out `counts[k, k']` labels k' to the samples of each class k, at random."""
    shuffled = generator.permutation(len(true_index))
    by_class = shuffled[np.argsort(true_index[shuffled], kind="stable")]
    given_index = np.empty_like(true_index)
    given_index[by_class] = np.repeat(np.tile(np.arange(len(counts)), len(counts)), counts.ravel())
    return given_index
