"""Gains with two backbones side by side: any feature files of one data set."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from twohot.figures.noise_panels import NoisePanel, gain_bars_figure
from twohot.reproduce.data_set import DataSet, two_backbones
from twohot.reproduce.exact_trainer import STUDENTS, TWO_HOT
from twohot.reproduce.grid_cells import (
    ACCURACIES,
    GAIN,
    gain,
    gain_columns,
    model_labels,
    model_panels,
    model_table,
)
from twohot.reproduce.grid_notes import grid_notes
from twohot.reproduce.maker import Made, Maker, Results, register
from twohot.reproduce.probe_grid import CORRUPTIONS, NOISE_RATES, SEEDS, ProbeGrid, titles
from twohot.reproduce.structure_run import StructureRun
from twohot.reproduce.table import Table

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
