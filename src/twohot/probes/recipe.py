"""Recipes: the settings of each round of a probe; and the record of a fitted round."""

from dataclasses import dataclass
from typing import Any

from twohot.base import FloatArray
from twohot.rows import Coordinates
from twohot.solve import Loss, loss_from_json

# Names of the methods that fit the given labels.
TEACHER, ROBUST, DISCRIMINANT = "teacher", "robust", "discriminant"


@dataclass(frozen=True)
class Recipe:
    """Loss, penalty and targets of one round; `teacher` is the recipe of the round before.

    Examples
    --------
    >>> from twohot.solve.losses import GeneralizedCrossEntropy
    >>> print(Recipe(GeneralizedCrossEntropy(), ridge=10.0))
    robust (ridge 10)
    """

    loss: Loss
    ridge: float | None = None  # dimensionless strength of the penalty
    l2: float | None = None  # or the coefficient of the penalty itself
    teacher: "Recipe | None" = None  # the round whose outputs are fitted; None: the given labels
    n_candidates: int | None = None  # number of the teacher's outputs kept; None: all
    whiten: bool = False  # whether rows are half-whitened; the same in all rounds

    @property
    def rounds(self) -> list["Recipe"]:
        """The rounds, the teacher's first."""
        return [*([] if self.teacher is None else self.teacher.rounds), self]

    @property
    def method(self) -> str:
        """Name of the method, as if it is fitted to the given labels."""
        return ROBUST if self.loss.is_robust else TEACHER

    def coordinates(self, plain: Coordinates) -> Coordinates:
        """Return the coordinates of the rounds: the given ones, half-whitened if required."""
        return plain.half_whitened() if self.whiten else plain

    def penalty(self, coordinates: Coordinates) -> float:
        """Return the coefficient l2 of this round's penalty, for rows in these coordinates."""
        if self.l2 is not None:
            return self.l2
        return (self.ridge or 0.0) * coordinates.unit_penalty

    def __str__(self) -> str:
        strength = f"l2 {self.l2:g}" if self.ridge is None else f"ridge {self.ridge:g}"
        made = "" if self.loss.is_usual else f", {self.loss.name}"
        made += ", half-whitened" if self.whiten else ""
        return f"{self.method} ({strength}{made})"

    def to_json(self) -> dict[str, Any]:
        """Return the recipe of this round alone as JSON; `recipe_from_json` reads it."""
        return vars(self) | {"loss": self.loss.to_json(), "teacher": None}


def recipe_from_json(fields: dict[str, Any]) -> Recipe:
    """Return the recipe that `to_json` wrote; other input may raise any exception."""
    return Recipe(**(fields | {"loss": loss_from_json(fields["loss"]), "teacher": None}))


# The result of a round ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Round:
    """One fit of a probe: its coefficients, and the size of the remaining gradient."""

    coef: FloatArray  # (n_classes, n_features), in the space of the prepared features
    intercept: FloatArray  # (n_classes,), zeros if none was fitted
    targets: str  # what was fitted: "labels", "soft", "outputs" or "candidates"
    loss: str  # "ce", "gce"; "lda" or "average" if no loss is minimised
    l2: float  # strength of the penalty, on the prepared features
    value: float  # mean loss + ½·l2·‖coef‖²
    n_iter: int  # steps of the fit; those for the start of a robust fit do not count
    n_passes: float  # products over all rows / 2, including those for the start
    gradient_norm: float  # norm of the gradient, relative to its norm at zero coefficients
    converged: bool  # gradient_norm ≤ tol


@dataclass(frozen=True)
class DiscriminantRecipe:
    """Linear discriminant analysis with a given shrinkage.

    Examples
    --------
    >>> print(DiscriminantRecipe(0.1))
    discriminant (shrinkage 0.1)
    """

    shrinkage: float

    @property
    def method(self) -> str:
        """Name of this method."""
        return DISCRIMINANT

    def __str__(self) -> str:
        return f"{self.method} (shrinkage {self.shrinkage:g})"

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON."""
        return dict(vars(self))


AnyRecipe = Recipe | DiscriminantRecipe
