"""Whether labels look wrong where classes meet, rather than at random.

Labels that are wrong at random are wrong as often where a candidate is sure of the class as where
it is not. Those that are wrong where classes meet are mostly right where it is sure, and nearly all
that it disagrees with is elsewhere. So it is with classes that overlap and labels that are right;
then hardly any is wrong where it is sure. And so it is if labels of some classes alone are wrong,
at random: the surest of all rows are those of the others; but not the surest of each class.

It matters because held-out labels are then wrong in the same places as those fitted on: a candidate
that has learnt the wrong ones agrees with more of them, and is not more accurate.
"""

import numpy as np

from twohot._types import FloatArray, IntArray
from twohot.select.agreement import mean
from twohot.select.rule import HARDLY_WRONG
from twohot.select.scored import Scored

# Share of the rows that a candidate is surest of.
SUREST = 0.2
# Share of their labels from which on they are as right as those of clean labels.
RIGHT_WHERE_SURE = 0.97
# Share of what it disagrees with, over all rows, that the surest of all leave unexplained; and that
# those of each class do: classes that meet others are wrong more often, so it is less. With noise
# at random the former is up to .46 where a tenth of the labels are wrong, and up to .38 where so
# many are that less than .65 are predicted; with noise at the boundary of .4 down to .45 (nine sets
# of features, eleven kinds of noise).
MOSTLY, OF_EACH_CLASS = 0.5, 0.35
MOSTLY_OF_MANY, MANY_WRONG = 0.4, (0.65, 0.75)  # less, from the one share that is predicted on


def wrong_at_boundary(scored: Scored, weights: FloatArray) -> bool:
    """Return whether labels look wrong where classes meet, by what a candidate agrees with.

    So it looks with noise at the boundary, with human labels, and where classes overlap so much
    that few are predicted.
    """
    wrong = 1 - scored.agreement

    def where_sure(groups: IntArray) -> float:
        return mean(scored.agrees, surest_weights(scored.margin, weights, groups))

    of_all = where_sure(np.zeros_like(scored.predicted))
    mostly = float(np.interp(scored.agreement, MANY_WRONG, (MOSTLY_OF_MANY, MOSTLY)))
    return (
        scored.agreement < HARDLY_WRONG
        and of_all < RIGHT_WHERE_SURE
        and of_all - scored.agreement > mostly * wrong
        and where_sure(scored.predicted) - scored.agreement > OF_EACH_CLASS * wrong
    )


def surest_weights(margin: FloatArray, weights: FloatArray, groups: IntArray) -> FloatArray:
    """Return the weights of rows, of which those of the surest fifth of each group are left.

    The one at which a group is cut counts in part, so that a row of weight 2 is two rows.

    Examples
    --------
    >>> import numpy as np
    >>> surest_weights(np.array([1.0, 3.0, 2.0]), np.ones(3), np.zeros(3, int)).round(3).tolist()
    [0.0, 0.6, 0.0]
    """
    order = np.lexsort((-margin, groups))
    total = np.bincount(groups, weights)
    before = np.cumsum(total) - total  # of all rows of earlier groups
    group, weight = groups[order], weights[order]
    ahead = np.cumsum(weight) - weight - before[group]
    kept = np.empty(len(weights))
    kept[order] = np.clip(SUREST * total[group] - ahead, 0, weight)
    return kept
