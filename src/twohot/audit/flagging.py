"""Which labels are wrong, given how likely each class is.

For a row with given label g and likeliest other class a, the odds that the label is wrong are

    log odds = log p_a - log p_g - caution(doubted)
    caution  = max(0, log((1 - doubted) / doubted) - log(.7 / .3))

where `doubted` is the share of labels with p_a > p_g. A label is an issue where the odds are above
one; its quality is 1 / (1 + odds). Where few labels are doubted, a class that is barely likelier
than the label is no evidence against it; from 30 % on, the likeliest class decides. The noise rate
is the share of issues, so that there is one count of errors.

How many of the flagged labels are truly wrong is another question. With the corruption C, counted
from the issues, Bayes' rule answers it for every row,

    P(label wrong) = 1 - p_g C_gg / Σ_k p_k C_kg.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from twohot._types import FloatArray, IntArray

# Noise rate from which on no caution is due: where the likeliest class is about as good a judge
# as any on every set of features and kind of noise that was measured.
NO_CAUTION_FROM = 0.3

# The probability below which all are alike; outputs in float32 reach zero.
LEAST_PROBABILITY = 1e-30

# Share of the labels of every class that may be any, for all that the counted corruption says.
UNCOUNTED = 0.005
# Turns of counting softly; after so many the expected precision moves by less than a point.
COUNTING_TURNS = 10

# Of two candidates whose probabilities differ by less than this factor neither is sure.
CLOSE = 2.0


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the outputs say about each row."""

    first: IntArray  # (n_rows,), the likeliest class
    second: IntArray  # (n_rows,), the next
    confidence: FloatArray  # (n_rows,), probability of the likeliest
    runner_up: FloatArray  # (n_rows,), probability of the next
    given: FloatArray  # (n_rows,), probability of the label; NaN without one
    margin: FloatArray  # (n_rows,), log p of the likeliest other class less that of the label


@dataclass(frozen=True, eq=False)
class LabelVerdict:
    """Which labels are wrong."""

    quality: FloatArray  # (n_rows,), in [0, 1]; NaN without a label
    is_issue: NDArray[np.bool_]  # (n_rows,)
    noise_rate: float  # share of the labelled rows that are issues


def weigh(probabilities: FloatArray, labels: IntArray) -> Evidence:
    """Return what probabilities (n_rows, n_classes) say; the margin is NaN where a label is -1."""
    rows = np.arange(len(labels))
    first = probabilities.argmax(axis=1)
    rest = probabilities.copy()
    rest[rows, first] = -1  # below any probability
    second = rest.argmax(axis=1)
    confidence, runner_up, given = (
        probabilities[rows, chosen].astype(np.float64) for chosen in (first, second, labels)
    )
    other = np.where(first == labels, runner_up, confidence)
    margin = np.log(np.maximum(other, LEAST_PROBABILITY))
    margin -= np.log(np.maximum(given, LEAST_PROBABILITY))
    margin[labels < 0] = given[labels < 0] = np.nan
    return Evidence(first, second, confidence, runner_up, given, margin)


def join(parts: list[Evidence]) -> Evidence:
    """Return the rows of several blocks as one."""
    names = [field.name for field in fields(Evidence)]
    return Evidence(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def decide(margin: FloatArray, eligible: NDArray[np.bool_]) -> LabelVerdict:
    """Return which labels are wrong; those that are not eligible are never issues."""
    considered = margin[eligible]
    doubted = np.count_nonzero(considered > 0) / max(1, len(considered))
    quality = expit(caution(doubted) - margin)
    issues = eligible & (quality < 0.5)
    n_labelled = np.count_nonzero(~np.isnan(margin))
    return LabelVerdict(quality, issues, np.count_nonzero(issues) / n_labelled)


def caution(doubted: float) -> float:
    """Return by how much, in log odds, another class must be likelier than the label.

    Examples
    --------
    >>> caution(0.5), round(caution(0.1), 2)
    (0.0, 1.35)
    """
    if doubted >= NO_CAUTION_FROM:
        return 0.0
    # No label that looks wrong: the caution that one in a million would call for.
    doubted = max(doubted, 1e-6)
    right = np.log((1 - doubted) / doubted)
    return float(right - np.log((1 - NO_CAUTION_FROM) / NO_CAUTION_FROM))


def most_doubtful(
    quality: FloatArray, eligible: NDArray[np.bool_], budget: int
) -> NDArray[np.bool_]:
    """Flag the rows of the lowest quality, as many as the budget allows."""
    flagged = np.zeros(len(quality), dtype=bool)
    order = np.argsort(np.where(eligible, quality, np.inf), kind="stable")
    flagged[order[: min(budget, int(eligible.sum()))]] = True
    return flagged


def precise(
    quality: FloatArray, doubt: FloatArray, eligible: NDArray[np.bool_], precision: float
) -> NDArray[np.bool_]:
    """Flag as many rows of the lowest quality as are wrong with this probability on average."""
    order = np.argsort(quality[eligible], kind="stable")
    expected = np.cumsum(doubt[eligible][order])
    kept = np.flatnonzero(expected >= precision * np.arange(1, len(order) + 1))
    return most_doubtful(quality, eligible, int(kept[-1]) + 1 if kept.size else 0)


def probability_wrong(
    evidence: Evidence, labels: IntArray, corruption: FloatArray, *, calibrated: bool
) -> FloatArray:
    """Return how probable it is that each label is wrong, NaN without one.

    `corruption` has one row per true class, one column per label. It was counted as if all
    suggestions were right. Calibrated probabilities let a row count for all classes it may be of,
    by turns with the probabilities that follow (expectation maximisation); those of a probe less
    sure than it could be would explain all noise away. Classes other than the label and the two
    likeliest are taken to be given the label as often as they are on average.
    """
    labelled = labels >= 0
    label = labels[labelled]
    likely = [(label, evidence.given[labelled])]
    pairs = (evidence.first, evidence.confidence), (evidence.second, evidence.runner_up)
    for found, probability in ((code[labelled], chance[labelled]) for code, chance in pairs):
        likely.append((found, np.where(found == label, 0, probability)))
    posterior = _posterior(likely, label, corruption)
    for _ in range(COUNTING_TURNS - 1 if calibrated else 0):
        counts = np.zeros_like(corruption)
        counts += np.bincount(label, posterior[-1], len(counts)) / (len(counts) - 1)
        np.fill_diagonal(counts, 0)
        for (found, _), share in zip(likely, posterior[:-1], strict=True):
            np.add.at(counts, (found, label), share)
        sizes = counts.sum(axis=1, keepdims=True)
        soft = np.divide(counts, sizes, out=corruption.copy(), where=sizes > 0)
        posterior = _posterior(likely, label, soft)
    doubt = np.full(len(labels), np.nan)
    doubt[labelled] = 1 - posterior[0]
    return doubt


def _posterior(
    likely: list[tuple[IntArray, FloatArray]], label: IntArray, corruption: FloatArray
) -> FloatArray:
    """Return how probable each of some classes is given the label, and in the last row the rest.

    `likely` holds classes and their probabilities, row by row; the result is (len(likely) + 1, n).
    """
    n_classes = len(corruption)
    matrix = (1 - UNCOUNTED) * corruption + UNCOUNTED / n_classes
    from_others = (matrix.sum(axis=0) - matrix.diagonal()) / (n_classes - 1)
    rest = np.maximum(1 - sum(probability for _, probability in likely), 0)
    joint = [probability * matrix[found, label] for found, probability in likely]
    joint.append(rest * from_others[label])
    return np.asarray(joint / np.sum(joint, axis=0))


def count_transitions(true: IntArray, given: IntArray, n_classes: int) -> FloatArray:
    """Return the share of each true class (row) that was given each label (column)."""
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (true, given), 1)
    sizes = counts.sum(axis=1, keepdims=True)
    # A class that no row is of has no noise to speak of.
    return np.where(sizes > 0, counts / np.maximum(sizes, 1), np.eye(n_classes))
