"""All that makes a fitted probe, checked: what is loaded must predict what was saved."""

import math
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.messages import ArgumentError
from twohot._checks.numbers import is_integer, is_real
from twohot._types import Round
from twohot.rows.preparation import Preparation

# What a round says of its fit, beside words and arrays.
ROUND_NUMBERS = ("l2", "value", "n_iter", "n_passes", "gradient_norm")


@dataclass(frozen=True, eq=False)
class FittedState:
    """All that makes a fitted probe; arrays are finite, fit together, and name a class once."""

    estimator: str  # name of its class
    parameters: dict[str, Any]  # as its constructor takes them
    classes: NDArray[Any]
    preparation: Preparation
    rounds: list[Round]
    n_features_in: int
    feature_names_in: list[str]  # empty if the features had no names
    notes: dict[str, Any] = field(default_factory=dict)  # JSON: what else a kind of probe knows
    feature_origin: dict[str, str] = field(default_factory=dict)  # how its features were made

    def __post_init__(self) -> None:
        """Raise if a part is not what a probe can predict with."""
        n_classes, n_features = len(self.classes), self.n_features_in
        if len(set(self.classes.tolist())) < n_classes or n_classes < 2:
            raise ArgumentError("classes", "names fewer than two, or one of them twice")
        if not self.rounds:
            raise ArgumentError("rounds", "is empty")
        for number, entry in enumerate(self.rounds, start=1):
            _check_tensor(f"round.{number}.coef", entry.coef, (n_classes, n_features))
            _check_tensor(f"round.{number}.intercept", entry.intercept, (n_classes,))
            _check_certificate(f"round {number}", entry)
        _check_preparation(self.preparation, n_features)
        names = self.feature_names_in
        if len(names) not in {0, n_features} or not all(isinstance(name, str) for name in names):
            raise ArgumentError("feature_names_in", f"does not name {n_features} features")
        if not all(isinstance(text, str) for text in chain(*self.feature_origin.items())):
            raise ArgumentError("feature_origin", "holds more than texts")


def _check_tensor(name: str, tensor: NDArray[Any], shape: tuple[int, ...]) -> None:
    if tensor.shape != shape or tensor.dtype.kind != "f":
        came = f"has shape {tensor.shape} and dtype {tensor.dtype}"
        raise ArgumentError(name, f"{came}, and {shape} floats are needed")
    if not np.isfinite(tensor).all():
        raise ArgumentError(name, "holds NaN or infinity")


def _check_certificate(name: str, entry: Round) -> None:
    numbers = [getattr(entry, field_name) for field_name in ROUND_NUMBERS]
    if not (all(map(is_real, numbers)) and is_integer(entry.n_iter)):
        raise ArgumentError(name, f"holds {numbers} where numbers are needed")


def _check_preparation(preparation: Preparation, n_features: int) -> None:
    error = preparation.mean_error
    if not (isinstance(preparation.normalize, bool) and is_real(error)):
        raise ArgumentError("preparation", "is not of a flag and a number")
    if not (math.isfinite(error) and error >= 0):
        raise ArgumentError({"mean_error": error}, "is no norm")
    if preparation.mean is not None:
        _check_tensor("mean", preparation.mean, (n_features,))
