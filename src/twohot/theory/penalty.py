"""The penalty and the resulting separation q/p (appendix "Choosing an Appropriate λ").

With A = 1 - c, B = 1 - c + n(c - d), s the squared norm of the features, c and d their cosines,
and x = K² n l2 / s the ridge of the features scaled to unit norm,

    q/p = B (x + A) / (A (x + B)),   increasing from 1 (no penalty) to B/A (infinite penalty), and
    l2  = s A B (ρ - 1) / ((B - ρ A) K² n)   gives q/p = ρ, for 1 < ρ < B/A.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from twohot.base import ArgumentError, check_count, check_positive
from twohot.theory import checks
from twohot.theory.correlation_models import CorrelationModel, check_model


@dataclass(frozen=True)
class PairLevels:
    """The quantities that determine q/p, for equal classes."""

    n_classes: int
    n_per_class: float
    same_class: float  # mean cosine of two samples of one class
    same_superclass: float  # mean cosine of two samples of different, confusable classes
    squared_norm: float = 1.0  # mean ‖φ(x)‖²

    def __post_init__(self) -> None:
        check_count("n_classes", self.n_classes, 2)
        checks.scale_number("n_per_class", self.n_per_class)
        checks.scale_number("squared_norm", self.squared_norm)
        checks.ordered_levels(same_class=self.same_class, same_superclass=self.same_superclass)

    @classmethod
    def of_model(cls, model: CorrelationModel, *, superclass: ArrayLike) -> Self:
        """Return the mean cosines of a dataset's correlations, over classes and over their pairs.

        The squared norm is averaged over samples.

        Examples
        --------
        >>> model = CorrelationModel.from_correlation(
        ...     [[0.5, 0.2, 0.0], [0.2, 0.3, 0.1], [0.0, 0.1, 0.4]], class_sizes=[50, 70, 60]
        ... )
        >>> levels = PairLevels.of_model(model, superclass=[0, 0, 1])
        >>> levels.n_per_class, round(levels.same_class, 3), round(levels.same_superclass, 3)
        (60.0, 0.4, 0.2)
        """
        check_model(model)
        groups = checks.superclass_map(superclass, model.n_classes)
        root = np.sqrt(model.squared_norms)
        cosines = model.correlation / np.outer(root, root)
        pairs = (groups[:, None] == groups[None, :]) & ~np.eye(groups.size, dtype=bool)
        if not pairs.any():
            raise ValueError(
                "superclass must hold at least one superclass with two or more classes."
            )
        return cls(
            n_classes=model.n_classes,
            n_per_class=model.n_samples / model.n_classes,
            same_class=float(np.diag(cosines).mean()),
            same_superclass=float(cosines[pairs].mean()),
            squared_norm=float(np.average(model.squared_norms, weights=model.class_sizes)),
        )

    @property
    def own(self) -> float:
        """Eigenvalue 1 - c inside classes."""
        return 1 - self.same_class

    @property
    def class_mean(self) -> float:
        """Eigenvalue 1 - c + n(c - d) between classes of one superclass."""
        return self.own + self.n_per_class * (self.same_class - self.same_superclass)

    @property
    def ridge_per_l2(self) -> float:
        """Ridge x of the features scaled to unit norm, for l2 = 1: K² n / s."""
        return self.n_classes**2 * self.n_per_class / self.squared_norm


def largest_separation(levels: PairLevels) -> float:
    """Return the limit of q/p for infinite penalty, (1 - c + n(c - d)) / (1 - c).

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> round(largest_separation(levels), 2)
    154.33
    """
    _check_levels(levels)
    return levels.class_mean / levels.own


def separation_at(levels: PairLevels, *, l2: float) -> float:
    """Return q/p at a penalty.

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> round(separation_at(levels, l2=5e-5), 2)
    105.81
    """
    return math.exp(log_separation_at(levels, l2=l2))


def log_separation_at(levels: PairLevels, *, l2: float) -> float:
    """Return log(q/p) at a penalty, accurate even if q/p is 1 up to rounding.

    It is log(1 + x (B - A)/(A (x + B))).

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> separation_at(levels, l2=1e-25), f"{log_separation_at(levels, l2=1e-25):.4e}"
    (1.0, '6.6235e-19')
    """
    _check_levels(levels)
    ridge = levels.ridge_per_l2 * checks.scale_number("l2", l2)
    own, class_mean = levels.own, levels.class_mean
    return math.log1p(ridge * (class_mean - own) / (own * (ridge + class_mean)))


def l2_for_separation(levels: PairLevels, *, separation: float) -> float:
    """Return the penalty with q/p = `separation`, between 1 and `largest_separation`.

    It is proportional to the squared norm of the features.

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> from dataclasses import replace
    >>> f"{l2_for_separation(levels, separation=2.0):.3e}"
    '1.520e-07'
    >>> raw = replace(levels, squared_norm=1000.0)
    >>> f"{l2_for_separation(raw, separation=2.0):.3e}"
    '1.520e-04'
    """
    largest = largest_separation(levels)
    ratio = check_positive("separation", separation)
    if not 1 < ratio < largest:
        problem = f"is not between 1 and {largest:.6g}"
        advice = f"no penalty gives another q/p at {levels.n_per_class:g} samples per class."
        raise ArgumentError({"separation": separation}, problem, advice)
    own, class_mean = levels.own, levels.class_mean
    ridge = own * class_mean * (ratio - 1) / (class_mean - ratio * own)
    return ridge / levels.ridge_per_l2


def _check_levels(levels: object) -> None:
    hint = "build one with PairLevels(...) or, from a CorrelationModel, PairLevels.of_model"
    checks.instance(levels, PairLevels, "levels", hint)
