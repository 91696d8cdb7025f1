"""Whether labels look wrong where classes meet, rather than at random.

Labels that are wrong at random are wrong as often where a candidate is sure of the class as where
it is not. Those that are wrong where classes meet are mostly right where it is sure, and nearly all
that it disagrees with is elsewhere. So it is with classes that overlap and labels that are right;
then hardly any is wrong where it is sure.

It matters because held-out labels are then wrong in the same places as those fitted on: a candidate
that has learnt the wrong ones agrees with more of them, and is not more accurate.
"""

import numpy as np

from twohot._types import FloatArray
from twohot.select.agreement import mean
from twohot.select.rule import HARDLY_WRONG
from twohot.select.scored import Scored

# Share of the rows that a candidate is surest of.
SUREST = 0.2
# Share of their labels from which on they are as right as those of clean labels.
RIGHT_WHERE_SURE = 0.97
# Share of what it disagrees with, over all rows, that their labels leave unexplained.
MOSTLY = 0.5


def wrong_at_boundary(scored: Scored, weights: FloatArray) -> bool:
    """Return whether labels look wrong where classes meet, by what a candidate agrees with.

    Measured on ten kinds of noise: so it looks with noise at the boundary on all of six sets of
    features, with human labels, and where classes overlap so much that few are predicted.
    """
    surest = np.argsort(-scored.margin, kind="stable")[: max(1, round(SUREST * len(weights)))]
    where_sure = mean(scored.agrees[surest], weights[surest])
    unexplained = where_sure - scored.agreement
    return (
        scored.agreement < HARDLY_WRONG
        and where_sure < RIGHT_WHERE_SURE
        and unexplained > MOSTLY * (1 - scored.agreement)
    )
