"""Comparisons made by hand."""

import numpy as np

from twohot.distill.recipe import Recipe
from twohot.forecast.gains import Comparison
from twohot.select.result import Choice, Tried
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy

PLAIN, ROBUST = CrossEntropy(), GeneralizedCrossEntropy()
TEACHER = Recipe(PLAIN, ridge=10.0)
RECIPES = {
    "teacher": TEACHER,
    "two-hot": Recipe(ROBUST, ridge=10.0, teacher=TEACHER, n_candidates=2),
    "robust": Recipe(ROBUST, ridge=10.0),
    "robust rounds": Recipe(ROBUST, ridge=10.0, teacher=Recipe(ROBUST, ridge=10.0)),
}


def rounds(n_rounds: int) -> Recipe:
    """Return so many rounds of cross-entropy."""
    recipe = TEACHER
    for _ in range(n_rounds - 1):
        recipe = Recipe(PLAIN, ridge=10.0, teacher=recipe)
    return recipe


def make_tried(
    method: str,
    agreement: float,
    *,
    n_rounds: int = 1,
    chance: float = 0.0,
    chance_error: float = 0.0,
    chosen: bool = False,
) -> Tried:
    """Return a candidate of ridge 10 that agrees so often."""
    return Tried(
        recipe=rounds(n_rounds) if method == "rounds" else RECIPES[method],
        fit_intercept=False,
        agreement=agreement,
        agreement_error=0.0,
        chance=chance,
        chance_error=chance_error,
        likelihood=0.0,
        likelihood_error=0.0,
        noise_rate=0.0,
        temperature=1.0,
        n_passes=1.0,
        chosen=chosen,
    )


def make_comparison(given: np.ndarray, predicted: dict[Tried, np.ndarray]) -> Comparison:
    """Return candidates on the same rows, the plain one first."""
    tried = tuple(predicted)
    choice = Choice(tried, n_held_out=len(given), n_splits=1)
    return Comparison(choice, given, predicted, tried[0], n_rows=len(given))
