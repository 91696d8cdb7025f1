"""Discriminant analyses beside a search, one for every shrinkage, scored on the same splits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twohot._types import FloatArray
from twohot.distill.average_recipe import AnyRecipe, DiscriminantRecipe
from twohot.distill.discriminant import discriminant_coef, moments_along_axes
from twohot.distill.leave_one_out import shrinkages_for
from twohot.select.scored import Linear, Scored, predict_held_out
from twohot.select.search import Search


@dataclass(frozen=True, eq=False, kw_only=True)
class Discriminant(Scored):
    """A discriminant analysis, fitted and scored."""

    recipe: DiscriminantRecipe
    fits: Sequence[Linear]  # one per split


def discriminants_of(search: Search) -> list[Discriminant]:
    """Return a discriminant for every shrinkage, from one read of the rows of each split."""
    n_before = _n_passes(search)
    moments = [moments_along_axes(split.fitted) for split in search.wide_splits]
    n_passes, found = _n_passes(search) - n_before, []
    shrinkages = shrinkages_for(moments[0])
    for shrinkage in shrinkages:
        recipe = DiscriminantRecipe(shrinkage)
        fits = [_linear(search, *discriminant_coef(each, shrinkage)) for each in moments]
        scored = score_fits(search, recipe, fits, n_passes / len(shrinkages))
        found.append(Discriminant(**(vars(scored) | {"recipe": recipe}), fits=fits))
    return found


def _linear(search: Search, coef: FloatArray, offset: FloatArray) -> Linear:
    """Return a discriminant on the rows of a split, with nothing for an intercept of theirs."""
    intercept = int(search.coordinates.rows.intercept)
    return Linear(np.pad(coef, ((0, 0), (0, intercept))), offset)


def _n_passes(search: Search) -> float:
    return sum(split.fitted.rows.n_passes for split in search.wide_splits)


def score_fits(
    search: Search, recipe: AnyRecipe, fits: Sequence[Linear], n_passes: float
) -> Scored:
    """Return how fits on the rows of each split do on those held out."""
    splits = zip(search.wide_splits, fits, strict=True)
    parts = [predict_held_out(split.held_out, fit) for split, fit in splits]
    return search.score(recipe, parts, n_passes)
