"""The paper's grids on real features: datasets × noise rates × draws of noisy labels.

A grid returns the runs that a figure needs. From the results of these runs, it returns the fitted
models of every draw. A run fits the models of one family, such as the paper's models.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeAlias

from twohot.base import COLOURS, check_choice, counted
from twohot_paper.data_set import PAPER_PENALTIES, STRENGTHS, DataSet
from twohot_paper.exhibit import Results, RunKind, register_runs
from twohot_paper.probe_run import (
    CLEAN,
    FAMILIES,
    MOST_LOST,
    STUDENTS,
    TEACHER,
    TWO_HOT,
    FittedModel,
    ProbeResult,
    ProbeRun,
    lost_share,
    measure_exactly,
)
from twohot_paper.real_figures import MARKS, MODEL_COLOURS, MethodCurve, NoisePanel
from twohot_paper.table import Cell, Mean, Table, mean_of

register_runs(RunKind(ProbeRun, ProbeResult, measure_exactly))

CORRUPTIONS = ("superclass", "symmetric", "asymmetric")
NOISE_RATES = (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
SEEDS = (0, 1, 2)

PAPER_MODELS = (TEACHER, *STUDENTS, TWO_HOT)
TUNED_TEACHER = "tuned teacher"  # the name of a family and of the only model in it

Models: TypeAlias = dict[str, FittedModel]  # by name, for one draw of labels


@dataclass(frozen=True)
class ProbeGrid:
    """Runs with one kind of noise and one penalty, for all noise rates and label draws."""

    corruption: str = "superclass"
    strength: str = "base"  # strength of the penalty; one of STRENGTHS
    families: tuple[str, ...] = ("paper",)  # families that are fitted on the same labels
    noise_rates: tuple[float, ...] = NOISE_RATES
    seeds: tuple[int, ...] = SEEDS
    # True: train on centred features of unit norm, with the penalty that has the same ridge as the
    # penalty on raw features.
    prepared: bool = False

    def __post_init__(self) -> None:
        check_choice("corruption", self.corruption, CORRUPTIONS)
        check_choice("strength", self.strength, tuple(STRENGTHS))
        for family in self.families:
            check_choice("family", family, tuple(FAMILIES))

    def runs(self, data: Sequence[DataSet]) -> list[ProbeRun]:
        """Return the runs that are needed on the datasets `data`."""
        return self.of(data)

    def of(self, data: Sequence[DataSet]) -> list[ProbeRun]:
        """Return all runs: the first draw on all datasets, then the second, and so on."""
        runs = (
            self.run(each, rate, seed, family)
            for seed in self.seeds
            for family in self.families
            for each in data
            for rate in self.noise_rates
        )
        return list(dict.fromkeys(runs))

    def run(self, data: DataSet, noise_rate: float, seed: int, family: str) -> ProbeRun:
        """Return one run; at noise rate 0, it is the same for all kinds of noise and seeds."""
        corruption, seed = (self.corruption, seed) if noise_rate else (CLEAN, 0)
        return ProbeRun(
            data.key, corruption, noise_rate, seed, self.l2(data), family, prepared=self.prepared
        )

    def l2(self, data: DataSet) -> float:
        """Return the penalty on the features used for training."""
        raw = data.l2(self.strength)
        return float(f"{raw / data.mean_square:.6g}") if self.prepared else raw

    def draws(self, results: Results, data: DataSet, noise_rate: float) -> list[Models]:
        """Return the models of every draw that has a finished run, by name."""
        return list(self.draws_by_seed(results, data, noise_rate).values())

    def draws_by_seed(
        self, results: Results, data: DataSet, noise_rate: float
    ) -> dict[int, Models]:
        """Return the models of `draws` by seed; equal seeds give equal labels in all grids."""
        draws: dict[int, Models] = {}
        for seed in self.seeds if noise_rate else self.seeds[:1]:
            for family in self.families:
                run = self.run(data, noise_rate, seed, family)
                if run in results:
                    draws.setdefault(seed, {}).update(_named(family, results[run].models))
        return draws

    def wrong_labels(self, results: Results, data: DataSet, noise_rate: float) -> Mean | None:
        """Return the fraction of wrong labels in the draws at a noise rate, in percent.

        The fraction differs from the noise rate by chance. With superclass noise, it is also
        smaller if a superclass has a single class, whose labels stay right.
        """
        runs = [run for run in self.of([data]) if run.noise_rate == noise_rate]
        shares = {run.seed: results[run].noise_rate for run in runs if run in results}
        return mean_of([*shares.values()], factor=100)

    def is_lost(self, data: DataSet, noise_rate: float) -> bool:
        """Return whether a noise rate is beyond recovery on a dataset; see `lost_share`."""
        return lost_share(data, self.corruption, noise_rate) > MOST_LOST

    def begun(self, results: Results, data: Sequence[DataSet]) -> list[DataSet]:
        """Return the datasets that have a finished run with this kind of noise."""
        noisy = replace(self, noise_rates=tuple(rate for rate in self.noise_rates if rate))
        return [each for each in data if any(run in results for run in noisy.of([each]))]

    def notes(self, results: Results, data: Sequence[DataSet]) -> tuple[str, ...]:
        """Return notes on unfinished runs."""
        notes = []
        names = titles(data)
        for each in data:
            runs = self.of([each])
            n_missing = sum(run not in results for run in runs)
            if n_missing:
                counts = f"{n_missing} of {counted(len(runs), 'run')}"
                notes.append(f"Not finished on {names[each.key]}: {counts}.")
        return tuple(notes)


def unconverged(models: Models) -> list[str]:
    """Return the names of the models whose solver did not reach its tolerance."""
    return [name for name, each in models.items() if each.converged is False]


def titles(data: Sequence[DataSet]) -> dict[str, str]:
    """Return display names by key, with the file name if a dataset has several files."""
    names = [each.paper_name or each.name for each in data]
    return {
        each.key: f"{name} ({each.name})" if names.count(name) > 1 else name
        for each, name in zip(data, names, strict=True)
    }


def among(data: Sequence[DataSet], paper_names: Sequence[str]) -> list[DataSet]:
    """Return the files of the paper's datasets in `paper_names`; all files if it is empty."""
    return [each for each in data if not paper_names or each.paper_name in paper_names]


def absent_note(data: Sequence[DataSet]) -> tuple[str, ...]:
    """Return a note on missing datasets of the paper, if any."""
    at_hand = {each.paper_name for each in data}
    names = ", ".join(name for name in PAPER_PENALTIES if name not in at_hand)
    return (f"Not run, because there are no features: {names}.",) if names else ()


def only_one_note(chosen: DataSet, data: Sequence[DataSet], paper_name: str) -> tuple[str, ...]:
    """Return a note if an exhibit uses the first available dataset instead of `paper_name`."""
    if chosen.paper_name == paper_name:
        return ()
    others = f", the first of {len(data)} files" if len(data) > 1 else ""
    return (f"There is no file of {paper_name}. This is {chosen.name}{others}.",)


def _named(family: str, models: Models) -> Models:
    """Return the models of a family, with names that no model of another family has."""
    return {TUNED_TEACHER: models[TEACHER]} if family == TUNED_TEACHER else models


# Cells of figures and tables: gains and values of models, mean ± std over draws -------------------


Read: TypeAlias = Callable[[FittedModel], float | None]
CellOf: TypeAlias = Callable[[list[Models], str], Mean | None]  # from draws, for one model

# Accuracy on test rows, or on the true labels of the training rows.
ACCURACIES: dict[str, Read] = {
    "test": attrgetter("test_accuracy"),
    "training": attrgetter("train_accuracy"),
}

# Display names of models, if they differ from their names.
SHOWN = {
    TEACHER: "teacher",
    **{name: f"student t = {t}" for t, name in enumerate(STUDENTS, start=2)},
    TWO_HOT: "two-hot student",
    "robust": "GCE on given labels",
    TUNED_TEACHER: "teacher at its own λ",
}

WRONG_LABELS = "wrong labels, %"  # column with the fraction of wrong labels
LOST_MARK, STUCK_MARK = MARKS  # marks of a noise rate
GAIN = "gain over the teacher\n(points of test accuracy)"  # axis label


def model_labels(names: Iterable[str]) -> dict[str, str]:
    """Return the display names of models, by name."""
    return {name: SHOWN.get(name, name) for name in names}


def gain(read: Read) -> CellOf:
    """Return a function that computes the gain of a model over the teacher, in points."""

    def cell(draws: list[Models], name: str) -> Mean | None:
        both = [(draw[name], draw[TEACHER]) for draw in draws if draw.keys() >= {name, TEACHER}]
        pairs = [(read(model), read(teacher)) for model, teacher in both]
        return mean_of([a - b for a, b in pairs if a is not None and b is not None], factor=100)

    return cell


def level(read: Read, factor: float = 100) -> CellOf:
    """Return a function that computes the value of a model, by default in percent."""

    def cell(draws: list[Models], name: str) -> Mean | None:
        values = [read(draw[name]) for draw in draws if name in draw]
        return mean_of([value for value in values if value is not None], factor=factor)

    return cell


def gain_columns(read: Read, models: Mapping[str, str]) -> dict[str, tuple[str, CellOf]]:
    """Return the columns of a table of gains: the teacher's level, and the gain of each model."""
    gains = {label: (name, gain(read)) for name, label in models.items()}
    return {"teacher, %": (TEACHER, level(read)), **gains}


def model_panels(
    grid: ProbeGrid,
    results: Results,
    data: Sequence[DataSet],
    models: Mapping[str, str],
    cell: CellOf,
) -> list[NoisePanel]:
    """Return a panel for every dataset with results, with a curve per model.

    `models` has display names by name. The standard deviation of a single draw is NaN.
    """
    names, nan = titles(data), float("nan")
    panels = []
    for each in grid.begun(results, data):
        draws = [grid.draws(results, each, rate) for rate in grid.noise_rates]
        curves = []
        for name, label in models.items():
            cells = [cell(some, name) for some in draws]
            means = tuple(nan if found is None else found.mean for found in cells)
            stds = tuple(nan if found is None or found.n < 2 else found.std for found in cells)
            colour = MODEL_COLOURS.get(name, COLOURS[0])
            curves.append(MethodCurve(label, colour, means, stds))
        rates = tuple(marked_rate(grid, results, each, rate) for rate in grid.noise_rates)
        where = grid_words(grid, results, each)
        panels.append(NoisePanel(names[each.key], grid.noise_rates, rates, tuple(curves), where))
    return panels


def grid_words(grid: ProbeGrid, results: Results, data: DataSet) -> str:
    """Return the noise, the penalty and the number of draws as text for a subtitle."""
    n_draws = {len(grid.draws_by_seed(results, data, rate)) for rate in grid.noise_rates if rate}
    counts = n_draws - {0}
    draws = counted(max(counts), "draw") if counts else "no draws"
    if len(counts) > 1:
        draws = f"{min(counts)} to {draws}"
    return f"{grid.corruption} noise, {grid.strength} λ = {grid.l2(data):.3g}, {draws}"


def model_table(
    title: str,
    grid: ProbeGrid,
    results: Results,
    data: Sequence[DataSet],
    columns: Mapping[str, tuple[str, CellOf]],
) -> Table:
    """Return a table with one row per dataset and noise rate that has results.

    `columns` has, by title, the name of a model and the function that computes its cell.
    """
    names = titles(data)
    rows: list[tuple[Cell, ...]] = []
    for each in grid.begun(results, data):
        for rate in grid.noise_rates:
            if draws := grid.draws(results, each, rate):
                cells = (cell(draws, name) for name, cell in columns.values())
                wrong = grid.wrong_labels(results, each, rate)
                rows.append(
                    (names[each.key], marked_rate(grid, results, each, rate), wrong, *cells)
                )
    return Table(title, ("dataset", "η", WRONG_LABELS, *columns), tuple(rows))


def marked_rate(grid: ProbeGrid, results: Results, data: DataSet, noise_rate: float) -> str:
    """Return a noise rate as text; marks: it is beyond recovery, or a model did not converge."""
    stuck = any(unconverged(models) for models in grid.draws(results, data, noise_rate))
    marks = LOST_MARK * grid.is_lost(data, noise_rate) + STUCK_MARK * stuck
    return f"{noise_rate:g}{marks}"


# Notes on a grid: models that did not converge, and unfinished runs -------------------------------


NO_CHOICE = "Nothing is chosen on test data. The paper reports the best test accuracy over epochs."

NOT_FREQUENT = "There, the true label is not the most frequent label of its class."


def grid_notes(grid: ProbeGrid, results: Results, data: Sequence[DataSet]) -> tuple[str, ...]:
    """Return notes on convergence, on noise beyond recovery, and on unfinished runs."""
    found = {run: results[run] for run in grid.of(data) if run in results}
    if not found:
        return grid.notes(results, data)
    solved = f"Models solved to convergence: {convergence(found.values())}. {NO_CHOICE}"
    marks = _unconverged_notes(grid, found, data) + _beyond_notes(grid, results, data)
    return (solved, *marks, *grid.notes(results, data))


def convergence(results: Iterable[ProbeResult]) -> str:
    """Return how many models of some runs reached their tolerance, for instance "11 of 12".

    At this tolerance, a fit is at the optimum of cross-entropy, or at a stationary point of
    generalised cross-entropy.

    Examples
    --------
    >>> convergence([])
    '0 of 0'
    """
    models: list[FittedModel] = [each for found in results for each in found.models.values()]
    return f"{sum(bool(each.converged) for each in models)} of {len(models)}"


def _beyond_notes(grid: ProbeGrid, results: Results, data: Sequence[DataSet]) -> list[str]:
    names = titles(data)
    notes = []
    for each in grid.begun(results, data):
        where = f"{names[each.key]}, {grid.corruption} noise at η ="
        rates = [f"{rate:g}" for rate in grid.noise_rates if grid.is_lost(each, rate)]
        if rates:
            lost = f"Beyond recovery ({LOST_MARK}), and left out of claims about accuracy"
            notes.append(f"{lost}: {where} {', '.join(rates)}. {NOT_FREQUENT}")
        shares = {rate: lost_share(each, grid.corruption, rate) for rate in grid.noise_rates}
        parts = [f"{rate:g} ({s:.0%} of rows)" for rate, s in shares.items() if 0 < s <= MOST_LOST]
        if parts:
            notes.append(f"In part beyond recovery: {where} {', '.join(parts)}. {NOT_FREQUENT}")
    return notes


def _unconverged_notes(
    grid: ProbeGrid, found: Mapping[ProbeRun, ProbeResult], data: Sequence[DataSet]
) -> list[str]:
    names = titles(data)
    notes = []
    for run, result in found.items():
        if stuck := unconverged(result.models):
            models = ", ".join(model_labels(stuck).values())
            where = f"{names[run.data]}, {grid.corruption} noise, η = {run.noise_rate:g}"
            notes.append(f"Not converged ({STUCK_MARK}): {where}, seed {run.seed}: {models}.")
    return notes
