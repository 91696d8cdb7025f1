"""Figures and tables of grids: gains and accuracy tables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from twohot.base import check_choice
from twohot_paper.data_set import DataSet, two_backbones
from twohot_paper.exhibit import Made, Maker, Results, register
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
    titles,
)
from twohot_paper.probe_run import FAMILIES, STUDENTS, TEACHER, TOP, TWO_HOT, FittedModel, ProbeRun
from twohot_paper.real_figures import gain_bars_figure
from twohot_paper.table import Cell, Mean, Table, mean_of

LAST = STUDENTS[-1]
TEST = ACCURACIES["test"]

# Number of candidates of each student; 0 if it has no candidates. The paper's student has two.
NUMBERS = {name: student.n_candidates or 0 for name, student in FAMILIES["candidates"].items()}
CANDIDATE_LABELS = {
    name: f"top-{k}" + " (two-hot)" * (name == TWO_HOT)
    for k, name in sorted((k, name) for name, k in {**NUMBERS, TWO_HOT: 2}.items())
}

# For each family: the models that a figure compares, with their display names.
COMPARED = {
    "paper": model_labels((*STUDENTS, TWO_HOT)),
    "candidates": CANDIDATE_LABELS,
    "losses": model_labels((LAST, TWO_HOT, *FAMILIES["losses"])),
    TUNED_TEACHER: model_labels((LAST, TWO_HOT, TUNED_TEACHER)),
}


@register("gains")
@dataclass(frozen=True)
class GainMaker(ProbeGrid, Maker):
    """Bars of the gains of some models over the paper's teacher, fitted on the same labels."""

    accuracy: str = "test"  # "test": accuracy on test rows; "training": on true training labels
    data_sets: tuple[str, ...] = ()  # names in the paper; empty: all datasets
    two_backbones: bool = False  # True: only files of equal rows from several backbones

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("accuracy", self.accuracy, tuple(ACCURACIES))

    def runs(self, data: Sequence[DataSet]) -> list[ProbeRun]:
        """Return the runs of the grid on the datasets of the figure."""
        return self.of(self._wanted(data))

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the gains; list the gains and the accuracy of the teacher."""
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
    """Return a table that says which number of candidates has the largest gain."""
    rows = []
    for data_set, rate, _, _, *cells in gains.rows:
        named = zip(CANDIDATE_LABELS.values(), cells, strict=True)
        known = {label: cell for label, cell in named if isinstance(cell, Mean)}
        two_hot = known.get(CANDIDATE_LABELS[TWO_HOT])
        if len(known) > 1 and two_hot is not None:
            best = max(known, key=lambda label: known[label].mean)
            rows.append((data_set, rate, best, known[best].mean - two_hot.mean))
    columns = ("dataset", "η", "best", "lead over two-hot, points")
    return Table("Number of candidates that gains most", columns, tuple(rows))


def _penalty_ratio(draws: list[Models], name: str) -> Mean | None:
    """Return the penalty of a model, divided by the penalty of the paper's teacher."""
    both = [draw for draw in draws if name in draw and TEACHER in draw]
    return mean_of([draw[name].l2 / draw[TEACHER].l2 for draw in both])


# The paper's appendix tables: test accuracy of every model, one table per dataset -----------------
# A second table per dataset shows quantities of the theorems: the accuracy on the true labels of
# the training rows, the numbers of rows that a round corrects and breaks, how often the true label
# is among the largest outputs, and mean outputs.

COUNT = 1.0  # factor for columns that are not in percent
TEST_ACCURACIES = {SHOWN[name]: (name, level(TEST)) for name in PAPER_MODELS}


@register("accuracy tables")
@dataclass(frozen=True)
class AccuracyTableMaker(ProbeGrid, Maker):
    """Tables of test accuracy for one kind of noise and one penalty."""

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Make two tables for each dataset that has a finished run with noise."""
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
    """Return the functions that compute the columns of `costs`, by column title."""
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
    """Return the fraction of mislabelled rows with the true label among the k largest outputs."""
    return None if model.truth_in_top is None else model.truth_in_top.get(str(k))


def _output(field: str, moment: str, model: FittedModel) -> float | None:
    """Return the mean ("mean") or standard deviation ("std") of an output over rows, or None."""
    outputs = getattr(model, field)
    return None if outputs is None else float(getattr(outputs, moment))
