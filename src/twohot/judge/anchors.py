"""Anchor rows, and the noise matrix Q that is estimated from them.

    Q[k, g] = P(given label g | true class k)

The margin of a row is the difference between its two largest logits. The anchor rows of a predicted
class are the rows with the largest margins. There, classes do not overlap. So a label of an anchor
row that differs from the predicted class is wrong. The label counts among the anchor rows of class
k, shrunk towards a prior, estimate row k of Q. If the labels of anchor rows equal the predictions
more often at larger margins, then classes overlap even at the anchor rows.

Conventions
-----------
sure (n, K): logits from which anchor rows are chosen. codes (n,): given labels as numbers.
groups (n,): the group of each row, or None; rows of one group can be dependent. counts and Q
(K, K): one row per true class, one column per given label.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logit

from twohot.base import FloatArray, IntArray
from twohot.judge.label_model import (
    REFUTED,
    SMALLEST,
    design_effect,
    log_softmax,
    normal_quantile,
    pair_precision,
)

# Chosen: fraction of the rows of a predicted class that are its anchor rows. Any fraction from a
# tenth to a third flags the same labels within sampling error. With a smaller fraction, there are
# too few counts. With a larger fraction, anchor rows of different classes overlap.
ANCHOR_SHARE = 0.2


def anchor_rows(sure: FloatArray, share: float = ANCHOR_SHARE) -> tuple[IntArray, IntArray]:
    """Return the anchor rows and their predicted classes, by class, then by decreasing margin."""
    predicted = sure.argmax(axis=1)
    order = np.lexsort((-margins(sure), predicted))
    sizes = np.bincount(predicted, minlength=sure.shape[1])
    rank = np.arange(len(sure)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    most = np.maximum(1, (share * sizes).astype(np.intp))
    anchors = order[rank < most[predicted[order]]]
    return anchors, predicted[anchors]


def margins(sure: FloatArray) -> FloatArray:
    """Return the difference between the two largest logits of each row."""
    ordered = np.partition(sure, -2, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def anchor_counts(
    sure: FloatArray, codes: IntArray, weights: FloatArray | None, share: float = ANCHOR_SHARE
) -> FloatArray:
    """Return (K, K): entry [k, g] is the weight of all anchor rows of class k with label g."""
    n_classes = sure.shape[1]
    anchors, predicted = anchor_rows(sure, share)
    counts = np.zeros((n_classes, n_classes), pair_precision(n_classes))
    np.add.at(counts, (predicted, codes[anchors]), 1.0 if weights is None else weights[anchors])
    return counts


def agreement_rises(sure: FloatArray, codes: IntArray, groups: IntArray | None = None) -> float:
    """Test whether labels of anchor rows equal the predictions more often at larger margins.

    Return a z-score, the Mantel-Haenszel statistic over the classes. A label agrees if it equals
    the predicted class. The statistic is the number of agreeing labels in the half of the anchor
    rows with larger margins, minus the number expected if agreement does not depend on the margin.
    It is divided by its standard error: the standard error for independent rows, multiplied by the
    square root of the design effect of the groups (see `design_effect`).
    """
    anchors, predicted = anchor_rows(sure)
    agrees = (codes[anchors] == predicted).astype(np.float64)
    starts = np.flatnonzero(np.diff(predicted, prepend=-1))
    sizes = np.diff(starts, append=len(anchors))
    half = sizes // 2
    rank = np.arange(len(anchors)) - np.repeat(starts, sizes)
    is_surer = (rank < np.repeat(half, sizes)).astype(np.float64)
    total = np.add.reduceat(agrees, starts)
    surer = np.add.reduceat(agrees * is_surer, starts)
    spread = half * (sizes - half) * total * (sizes - total)
    scores = is_surer - np.repeat(half / sizes, sizes)
    scores *= agrees - np.repeat(total / sizes, sizes)
    variance = float((spread / (sizes**2 * np.maximum(sizes - 1, 1))).sum())
    own = None if groups is None else groups[anchors]
    # The test compares the means of the two halves. So the design effect is computed from the
    # deviations from these means.
    for each in (0, 1):
        in_half = is_surer == each
        scores[in_half] -= scores[in_half].mean() if in_half.any() else 0.0
    variance *= design_effect(scores, own)
    excess = float((surer - half * total / sizes).sum())
    return normal_quantile(excess / np.sqrt(variance), own) if variance > 0 else 0.0


def surest_rate(sure: FloatArray, codes: IntArray, groups: IntArray | None = None) -> float:
    """Return the fraction of labels that differ from the prediction, at the largest margins.

    The search starts with the rows of largest margins, a fraction ANCHOR_SHARE of all rows. It
    keeps only the half with larger margins, as long as labels equal the predictions more often in
    this half than in the other half, by a one-sided test at level 5 %. As a uniform prior, one
    equal and one different label are added to the final counts.
    """
    order = np.argsort(-margins(sure), kind="stable")
    agrees = (sure.argmax(axis=1) == codes)[order].astype(np.float64)
    own = None if groups is None else groups[order]
    n_rows = max(2, int(ANCHOR_SHARE * len(codes)))
    while n_rows >= 4:
        half = n_rows // 2
        gain = agrees[:half].mean() - agrees[half:n_rows].mean()
        rate = agrees[:n_rows].mean()
        scores = (agrees[:n_rows] - rate) * ((np.arange(n_rows) < half) - half / n_rows)
        variance = rate * (1 - rate) * (1 / half + 1 / (n_rows - half))
        variance *= design_effect(scores, None if own is None else own[:n_rows])
        error = np.sqrt(variance)
        if gain <= REFUTED * error:
            break
        n_rows = half
    return float((n_rows - agrees[:n_rows].sum() + 1) / (n_rows + 2))


def confusions(sure: FloatArray) -> FloatArray:
    """Return (K, K): entry [k, j] is the mean probability of class j in rows predicted as class k.

    The diagonal is zero, and each row is divided by its sum. Large entries mean similar classes.
    """
    n_classes, predicted = sure.shape[1], sure.argmax(axis=1)
    p = np.exp(log_softmax(sure.astype(np.float64)))
    # A class that is never predicted is equally similar to all other classes.
    spread = np.full((n_classes, n_classes), 1e-6, pair_precision(n_classes))
    order = np.argsort(predicted, kind="stable")
    present, starts = np.unique(predicted[order], return_index=True)
    spread[present] += np.add.reduceat(p[order], starts, axis=0)
    np.fill_diagonal(spread, 0)
    spread /= spread.sum(axis=1, keepdims=True)
    return spread


def shrink(counts: FloatArray, alike: FloatArray) -> FloatArray:
    """Return Q: the Dirichlet posterior mean of each row, given counts of anchor rows.

    The prior is a mixture of uniform noise and noise between similar classes, for which `alike` is
    the result of `confusions`. Noise rate, mixture weight and strength of the prior maximise the
    Dirichlet-multinomial evidence of all counts. The true label must be the most frequent label of
    each class: otherwise the classes could be permuted.
    """
    n_classes, sizes = len(counts), counts.sum(axis=1, dtype=np.float64)
    places = np.nonzero(counts)
    seen, like = (each[places].astype(np.float64) for each in (counts, alike))
    even, own = 1 / (n_classes - 1), places[0] == places[1]

    def evidence(parameters: FloatArray) -> float:
        rate, share, strength = expit(parameters[0]), expit(parameters[1]), np.exp(parameters[2])
        other = rate * ((1 - share) * even + share * like)
        a = strength * np.where(own, 1 - rate, other) + SMALLEST
        rows = gammaln(strength) - gammaln(sizes + strength)
        return float(rows.sum() + (gammaln(seen + a) - gammaln(a)).sum())

    # Start of the search, and bounds that keep steps finite. At the bounds, the prior nearly equals
    # its limit: no noise, only one kind of noise, or infinite prior strength.
    most = 1 - 1 / n_classes
    rate = np.clip(1 - np.trace(counts) / counts.sum(), 1e-3, 0.95 * most)
    start = np.array([logit(rate), 0.0, np.log(10.0)])
    bounds = [(logit(1e-4), logit(most)), (-4.0, 4.0), (0.0, np.log(1e4))]
    found = minimize(lambda v: -evidence(v), start, method="Nelder-Mead", bounds=bounds)
    rate, share, strength = expit(found.x[0]), expit(found.x[1]), np.exp(found.x[2])
    noise = float(strength * rate * share) * alike
    noise += strength * rate * (1 - share) * even
    np.fill_diagonal(noise, strength * (1 - rate))
    noise += counts
    noise /= (sizes + strength)[:, np.newaxis]
    return keep_diagonal_largest(noise)


def keep_diagonal_largest(noise: FloatArray) -> FloatArray:
    """Return Q under the constraint that no label is more frequent than the true label.

    In a row that violates the constraint, the diagonal entry and the largest other entries are
    replaced by their mean. The number of these entries is such that no entry exceeds the mean. The
    result is the maximum-likelihood estimate of a multinomial under the constraint.

    Examples
    --------
    >>> keep_diagonal_largest(np.array([[0.6, 0.4], [0.7, 0.3]])).tolist()
    [[0.6, 0.4], [0.5, 0.5]]
    """
    own = np.diagonal(noise).copy()
    violated = np.flatnonzero(noise.max(axis=1) > own)
    if len(violated):
        some = noise[violated]
        others = some.copy()
        others[np.arange(len(violated)), violated] = -np.inf
        others = -np.sort(-others, axis=1)[:, :-1]
        totals = np.cumsum(np.column_stack([own[violated], others]), axis=1)
        largest = (totals / np.arange(1, len(noise) + 1)).max(axis=1)
        kept = np.minimum(some, largest[:, np.newaxis])
        kept[np.arange(len(violated)), violated] = largest
        noise = noise.copy()
        noise[violated] = kept
    return noise
