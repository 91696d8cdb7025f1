"""What is averaged, each with which share.

Beside the best candidate on plain rows and the best one on half-whitened rows there is a linear
discriminant analysis. It has no iterations, and stays ahead where labels are wrong at the
boundaries of classes: there what minimises a loss learns the wrong labels as well.

1. Of the three, those count that agree with as many held-out labels as the best, up to two
   standard errors of the difference.
2. If the discriminant does, it is averaged with the half-whitened candidate, even if that is
   behind: the two err on different rows, and a third of the same family as the second only
   outweighs the first. Where rows times classes are so many that a fit is dear, it is taken alone,
   which costs one read of them.
3. Otherwise those that count are averaged.

Where labels look wrong at the boundaries, those held out are so too, and favour a strong shrinkage.
The discriminant is then the one in the middle of those that cannot be told from the best. It counts
up to three standard errors behind, for three fifths, or three quarters where rows are few for each
feature, and shares the rest with two: the half-whitened candidate, and the one by which held-out
labels are likeliest, mostly one of cross-entropy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from twohot.select.agreement import is_behind
from twohot.select.boundary import wrong_at_boundary
from twohot.select.discriminants import Discriminant
from twohot.select.sampling import DEAR_CELLS
from twohot.select.search import Search, Trial

Member = Trial | Discriminant
M = TypeVar("M", Trial, Discriminant)

# Standard errors up to which a difference of agreement counts as none. Agreement on 2,000 noisy
# labels tells candidates apart badly, and averaging in one that is a little worse costs little.
MOST_ERRORS = 2.0
# The same of a discriminant, and its share, where labels look wrong at the boundaries of classes.
# The fewer rows there are for each feature, the more of the wrong labels a loss can learn, and the
# more the discriminant counts. Test accuracy with such noise at .4 and a share of .5, .7 and .8,
# two or three draws: Flowers-102 (3 rows a feature) 85.1, 87.1, 87.6, Caltech-101 (3) 90.5, 91.1,
# 91.2, CIFAR-100 (100 a class, 5) 63.6, 63.5, 63.4, StanfordCars (11) 45.1, 45.4, 45.5, digits (20)
# 91.6, 91.3, 91.4, BANKING77 (26) 87.3, 86.7, 86.3.
BOUNDARY_ERRORS, BOUNDARY_SHARE, BOUNDARY_SHARE_OF_FEW = 3.0, 0.6, 0.75
MANY_ROWS = 16  # for each feature


@dataclass(frozen=True, eq=False)
class Shares:
    """What may be averaged, each with which share."""

    of: dict[Member, float]
    # Standard errors up to which their average is not behind the best of them, if that is a trial.
    # (A discriminant does not learn what is wrong: if it is ahead by two, it is ahead.)
    errors: float


def choose_shares(search: Search, discriminants: Sequence[Discriminant]) -> Shares:
    """Return what may be averaged, of a finished search and of the discriminants beside it."""
    plain, whitened = trials = [search.best(whiten=whiten) for whiten in (False, True)]
    if not discriminants:
        return _of_the_near(search, trials)
    # Of shrinkages that agree equally well, the largest.
    discriminant = max(discriminants, key=lambda each: (each.agreement, each.recipe.shrinkage))
    best = max((plain, whitened), key=lambda each: each.agreement)
    at_boundary = wrong_at_boundary(best, search.weights)
    errors = BOUNDARY_ERRORS if at_boundary else MOST_ERRORS
    if is_behind(discriminant.agrees, best.agrees, search.weights, errors=errors):
        return _of_the_near(search, trials)
    if at_boundary:
        discriminant = _middle(search, discriminants, discriminant)
    rows = search.coordinates.rows
    if rows.n_samples * rows.n_classes > DEAR_CELLS:
        return Shares({discriminant: 1.0}, errors)
    others = dict.fromkeys([whitened, search.likeliest()] if at_boundary else [whitened])
    share = 0.5
    if at_boundary:
        many = rows.total_weight >= MANY_ROWS * search.n_features
        share = BOUNDARY_SHARE if many else BOUNDARY_SHARE_OF_FEW
    return Shares(dict.fromkeys(others, (1 - share) / len(others)) | {discriminant: share}, errors)


def _middle(
    search: Search, discriminants: Sequence[Discriminant], best: Discriminant
) -> Discriminant:
    """Return the one of middle shrinkage of those that agree as much as the best, up to chance."""
    near = _near(search, discriminants, best)
    return sorted(near, key=lambda each: each.recipe.shrinkage)[len(near) // 2]


def _of_the_near(search: Search, trials: list[Trial]) -> Shares:
    """Return equal shares of those that agree as much as the best, up to chance."""
    near = _near(search, trials, max(trials, key=lambda each: each.agreement))
    return Shares(dict.fromkeys(near, 1 / len(near)), MOST_ERRORS)


def _near(search: Search, members: Sequence[M], best: M) -> list[M]:
    """Return those that agree with as many held-out labels as the best, up to chance."""
    return [
        each
        for each in members
        if not is_behind(each.agrees, best.agrees, search.weights, errors=MOST_ERRORS)
    ]
