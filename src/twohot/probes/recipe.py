"""How a probe is made, round by round: what estimators, the search and its results share."""

from dataclasses import dataclass
from typing import Any

from twohot.base import FloatArray
from twohot.rows import Coordinates
from twohot.solve import Loss, loss_from_json

# Ways to fit the given labels, by name.
TEACHER, ROBUST = "teacher", "robust"


@dataclass(frozen=True)
class Recipe:
    """One round, and the one that it learns from.

    Examples
    --------
    >>> from twohot.solve.losses import GeneralizedCrossEntropy
    >>> print(Recipe(GeneralizedCrossEntropy(), ridge=10.0))
    robust (ridge 10)
    """

    loss: Loss
    ridge: float | None = None  # strength of the penalty without units
    l2: float | None = None  # or the strength itself
    teacher: "Recipe | None" = None  # whose outputs are fitted; None: the given labels
    n_candidates: int | None = None  # of the teacher's outputs that are kept; None: all
    given_share: float = 0.0  # of the weight of the candidates that goes to the given label
    whiten: bool = False  # whether rows are half-whitened; the same in all rounds

    @property
    def n_rounds(self) -> int:
        """Number of rounds, the teacher's included."""
        return 1 if self.teacher is None else self.teacher.n_rounds + 1

    @property
    def rounds(self) -> list["Recipe"]:
        """The rounds, the teacher's first."""
        return [*([] if self.teacher is None else self.teacher.rounds), self]

    @property
    def method(self) -> str:
        """The name of this way to fit the given labels."""
        return ROBUST if self.loss.is_robust else TEACHER

    def coordinates(self, plain: Coordinates) -> Coordinates:
        """Return the coordinates that its rounds are solved in, from those of all rows."""
        return plain.half_whitened() if self.whiten else plain

    def penalty(self, coordinates: Coordinates) -> float:
        """Return the l2 of the last round on given rows."""
        if self.l2 is not None:
            return self.l2
        return (self.ridge or 0.0) * coordinates.unit_penalty

    def __str__(self) -> str:
        strength = f"l2 {self.l2:g}" if self.ridge is None else f"ridge {self.ridge:g}"
        made = "" if self.loss.is_usual else f", {self.loss.name}"
        made += ", half-whitened" if self.whiten else ""
        return f"{self.method} ({strength}{made})"

    def to_json(self) -> dict[str, Any]:
        """Return the recipe of this round alone as JSON has it; `recipe_from_json` reads it."""
        return vars(self) | {"loss": self.loss.to_json(), "teacher": None}


def recipe_from_json(fields: dict[str, Any]) -> Recipe:
    """Return the recipe that `to_json` wrote; anything may be raised if it did not."""
    return Recipe(**(fields | {"loss": loss_from_json(fields["loss"]), "teacher": None}))


# What a round comes to ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Round:
    """One fit of a probe: its coefficients and the certificate that they are the optimum."""

    coef: FloatArray  # (n_classes, n_features), in the space of the prepared features
    intercept: FloatArray  # (n_classes,), zeros if none was fitted
    targets: str  # what was fitted: "labels", "soft", "outputs" or "candidates"
    loss: str  # "ce", "gce"; "lda" or "average" where none is minimised
    l2: float  # strength of the penalty, on the prepared features
    value: float  # mean loss + ½·l2·‖coef‖²
    n_iter: int  # directions tried, without those of the start of a robust fit
    n_passes: float  # products over all rows, divided by two (a gradient takes two), start too
    gradient_norm: float  # of the gradient, relative to its norm at zero coefficients
    converged: bool  # gradient_norm ≤ tol


# Another way to make a probe: a discriminant analysis ---------------------------------------------

DISCRIMINANT = "discriminant"


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
        """The name of this way to make a probe."""
        return DISCRIMINANT

    def __str__(self) -> str:
        return f"{self.method} (shrinkage {self.shrinkage:g})"

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON has it."""
        return dict(vars(self))


AnyRecipe = Recipe | DiscriminantRecipe
