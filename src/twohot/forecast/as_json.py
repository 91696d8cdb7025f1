"""A forecast as plain numbers and words, for a JSON file."""

from dataclasses import asdict
from typing import Any

import numpy as np

from twohot._files import json_safe
from twohot.forecast.forecast import Forecast

CORRELATIONS = ("same_class", "same_superclass", "elsewhere", "measured", "estimated")


def forecast_record(found: Forecast) -> dict[str, Any]:
    """Return what a forecast says, in types that JSON has; what is not finite becomes null.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twohot.forecast.forecast import forecast
    >>> record = forecast_record(forecast(*load_iris(return_X_y=True)))
    >>> list(record)
    ['advice', 'n_rows', 'noise', 'correlation', 'theory', 'candidates', 'classes']
    """
    correlation, noise, theory = found.correlation, found.noise, found.theory
    record = {
        "advice": asdict(found.advice),
        "n_rows": int(found.given_sizes.sum()),
        "noise": {
            **{name: getattr(noise, name) for name in ("rate", "given", "corruption")},
            "interval": None if noise.given else noise.interval,
        },
        "correlation": {
            **{name: getattr(correlation, name) for name in CORRELATIONS},
            "axes_limited": correlation.n_limited,
        },
        "theory": {
            **{name: getattr(theory, name) for name in ("ridge", "separation", "eigengap")},
            "accuracy_by_round": [guarantee.accuracy for guarantee in theory.guarantees],
            "rounds_needed": theory.rounds_needed.overall,
        },
        "candidates": candidate_rows(found),
        "classes": class_rows(found),
    }
    return dict(json_safe(record))


def candidate_rows(found: Forecast) -> list[dict[str, Any]]:
    """Return one row for the label model, and one for each member of the library."""
    choice = found.comparison.choice
    model = {"candidate": "label model", "code": "AutoProbe()", "chosen": True}
    rows = [model | {"agreement": choice.agreement, "agreement_error": choice.agreement_error}]
    for entry in choice.tried:
        about = {"candidate": entry.name, "code": entry.estimator, "chosen": entry.chosen}
        agreement = {"agreement": entry.agreement, "agreement_error": entry.agreement_error}
        rows.append(about | agreement)
    return rows


def class_rows(found: Forecast) -> list[dict[str, Any]]:
    """Return one row per class, the weakest margin of the last round first."""
    margins = np.array([each.margins for each in found.theory.guarantees])  # (rounds, classes)
    return [
        {
            "class": found.classes.tolist()[k],
            "rows": int(found.given_sizes[k]),
            "labels_right": float(found.noise.corruption[k, k]),
            "same_class": float(found.correlation.estimated[k, k]),
            "superclass": int(found.correlation.superclass[k]),
            "margin_by_round": margins[:, k].tolist(),
            "rounds_needed": float(found.theory.rounds_needed.per_class[k]),
        }
        for k in np.argsort(margins[-1], kind="stable")
    ]
