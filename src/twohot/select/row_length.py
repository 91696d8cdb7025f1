"""Whether rows get unit norm: embeddings do, and of few features the length may say more.

Between many features an angle is nearly all that there is to see. Between a few, the length may be
what tells classes apart: two that lie one behind the other, seen from the mean, become one.
"""

from collections.abc import Callable

import numpy as np

from twohot._checks.messages import ArgumentError
from twohot.select.agreement import is_behind
from twohot.select.discriminants import discriminants_of
from twohot.select.grid import MANY_FEATURES
from twohot.select.search import Search

CLEARLY = 1.0  # standard errors of the difference of what is predicted


def choose_unit_norm(
    normalize: bool | str,  # noqa: FBT001
    n_features: int,
    search: Callable[..., Search],
) -> bool:
    """Return whether rows get unit norm; `search` makes a search on rows that have it, or not.

    From `MANY_FEATURES` on they do. Of fewer, discriminants on both are compared, which need no
    fit, and they do if more of the held-out labels are predicted so, by a standard error. Rows far
    out and near the middle are else alike, and where classes overlap labels look wrong at random,
    as often at any angle. (Whatever predicts more, however little, cost up to three points on iris
    with .4 of its labels wrong and one on wine; unit norm unless it is clearly worse, four.)
    """
    if isinstance(normalize, bool | np.bool_):
        return bool(normalize)
    if normalize != "auto":
        advice = "pass True, False or 'auto'."
        raise ArgumentError({"normalize": normalize}, "is not known", advice)
    if n_features >= MANY_FEATURES:
        return True
    unit = search(normalize=True)
    try:
        plain = search(normalize=False)
    except ArgumentError:  # too large or too small to be computed with as they are
        return True
    at_unit, as_they_are = (
        max(discriminants_of(each), key=lambda scored: scored.agreement) for each in (unit, plain)
    )
    return is_behind(as_they_are.agrees, at_unit.agrees, unit.weights, errors=CLEARLY)
