"""What the paper does not tell apart: the loss, the start, the penalty, the preparation of rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from twohot_paper.data_set import PAPER_PENALTIES, STRENGTHS, DataSet, two_backbones
from twohot_paper.exact_trainer import FAMILIES, STUDENTS, TEACHER, TWO_HOT
from twohot_paper.grid import (
    CORRUPTIONS,
    NOISE_RATES,
    PAPER_MODELS,
    SEEDS,
    TUNED_TEACHER,
    GridMaker,
    Models,
    ProbeGrid,
    absent,
    absent_note,
    file_stems,
    titles,
)
from twohot_paper.grid_cells import (
    ACCURACIES,
    GAIN,
    SHOWN,
    WRONG_LABELS,
    CellOf,
    gain,
    gain_columns,
    grid_notes,
    grid_words,
    level,
    marked_rate,
    marked_table,
    model_curve,
    model_labels,
    model_panels,
    model_table,
    rate_mark,
    unconverged_cell,
)
from twohot_paper.maker import Made, Maker, Results, register
from twohot_paper.probe_run import TOP, FittedModel, ProbeRun
from twohot_paper.real_figures import NoisePanel, gain_bars_figure, noise_lines_figure
from twohot_paper.structure import StructureRun
from twohot_paper.table import Cell, Mean, Table, mean_of

ABLATION_RATES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
ABLATION_SEEDS = (0,)
LAST = STUDENTS[-1]
PREPARED = "centred, unit norm"
TEST = ACCURACIES["test"]


@register("model ablation")
@dataclass(frozen=True)
class ModelAblationMaker(GridMaker):
    """Other models of the same labels, beside the paper's last round and two-hot student."""

    family: str = "losses"
    noise_rates: tuple[float, ...] = ABLATION_RATES
    seeds: tuple[int, ...] = ABLATION_SEEDS

    @property
    def families(self) -> tuple[str, ...]:
        """Whose models are compared."""
        return (self.family, "paper")

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw gains over the paper's teacher; write down the penalties where they are chosen."""
        others = (TUNED_TEACHER,) if self.family == TUNED_TEACHER else tuple(FAMILIES[self.family])
        models = model_labels((LAST, TWO_HOT, *others))
        panels = model_panels(self.grid, results, data, models, gain(TEST))
        columns = gain_columns(TEST, models)
        if self.family == TUNED_TEACHER:
            columns["own λ / base λ"] = (TUNED_TEACHER, _penalty_ratio)
        title = (
            f"Gain over the teacher in points of test accuracy, {self.corruption} noise, "
            f"{self.strength} λ"
        )
        return Made(
            figures={"gains": gain_bars_figure(panels, ylabel=GAIN)} if panels else {},
            tables={"gains": model_table(title, self.grid, results, data, columns)},
            notes=grid_notes(self.grid, results, data),
        )


@register("feature ablation")
@dataclass(frozen=True)
class FeatureAblationMaker(GridMaker):
    """Raw features against centred ones of unit norm, at penalties that are as strong."""

    noise_rates: tuple[float, ...] = ABLATION_RATES
    seeds: tuple[int, ...] = ABLATION_SEEDS

    @property
    def grids(self) -> dict[str, ProbeGrid]:
        """The runs that are compared, by what the features are."""
        return {"raw": self.grid, PREPARED: replace(self.grid, prepared=True)}

    def runs(self, data: Sequence[DataSet]) -> list[ProbeRun]:
        """Return the grids of both kinds of features."""
        return [run for grid in self.grids.values() for run in grid.runs(data)]

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw test accuracies, of raw features solid and of prepared ones dashed."""
        prepared = self.grids[PREPARED]
        panels = [self._panel(results, data, each) for each in prepared.begun(results, data)]
        tables = {
            ("prepared" if grid.prepared else "raw"): _accuracies(name, grid, results, data)
            for name, grid in self.grids.items()
        }
        notes = [
            f"{name} features: {note}"
            for name, grid in self.grids.items()
            for note in grid_notes(grid, results, data)
        ]
        drawn = (
            {"accuracy": noise_lines_figure(panels, ylabel="test accuracy (%)")} if panels else {}
        )
        return Made(drawn, tables, tuple(notes))

    def _panel(self, results: Results, data: Sequence[DataSet], each: DataSet) -> NoisePanel:
        cell = level(TEST)
        curves = []
        for kind, grid in self.grids.items():
            draws = [grid.draws(results, each, rate) for rate in self.noise_rates]
            line = "--" if grid.prepared else "-"
            curves += [
                model_curve(
                    name,
                    f"{SHOWN[name]}, {kind}",
                    [cell(some, name) for some in draws],
                    line=line,
                )
                for name in (TEACHER, LAST, TWO_HOT)
            ]
        where = grid_words(self.grid, results, each)
        marks = tuple(rate_mark(self.grid, results, each, rate) for rate in self.noise_rates)
        return NoisePanel(titles(data)[each.key], self.noise_rates, tuple(curves), where, marks)


def _accuracies(name: str, grid: ProbeGrid, results: Results, data: Sequence[DataSet]) -> Table:
    columns = {
        label: (model, level(TEST))
        for model, label in model_labels((TEACHER, *STUDENTS, TWO_HOT)).items()
    }
    return model_table(f"Test accuracy (%), {name} features", grid, results, data, columns)


def _penalty_ratio(draws: list[Models], name: str) -> Mean | None:
    """Return how much larger the chosen penalty is than the one of the paper's teacher."""
    both = [draw for draw in draws if name in draw and TEACHER in draw]
    return mean_of([draw[name].l2 / draw[TEACHER].l2 for draw in both])


# The paper's appendix tables: test accuracy of every model, one table per data set ----------------
# Beside each stands what the theorems are about: accuracy on the true labels of the training rows,
# rows corrected and broken, whether the truth is among the largest outputs, and the outputs.


COUNT = 1.0  # factor of what is no share


@register("accuracy tables")
@dataclass(frozen=True)
class AccuracyTableMaker(GridMaker):
    """Tables of one corruption and one penalty."""

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Write two tables per data set with a noisy run, and one of those not at hand."""
        names, stems = titles(data), file_stems(data)
        tables = {}
        for each in self.grid.begun(results, data):
            where = f"{names[each.key]}, {self.corruption} noise, λ = {self.grid.l2(each):g}"
            tables[f"{stems[each.key]}_accuracy"] = self._accuracy(results, each, where)
            tables[f"{stems[each.key]}_rows"] = self._training_rows(results, each, where)
        if absent(data):
            tables["not_run"] = self._not_run(data)
        notes = grid_notes(self.grid, results, data)
        return Made(tables=tables, notes=(*notes, *absent_note(data)))

    def _accuracy(self, results: Results, data: DataSet, where: str) -> Table:
        """Return a row for every noise rate, also for those that are not run."""
        cell = level(ACCURACIES["test"])
        rows: list[tuple[Cell, ...]] = []
        for rate in self.noise_rates:
            draws = self.grid.draws(results, data, rate)
            wrong = self.grid.wrong_labels(results, data, rate)
            cells = (cell(draws, name) for name in PAPER_MODELS)
            rows.append(
                (marked_rate(self.grid, data, rate), wrong, *cells, unconverged_cell(draws))
            )
        columns = ("η", WRONG_LABELS, *(SHOWN[name] for name in PAPER_MODELS))
        return marked_table(f"Test accuracy (%): {where}", columns, rows)

    def _training_rows(self, results: Results, data: DataSet, where: str) -> Table:
        columns = _measures()
        rows: list[tuple[Cell, ...]] = []
        for rate in self.noise_rates:
            draws = self.grid.draws(results, data, rate)
            rows += [
                (
                    marked_rate(self.grid, data, rate),
                    SHOWN[name],
                    *(cell(draws, name) for cell in columns.values()),
                )
                for name in PAPER_MODELS
                if draws
            ]
        return Table(f"Training rows and cost: {where}", ("η", "model", *columns), tuple(rows))

    def _not_run(self, data: Sequence[DataSet]) -> Table:
        rows = tuple(
            (name, self.corruption, PAPER_PENALTIES[name] * STRENGTHS[self.strength], "no features")
            for name in absent(data)
        )
        return Table(
            "Tables of the paper that are not run", ("data set", "noise", "λ", "why"), rows
        )


def _measures() -> dict[str, CellOf]:
    """Return what is told of a model beside its test accuracy, by column."""
    columns = {
        "accuracy on true labels, %": level(ACCURACIES["training"]),
        "agreement with given labels, %": level(attrgetter("given_agreement")),
        "rows corrected": level(attrgetter("n_corrected"), COUNT),
        "rows broken": level(attrgetter("n_broken"), COUNT),
    }
    for k in TOP:
        columns[f"noisy rows, truth in top {k}, %"] = level(_TruthInTop(k))
    for name, field in (
        ("clean rows, output at label", "clean_true"),
        ("noisy rows, output at true label", "noisy_true"),
        ("noisy rows, output at given label", "noisy_given"),
    ):
        columns[f"{name}, mean %"] = level(_OutputOf(field, "mean"))
        columns[f"{name}, spread %"] = level(_OutputOf(field, "std"))
    columns["passes"] = level(attrgetter("n_passes"), COUNT)
    columns["CPU seconds"] = level(attrgetter("cpu_seconds"), COUNT)
    return columns


@dataclass(frozen=True)
class _TruthInTop:
    """Reads the share of noisy rows whose true label is among the k largest outputs."""

    k: int

    def __call__(self, model: FittedModel) -> float | None:
        return None if model.truth_in_top is None else model.truth_in_top.get(str(self.k))


@dataclass(frozen=True)
class _OutputOf:
    """Reads mean or spread of an output over rows, if there are such rows."""

    field: str
    moment: str

    def __call__(self, model: FittedModel) -> float | None:
        outputs = getattr(model, self.field)
        return None if outputs is None else float(getattr(outputs, self.moment))


# Gains with two backbones side by side: any feature files of one data set -------------------------


NOT_RUN = "Not run: needs two feature files of the same rows, of two backbones."


@register("backbones")
@dataclass(frozen=True)
class BackboneMaker(Maker):
    """A row of panels per corruption, a column per feature file."""

    corruptions: tuple[str, ...] = CORRUPTIONS
    strength: str = "base"
    noise_rates: tuple[float, ...] = NOISE_RATES
    seeds: tuple[int, ...] = SEEDS

    @property
    def grids(self) -> list[ProbeGrid]:
        """The runs that are compared, by corruption."""
        return [
            ProbeGrid(each, self.strength, noise_rates=self.noise_rates, seeds=self.seeds)
            for each in self.corruptions
        ]

    def runs(self, data: Sequence[DataSet]) -> list[Any]:
        """Return the grids of all files that share a data set, and how their classes correlate."""
        files = [each for group in two_backbones(data) for each in group]
        return [
            *(StructureRun(each.key) for each in files),
            *(run for grid in self.grids for run in grid.runs(files)),
        ]

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the gains of every data set that has two files."""
        groups = two_backbones(data)
        if not groups:
            return Made(notes=(NOT_RUN,))
        figures, tables = {}, {}
        notes: list[str] = []
        for group in groups:
            stem = group[0].paper_name or group[0].name
            panels = [panel for grid in self.grids for panel in _panels(grid, results, group)]
            if panels:
                figures[stem] = gain_bars_figure(
                    panels, ylabel=GAIN, n_columns=len(group), share_y=True
                )
            for grid in self.grids:
                tables[f"{stem}_{grid.corruption}"] = _table(grid, results, group)
                known = grid_notes(grid, results, group)
                notes += [f"{grid.corruption} noise: {note}" for note in known]
            tables[f"{stem}_correlation"] = _correlations(results, group)
        return Made(figures, tables, tuple(notes))


def _panels(grid: ProbeGrid, results: Results, group: Sequence[DataSet]) -> list[NoisePanel]:
    """Return the panels of all files, or none where one of them has no result."""
    models = model_labels((*STUDENTS, TWO_HOT))
    panels = model_panels(grid, results, group, models, gain(ACCURACIES["test"]))
    if len(panels) < len(group):
        return []
    return [replace(panel, title=each.name) for each, panel in zip(group, panels, strict=True)]


def _table(grid: ProbeGrid, results: Results, group: Sequence[DataSet]) -> Table:
    columns = gain_columns(ACCURACIES["test"], model_labels((*STUDENTS, TWO_HOT)))
    title = f"Gain over the teacher in points of test accuracy, {grid.corruption} noise"
    return model_table(title, grid, results, group, columns)


def _correlations(results: Results, group: Sequence[DataSet]) -> Table:
    """Return the mean correlation in a class, which a better backbone makes larger."""
    names = titles(group)
    rows = []
    for each in group:
        found = results.get(StructureRun(each.key))
        means = (None, None) if found is None else (found.same_class.mean, found.elsewhere.mean)
        rows.append((names[each.key], len(each.X), each.X.shape[1], *means))
    columns = ("feature file", "training rows", "features", "same class", "other superclass")
    return Table("Mean correlation of two training rows", columns, tuple(rows))
