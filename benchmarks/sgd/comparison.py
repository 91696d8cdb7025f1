"""SGD as the paper trains, epoch by epoch, beside the exact optimum of the same objective."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.sgd.trainer import N_EPOCHS, RATES, SgdResult, SgdRun
from twohot.base import counted, new_figure
from twohot_paper.data_set import DataSet
from twohot_paper.exhibit import Made, Results
from twohot_paper.grid import only_one_note, titles
from twohot_paper.probe_run import (
    CLEAN,
    ROUNDS,
    STUDENTS,
    TEACHER,
    TWO_HOT,
    FittedModel,
    ProbeResult,
)
from twohot_paper.real_figures import MODEL_COLOURS
from twohot_paper.table import Cell, Table

# The same models by two trainers: what SGD and the exact solver reach, and what each costs --------


MODELS = (*ROUNDS, TWO_HOT)

# What a practitioner trains who wants the last round, and who wants the two-hot student.
ROUND_PATH, TWO_HOT_PATH = ROUNDS, (TEACHER, TWO_HOT)


@dataclass(frozen=True)
class TrainerPair:
    """Two trainers on the same labels."""

    data: str  # name of the data set
    run: SgdRun
    sgd: SgdResult
    exact: ProbeResult | None  # None where it is not finished


@dataclass(frozen=True)
class Cost:
    """What fits take."""

    cpu_seconds: float
    n_passes: float  # over all rows; an epoch is one

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.cpu_seconds + other.cpu_seconds, self.n_passes + other.n_passes)

    def times(self, factor: float) -> "Cost":
        """Return the cost of so many."""
        return Cost(factor * self.cpu_seconds, factor * self.n_passes)


def trainer_pairs(results: Results, data: Sequence[DataSet]) -> Iterator[TrainerPair]:
    """Yield what both trainers recorded at the base penalty, by data set, noise rate and seed."""
    names = titles(data)
    base = {each.key: each.l2("base") for each in data}
    runs = [run for run in results if isinstance(run, SgdRun) and base.get(run.data) == run.l2]
    for run in sorted(runs, key=lambda run: (names[run.data], run.noise_rate, run.seed)):
        yield TrainerPair(names[run.data], run, results[run], results.get(run.exact))


def cost_of(models: Mapping[str, FittedModel], names: Iterable[str] = MODELS) -> Cost:
    """Return what some models took together."""
    chosen = [models[name] for name in names]
    return Cost(sum(each.cpu_seconds for each in chosen), sum(each.n_passes for each in chosen))


def rate_cost(result: SgdResult) -> Cost:
    """Return what the choice of SGD's rate took."""
    return Cost(result.grid_seconds, result.grid_epochs)


def mean_cost(costs: Sequence[Cost]) -> Cost:
    """Return the mean of some costs."""
    return sum(costs, start=Cost(0.0, 0.0)).times(1 / len(costs))


# Accuracy of models that are trained epoch by epoch, beside where they would end ------------------


SIZE = 3.0, 2.2  # of a panel, in inches
DARK = "0.25"


@dataclass(frozen=True, eq=False)
class EpochPanel:
    """One model: test accuracy in % after every epoch, the first being 1."""

    curve: Sequence[float]
    picked_curve: Sequence[float]  # of the same model, learnt from models picked on the test set
    picked_epoch: int
    optimum: float | None  # where the exact solver ends, if that is known


def epochs_figure(
    panels: Sequence[Sequence[EpochPanel | None]],
    row_names: Sequence[str],
    column_names: Sequence[str],
    colours: Sequence[str],
    *,
    title: str = "",
) -> Any:
    """Draw a grid of panels, one colour a row; panels of one column have one scale.

    `title` tells data and noise.
    """
    n_rows, n_columns = len(row_names), len(column_names)
    figure = new_figure(SIZE[0] * n_columns + 0.5, SIZE[1] * n_rows + 0.7)
    grid = figure.subplots(n_rows, n_columns, sharex=True, sharey="col", squeeze=False)
    for line, row, colour in zip(grid, panels, colours, strict=True):
        for axes, panel in zip(line, row, strict=True):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(visible=True, color="0.92", linewidth=0.6)
            if panel is not None:
                _draw_panel(axes, panel, colour)
    for axes, name in zip(grid[0], column_names, strict=True):
        axes.set_title(name, fontsize=11)
    for axes in grid[-1]:
        axes.set(xlabel="epoch", xscale="log")
        ticks = [tick for tick in (1, 3, 10, 30, 100, 200) if tick <= axes.get_xlim()[1]]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
    for axes, name in zip(grid[:, 0], row_names, strict=True):
        axes.set_ylabel(f"{name}\ntest accuracy, %")
    figure.suptitle(title, fontsize=11, parse_math=False)
    _legend(figure, grid)
    return figure


def _draw_panel(axes: Any, panel: EpochPanel, colour: str) -> None:
    epochs = np.arange(1, len(panel.curve) + 1)
    if list(panel.picked_curve) != list(panel.curve):
        style = {"color": colour, "linewidth": 1, "linestyle": ":"}
        label = "SGD, learnt from models picked on the test set"
        axes.plot(epochs, panel.picked_curve, label=label, **style)
    axes.plot(epochs, panel.curve, color=colour, linewidth=1.8, label="SGD")
    if panel.optimum is not None:
        axes.axhline(
            panel.optimum, color=DARK, linestyle=(0, (5, 2)), linewidth=1.2, label="exact optimum"
        )
    last = {"markersize": 6, "markeredgecolor": "white", "color": colour, "clip_on": False}
    axes.plot(epochs[-1], panel.curve[-1], "o", label="SGD, last epoch", zorder=4, **last)
    best = panel.picked_epoch, panel.picked_curve[panel.picked_epoch - 1]
    star = {"markersize": 11, "markerfacecolor": "white", "markeredgecolor": DARK}
    axes.plot(*best, "*", zorder=5, label="the paper's way: best epoch on the test set", **star)


def _legend(figure: Any, grid: Any) -> None:
    handles = {
        label: handle
        for axes in grid.flat
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    n_columns = min(3, grid.shape[1])
    legend = figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=n_columns,
        frameon=False,
        fontsize=9,
    )
    for handle in legend.legend_handles:
        handle.set_color(DARK)  # the rows have colours of their own


# The models whose epochs are drawn: rows of the figure, with the names of their colours.
DRAWN = {TEACHER: "teacher", ROUNDS[-1]: "rounds", TWO_HOT: "two-hot"}
NAMES = {TEACHER: "teacher", TWO_HOT: "two-hot student"} | {
    name: f"student, {name}" for name in STUDENTS
}

# The paper's grid of one corruption and one penalty, which costs are extrapolated to.
GRID_RUNS = 8 * 3
GRID_WORDS = "8 η × 3 seeds"

ACCURACY_COLUMNS = (
    "η",
    "model",
    "SGD's rate",
    "SGD, last epoch",
    "SGD, best epoch on the test set (the paper's way)",
    "that epoch",
    "exact optimum",
    "last epoch less exact",
    "SGD's relative gradient",
)
COST_COLUMNS = (
    "what",
    "SGD, CPU s",
    "exact, CPU s",
    "ratio",
    "SGD, passes",
    "exact, passes",
    "ratio of passes",
)

MADE_NOTE = (
    "`python -m benchmarks.sgd.run FEATURES` makes this page, from the records in `runs.jsonl`. It"
    ' needs torch: `pip install "twohot[sgd]"`.'
)
RATE_NOTE = (
    "SGD's rate was chosen once for each draw of labels: by the teacher, on a held-out fifth of the"
    " noisy training labels. No test row was looked at for it."
)
PICK_NOTE = (
    "The paper's way lets the test set choose the epoch, of every model and of those it learns"
    " from. It is shown for comparison, at the same rate, and is no estimate of accuracy."
)
COST_NOTE = (
    "CPU seconds are those of the fits on one thread: without reading rows, without SGD's looks at"
    " the test set, without the preparation of rows that all exact runs of a data set share."
)


@dataclass(frozen=True)
class TrainerMaker:
    """Curves of SGD with the exact optimum as a line; accuracy and cost of both."""

    corruption: str = "superclass"
    strength: str = "base"
    noise_rates: tuple[float, ...] = (0.5, 0.1, 0.8)  # the most wanted first
    seed: int = 0
    n_epochs: int = N_EPOCHS
    rates: tuple[float, ...] = RATES
    data_set: str = "Flowers-102"  # SGD takes long: on this data set alone, or on the first

    def runs(self, data: Sequence[DataSet]) -> list[Any]:
        """Return the exact runs, which take minutes, and then SGD's."""
        runs = [
            SgdRun(
                each.key,
                self.corruption if rate else CLEAN,
                rate,
                self.seed,
                each.l2(self.strength),
                self.n_epochs,
                self.rates,
            )
            for each in self._chosen(data)
            for rate in self.noise_rates
        ]
        return [*(run.exact for run in runs), *runs]

    def _chosen(self, data: Sequence[DataSet]) -> Sequence[DataSet]:
        """Return the one data set that it is run on."""
        named = [each for each in data if each.paper_name == self.data_set]
        return (named or data)[:1]

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the epochs; tell accuracies and costs."""
        runs = [run for run in self.runs(data) if isinstance(run, SgdRun)]
        done = {run: results[run] for run in runs if run in results}
        exact = {run.exact: results[run.exact] for run in runs if run.exact in results}
        pairs = list(trainer_pairs(done | exact, data))
        notes = [MADE_NOTE, RATE_NOTE, PICK_NOTE, COST_NOTE]
        for words, n_done in (("SGD", len(done)), ("exact", len(exact))):
            if n_done < len(runs):
                notes.append(f"Finished: {n_done} of {len(runs)} {words} runs.")
        notes += [_edge_note(pair) for pair in pairs if _at_edge(pair)]
        for each in self._chosen(data):
            notes += only_one_note(each, data, self.data_set)
        if not pairs:
            return Made(notes=tuple(notes))
        return Made(
            figures={"trainers": trainer_figure(pairs)},
            tables={"trainers": accuracy_by_trainer(pairs), "trainers-cost": cost_table(pairs)},
            notes=tuple(notes),
            subject=_subject(pairs),
        )


def trainer_figure(pairs: Sequence[TrainerPair]) -> Any:
    """Draw teacher, last student and two-hot student at every noise rate."""
    return epochs_figure(
        [[_panel(pair, name) for pair in pairs] for name in DRAWN],
        [NAMES[name] for name in DRAWN],
        [f"η = {pair.run.noise_rate:g}, rate {pair.sgd.rate:g}" for pair in pairs],
        [MODEL_COLOURS[colour] for colour in DRAWN.values()],
        title=_subject(pairs),
    )


def accuracy_by_trainer(pairs: Sequence[TrainerPair]) -> Table:
    """Return test accuracies of every model: SGD's last epoch, its best on the test set, exact."""
    rows = tuple(_accuracies(pair, name) for pair in pairs for name in MODELS)
    where = f"{pairs[0].data}, {pairs[0].run.corruption} noise"
    return Table(f"Test accuracy (%) by trainer, {where}", ACCURACY_COLUMNS, rows)


def cost_table(pairs: Sequence[TrainerPair]) -> Table:
    """Return CPU seconds and passes of both trainers: measured, and extrapolated to a grid."""
    both = [pair for pair in pairs if pair.exact is not None]
    title = f"Cost by trainer, {pairs[0].data}: mean of {counted(len(both), 'run')} of six models"
    if not both:
        return Table(title, COST_COLUMNS, ())
    parts = {"teacher": (TEACHER,), "four students": STUDENTS, "two-hot student": (TWO_HOT,)}
    rows = [
        _cost_row(words, _sgd_cost(both, names), _exact_cost(both, names))
        for words, names in parts.items()
    ]
    sgd, exact = _sgd_cost(both, MODELS), _exact_cost(both, MODELS)
    choice = mean_cost([rate_cost(pair.sgd) for pair in both])
    often = choice.times(len(MODELS))
    n_rates = len(both[0].run.rates)
    grid = f"{GRID_WORDS}, extrapolated from {counted(len(both), 'run')}"
    rows += [
        _cost_row(f"choice among {n_rates} rates, by the teacher", choice, None),
        _cost_row("one run in all", sgd + choice, exact),
        _cost_row(grid, (sgd + choice).times(GRID_RUNS), exact.times(GRID_RUNS)),
        _cost_row(
            f"{grid}, if every model chose its own rate",
            (sgd + often).times(GRID_RUNS),
            exact.times(GRID_RUNS),
        ),
    ]
    return Table(title, COST_COLUMNS, tuple(rows))


def _subject(pairs: Sequence[TrainerPair]) -> str:
    """Return data, noise and penalty of all pairs."""
    first = pairs[0]
    return f"{first.data}, {first.run.corruption} noise, λ = {first.run.l2:.3g}, 1 draw"


def _panel(pair: TrainerPair, name: str) -> EpochPanel:
    pick = pair.sgd.paper_way[name]
    return EpochPanel(
        [100 * value for value in pair.sgd.test_curves[name]],
        [100 * value for value in pick.test_curve],
        pick.epoch,
        None if pair.exact is None else 100 * pair.exact.models[name].test_accuracy,
    )


def _accuracies(pair: TrainerPair, name: str) -> tuple[Cell, ...]:
    last, pick = pair.sgd.models[name], pair.sgd.paper_way[name]
    exact = None if pair.exact is None else 100 * pair.exact.models[name].test_accuracy
    shown = 100 * last.test_accuracy
    return (
        pair.run.noise_rate,
        NAMES[name],
        pair.sgd.rate,
        round(shown, 1),
        round(100 * pick.test_accuracy, 1),
        pick.epoch,
        None if exact is None else round(exact, 1),
        None if exact is None else round(shown - exact, 1),
        None if last.gradient_norm is None else float(f"{last.gradient_norm:.1g}"),
    )


def _at_edge(pair: TrainerPair) -> bool:
    return pair.sgd.rate in {min(pair.run.rates), max(pair.run.rates)}


def _edge_note(pair: TrainerPair) -> str:
    return (
        f"At η = {pair.run.noise_rate:g} the chosen rate, {pair.sgd.rate:g}, is at the edge of the"
        " paper's grid: one beyond it might agree better."
    )


def _sgd_cost(pairs: Sequence[TrainerPair], names: Sequence[str]) -> Cost:
    return mean_cost([cost_of(pair.sgd.models, names) for pair in pairs])


def _exact_cost(pairs: Sequence[TrainerPair], names: Sequence[str]) -> Cost:
    return mean_cost([cost_of(pair.exact.models, names) for pair in pairs if pair.exact])


def _cost_row(what: str, sgd: Cost, exact: Cost | None) -> tuple[Cell, ...]:
    cpu, passes = (None, None) if exact is None else (exact.cpu_seconds, exact.n_passes)
    return (what, *_compared(sgd.cpu_seconds, cpu), *_compared(sgd.n_passes, passes))


def _compared(sgd: float, exact: float | None) -> tuple[Cell, ...]:
    """Return two costs and their ratio, without digits that mean nothing."""
    if exact is None:
        return _rounded(sgd), None, None
    return _rounded(sgd), _rounded(exact), round(sgd / exact, 1)


def _rounded(cost: float) -> Cell:
    return round(cost) if cost >= 100 else round(cost, 1)
