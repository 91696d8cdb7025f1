"""How much label noise a predicted model stands, for any kind of corruption."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from twohot._checks.numbers import check_positive
from twohot.theory import _checks
from twohot.theory._checks import FloatArray
from twohot.theory.guarantees import Verdict, judge
from twohot.theory.outputs import TypeOutputs


@dataclass(frozen=True, eq=False)
class NoiseTolerance:
    """Noise rates at which each class is right; NaN where there is none."""

    lowest: FloatArray  # (n_classes,) rate from which on the class is right, mostly 0
    highest: FloatArray  # (n_classes,) rate up to which it then stays right

    @property
    def overall(self) -> float:
        """Largest rate up to which every class stays right; NaN if they never all are."""
        together = self.highest.min() >= self.lowest.max()
        return float(self.highest.min()) if together else float("nan")

    @property
    def weakest_class(self) -> int:
        """The class that breaks first as noise grows, or one that never is right."""
        return int(np.nan_to_num(self.highest, nan=-1.0).argmin())


def noise_tolerated(
    corruption_at: Callable[[float], ArrayLike],
    predict: Callable[[FloatArray], TypeOutputs],
    *,
    step: float = 0.02,
    resolution: float = 1e-9,
) -> NoiseTolerance:
    """Largest noise rate at which each class is right, for one kind of corruption.

    Rates 0, step, 2 step, … 1 are tried, then the edges of the first range of rates that work
    are bisected: the partial-label student may fail without noise and work with some.

    Parameters
    ----------
    corruption_at : callable
        Corruption matrix at a noise rate between 0 and 1: symmetric, superclass, your own.
    predict : callable
        Outputs for a corruption matrix: `type_outputs` or `partial_label_outputs` with all else
        fixed, or the `predicted` of the exact `population_rounds`.
    step, resolution : float
        Spacing of the rates tried first; width to which the edges are bisected.

    Examples
    --------
    >>> from functools import partial
    >>> from twohot.noise import symmetric
    >>> from twohot.theory import CorrelationModel, type_outputs
    >>> model = CorrelationModel.case_1(n_classes=4, same_class=0.4, n_per_class=100)
    >>> third_round = partial(type_outputs, model, l2=3.125e-4, n_rounds=3)
    >>> round(noise_tolerated(partial(symmetric, 4), third_round).overall, 4)
    0.5982
    """
    _checks.instance(corruption_at, Callable, "corruption_at", "pass a function of the rate")
    _checks.instance(predict, Callable, "predict", "pass a function of a corruption matrix")

    @cache  # classes that break together ask for the same rates
    def works(rate: float) -> tuple[bool, ...]:
        shares = _checks.corruption_matrix(corruption_at(rate))
        return tuple(verdict is Verdict.RIGHT for verdict in judge(predict(shares)).verdicts)

    rates = np.append(np.arange(0, 1, check_positive("step", step)), 1.0)
    width = check_positive("resolution", resolution)
    table = np.array([works(float(rate)) for rate in rates])  # (n_rates, n_classes)

    def edge(label: int, inside: float, outside: float) -> float:
        while abs(outside - inside) > width:
            middle = (inside + outside) / 2
            if middle in {inside, outside}:  # no number lies between them
                break
            inside, outside = (middle, outside) if works(middle)[label] else (inside, middle)
        return inside

    def working_range(label: int) -> tuple[float, float]:
        """First range of rates that work for a class, its two edges bisected."""
        tried = table[:, label]
        if not tried.any():
            return np.nan, np.nan
        first = int(tried.argmax())
        lowest = edge(label, rates[first], rates[first - 1]) if first else float(rates[0])
        failures = first + np.flatnonzero(~tried[first:])
        if not failures.size:
            return lowest, float(rates[-1])
        return lowest, edge(label, rates[failures[0] - 1], rates[failures[0]])

    return NoiseTolerance(*np.array([working_range(k) for k in range(table.shape[1])]).T)
