"""A forecast as plain numbers and words, for a JSON file."""

import math
from typing import Any

import numpy as np

from twohot.audit.forecast import Forecast
from twohot.audit.trials import Method


def forecast_record(found: Forecast) -> dict[str, Any]:
    """Return what a forecast says, in types that JSON has; what is not finite becomes null.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twohot.audit.forecast import forecast
    >>> record = forecast_record(forecast(*load_iris(return_X_y=True)))
    >>> list(record)
    ['advice', 'n_rows', 'noise', 'correlation', 'theory', 'trials', 'classes']
    """
    advice, correlation, noise = found.advice, found.correlation, found.noise
    record = {
        "advice": {
            "action": str(advice.action),
            "code": advice.code,
            "summary": advice.summary,
            "evidence": list(advice.evidence),
            "cautions": list(advice.cautions),
        },
        "n_rows": int(found.given_sizes.sum()),
        "noise": {
            "rate": noise.rate,
            "given": noise.given,
            "matrix": noise.corruption.tolist(),
        },
        "correlation": {
            "same_class": correlation.same_class,
            "same_superclass": correlation.same_superclass,
            "elsewhere": correlation.elsewhere,
            "axes_limited": correlation.n_limited,
            "measured": correlation.measured.tolist(),
            "estimated": correlation.estimated.tolist(),
        },
        "theory": {
            "ridge": found.ridge,
            "separation": found.separation,
            "eigengap": found.eigengap,
            "accuracy_by_round": [guarantee.accuracy for guarantee in found.guarantees],
            "rounds_needed": found.rounds_needed.overall,
        },
        "trials": trial_rows(found),
        "classes": class_rows(found),
    }
    return dict(_finite(record))


def trial_rows(found: Forecast) -> list[dict[str, Any]]:
    """Return one row for each probe tried; gains are accuracy over the best plain probe."""
    trials, plain = found.trials, found.trials.best(Method.PLAIN)
    rows = []
    for trial in trials.trials:
        gain, error = trials.gain(trial, over=plain)
        rows.append(
            {
                "probe": trial.name,
                "code": trial.code,
                "agreement": trials.agreement(trial),
                "gain": gain / found.noise.slope,
                "gain_error": error / found.noise.slope,
            }
        )
    return rows


def class_rows(found: Forecast) -> list[dict[str, Any]]:
    """Return one row for each class, the weakest margin of the last round first."""
    margins = np.array([guarantee.margins for guarantee in found.guarantees])  # (rounds, classes)
    return [
        {
            "class": found.classes.tolist()[k],
            "rows": int(found.given_sizes[k]),
            "labels_right": float(found.noise.corruption[k, k]),
            "same_class": float(found.correlation.estimated[k, k]),
            "superclass": int(found.correlation.superclass[k]),
            "margin_by_round": margins[:, k].tolist(),
            "rounds_needed": float(found.rounds_needed.per_class[k]),
        }
        for k in np.argsort(margins[-1], kind="stable")
    ]


def _finite(value: Any) -> Any:
    """Return the value with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
