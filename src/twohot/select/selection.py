"""What is made of a finished search: its best candidate, or an average of several (see `shares`).

The best of those that may be averaged is taken alone where the average agrees with clearly fewer
labels. Each is divided by the temperature at which held-out labels are likeliest, and multiplied by
its share: what the recipe of an average calls temperatures has both. An average of linear probes is
a linear probe.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from twohot._types import Round
from twohot.distill.average_recipe import AverageRecipe
from twohot.distill.averaged_probe import average_rounds, mean_at
from twohot.distill.discriminant import discriminant_round, moments_along_axes
from twohot.distill.leave_one_out import FULL_SHRINKAGE, LITTLE_SHRINKAGES, SHRINKAGES
from twohot.select.agreement import is_behind
from twohot.select.discriminants import Discriminant, discriminants_of, score_fits
from twohot.select.grid import MOST_TRIALS
from twohot.select.scored import Linear, Scored
from twohot.select.search import Search, Trial
from twohot.select.shares import MOST_ERRORS, Member, choose_shares

# Of the candidates of a search, the discriminants and the average.
MOST_TRIED = MOST_TRIALS + len((*LITTLE_SHRINKAGES, *SHRINKAGES, FULL_SHRINKAGE)) + 1


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
    discriminants = discriminants_of(search) if intercept else []
    shares = choose_shares(search, discriminants)
    members = list(shares.of)
    if len(members) > 1:
        average = _average(search, shares.of)
        first = max(members, key=lambda each: each.agreement)
        errors = shares.errors if isinstance(first, Trial) else MOST_ERRORS
        if not is_behind(average.agrees, first.agrees, search.weights, errors=errors):
            return Selection(search, discriminants, members, average, normalize)
        members = [first]
    return Selection(search, discriminants, members, members[0], normalize)


def _average(search: Search, shares: dict[Member, float]) -> Scored:
    """Score the average of some that were tried, each at its temperature."""
    # A mean of m with other shares than 1/m is one at other temperatures.
    temperatures = tuple(
        member.calibration.temperature / (len(shares) * share) for member, share in shares.items()
    )
    recipe = AverageRecipe(tuple(member.recipe for member in shares), temperatures)
    by_split = zip(*(_fits(search, member) for member in shares), strict=True)
    return score_fits(search, recipe, [_mean(fits, temperatures) for fits in by_split], 0.0)


def _fits(search: Search, member: Member) -> Sequence[Linear]:
    """Return the fit of a member on each split."""
    return search.on_wide_rows(member.recipe) if isinstance(member, Trial) else member.fits


def _mean(fits: Sequence[Linear], temperatures: Sequence[float]) -> Linear:
    return Linear(
        mean_at([fit.coef for fit in fits], temperatures),
        mean_at([fit.offset for fit in fits], temperatures),
    )


def _refit(search: Search, member: Member) -> list[Round]:
    """Fit a member on all rows."""
    if isinstance(member, Trial):
        return search.refit(member)
    coordinates = search.leading
    n_before = coordinates.rows.n_passes
    moments = moments_along_axes(coordinates)
    n_passes = coordinates.rows.n_passes - n_before
    return [discriminant_round(coordinates, moments, member.recipe.shrinkage, n_passes)]
