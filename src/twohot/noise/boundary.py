"""Noise at class boundaries: a row that looks like another class can get the label of that class.

Let y be the true label of row i, and P[i, k] the probability of class k for this row, from a probe
that was fitted to the true labels of other rows. The label of row i changes with probability

    flip[i] = min(LARGEST_FLIP, c · ambiguity[i]),      ambiguity[i] = 1 + LEAST_AMBIGUITY - P[i, y]

with c such that mean(flip) = noise_rate. If the label changes, the new label is k ≠ y with
probability P[i, k] / (1 - P[i, y]). A corruption matrix cannot describe this noise, because the
probability of an error depends on the row, as it does with human annotators.
"""

import numpy as np
from numpy.typing import ArrayLike

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

# The largest probability that a label changes. It is below 1, so that no label is certainly wrong.
LARGEST_FLIP = 0.95
# The ambiguity of a row with P[i, y] = 1. It is above 0, so that no label is certainly right.
LEAST_AMBIGUITY = 0.05


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
    labels, random_state
        As for `corrupt_labels`.
    probabilities : array of shape (n_samples, n_classes)
        Probability of each class for each sample. Rows sum to one. The probabilities come from a
        probe that was fitted to the true labels of other samples:
        `twohot.judge.given.out_of_fold_probabilities` computes them.
    noise_rate : float
        Expected fraction of labels that change, from 0 to 0.95.
    classes : array of shape (n_classes,), optional
        The label of each column of `probabilities`. By default, the sorted distinct labels.

    Returns
    -------
    Corrupted
        The noisy labels, as from `corrupt_labels`. A class without samples has 1 on the diagonal of
        `corruption`.

    Notes
    -----
    If all other classes have probability zero for a sample, the sample keeps its label. The labels
    of other samples then change more often, so that the expected rate is still `noise_rate`.

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
    >>> of_true_label = probabilities[np.arange(len(y)), y]
    >>> bool(of_true_label[noisy.flipped].mean() < of_true_label[~noisy.flipped].mean())
    True
    """
    true = code_labels(labels, name="labels", classes=classes)
    check_some_labelled(true, "pass one label per sample.", name="labels")
    rows = _check_probabilities(probabilities, len(true.codes), true.n_classes)[true.labelled]
    noise_rate = check_within("noise_rate", noise_rate, 0, LARGEST_FLIP)
    generator = check_generator(random_state)
    codes = true.codes[true.labelled]
    flipped = generator.random(len(codes)) < flip_probabilities(rows, codes, noise_rate)
    given = true.codes.copy()
    given[true.labelled] = np.where(flipped, _draw_other_class(rows, codes, generator), codes)
    return corrupted_to(true, given, np.eye(true.n_classes))


def flip_probabilities(probabilities: FloatArray, codes: IntArray, noise_rate: float) -> FloatArray:
    """Return the probability that each label changes; the mean of these is `noise_rate`."""
    of_label = probabilities[np.arange(len(codes)), codes]
    # A row can flip if a class other than its label has a positive probability. Sums of
    # probabilities cannot show this, because 1 plus a tiny probability is rounded to 1.
    can_flip = np.count_nonzero(probabilities, axis=1) > (of_label > 0)
    largest = LARGEST_FLIP * float(can_flip.mean())
    if noise_rate > largest:
        n_fixed = counted(int((~can_flip).sum()), "row")
        problem = f"cannot be reached because {n_fixed} have probability 0 for all other classes"
        advice = f"pass at most {largest:.6g}, or probabilities of a probe with a larger penalty."
        raise ArgumentError({"noise_rate": noise_rate}, problem, advice)
    flip = np.zeros(len(codes))
    flip[can_flip] = _capped(1 + LEAST_AMBIGUITY - of_label[can_flip], noise_rate * len(codes))
    return flip


def _capped(ambiguity: FloatArray, total: float) -> FloatArray:
    """Return min(LARGEST_FLIP, c · ambiguity), with c such that the sum is `total`.

    If the m most ambiguous rows have the probability LARGEST_FLIP, then

        c = (total - m · LARGEST_FLIP) / Σ ambiguity of the other rows.

    The right m is the smallest one for which c · ambiguity of the other rows is at most
    LARGEST_FLIP. c decreases with m, so the code tests all m at once, and counts the m that are too
    small.
    """
    if ambiguity.size == 0:
        return ambiguity
    largest_first = np.sort(ambiguity)[::-1]
    others = np.cumsum(largest_first[::-1])[::-1]
    c = (total - LARGEST_FLIP * np.arange(len(ambiguity))) / others
    m = int(np.count_nonzero(c * largest_first > LARGEST_FLIP))
    # By rounding, all m may be too small, or a result may exceed LARGEST_FLIP in its last digit.
    return np.asarray(np.minimum(LARGEST_FLIP, c[min(m, len(c) - 1)] * ambiguity))


def _draw_other_class(
    probabilities: FloatArray, codes: IntArray, generator: np.random.Generator
) -> IntArray:
    """Draw for each row a class other than its label, with the probabilities of the row."""
    with np.errstate(divide="ignore"):
        logits = np.log(probabilities)
    logits[np.arange(len(codes)), codes] = -np.inf
    # The argmax of logits plus Gumbel noise is a draw from the softmax of the logits.
    return np.asarray(np.argmax(logits + generator.gumbel(size=logits.shape), axis=1))


def _check_probabilities(probabilities: ArrayLike, n_samples: int, n_classes: int) -> FloatArray:
    """Return probabilities as float64; raise unless each sample has one row that sums to one."""
    check_real("probabilities", probabilities)
    rows = check_soft_targets(
        as_array(probabilities), n_samples, name="probabilities", beside="labels"
    ).astype(np.float64)
    if rows.shape[1] != n_classes:
        columns = counted(rows.shape[1], "column")
        problem = f"has {columns} for {counted(n_classes, 'class', 'classes')}"
        advice = "pass one column per class. If a class has no sample, pass all as {classes}."
        raise ArgumentError("probabilities", problem, advice, classes=...)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
