"""What AutoProbe tried, as a table and a picture."""

from dataclasses import asdict, dataclass
from typing import Any

from twohot._extras import load_extra
from twohot.figures.palette import BLUE, ORANGE, PINK, SKY, VERMILION
from twohot.select.agreement import mean, standard_error
from twohot.select.chance import CHANCE_ERRORS, chance_agreement
from twohot.select.search import Search, Trial


@dataclass(frozen=True)
class Tried:
    """One candidate and how it did on rows it had not seen."""

    method: str  # "teacher", "rounds", "two-hot", "robust" or "robust rounds"
    ridge: float  # of its last round
    n_rounds: int
    given_share: float  # of its targets' weight that is the given label's, beside candidates
    estimator: str  # the probe that fits it alone
    agreement: float  # share of held-out noisy labels that it predicts
    agreement_error: float  # standard error
    chance: float  # agreement of the same predictions in any other order, on average
    chance_error: float  # standard deviation over these orders
    likelihood: float  # mean log-likelihood of held-out noisy labels
    likelihood_error: float  # standard error of its difference from the chosen one
    noise_rate: float  # share of labels drawn at random, at which it is likeliest
    temperature: float  # that its logits are divided by, at which it is likeliest
    n_passes: float  # over the rows of all splits
    chosen: bool

    @property
    def name(self) -> str:
        """Method and ridge, short."""
        share = f", {self.given_share:.0%} given" if self.given_share else ""
        rounds = f", round {self.n_rounds}" if self.n_rounds > 1 else ""
        return f"{self.method} (ridge {self.ridge:g}{rounds}{share})"


@dataclass(frozen=True)
class Choice:
    """All that was tried, in the order in which it was."""

    tried: tuple[Tried, ...]
    n_held_out: int  # rows judged on, over all splits
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

    def records(self) -> list[dict[str, Any]]:
        """Return one dict a candidate, as a data frame takes them."""
        return [asdict(entry) for entry in self.tried]

    def __str__(self) -> str:
        lines = [
            f"{'':2}{'candidate':{WIDTH}}{'agreement':>16}{'likelihood':>12}{'noise':>7}{'passes':>8}"
        ]
        lines += [
            f"{'→ ' if entry.chosen else '  '}{entry.name:{WIDTH}}"
            f"{entry.agreement:>9.1%} ±{entry.agreement_error:>5.1%}"
            f"{entry.likelihood:>12.4f}{entry.noise_rate:>7.0%}{entry.n_passes:>8.0f}"
            for entry in self.tried
        ]
        return "\n".join(lines)

    def figure(self) -> Any:
        """Draw agreement against ridge, a line a method; needs the extra `plot`."""
        figure = load_extra("matplotlib.figure", "plot", "figures").Figure(
            figsize=(7.0, 4.0), layout="constrained"
        )
        axes = figure.subplots()
        for number, method in enumerate(dict.fromkeys(entry.method for entry in self.tried)):
            entries = sorted((e for e in self.tried if e.method == method), key=lambda e: e.ridge)
            # Methods of the same ridge stand beside each other.
            places = [entry.ridge * ASIDE ** (number - 2) for entry in entries]
            heights = [100 * entry.agreement for entry in entries]
            axes.errorbar(
                places,
                heights,
                [100 * entry.agreement_error for entry in entries],
                label=method,
                color=COLOURS[number],
                marker="o",
                elinewidth=0.8,
                linestyle="-" if method in {"teacher", "robust"} else "",
            )
            for entry, place, height in zip(entries, places, heights, strict=True):
                if entry.chosen:
                    axes.plot(place, height, "o", ms=14, mfc="none", mec="0.2", label="chosen")
        axes.set(xscale="log", xlabel="ridge", ylabel="held-out labels predicted, % ± 1 s.e.")
        axes.set_xticks(RIDGE_TICKS, [f"{ridge:g}" for ridge in RIDGE_TICKS])
        axes.minorticks_off()
        axes.set_title(f"Chosen: {self.chosen.name}")
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right upper", frameon=False, fontsize=8)
        return figure


WIDTH = 48  # of the longest name in the printed table
# Factor between the places of two methods of the same ridge in the picture.
ASIDE = 1.05

RIDGE_TICKS = (0.3, 1, 3, 10, 30, 100)  # all that is ever tried lies about here

# Of the methods: what is learnt by cross-entropy is blue, by a robust loss warm.
COLOURS = (BLUE, SKY, PINK, VERMILION, ORANGE)


def choice_of(search: Search, best: Trial) -> Choice:
    """Return the record of a finished search."""
    return Choice(
        tuple(_tried(search, trial, best) for trial in search.trials.values()),
        n_held_out=len(search.weights),
        n_splits=len(search.splits),
    )


def _tried(search: Search, trial: Trial, best: Trial) -> Tried:
    candidate = trial.candidate
    made = {"fit_intercept": True} if search.coordinates.features.intercept else {}
    difference = trial.calibration.likelihood - best.calibration.likelihood
    chance, chance_error = chance_agreement(search.left_out_labels, trial.predicted, search.weights)
    return Tried(
        method=candidate.method,
        ridge=candidate.ridge,
        n_rounds=candidate.n_rounds,
        given_share=candidate.given_share,
        estimator=" ".join(str(candidate.estimator(**made)).split()),
        agreement=trial.agreement,
        agreement_error=trial.agreement_error,
        chance=chance,
        chance_error=chance_error,
        likelihood=mean(trial.calibration.likelihood, search.weights),
        likelihood_error=standard_error(difference, search.weights),
        noise_rate=trial.noise_rate,
        temperature=trial.calibration.temperature,
        n_passes=trial.n_passes,
        chosen=trial is best,
    )
