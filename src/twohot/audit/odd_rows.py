"""Rows and classes that are odd by their neighbours: copies, outliers, classes alike.

With d_k(i) the distance of row i to its k-th nearest row and s(i) the mean cosine of its nearest,

    copies          d_1(i) ≤ t median d_10: far nearer than rows of these data usually are
    outliers        log s(i) < Q1 - 3 (Q3 - Q1), quartiles of log s, and s(i) < median s / 2
    classes alike   neighbours across two classes, of those to expect if the two were one

In m dimensions the nearest of k rows within d_k is nearer than t d_k with a probability of about
(k - 1) t^m. So t is 0.2 for features, whose dimension is 10 or 20, and less where m is small.
"""

import numpy as np
import scipy.sparse as sp

from twohot._checks.labels import NO_LABEL
from twohot._types import FloatArray, IntArray
from twohot.audit.neighbourhood import Neighbourhood
from twohot.review.findings import AlikeClasses

# Of the median distance to the tenth neighbour. On features of five public data sets most pairs
# below have the same label, as copies would; from 0.3 on many have not.
COPY_DISTANCE = 0.2
# Of rows of which no two are copies, this share may look like some.
CHANCE = 1e-4
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
    n_others = max(nearby.distances.shape[1] - 1, 1)
    by_chance = (CHANCE / n_others) ** (1 / intrinsic_dimension(nearby))
    usual = np.median(nearby.distances[:, -1])
    is_copy = nearby.distances <= min(COPY_DISTANCE, by_chance) * usual
    ends = np.broadcast_to(nearby.rows[:, np.newaxis], is_copy.shape)[is_copy]
    pairs = sp.coo_array(
        (np.ones(len(ends)), (ends, nearby.neighbours[is_copy])), (nearby.n_rows, nearby.n_rows)
    )
    _, group = sp.csgraph.connected_components(pairs, directed=False)
    members = np.unique(np.concatenate([ends, nearby.neighbours[is_copy]]))
    order = members[np.argsort(group[members], kind="stable")]
    starts = np.flatnonzero(np.diff(group[order])) + 1
    found = [part for part in np.split(order, starts) if len(part)]
    return tuple(sorted(found, key=lambda part: int(part[0])))


def intrinsic_dimension(nearby: Neighbourhood) -> float:
    """Return the dimension that distances grow as if in: the median of Levina and Bickel's (2005).

    Of rows whose neighbours are all at one distance, for instance of copies, it says nothing;
    where that holds for all rows it is infinite.
    """
    distances = nearby.distances[nearby.distances[:, 0] > 0]
    growth = np.log(distances[:, -1:] / distances[:, :-1]).sum(axis=1)
    known = growth > 0
    if not known.any():
        return float("inf")
    return float(np.median((distances.shape[1] - 1) / growth[known]))


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
