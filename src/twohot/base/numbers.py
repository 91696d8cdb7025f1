"""Checks of numbers, counts and choices that a user passes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from twohot.base.messages import ArgumentError, counted


def is_integer(value: object) -> bool:
    """Return whether a value is a Python or numpy integer; a bool is not an integer."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Return whether a value is a real number; a bool is not a number."""
    return is_integer(value) or isinstance(value, (float, np.floating))


def check_count(name: str, value: int, minimum: int) -> int:
    """Return `value` as an int; raise unless it is an integer of at least `minimum`."""
    if is_integer(value) and int(value) >= minimum:
        return int(value)
    raise ArgumentError({name: value}, "is not allowed", f"pass an integer of at least {minimum}.")


def check_within(name: str, value: float, low: float, high: float) -> float:
    """Return `value` as a float; raise unless it is in [low, high]. NaN raises too."""
    if is_real(value) and low <= float(value) <= high:
        return float(value)
    raise ArgumentError({name: value}, "is not allowed", f"pass a number from {low:g} to {high:g}.")


def check_positive(name: str, value: float) -> float:
    """Return `value` as a float; raise unless it is positive and finite."""
    if is_real(value) and math.isfinite(value) and value > 0:
        return float(value)
    raise ArgumentError({name: value}, "is not allowed", "pass a positive, finite number.")


def check_flag(name: str, value: object) -> bool:
    """Return `value`; raise unless it is True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ArgumentError({name: value}, "is not allowed", "pass True or False.")


def check_random_state(name: str, value: Any) -> None:
    """Raise unless a value can be a random state: a seed, a generator or None."""
    generators = (np.random.RandomState, np.random.Generator)
    if value is None or isinstance(value, generators) or (is_integer(value) and value >= 0):
        return
    advice = "pass a non-negative integer, a numpy.random.Generator or RandomState, or None."
    raise ArgumentError({name: value}, "is not a random state", advice)


def check_choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return `value`; raise unless it is one of the allowed words."""
    if isinstance(value, str) and value in allowed:
        return value
    words = ", ".join(map(repr, allowed))
    raise ArgumentError({name: value}, "is not known", f"pass one of {words}.")


def check_class_count(name: str, value: int, n_classes: int) -> int:
    """Return `value`, a number of classes; raise unless it is from 1 to `n_classes`."""
    if check_count(name, value, 1) > n_classes:
        problem = f"is more than the {n_classes} classes"
        raise ArgumentError({name: value}, problem, f"pass at most {n_classes}.")
    return int(value)


def check_penalty(
    l2: Any, ridge: Any, default_ridge: float, n_rounds: int
) -> tuple[str, list[float]]:
    """Return the name of the penalty that was passed, "l2" or "ridge", and its values by round."""
    if l2 is not None and ridge is not None:
        formula = "l2 = ridge · mean squared norm of the rows / (n_classes · total weight)"
        advice = f"pass one of them, not both ({formula})."
        raise ArgumentError({"l2": l2, "ridge": ridge}, "both set the penalty", advice)
    name, given = ("ridge", ridge) if l2 is None else ("l2", l2)
    if given is None:
        given = default_ridge
    if isinstance(given, (list, tuple, np.ndarray)):
        if len(given) != n_rounds:
            problem = f"has {counted(len(given), 'value')} for {counted(n_rounds, 'round')}"
            raise ArgumentError(name, problem, "pass one number, or one per round.")
        return name, [check_positive(f"{name}[{i}]", value) for i, value in enumerate(given)]
    return name, [check_positive(name, given)] * n_rounds
