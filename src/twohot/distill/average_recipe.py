"""Two more ways to make a probe: a discriminant analysis, and an average of several probes."""

from dataclasses import dataclass
from typing import Any

from twohot.distill.recipe import Recipe, recipe_from_json

DISCRIMINANT, AVERAGE = "discriminant", "average"


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


@dataclass(frozen=True)
class AverageRecipe:
    """Several probes, whose logits are averaged, each divided by its temperature.

    Examples
    --------
    >>> from twohot.solve.losses import CrossEntropy
    >>> parts = (Recipe(CrossEntropy(), ridge=10.0), DiscriminantRecipe(0.1))
    >>> print(AverageRecipe(parts, temperatures=(1.0, 2.0)))
    average of teacher (ridge 10) and discriminant (shrinkage 0.1)
    """

    parts: tuple[Recipe | DiscriminantRecipe, ...]
    temperatures: tuple[float, ...]

    @property
    def method(self) -> str:
        """The name of this way to make a probe."""
        return AVERAGE

    def __str__(self) -> str:
        return f"{self.method} of " + " and ".join(map(str, self.parts))

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON has it."""
        return vars(self) | {"parts": [part.to_json() for part in self.parts]}


AnyRecipe = Recipe | DiscriminantRecipe | AverageRecipe


def any_recipe_from_json(fields: dict[str, Any]) -> AnyRecipe:
    """Return the recipe of any kind that `to_json` wrote; anything may be raised if it did not."""
    if "parts" in fields:
        parts = tuple(_part_from_json(part) for part in fields["parts"])
        return AverageRecipe(parts, tuple(map(float, fields["temperatures"])))
    return _part_from_json(fields)


def _part_from_json(fields: dict[str, Any]) -> Recipe | DiscriminantRecipe:
    return DiscriminantRecipe(**fields) if "shrinkage" in fields else recipe_from_json(fields)
