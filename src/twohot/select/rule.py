"""The rule by which a search decides: a function of scores on held-out labels alone.

1. Within one standard error of the largest agreement,
2. where the noise looks uniform or there is hardly any, also within one of the largest likelihood,
3. the method that did best where it was measured, and of that the likeliest, or, where the
   likelihood has no say, the one with the largest penalty; of two that are still equal, the one on
   half-whitened rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from twohot._types import FloatArray
from twohot.select.agreement import is_behind, mean
from twohot.select.grid import Candidate


@dataclass(frozen=True, eq=False)
class Score:
    """How one candidate did on held-out labels, and what speaks for it beforehand."""

    agrees: FloatArray  # (n,), one where a held-out label is predicted, else zero
    likelihood: FloatArray  # (n,), log of the probability of every held-out label
    candidate: Candidate


# Share of the held-out labels from which on so many are predicted that few can be wrong.
HARDLY_WRONG = 0.9


def best(scores: Sequence[Score], weights: FloatArray, *, by_likelihood: bool) -> int:
    """Return the place of the best score; `by_likelihood`: the likelihood has a say."""
    near = _near(range(len(scores)), [score.agrees for score in scores], weights)
    if by_likelihood:
        near = _near(near, [score.likelihood for score in scores], weights)

    def rank(place: int) -> tuple[int, float, bool]:
        likelihood, candidate = scores[place].likelihood, scores[place].candidate
        second = mean(likelihood, weights) if by_likelihood else candidate.recipe.ridge or 0.0
        return candidate.preference, second, candidate.recipe.whiten

    return max(near, key=rank)


def likelihood_counts(scores: Sequence[Score], weights: FloatArray) -> bool:
    """Return whether the noise is what the likelihood takes it for: uniform, or none to speak of.

    Noise looks uniform where a robust probe is the likeliest of all. Outputs of cross-entropy
    follow any noise, those of a robust probe pass over it. Where the former are likelier, noise has
    a structure that the likelihood does not know of.
    """
    if max(mean(score.agrees, weights) for score in scores) > HARDLY_WRONG:
        return True
    likeliest = max(scores, key=lambda score: mean(score.likelihood, weights))
    return likeliest.candidate.recipe.loss.is_robust


def is_likelier(one: Score, other: Score, weights: FloatArray) -> bool:
    """Return whether the held-out labels are likelier by one score than by another."""
    return mean(one.likelihood, weights) > mean(other.likelihood, weights)


def _near(places: Sequence[int], values: Sequence[FloatArray], weights: FloatArray) -> list[int]:
    """Return the places whose values are within one standard error of the best."""
    top = values[max(places, key=lambda place: mean(values[place], weights))]
    return [place for place in places if not is_behind(values[place], top, weights, errors=1)]
