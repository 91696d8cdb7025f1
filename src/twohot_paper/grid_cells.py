"""What figures and tables show of a grid: gains and levels of models, mean ± std over draws."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias

from twohot.base import COLOURS, METHOD_COLOURS, counted
from twohot_paper.data_set import DataSet
from twohot_paper.exact_trainer import STUDENTS, TEACHER, TWO_HOT
from twohot_paper.grid import TUNED_TEACHER, Models, ProbeGrid, titles, unconverged
from twohot_paper.maker import Results
from twohot_paper.probe_run import MOST_LOST, FittedModel, ProbeResult, ProbeRun
from twohot_paper.real_figures import MARKS, MethodCurve, NoisePanel
from twohot_paper.table import Cell, Mean, Table, mean_of

Read: TypeAlias = Callable[[FittedModel], float | None]
CellOf: TypeAlias = Callable[[list[Models], str], Mean | None]  # of some draws, for one model

# What accuracy may be of: test rows, or the true labels of the training rows.
ACCURACIES: dict[str, Read] = {
    "test": attrgetter("test_accuracy"),
    "training": attrgetter("train_accuracy"),
}

# How models are called in figures and tables, where it is not by their names.
SHOWN = {
    TEACHER: "teacher",
    **{name: f"student t = {t}" for t, name in enumerate(STUDENTS, start=2)},
    TWO_HOT: "two-hot student",
    "robust": "GCE on given labels",
    TUNED_TEACHER: "teacher at its own λ",
}

WRONG_LABELS = "wrong labels, %"  # a column: what became of the noise rate η
LOST_MARK, STUCK_MARK = MARKS  # of a noise rate
GAIN = "gain over the teacher\n(points of test accuracy)"  # along the side of a figure


def model_labels(names: Iterable[str]) -> dict[str, str]:
    """Return how models are called in figures and tables, by name."""
    return {name: SHOWN.get(name, name) for name in names}


def gain(read: Read) -> CellOf:
    """Return what measures the gain of a model over the teacher of the same labels, in points."""

    def cell(draws: list[Models], name: str) -> Mean | None:
        both = [draw for draw in draws if name in draw and TEACHER in draw]
        pairs = [(read(draw[name]), read(draw[TEACHER])) for draw in both]
        return mean_of([a - b for a, b in pairs if a is not None and b is not None], factor=100)

    return cell


def level(read: Read, factor: float = 100) -> CellOf:
    """Return what measures a model itself, in percent unless there is another factor."""

    def cell(draws: list[Models], name: str) -> Mean | None:
        values = [read(draw[name]) for draw in draws if name in draw]
        return mean_of([value for value in values if value is not None], factor=factor)

    return cell


def gain_columns(read: Read, models: Mapping[str, str]) -> dict[str, tuple[str, CellOf]]:
    """Return the columns of a table of gains: what the teacher has, and what each model adds."""
    gains = {label: (name, gain(read)) for name, label in models.items()}
    return {"teacher, %": (TEACHER, level(read)), **gains}


def model_panels(
    grid: ProbeGrid,
    results: Results,
    data: Sequence[DataSet],
    models: Mapping[str, str],
    cell: CellOf,
    *,
    line: str = "-",
) -> list[NoisePanel]:
    """Return a panel for each data set that has results, with a curve for each of some models.

    `models` has what to call each model. A single draw has no spread.
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
            colour = METHOD_COLOURS.get(name, COLOURS[0])
            curves.append(MethodCurve(label, colour, means, stds, line))
        rates = tuple(marked_rate(grid, results, each, rate) for rate in grid.noise_rates)
        where = grid_words(grid, results, each)
        panels.append(NoisePanel(names[each.key], grid.noise_rates, rates, tuple(curves), where))
    return panels


def grid_words(grid: ProbeGrid, results: Results, data: DataSet) -> str:
    """Return noise, penalty and number of draws, as a figure has them below the data set."""
    counts = {len(grid.draws_by_seed(results, data, rate)) for rate in grid.noise_rates if rate} - {
        0
    }
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
    """Return a row for every noise rate with results, of the data sets with a noisy run.

    A column is a model and what is shown of it.
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
    return Table(title, ("data set", "η", WRONG_LABELS, *columns), tuple(rows))


def marked_rate(grid: ProbeGrid, results: Results, data: DataSet, noise_rate: float) -> str:
    """Return a noise rate with its marks: beyond recovery, or a model that did not converge."""
    stuck = any(unconverged(models) for models in grid.draws(results, data, noise_rate))
    marks = LOST_MARK * grid.is_lost(data, noise_rate) + STUCK_MARK * stuck
    return f"{noise_rate:g}{marks}"


# What a reader must know of a grid: which models did not converge, and what is not finished -------


NO_CHOICE = "The test set chooses nothing; the paper reports the best test accuracy over epochs."

NOT_FREQUENT = "There the true label is not the most frequent one of its class."


def grid_notes(grid: ProbeGrid, results: Results, data: Sequence[DataSet]) -> tuple[str, ...]:
    """Return how far the models of a grid are solved, which are not, and what is not finished."""
    found = {run: results[run] for run in grid.runs(data) if run in results}
    if not found:
        return grid.notes(results, data)
    solved = f"Models solved to convergence: {convergence(found.values())}. {NO_CHOICE}"
    marks = _unconverged_notes(grid, found, data) + _beyond_notes(grid, results, data)
    return (solved, *marks, *grid.notes(results, data))


def convergence(results: Iterable[ProbeResult]) -> str:
    """Return how many of the models of some runs reached their tolerance, "11 of 12" for instance.

    There cross-entropy is at its optimum, and generalised cross-entropy at a stationary point.

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
        shares = {rate: grid.lost_share(each, rate) for rate in grid.noise_rates}
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
