"""Comparisons made by hand."""

import numpy as np

from twohot.forecast.comparison import Comparison
from twohot.select.result import Choice, Tried


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
        method=method,
        ridge=10.0,
        n_rounds=n_rounds,
        given_share=0.0,
        estimator=f"{method.title()}Probe()",
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
    return Comparison(choice, given, predicted, tried[0], tried[-1], n_rows=len(given))
