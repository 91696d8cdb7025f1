"""Recipes: the settings of a round of a probe; and the record of a fitted round.

A round is one fit. The first round, the teacher, fits the given labels. Every later round, a
student, fits the outputs of the previous round, or the candidates of each row: the classes with the
largest outputs.
"""

from dataclasses import dataclass
from typing import Any

from twohot.base import FloatArray, notebook_table
from twohot.rows import Coordinates
from twohot.solve import Loss, loss_from_json

TEACHER = "teacher"  # name of the method that fits the given labels by cross-entropy


@dataclass(frozen=True)
class Recipe:
    """The settings of one round: loss, penalty and targets.

    Examples
    --------
    >>> from twohot.solve.losses import GeneralizedCrossEntropy
    >>> print(Recipe(GeneralizedCrossEntropy(), ridge=10.0))
    robust (ridge 10)
    """

    loss: Loss
    ridge: float | None = None  # dimensionless strength of the penalty
    l2: float | None = None  # instead of `ridge`, the coefficient of the penalty
    teacher: "Recipe | None" = None  # the previous round; None: the given labels are fitted
    n_candidates: int | None = None  # number of candidates; None: all outputs are fitted
    whiten: bool = False  # whether rows are half-whitened (see LinearProbe), in all rounds

    @property
    def rounds(self) -> list["Recipe"]:
        """The rounds in the order of fitting; this round is the last."""
        return [*([] if self.teacher is None else self.teacher.rounds), self]

    @property
    def method(self) -> str:
        """Name of the method, "robust" or "teacher", which depends only on the loss."""
        return "robust" if self.loss.is_robust else TEACHER

    def coordinates(self, plain: Coordinates) -> Coordinates:
        """Return the coordinates in which the rounds are fitted: half-whitened if `whiten`."""
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
        """Return this recipe without its teacher as JSON; `recipe_from_json` reads it."""
        return vars(self) | {"loss": self.loss.to_json(), "teacher": None}


def recipe_from_json(fields: dict[str, Any]) -> Recipe:
    """Return the recipe that `to_json` wrote; other input can raise any exception."""
    return Recipe(**(fields | {"loss": loss_from_json(fields["loss"]), "teacher": None}))


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
        """Name of the method."""
        return "discriminant"

    def __str__(self) -> str:
        return f"{self.method} (shrinkage {self.shrinkage:g})"

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON."""
        return dict(vars(self))


AnyRecipe = Recipe | DiscriminantRecipe


# The results of rounds ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Round:
    """One fit of a probe: its coefficients, and the size of the remaining gradient.

    The default values are for a method that minimises no loss, such as a discriminant.
    """

    coef: FloatArray  # (n_classes, n_features), on the prepared features
    intercept: FloatArray  # (n_classes,), zeros if none was fitted
    targets: str  # what was fitted: "labels", "soft", "outputs" or "candidates"
    loss: str  # "ce", "gce"; "lda" or "average" if no loss is minimised
    l2: float = 0.0  # coefficient of the penalty
    value: float = 0.0  # mean loss + ½·l2·‖coef‖²
    n_iter: int = 1  # steps of the fit, without the fit that gives the start
    n_passes: float = 0.0  # matrix products with all rows / 2, with the fit that gives the start
    gradient_norm: float = 0.0  # norm of the gradient, relative to its norm at zero coefficients
    converged: bool = True  # gradient_norm ≤ tol


HEADINGS = ("round", "targets", "loss", "l2", "steps", "passes", "relative gradient", "converged")


class RoundsTable(list[Round]):
    """List of `Round` records in the order of fitting. It prints as a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twohot import PartialLabelProbe
    >>> X, y = load_iris(return_X_y=True)
    >>> PartialLabelProbe().fit(X, y).rounds_
    round     targets  loss      l2  steps  passes  relative gradient  converged
        1      labels    ce  0.0222  ...                                     yes
        2  candidates   gce  0.0222  ...                                     yes
    """

    def cells(self) -> list[list[str]]:
        """Return the text cells of each round, under `HEADINGS`."""
        return [
            [
                *(str(number), entry.targets, entry.loss, f"{entry.l2:.3g}", str(entry.n_iter)),
                *(f"{entry.n_passes:g}", f"{entry.gradient_norm:.1e}"),
                "yes" if entry.converged else "no",
            ]
            for number, entry in enumerate(self, start=1)
        ]

    def __repr__(self) -> str:
        columns = zip(HEADINGS, *self.cells(), strict=True)
        aligned = ([cell.rjust(max(map(len, column))) for cell in column] for column in columns)
        return "\n".join(map("  ".join, zip(*aligned, strict=True)))

    def _repr_html_(self) -> str:
        return notebook_table(f"{len(self)} rounds", HEADINGS, self.cells())
