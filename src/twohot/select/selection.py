"""What is made of a finished search: its best candidate, or an average of several.

Beside the best candidate on plain rows and the best one on half-whitened rows there is a linear
discriminant analysis. It has no iterations, and stays ahead where labels are wrong at the
boundaries of classes: there what minimises a loss learns the wrong labels as well.

1. Of the three, those count that agree with as many held-out labels as the best, up to two
   standard errors of the difference.
2. If the discriminant does, it is averaged with the half-whitened candidate, even if that is
   behind: the two err on different rows, and a third of the same family as the second only
   outweighs the first. Where rows
   times classes are so many that a fit is dear, it is taken alone, which costs one read of them.
3. Otherwise those that count are averaged; one alone is taken as it is, and so is the best of them
   where the average agrees with clearly fewer labels.

Each is divided by the temperature at which held-out labels are likeliest. An average of linear
probes is a linear probe.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twohot._types import FloatArray, Round
from twohot.distill.average_recipe import AnyRecipe, AverageRecipe, DiscriminantRecipe
from twohot.distill.averaged_probe import average_rounds, mean_at
from twohot.distill.discriminant import (
    discriminant_coef,
    discriminant_round,
    moments_along_axes,
)
from twohot.distill.leave_one_out import LITTLE_SHRINKAGES, SHRINKAGES, shrinkages_for
from twohot.select.agreement import is_behind
from twohot.select.grid import MOST_TRIALS
from twohot.select.sampling import DEAR_CELLS
from twohot.select.scored import Linear, Scored, predict_held_out
from twohot.select.search import Search, Trial

# Standard errors up to which a difference of agreement counts as none. Agreement on 2,000 noisy
# labels tells candidates apart badly, and averaging in one that is a little worse costs little.
MOST_ERRORS = 2.0

# Of the candidates of a search, the discriminants and the average.
MOST_TRIED = MOST_TRIALS + len(LITTLE_SHRINKAGES) + len(SHRINKAGES) + 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Discriminant(Scored):
    """A discriminant analysis, fitted and scored."""

    recipe: DiscriminantRecipe
    fits: Sequence[Linear]  # one per split


Member = Trial | Discriminant


@dataclass(frozen=True, eq=False)
class Selection:
    """A finished search, the discriminants beside it, and what was made of them."""

    search: Search
    discriminants: Sequence[Discriminant]
    members: Sequence[Member]  # what is averaged, or the one that was chosen
    chosen: Scored
    normalize: bool  # whether rows have unit norm

    @property
    def tried(self) -> list[Scored]:
        """All that was tried, in the order in which it was."""
        average = [] if self.chosen in self.members else [self.chosen]
        return [*self.search.trials.values(), *self.discriminants, *average]

    def refit(self) -> list[Round]:
        """Fit what was chosen on all rows; return its rounds, of an average one."""
        rounds = [_refit(self.search, member) for member in self.members]
        if isinstance(self.chosen.recipe, AverageRecipe):
            return [average_rounds(rounds, self.chosen.recipe.temperatures)]
        return rounds[0]


def decide(search: Search, *, intercept: bool = True, normalize: bool = True) -> Selection:
    """Score discriminants beside a finished search, and choose.

    `intercept` says whether there may be one; a discriminant has priors, and so always has.
    `normalize` says whether the rows have unit norm.
    """
    plain, whitened = (search.best(whiten=whiten) for whiten in (False, True))
    discriminants = discriminants_of(search) if intercept else []
    # Of shrinkages that agree equally well, the largest.
    ranked = sorted(discriminants, key=lambda each: (each.agreement, each.recipe.shrinkage))
    near = _near([plain, whitened, *ranked[-1:]], search.weights)
    members: list[Member] = near
    if ranked and ranked[-1] in near:
        rows = search.coordinates.rows
        dear = rows.n_samples * rows.n_classes > DEAR_CELLS
        members = [ranked[-1]] if dear else [whitened, ranked[-1]]
    if len(members) > 1:
        average, best = _average(search, members), max(members, key=lambda each: each.agreement)
        if not is_behind(average.agrees, best.agrees, search.weights, errors=MOST_ERRORS):
            return Selection(search, discriminants, members, average, normalize)
        members = [best]
    return Selection(search, discriminants, members, members[0], normalize)


def _near(members: Sequence[Member], weights: FloatArray) -> list[Member]:
    """Return those that agree as much as the best, up to chance."""
    best = max(members, key=lambda each: each.agreement).agrees
    return [
        each for each in members if not is_behind(each.agrees, best, weights, errors=MOST_ERRORS)
    ]


def discriminants_of(search: Search) -> list[Discriminant]:
    """Return a discriminant for every shrinkage, from one read of the rows of each split."""
    n_before = _n_passes(search)
    moments = [moments_along_axes(split.fitted) for split in search.wide_splits]
    n_passes, found = _n_passes(search) - n_before, []
    shrinkages = shrinkages_for(moments[0])
    for shrinkage in shrinkages:
        recipe = DiscriminantRecipe(shrinkage)
        fits = [_linear(search, *discriminant_coef(each, shrinkage)) for each in moments]
        scored = _score(search, recipe, fits, n_passes / len(shrinkages))
        found.append(Discriminant(**(vars(scored) | {"recipe": recipe}), fits=fits))
    return found


def _linear(search: Search, coef: FloatArray, offset: FloatArray) -> Linear:
    """Return a discriminant on the rows of a split, with nothing for an intercept of theirs."""
    intercept = int(search.coordinates.rows.intercept)
    return Linear(np.pad(coef, ((0, 0), (0, intercept))), offset)


def _n_passes(search: Search) -> float:
    return sum(split.fitted.rows.n_passes for split in search.wide_splits)


def _average(search: Search, members: Sequence[Member]) -> Scored:
    """Score the average of some that were tried, each at its temperature."""
    temperatures = tuple(member.calibration.temperature for member in members)
    recipe = AverageRecipe(tuple(member.recipe for member in members), temperatures)
    by_split = zip(*(_fits(search, member) for member in members), strict=True)
    return _score(search, recipe, [_mean(fits, temperatures) for fits in by_split], 0.0)


def _fits(search: Search, member: Member) -> Sequence[Linear]:
    """Return the fit of a member on each split."""
    return search.on_wide_rows(member.recipe) if isinstance(member, Trial) else member.fits


def _mean(fits: Sequence[Linear], temperatures: Sequence[float]) -> Linear:
    return Linear(
        mean_at([fit.coef for fit in fits], temperatures),
        mean_at([fit.offset for fit in fits], temperatures),
    )


def _score(search: Search, recipe: AnyRecipe, fits: Sequence[Linear], n_passes: float) -> Scored:
    splits = zip(search.wide_splits, fits, strict=True)
    parts = [predict_held_out(split.held_out, fit) for split, fit in splits]
    return search.score(recipe, parts, n_passes)


def _refit(search: Search, member: Member) -> list[Round]:
    """Fit a member on all rows."""
    if isinstance(member, Trial):
        return search.refit(member)
    coordinates = search.leading
    n_before = coordinates.rows.n_passes
    moments = moments_along_axes(coordinates)
    n_passes = coordinates.rows.n_passes - n_before
    return [discriminant_round(coordinates, moments, member.recipe.shrinkage, n_passes)]
