"""Comparisons made by hand."""

from typing import Any

import numpy as np

from twohot.distill.recipe import Recipe
from twohot.forecast.gains import Comparison
from twohot.judge.choice import Choice, Tried
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy

RECIPES = {
    "teacher": Recipe(CrossEntropy(), ridge=10.0),
    "robust": Recipe(GeneralizedCrossEntropy(), ridge=10.0),
}


def make_tried(method: str, agreement: float, *, weight: float = 0.0) -> Tried:
    """Return a member of ridge 10 that agrees so often."""
    return Tried(
        recipe=RECIPES[method],
        agreement=agreement,
        agreement_error=0.0,
        likelihood=0.0,
        noise_rate=0.0,
        temperature=1.0,
        n_passes=1.0,
        weight=weight,
    )


def make_comparison(
    given: np.ndarray, predicted: np.ndarray, predicted_plain: np.ndarray, **choice: Any
) -> Comparison:
    """Return what a label model and a plain probe predict of the same rows."""
    agreements = [float(np.mean(each == given)) for each in (predicted, predicted_plain)]
    plain = make_tried("teacher", agreements[1])
    about = {
        "tried": (plain, make_tried("robust", agreements[0], weight=1.0)),
        "n_rows": len(given),
        "n_folds": 5,
        "n_rounds": 2,
        "agreement": agreements[0],
        "agreement_error": 0.0,
        "noise_rate": 1 - agreements[0],
        "interval": (0.0, 1.0),
        "learnt": True,
        "parts": (("robust (ridge 10)", 1.0),),
    }
    return Comparison(Choice(**(about | choice)), given, predicted, predicted_plain, plain)
