"""The penalty and the separation q/p that it brings (appendix "Choosing an Appropriate λ").

With A = 1 - c, B = 1 - c + n(c - d) and ridge x = K² n l2,

    q/p = B (x + A) / (A (x + B)),   so it grows from 1 (no penalty) to B/A (all penalty), and
    l2  = A B (ρ - 1) / ((B - ρ A) K² n)   brings q/p = ρ, for 1 < ρ < B/A.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from twohot.theory import _checks
from twohot.theory.correlation import CorrelationModel


@dataclass(frozen=True)
class PairLevels:
    """What q/p depends on, for unit-norm features and equal classes."""

    n_classes: int
    n_per_class: float
    same_class: float  # mean correlation of two samples of one class
    same_superclass: float  # mean correlation of two samples of different, confusable classes

    def __post_init__(self) -> None:
        _checks.whole_number(self.n_classes, "n_classes", least=2)
        _checks.positive(self.n_per_class, "n_per_class")
        _checks.ordered_levels(self.same_class, self.same_superclass, self.same_superclass)

    @classmethod
    def of_model(cls, model: CorrelationModel, *, superclass: ArrayLike) -> Self:
        """Average a data set's correlations, as cosines, over classes and over their pairs.

        Examples
        --------
        >>> model = CorrelationModel.from_correlation(
        ...     [[0.5, 0.2, 0.0], [0.2, 0.3, 0.1], [0.0, 0.1, 0.4]], class_sizes=[50, 70, 60]
        ... )
        >>> levels = PairLevels.of_model(model, superclass=[0, 0, 1])
        >>> levels.n_per_class, round(levels.same_class, 3), round(levels.same_superclass, 3)
        (60.0, 0.4, 0.2)
        """
        groups = _checks.superclass_map(superclass)
        if groups.size != model.n_classes:
            raise ValueError(f"superclass must list {model.n_classes} classes, got {groups.size}.")
        root = np.sqrt(model.squared_norms)
        cosines = model.correlation / np.outer(root, root)
        pairs = (groups[:, None] == groups[None, :]) & ~np.eye(groups.size, dtype=bool)
        if not pairs.any():
            raise ValueError("superclass must hold at least one superclass of two classes or more.")
        return cls(
            n_classes=model.n_classes,
            n_per_class=model.n_samples / model.n_classes,
            same_class=float(np.diag(cosines).mean()),
            same_superclass=float(cosines[pairs].mean()),
        )

    @property
    def own(self) -> float:
        """Eigenvalue 1 - c inside classes."""
        return 1 - self.same_class

    @property
    def class_mean(self) -> float:
        """Eigenvalue 1 - c + n(c - d) between classes of one superclass."""
        return self.own + self.n_per_class * (self.same_class - self.same_superclass)


def largest_separation(levels: PairLevels) -> float:
    """Return the q/p that no penalty reaches, (1 - c + n(c - d)) / (1 - c).

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> round(largest_separation(levels), 2)
    154.33
    """
    return levels.class_mean / levels.own


def separation_at(l2: float, levels: PairLevels) -> float:
    """Return q/p at a penalty.

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> round(separation_at(5e-5, levels), 2)
    105.81
    """
    ridge = levels.n_classes**2 * levels.n_per_class * _checks.positive(l2, "l2")
    own, class_mean = levels.own, levels.class_mean
    return class_mean * (ridge + own) / (own * (ridge + class_mean))


def l2_for_separation(separation: float, levels: PairLevels) -> float:
    """Return the penalty that brings q/p = `separation`, for unit-norm features.

    On features of squared norm s the same separation needs s times this penalty.

    Examples
    --------
    >>> levels = PairLevels(n_classes=100, n_per_class=500, same_class=0.25, same_superclass=0.02)
    >>> f"{l2_for_separation(2.0, levels):.3e}"
    '1.520e-07'
    """
    largest = largest_separation(levels)
    if not 1 < separation < largest:
        raise ValueError(
            f"separation (q/p) must lie between 1 and {largest:.6g} for these correlations and"
            f" {levels.n_per_class:g} samples a class, both ends excluded, got {separation}."
        )
    own, class_mean = levels.own, levels.class_mean
    scale = levels.n_classes**2 * levels.n_per_class
    return own * class_mean * (separation - 1) / ((class_mean - separation * own) * scale)
