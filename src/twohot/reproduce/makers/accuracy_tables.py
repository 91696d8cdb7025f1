"""The paper's appendix tables: test accuracy of every model, one table per data set.

Beside each stands what the theorems are about: accuracy on the true labels of the training rows,
rows corrected and broken, whether the truth is among the largest outputs, and the outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from twohot.reproduce.data_set import PAPER_PENALTIES, STRENGTHS, DataSet
from twohot.reproduce.grid_cells import (
    ACCURACIES,
    SHOWN,
    WRONG_LABELS,
    CellOf,
    level,
    marked_rate,
    marked_table,
    unconverged_cell,
)
from twohot.reproduce.grid_maker import GridMaker
from twohot.reproduce.grid_notes import grid_notes
from twohot.reproduce.maker import Made, Results, register
from twohot.reproduce.probe_grid import (
    PAPER_MODELS,
    absent,
    absent_note,
    file_stems,
    titles,
)
from twohot.reproduce.probe_run import TOP, FittedModel
from twohot.reproduce.table import Cell, Table

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
