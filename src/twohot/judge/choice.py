"""The candidates of AutoProbe and its choice among them, as a record, a table and a figure."""

from dataclasses import dataclass
from typing import Any

from twohot.base import method_colours, new_figure, notebook_table
from twohot.judge.nearest import VotesRecipe
from twohot.probes import DiscriminantRecipe, FittedProbe, Recipe, probe_for, recipe_from_json

MemberRecipe = Recipe | DiscriminantRecipe | VotesRecipe
HEADINGS = ("", "member", "agreement", "likelihood", "noise", "weight", "passes")


@dataclass(frozen=True)
class Tried:
    """A candidate: a classifier that was tried, and its scores on held-out rows."""

    recipe: MemberRecipe
    agreement: float  # fraction of held-out given labels that it predicts
    agreement_error: float  # standard error of the agreement
    likelihood: float  # mean log-likelihood of held-out labels, with uniform noise
    noise_rate: float  # rate of uniform noise, by maximum likelihood
    temperature: float  # divisor of its logits, by maximum likelihood
    n_passes: float  # passes over the rows, in all folds
    weight: float = 0.0  # weight of its logits / temperature in the label model

    @property
    def chosen(self) -> bool:
        """Whether the candidate is a member of the label model, with a positive weight."""
        return self.weight > 0

    @property
    def method(self) -> str:
        """Name of the method."""
        return self.recipe.method

    @property
    def kind(self) -> str:
        """Name of the method; ", half-whitened" is added for a fit on half-whitened rows."""
        return f"{self.method}, half-whitened" if self.whiten else self.method

    @property
    def whiten(self) -> bool:
        """Whether the candidate is fitted on half-whitened rows (see `LinearProbe`)."""
        return isinstance(self.recipe, Recipe) and self.recipe.whiten

    @property
    def name(self) -> str:
        """Method and penalty as a short text."""
        return str(self.recipe)

    @property
    def ridge(self) -> float | None:
        """Strength of the penalty; None if the method has no ridge."""
        return self.recipe.ridge if isinstance(self.recipe, Recipe) else None

    @property
    def estimator(self) -> str:
        """The Python code of an unfitted probe for only this candidate; empty for nearest rows."""
        if isinstance(self.recipe, VotesRecipe):
            return ""
        return " ".join(str(self.probe()).split())

    def probe(self, **parameters: Any) -> FittedProbe:
        """Return an unfitted probe for only this candidate, with these parameters."""
        if isinstance(self.recipe, VotesRecipe):
            raise TypeError("votes of the nearest rows have no probe: use another candidate.")
        intercept = {"fit_intercept": True} if isinstance(self.recipe, Recipe) else {}
        return probe_for(self.recipe, **(intercept | parameters))

    def record(self) -> dict[str, Any]:
        """Return all fields as numbers and text."""
        names = ("method", "ridge", "whiten", "estimator", "chosen")
        derived = {name: getattr(self, name) for name in names}
        return derived | {name: value for name, value in vars(self).items() if name != "recipe"}


@dataclass(frozen=True)
class Choice:
    """All candidates in the order of their fits, and the result of the label model."""

    tried: tuple[Tried, ...]
    n_rows: int  # number of rows of the sample
    n_folds: int
    n_rounds: int  # number of rounds of fits to the posterior
    agreement: float  # fraction of held-out labels that the label model predicts
    agreement_error: float  # standard error of the agreement
    noise_rate: float  # fraction of wrong labels, estimated by the label model
    interval: tuple[float, float]  # bounds of noise_rate, widened by two standard errors
    learnt: bool  # whether features predict labels better than class frequencies alone
    parts: tuple[tuple[str, float], ...]  # name and weight of each part of the fitted probe

    @property
    def chosen(self) -> tuple[Tried, ...]:
        """Candidates that are members of the label model."""
        return tuple(entry for entry in self.tried if entry.chosen)

    @property
    def name(self) -> str:
        """Description of the fitted probe in one line."""
        parts = " and ".join(name for name, _ in self.parts)
        rounds = f", {self.n_rounds} rounds" if self.n_rounds else ""
        return f"anchored self-distillation{rounds}: {parts}"

    def best(self, method: str) -> Tried:
        """Return the candidate of a method with the largest likelihood of the labels."""
        entries = (entry for entry in self.tried if entry.method == method)
        return max(entries, key=lambda entry: entry.likelihood)

    def best_by_agreement(self) -> list[Tried]:
        """Return the candidate of largest agreement of each method; the best one is last."""
        ordered = sorted(self.tried, key=lambda entry: entry.agreement)
        return list({entry.method: entry for entry in ordered}.values())

    def nothing_learnt(self) -> str:
        """Return a warning if nothing was learnt, else an empty string."""
        if self.learnt:
            return ""
        return (
            f"Nothing was learnt: the features predict {self.agreement:.1%} of the held-out "
            "labels, no better than the class frequencies alone."
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one dict per candidate, for a data frame."""
        return [entry.record() for entry in self.tried]

    def cells(self) -> list[tuple[str, ...]]:
        """Return the table as text: the cells of each candidate, in the columns of `HEADINGS`."""
        return [
            (
                "+" if entry.chosen else " ",
                entry.name,
                f"{entry.agreement:.1%} ±{entry.agreement_error:>5.1%}",
                f"{entry.likelihood:.4f}",
                f"{entry.noise_rate:.0%}",
                f"{entry.weight:.2f}" if entry.chosen else "",
                f"{entry.n_passes:.0f}",
            )
            for entry in self.tried
        ]

    def __str__(self) -> str:
        width = max(len(entry.name) for entry in self.tried) + 1
        lines = [
            f"{mark:2}{name:{width}}{agreement:>16}{likelihood:>12}{noise:>7}{weight:>8}{passes:>8}"
            for mark, name, agreement, likelihood, noise, weight, passes in [
                HEADINGS,
                *self.cells(),
            ]
        ]
        if not self.learnt:
            return "\n".join([*lines, self.nothing_learnt()])
        low, high = self.interval
        wrong = (
            f"About {self.noise_rate:.1%} of the labels are wrong: at least {low:.1%} and at most "
            f"{high:.1%}, with a margin of two standard errors."
        )
        return "\n".join([*lines, f"Fitted: {self.name}", wrong])

    def _repr_html_(self) -> str:
        title = f"{len(self.tried)} candidates on {self.n_rows} rows in {self.n_folds} folds"
        return notebook_table(title, HEADINGS, self.cells())

    def figure(self) -> Any:
        """Draw agreement with held-out labels against ridge; needs the extra `plot`.

        Each kind of candidate has a line; error bars are one standard error. Open markers mean fits
        on half-whitened rows. Circles around markers mean members of the label model. A dotted
        horizontal line shows the best agreement of a method without a ridge. The solid horizontal
        line shows the agreement of the label model.
        """
        figure = new_figure(8.0, 4.0)
        axes = figure.subplots()
        colours = method_colours(entry.method for entry in self.tried)
        kinds: dict[str, list[tuple[float, Tried]]] = {}
        for entry in self.tried:
            if entry.ridge is not None:
                kinds.setdefault(entry.kind, []).append((entry.ridge, entry))
        for kind, members in kinds.items():
            places, entries = zip(*sorted(members, key=lambda pair: pair[0]), strict=True)
            heights = [100 * entry.agreement for entry in entries]
            axes.errorbar(
                places,
                heights,
                [100 * entry.agreement_error for entry in entries],
                label=kind,
                color=colours[entries[0].method],
                marker="o",
                markerfacecolor="white" if entries[0].whiten else None,
                elinewidth=0.8,
                linestyle="--" if entries[0].whiten else "-",
            )
            for entry, place, height in zip(entries, places, heights, strict=True):
                if entry.chosen:
                    axes.plot(place, height, "o", ms=14, mfc="none", mec="0.2")
        for entry in self.best_by_agreement():
            if entry.ridge is None:
                label, height = entry.method, 100 * entry.agreement
                axes.axhline(height, color=colours[label], linestyle=":", label=label)
        axes.set(xscale="log", xlabel="ridge", ylabel="held-out labels predicted, % ± 1 s.e.")
        ridges = sorted({ridge for members in kinds.values() for ridge, _ in members})
        axes.set_xticks(ridges, [f"{ridge:g}" for ridge in ridges])
        axes.minorticks_off()
        axes.axhline(100 * self.agreement, color="0.2", label="label model")
        title = self.name.replace(": ", ":\n").replace(" and ", "\nand ")  # one line per part
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right upper", frameon=False, fontsize=8)
        return figure

    def to_json(self) -> dict[str, Any]:
        """Return the choice as JSON; `choice_from_json` reads it."""
        tried = [vars(entry) | {"recipe": entry.recipe.to_json()} for entry in self.tried]
        return vars(self) | {"tried": tried}


def choice_from_json(notes: dict[str, Any]) -> Choice:
    """Return the choice that `to_json` wrote; other input can raise any exception."""
    tried = tuple(
        Tried(**entry | {"recipe": _recipe_from(entry["recipe"])}) for entry in notes["tried"]
    )
    parts = tuple((name, weight) for name, weight in notes["parts"])
    return Choice(**notes | {"tried": tried, "interval": tuple(notes["interval"]), "parts": parts})


def _recipe_from(recipe: dict[str, Any]) -> MemberRecipe:
    if "n_voters" in recipe:
        return VotesRecipe(**recipe)
    return DiscriminantRecipe(**recipe) if "shrinkage" in recipe else recipe_from_json(recipe)
