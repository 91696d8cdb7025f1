"""Rows and classes that are odd by their neighbours: copies, outliers, classes alike.

With d_k(i) the distance of row i to its k-th nearest row and s(i) the mean cosine of its nearest,

    copies          d_1(i) ≤ `copy_distance`: far nearer than rows of these data usually are
    outliers        log s(i) < Q1 - 3 (Q3 - Q1), quartiles of log s, and s(i) < median s / 2
    classes alike   neighbours across two classes, of those to expect if the two were one
"""

import numpy as np

from twohot._checks.labels import NO_LABEL
from twohot._types import FloatArray, IntArray
from twohot.audit.neighbourhood import Neighbourhood
from twohot.judge.groups import connected
from twohot.judge.nearest import copy_distance
from twohot.review.findings import AlikeClasses

# Tukey's fence for values that are far out, in interquartile ranges.
FAR_OUT = 3.0
# One class, split at random into two, has a mixing of 0.8 to 1.5; pairs that people tell apart
# are below 0.7 nearly always.
ALIKE = 0.75
# With fewer rows the mixing of two classes is chance.
FEWEST_ROWS = 10


def copies(nearby: Neighbourhood) -> tuple[IntArray, ...]:
    """Return groups of rows that are nearly the same, in the order of their first rows."""
    if not nearby.distances.size:
        return ()
    is_copy = nearby.distances <= copy_distance(nearby.distances)
    ends = np.broadcast_to(nearby.rows[:, np.newaxis], is_copy.shape)[is_copy]
    others = nearby.neighbours[is_copy]
    group = connected(ends, others, nearby.n_rows)
    members = np.unique(np.concatenate([ends, others]))
    order = members[np.argsort(group[members], kind="stable")]
    starts = np.flatnonzero(np.diff(group[order])) + 1
    found = [part for part in np.split(order, starts) if len(part)]
    return tuple(sorted(found, key=lambda part: int(part[0])))


def far_out(nearby: Neighbourhood) -> tuple[IntArray, FloatArray]:
    """Return rows that are like no others, the least alike first, and how alike they are."""
    if not nearby.distances.size:
        return np.zeros(0, np.intp), np.zeros(0)
    closeness = nearby.cosines.mean(axis=1)
    # A row may point away from all others: its logarithm is as low as numbers go.
    logs = np.log(np.maximum(closeness, np.finfo(np.float64).tiny))
    low, middle, high = np.percentile(logs, [25, 50, 75])
    found = np.flatnonzero(logs < min(low - FAR_OUT * (high - low), middle - np.log(2)))
    found = found[np.argsort(closeness[found], kind="stable")]
    return nearby.rows[found], closeness[found]


def classes_alike(
    nearby: Neighbourhood, given: IntArray, corrected: IntArray
) -> tuple[AlikeClasses, ...]:
    """Return pairs of classes that are mixed nearly as one class would be, the most mixed first.

    Given labels mix two classes also where they are often given for each other. Then corrected
    labels separate them; if the two are one, they stay mixed, or one takes the other's rows.
    """
    n_classes = max(int(given.max()), int(corrected.max())) + 1
    mixing = class_mixing(nearby, given, n_classes)
    labels = (given, corrected)
    sizes, left = (np.bincount(codes[codes >= 0], minlength=n_classes) for codes in labels)
    taken = left < sizes / 2
    stays = class_mixing(nearby, corrected, n_classes) >= ALIKE
    is_alike = (mixing >= ALIKE) & (stays | taken | taken[:, np.newaxis])
    pairs = np.argwhere(np.triu(is_alike)).tolist()
    alike = [AlikeClasses(first, second, float(mixing[first, second])) for first, second in pairs]
    return tuple(sorted(alike, key=lambda pair: -pair.mixing))


def class_mixing(nearby: Neighbourhood, codes: IntArray, n_classes: int) -> FloatArray:
    """Return neighbours across every two classes, of those to expect if the two were one.

    Between a and b, of all pairs of neighbours within both, a share of
    2 n_a n_b / ((n_a + n_b) (n_a + n_b - 1)) is across them if labels say nothing; 0 for classes of
    too few rows and for a class with itself.
    """
    own = np.broadcast_to(codes[nearby.rows][:, np.newaxis], nearby.neighbours.shape)
    other = codes[nearby.neighbours]
    known = (own != NO_LABEL) & (other != NO_LABEL)
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (own[known], other[known]), 1)
    searched = codes[nearby.rows]
    sizes = np.bincount(searched[searched != NO_LABEL], minlength=n_classes).astype(np.float64)
    across, within = counts + counts.T, np.diag(counts)
    both = across + within[:, np.newaxis] + within
    total = sizes[:, np.newaxis] + sizes
    expected = 2 * np.outer(sizes, sizes) / np.maximum(total * (total - 1), 1)
    mixing = across / np.maximum(both * expected, np.finfo(np.float64).tiny)
    large = sizes >= FEWEST_ROWS
    return np.where(np.outer(large, large) & ~np.eye(n_classes, dtype=bool), mixing, 0.0)
