"""What AutoProbe tried, as a table and a picture."""

from dataclasses import dataclass
from typing import Any

from twohot._checks.numbers import check_positive
from twohot._notebooks import notebook_table
from twohot.distill.average_recipe import AnyRecipe, AverageRecipe, any_recipe_from_json
from twohot.distill.averaged_probe import any_probe_for
from twohot.distill.fitted import FittedProbe
from twohot.distill.recipe import Recipe
from twohot.figures.choice import choice_figure
from twohot.select.agreement import mean, standard_error
from twohot.select.chance_agreement import CHANCE_ERRORS, chance_agreement
from twohot.select.scored import Scored
from twohot.select.selection import Selection

HEADINGS = ("", "candidate", "agreement", "likelihood", "noise", "passes")
WIDTH = 62  # of the longest name in the printed table


@dataclass(frozen=True)
class Tried:
    """One candidate and how it did on rows it had not seen."""

    recipe: AnyRecipe
    fit_intercept: bool
    agreement: float  # share of held-out noisy labels that it predicts
    agreement_error: float  # standard error
    chance: float  # agreement of the same predictions in any other order, on average
    chance_error: float  # standard deviation over these orders
    likelihood: float  # mean log-likelihood of held-out noisy labels
    likelihood_error: float  # standard error of its difference from the chosen one
    noise_rate: float  # share of wrong labels at which they are likeliest, if noise is uniform
    temperature: float  # that its logits are divided by, at which they are likeliest
    n_passes: float  # over the rows of all splits
    chosen: bool
    normalize: bool = True  # whether rows have unit norm

    @property
    def method(self) -> str:
        """The name of this way to make a probe."""
        return self.recipe.method

    @property
    def kind(self) -> str:
        """The method, and whether rows are half-whitened."""
        return f"{self.method}, half-whitened" if self.whiten else self.method

    @property
    def whiten(self) -> bool:
        """Whether it is a candidate on half-whitened rows."""
        return isinstance(self.recipe, Recipe) and self.recipe.whiten

    @property
    def n_rounds(self) -> int:
        """Number of rounds, the teacher's included; 1 if it has none."""
        return self.recipe.n_rounds if isinstance(self.recipe, Recipe) else 1

    @property
    def name(self) -> str:
        """Method and ridge, short."""
        return str(self.recipe)

    @property
    def ridge(self) -> float | None:
        """Strength of the penalty of its last round; None if it has none."""
        return self.recipe.ridge if isinstance(self.recipe, Recipe) else None

    @property
    def estimator(self) -> str:
        """The probe that fits it alone, as code."""
        return " ".join(str(self.probe()).split())

    def probe(self, **parameters: Any) -> FittedProbe:
        """Return the probe that fits it alone, not fitted; other parameters are its own."""
        own = {"fit_intercept": True} if self.fit_intercept else {}
        own |= {} if self.normalize else {"normalize": False}
        return any_probe_for(self.recipe, **(own | parameters))

    def record(self) -> dict[str, Any]:
        """Return all that is known as numbers and text."""
        made = {
            "method": self.method,
            "ridge": self.ridge,
            "n_rounds": self.n_rounds,
            "given_share": getattr(self.recipe, "given_share", 0.0),
            "whiten": self.whiten,
            "estimator": self.estimator,
        }
        return made | {name: value for name, value in vars(self).items() if name != "recipe"}


@dataclass(frozen=True)
class Choice:
    """All that was tried, in the order in which it was."""

    tried: tuple[Tried, ...]
    n_held_out: int  # rows scored on, over all splits
    n_splits: int

    @property
    def chosen(self) -> Tried:
        """The candidate that was chosen."""
        return next(entry for entry in self.tried if entry.chosen)

    @property
    def learnt(self) -> bool:
        """Whether any candidate predicts held-out labels better than chance.

        By a row more than chance explains: a probe that always says one label is at chance, up to
        rounding.
        """
        return any(
            entry.agreement
            > entry.chance + CHANCE_ERRORS * entry.chance_error + 1 / self.n_held_out
            for entry in self.tried
        )

    def nothing_learnt(self) -> str:
        """Return a sentence that says that nothing was learnt; nothing if something was."""
        if self.learnt:
            return ""
        return (
            f"The probe has learnt nothing: {self.chosen.agreement:.1%} of the held-out labels are "
            f"predicted, and {self.chosen.chance:.1%} by the same predictions in any other order."
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one dict per candidate, as a data frame takes them."""
        return [entry.record() for entry in self.tried]

    def cells(self) -> list[tuple[str, ...]]:
        """Return a line for every candidate as text, under `HEADINGS`."""
        recipe = self.chosen.recipe
        parts = recipe.parts if isinstance(recipe, AverageRecipe) else ()
        return [
            (
                "→" if entry.chosen else "+" if entry.recipe in parts else " ",
                "average of those marked +" if entry.chosen and parts else entry.name,
                f"{entry.agreement:.1%} ±{entry.agreement_error:>5.1%}",
                f"{entry.likelihood:.4f}",
                f"{entry.noise_rate:.0%}",
                f"{entry.n_passes:.0f}",
            )
            for entry in self.tried
        ]

    def __str__(self) -> str:
        lines, others = self.cells(), ""
        # Where labels are so easy that all predict the same, one need not read it thirty times.
        if len({line[2] for line in lines}) == 1:
            marked = [line for line in lines if line[0] != " "]
            n_others, agreement = len(lines) - len(marked), lines[0][2]
            others = f"\n{n_others} others predict as many: {agreement}" if n_others else ""
            lines = marked
        table = (
            f"{mark:2}{name:{WIDTH}}{agreement:>16}{likelihood:>12}{noise:>7}{passes:>8}"
            for mark, name, agreement, likelihood, noise, passes in [HEADINGS, *lines]
        )
        said = self.nothing_learnt()
        return "\n".join(table) + others + (f"\n{said}" if said else "")

    def _repr_html_(self) -> str:
        title = f"{len(self.tried)} candidates on {self.n_held_out} held-out rows"
        return notebook_table(title, HEADINGS, self.cells())

    def figure(self) -> Any:
        """Draw agreement against ridge, one line per kind; needs the extra `plot`."""
        return choice_figure(self)

    def to_json(self) -> dict[str, Any]:
        """Return the choice as JSON has it; `choice_from_json` reads it."""
        tried = [vars(entry) | {"recipe": entry.recipe.to_json()} for entry in self.tried]
        return vars(self) | {"tried": tried}


def choice_from_json(notes: dict[str, Any]) -> Choice:
    """Return the choice that `to_json` wrote; anything may be raised if it did not."""
    tried = tuple(
        Tried(**(entry | {"recipe": any_recipe_from_json(entry["recipe"])}))
        for entry in notes["tried"]
    )
    choice = Choice(**(notes | {"tried": tried}))
    # Raises StopIteration if none was chosen; logits are divided by its temperature.
    check_positive("temperature", choice.chosen.temperature)
    return choice


def choice_of(selection: Selection) -> Choice:
    """Return the record of a selection."""
    search = selection.search
    return Choice(
        tuple(_tried(selection, scored) for scored in selection.tried),
        n_held_out=len(search.weights),
        n_splits=len(search.splits),
    )


def _tried(selection: Selection, scored: Scored) -> Tried:
    search, calibration = selection.search, scored.calibration
    difference = calibration.likelihood - selection.chosen.calibration.likelihood
    labels, weights = search.held_out_labels, search.weights
    chance, chance_error = chance_agreement(labels, scored.predicted, weights)
    return Tried(
        recipe=scored.recipe,
        fit_intercept=search.coordinates.rows.intercept,
        agreement=scored.agreement,
        agreement_error=scored.agreement_error,
        chance=chance,
        chance_error=chance_error,
        likelihood=mean(calibration.likelihood, weights),
        likelihood_error=standard_error(difference, weights),
        # Of the labels that are drawn at random, one in K is right.
        noise_rate=calibration.noise_rate * (1 - 1 / search.given.n_classes),
        temperature=calibration.temperature,
        n_passes=scored.n_passes,
        chosen=scored is selection.chosen,
        normalize=selection.normalize,
    )
