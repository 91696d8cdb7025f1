"""Noise at class boundaries: rows that look like another class get the label of that class.

Let y be the true label of row i. Let P[i, k] be the probability of class k for this row, by a probe
fitted to true labels of other rows. The label of row i changes with probability

    flip[i] = min(MOST, c · (1 + LEAST - P[i, y])),        c such that mean(flip) = noise_rate,

If it changes, the new label is k ≠ y with probability P[i, k] / (1 - P[i, y]). No corruption matrix
describes this noise: the probability of an error depends on the row, as with human annotators.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot.base import (
    ArgumentError,
    FloatArray,
    IntArray,
    RandomState,
    as_array,
    check_generator,
    check_real,
    check_soft_targets,
    check_some_labelled,
    check_within,
    code_labels,
    counted,
)
from twohot.noise.corruption import Corrupted, corrupted_to

# The largest probability that a label changes. Below 1, so no label is wrong with certainty.
MOST = 0.95
# The ambiguity of a row with P[i, y] = 1. Above 0, so no label is right with certainty.
LEAST = 0.05


def boundary_noise(
    labels: ArrayLike,
    probabilities: ArrayLike,
    noise_rate: float,
    *,
    random_state: RandomState = None,
    classes: ArrayLike | None = None,
) -> Corrupted:
    """Replace labels of rows near class boundaries by the label of a similar class.

    Parameters
    ----------
    labels : array, list or series of shape (n_samples,)
        True labels: integers or text. Samples without a label (None, NaN, empty) stay unlabelled.
    probabilities : array of shape (n_samples, n_classes)
        Probability of each class for each sample, from a probe fitted to true labels of other
        samples; rows sum to one. See `twohot.judge.given`.
    noise_rate : float
        Expected share of labels that change, from 0 to 0.95.
    random_state : int, numpy.random.Generator or None
        The same seed gives the same labels.
    classes : array of shape (n_classes,), optional
        The label of each column of `probabilities`; by default the labels that occur, in order.

    Returns
    -------
    Corrupted
        As `corrupt_labels` returns. A class without samples has 1 on the diagonal of `corruption`.

    Notes
    -----
    A sample keeps its label if all other classes have probability zero. The labels of other samples
    then change more often, so that the expected rate is `noise_rate`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import LinearProbe
    >>> from twohot.judge.given import out_of_fold_probabilities
    >>> X, y = load_digits(return_X_y=True)
    >>> probabilities = out_of_fold_probabilities(LinearProbe(ridge=4), X, y, random_state=0)
    >>> noisy = boundary_noise(y, probabilities, 0.2, random_state=0)
    >>> print(f"{noisy.noise_rate:.2f}")
    0.20
    >>> certain = probabilities[np.arange(len(y)), y]
    >>> bool(certain[noisy.flipped].mean() < certain[~noisy.flipped].mean())
    True
    """
    true = code_labels(labels, name="labels", classes=classes)
    check_some_labelled(true, "pass one label per sample.", name="labels")
    rows = _checked(probabilities, len(true.codes), true.n_classes)[true.labelled]
    noise_rate = check_within("noise_rate", noise_rate, 0, MOST)
    generator = check_generator(random_state)
    codes = true.codes[true.labelled]
    flip = flip_probabilities(rows, codes, noise_rate)
    flipped = generator.random(len(codes)) < flip
    given = true.codes.copy()
    given[true.labelled] = np.where(flipped, _other_class(rows, codes, generator), codes)
    return corrupted_to(true, given, np.eye(true.n_classes))


def flip_probabilities(
    probabilities: NDArray[np.float64], codes: IntArray, noise_rate: float
) -> NDArray[np.float64]:
    """Return for each label the probability that it changes; the mean is `noise_rate`."""
    certainty = probabilities[np.arange(len(codes)), codes]
    # Count positive entries: in a sum, tiny probabilities would be lost next to one.
    able = np.count_nonzero(probabilities, axis=1) > (certainty > 0)
    most = MOST * float(able.mean())
    if noise_rate > most:
        n_certain = counted(int((~able).sum()), "row")
        problem = f"cannot be reached because {n_certain} cannot have another class"
        advice = f"pass at most {most:.6g}, or the probabilities of a probe with a larger penalty."
        raise ArgumentError({"noise_rate": noise_rate}, problem, advice)
    flip = np.zeros(len(codes))
    flip[able] = _capped(1 + LEAST - certainty[able], noise_rate * len(codes))
    return flip


def _capped(ambiguity: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return min(MOST, c · ambiguity), with c such that the sum is `total`.

    If the m most ambiguous rows are at the bound MOST, then

        c = (total - m · MOST) / Σ ambiguity of the others,

    and m is the smallest number for which no other row exceeds MOST. Since c decreases with m, the
    code tests every m at once, and counts those that are too small.
    """
    if ambiguity.size == 0:
        return ambiguity
    largest_first = np.sort(ambiguity)[::-1]
    others = np.cumsum(largest_first[::-1])[::-1]
    scale = (total - MOST * np.arange(len(ambiguity))) / others
    n_bound = int(np.count_nonzero(scale * largest_first > MOST))
    # By rounding, the last row may exceed the bound by its last digit; the minimum corrects this.
    c = scale[min(n_bound, len(scale) - 1)]
    return np.asarray(np.minimum(MOST, c * ambiguity))


def _other_class(
    probabilities: NDArray[np.float64], codes: IntArray, generator: np.random.Generator
) -> IntArray:
    """Draw for each row a class other than its own, with the probabilities of this row."""
    with np.errstate(divide="ignore"):
        logits = np.log(probabilities)
    logits[np.arange(len(codes)), codes] = -np.inf
    # The argmax of logits plus Gumbel noise is a draw from their softmax.
    drawn: IntArray = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    return drawn


def _checked(probabilities: ArrayLike, n_samples: int, n_classes: int) -> NDArray[np.float64]:
    """Return probabilities with one row per sample and one column per class; rows sum to one."""
    check_real("probabilities", probabilities)
    found: FloatArray = check_soft_targets(
        as_array(probabilities), n_samples, name="probabilities", beside="labels"
    )
    if found.shape[1] != n_classes:
        columns = counted(found.shape[1], "column")
        problem = f"has {columns} for {counted(n_classes, 'class', 'classes')}"
        advice = "pass one column per class; pass the classes if some have no sample."
        raise ArgumentError("probabilities", problem, advice)
    exact = found.astype(np.float64)
    return np.asarray(exact / exact.sum(axis=1, keepdims=True))
