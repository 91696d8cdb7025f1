"""Figures and tables of grids: gains, accuracy tables, starts of the two-hot student."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

import numpy as np

from twohot.base import FloatArray, check_choice
from twohot.probes import LABELS, LabelTargets, Recipe, fit_round
from twohot.solve import CrossEntropy, GeneralizedCrossEntropy, Settings, Solver, softmax
from twohot_paper.data_set import DataSet, two_backbones
from twohot_paper.exhibit import Made, Maker, Results, RunKind, register, register_runs
from twohot_paper.grid import (
    ACCURACIES,
    GAIN,
    PAPER_MODELS,
    SHOWN,
    TUNED_TEACHER,
    CellOf,
    Models,
    ProbeGrid,
    absent_note,
    among,
    gain,
    gain_columns,
    grid_notes,
    level,
    marked_rate,
    model_labels,
    model_panels,
    model_table,
    only_one_note,
    titles,
)
from twohot_paper.probe_run import (
    FAMILIES,
    MAX_ITER,
    STUDENTS,
    TEACHER,
    TOP,
    TWO_HOT,
    FittedModel,
    ProbeRun,
    draw_labels,
    prepared_data,
)
from twohot_paper.real_figures import gain_bars_figure
from twohot_paper.table import Cell, Mean, Table, mean_of

LAST = STUDENTS[-1]
TEST = ACCURACIES["test"]

# Numbers of candidates by student; the paper's student has two.
NUMBERS = {name: student.n_candidates or 0 for name, student in FAMILIES["candidates"].items()}
CANDIDATE_LABELS = {
    name: f"top-{k}" + " (two-hot)" * (name == TWO_HOT)
    for k, name in sorted((k, name) for name, k in {**NUMBERS, TWO_HOT: 2}.items())
}

# Models drawn in comparisons of a family with the paper's, with display names.
COMPARED = {
    "paper": model_labels((*STUDENTS, TWO_HOT)),
    "candidates": CANDIDATE_LABELS,
    "losses": model_labels((LAST, TWO_HOT, *FAMILIES["losses"])),
    TUNED_TEACHER: model_labels((LAST, TWO_HOT, TUNED_TEACHER)),
}


@register("gains")
@dataclass(frozen=True)
class GainMaker(ProbeGrid, Maker):
    """Bars of the gains of some models over the paper's teacher of the same labels."""

    accuracy: str = "test"  # rows: "test", or "training" for their true labels
    data_sets: tuple[str, ...] = ()  # names in the paper; empty: all available
    two_backbones: bool = False  # only files of the same rows, side by side

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("accuracy", self.accuracy, tuple(ACCURACIES))

    def runs(self, data: Sequence[DataSet]) -> list[ProbeRun]:
        """Return the grid on the shown data sets."""
        return self.of(self._wanted(data))

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the gains; list them with the accuracy of the teacher."""
        wanted, models = self._wanted(data), COMPARED[self.families[0]]
        read = ACCURACIES[self.accuracy]
        panels = model_panels(self, results, wanted, models, gain(read))
        columns = gain_columns(read, models)
        if TUNED_TEACHER in self.families:
            columns["own λ / base λ"] = (TUNED_TEACHER, _penalty_ratio)
        title = (
            f"Gain over the teacher in points of {self.accuracy} accuracy, {self.corruption} "
            f"noise, {self.strength} λ" + ", centred features of unit norm" * self.prepared
        )
        tables = {"gains": model_table(title, self, results, wanted, columns)}
        if "candidates" in self.families:
            tables["best"] = _best(tables["gains"])
        ylabel, share_y = GAIN.replace("test", self.accuracy), self.two_backbones
        drawn = gain_bars_figure(panels, ylabel=ylabel, share_y=share_y) if panels else None
        notes = (*grid_notes(self, results, wanted), *absent_note(data))
        return Made({"gains": drawn} if drawn else {}, tables, notes)

    def _wanted(self, data: Sequence[DataSet]) -> list[DataSet]:
        if self.two_backbones:
            return [each for group in two_backbones(data) for each in group]
        return among(data, self.data_sets)


def _best(gains: Table) -> Table:
    """Return a table of the student with the largest gain in every row."""
    rows = []
    for data_set, rate, _, _, *cells in gains.rows:
        named = zip(CANDIDATE_LABELS.values(), cells, strict=True)
        known = {label: cell for label, cell in named if isinstance(cell, Mean)}
        two_hot = known.get(CANDIDATE_LABELS[TWO_HOT])
        if len(known) > 1 and two_hot is not None:
            best = max(known, key=lambda label: known[label].mean)
            rows.append((data_set, rate, best, known[best].mean - two_hot.mean))
    columns = ("data set", "η", "best", "lead over two-hot, points")
    return Table("Number of candidates that gains most", columns, tuple(rows))


def _penalty_ratio(draws: list[Models], name: str) -> Mean | None:
    """Return the ratio of the chosen penalty to that of the paper's teacher."""
    both = [draw for draw in draws if name in draw and TEACHER in draw]
    return mean_of([draw[name].l2 / draw[TEACHER].l2 for draw in both])


# The paper's appendix tables: test accuracy of every model, one table per data set ----------------
# Each has a second table with the quantities of the theorems: accuracy on the true labels of the
# training rows, rows corrected and broken, whether the truth is among the largest outputs, and
# outputs.


COUNT = 1.0  # factor of counts
TEST_ACCURACIES = {SHOWN[name]: (name, level(TEST)) for name in PAPER_MODELS}


@register("accuracy tables")
@dataclass(frozen=True)
class AccuracyTableMaker(ProbeGrid, Maker):
    """Tables of one corruption and one penalty."""

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Write two tables per data set with a noisy run."""
        names = titles(data)
        tables = {}
        for each in self.begun(results, data):
            where = f"{names[each.key]}, {self.corruption} noise, λ = {self.l2(each):g}"
            stem = re.sub(r"[^\w.-]+", "_", each.name)  # names may contain any character
            title = f"Test accuracy (%): {where}"
            table = model_table(title, self, results, [each], TEST_ACCURACIES)
            tables[f"{stem}_accuracy"] = table
            tables[f"{stem}_rows"] = self._training_rows(results, each, where)
        notes = (*grid_notes(self, results, data), *absent_note(data))
        return Made(tables=tables, notes=notes)

    def _training_rows(self, results: Results, data: DataSet, where: str) -> Table:
        columns = _measures()
        rows: list[tuple[Cell, ...]] = []
        for rate in self.noise_rates:
            if draws := self.draws(results, data, rate):
                shown = marked_rate(self, results, data, rate)
                rows += [
                    (shown, SHOWN[name], *(cell(draws, name) for cell in columns.values()))
                    for name in PAPER_MODELS
                ]
        return Table(f"Training rows and cost: {where}", ("η", "model", *columns), tuple(rows))


def _measures() -> dict[str, CellOf]:
    """Return the other quantities of a model, by column."""
    columns = {
        "accuracy on true labels, %": level(ACCURACIES["training"]),
        "agreement with given labels, %": level(attrgetter("given_agreement")),
        "rows corrected": level(attrgetter("n_corrected"), COUNT),
        "rows broken": level(attrgetter("n_broken"), COUNT),
    }
    for k in TOP:
        columns[f"noisy rows, truth in top {k}, %"] = level(partial(_truth_in_top, k))
    for name, field in (
        ("clean rows, output at label", "clean_true"),
        ("noisy rows, output at true label", "noisy_true"),
        ("noisy rows, output at given label", "noisy_given"),
    ):
        columns[f"{name}, mean %"] = level(partial(_output, field, "mean"))
        columns[f"{name}, spread %"] = level(partial(_output, field, "std"))
    columns["passes"] = level(attrgetter("n_passes"), COUNT)
    columns["CPU seconds"] = level(attrgetter("cpu_seconds"), COUNT)
    return columns


def _truth_in_top(k: int, model: FittedModel) -> float | None:
    """Return the share of noisy rows with the true label among the k largest outputs."""
    return None if model.truth_in_top is None else model.truth_in_top.get(str(k))


def _output(field: str, moment: str, model: FittedModel) -> float | None:
    """Return the mean or spread of an output over rows, if there are such rows."""
    outputs = getattr(model, field)
    return None if outputs is None else float(getattr(outputs, moment))


# Dependence of the two-hot student on the start of its fit ----------------------------------------
# Generalised cross-entropy is not convex: the start decides at which stationary point a fit ends.
# Cross-entropy has one optimum, so that no other model needs this comparison.


STARTS = ("teacher", "zero", "random 1", "random 2", "random 3")
DIGITS = 6  # recorded digits: more depend on the solver


@dataclass(frozen=True)
class StartsRun:
    """The settings of a run: labels, penalty, and the tolerance of the fits."""

    labels: ProbeRun
    tol: float = 1e-3  # relative tolerance of fits; a tenth of that of other runs


@dataclass(frozen=True)
class StartedFit:
    """The end of the fit from one start."""

    start: str  # one of STARTS
    value: float  # of the objective
    gradient_norm: float  # relative
    converged: bool
    test_accuracy: float
    largest_difference: float  # of a training probability from that of the first start
    agreement: float  # share of test rows predicted as from the first start


@dataclass(frozen=True)
class StartsResult:
    """The result of a run."""

    fits: tuple[StartedFit, ...]


def measure_starts(run: StartsRun, paths: Mapping[str, str]) -> StartsResult:
    """Fit the two-hot student from the teacher, from zero and from random coefficients."""
    rows = prepared_data(paths[run.labels.data], prepared=run.labels.prepared)
    labels = draw_labels(rows.data, run.labels)
    rows.coordinates.rows.attach(LABELS, labels.given)
    given = LabelTargets(rows.data.n_classes)
    settings = Settings(tol=run.labels.tol, max_iter=MAX_ITER)
    first = Recipe(CrossEntropy(), l2=run.labels.l2)
    teacher = fit_round(Solver(rows.coordinates, settings), given, first, None)[0].evaluation
    step = Recipe(GeneralizedCrossEntropy(), l2=run.labels.l2, teacher=first, n_candidates=2)
    fits: list[StartedFit] = []
    outputs: list[tuple[FloatArray, FloatArray]] = []  # on training and test rows
    for name in STARTS:
        start = _start(name, teacher.coef)
        solver = Solver(rows.coordinates, replace(settings, tol=run.tol, start=start))
        solution = fit_round(solver, given, step, teacher)[0]
        coef = solution.evaluation.coef.T.astype(np.float32)
        fitted = [softmax(X @ coef)[0] for X in (rows.coordinates.rows.X, rows.test_rows)]
        outputs.append((fitted[0], fitted[1]))
        (train, test), predicted = outputs[0], fitted[1].argmax(axis=1)
        fits.append(
            StartedFit(
                name,
                round(float(solution.evaluation.value), DIGITS),
                float(f"{solution.gradient_norm:.2g}"),
                solution.converged,
                float((predicted == labels.test).mean()),
                round(float(np.abs(fitted[0] - train).max()), DIGITS),
                float((predicted == test.argmax(axis=1)).mean()),
            )
        )
    return StartsResult(tuple(fits))


def _start(name: str, teacher: FloatArray) -> str | FloatArray:
    """Return a start; random coefficients are normal, with the norm of the teacher's."""
    if not name.startswith("random"):
        return name
    drawn = np.random.default_rng(int(name.split()[1])).normal(size=teacher.shape)
    return np.asarray(drawn * (np.linalg.norm(teacher) / np.linalg.norm(drawn)))


register_runs(RunKind(StartsRun, StartsResult, measure_starts))


@register("starts of the two-hot student")
@dataclass(frozen=True)
class StartsMaker(Maker):
    """One setting, five starts."""

    data_set: str = "Flowers-102"  # if it is missing, the first file
    noise_rate: float = 0.5

    def runs(self, data: Sequence[DataSet]) -> list[StartsRun]:
        """Return the run."""
        chosen = self._data(data)
        grid = ProbeGrid(noise_rates=(self.noise_rate,), seeds=(0,))
        return [StartsRun(grid.run(each, self.noise_rate, 0, "paper")) for each in chosen]

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Write the table."""
        rows = [
            (
                *(fit.start, fit.value, fit.gradient_norm, round(100 * fit.test_accuracy, 2)),
                *(round(fit.largest_difference, 3), round(100 * fit.agreement, 1)),
            )
            for run in self.runs(data)
            if run in results
            for fit in results[run].fits
        ]
        columns = (
            *("start", "objective", "relative gradient", "test accuracy, %"),
            *("largest difference of a probability", "same predictions, %"),
        )
        chosen = self._data(data)
        title = "Stationary points of the two-hot student, by start"
        notes = ("Differences and equal predictions are from the first start.",)
        if not chosen:
            return Made()
        name = titles(data)[chosen[0].key]
        subject = f"{name}, superclass noise, η = {self.noise_rate:g}"
        more = only_one_note(chosen[0], data, self.data_set)
        return Made({}, {"starts": Table(title, columns, tuple(rows))}, (*notes, *more), subject)

    def _data(self, data: Sequence[DataSet]) -> list[DataSet]:
        return list(among(data, [self.data_set]) or data)[:1]
