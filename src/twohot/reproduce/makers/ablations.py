"""What the paper does not tell apart: the loss, the start, the penalty, the preparation of rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from twohot.figures.noise_panels import NoisePanel, gain_bars_figure, noise_lines_figure
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exact_trainer import FAMILIES, STUDENTS, TEACHER, TWO_HOT
from twohot.reproduce.grid_cells import (
    ACCURACIES,
    GAIN,
    SHOWN,
    gain,
    gain_columns,
    grid_words,
    level,
    model_curve,
    model_labels,
    model_panels,
    model_table,
    rate_mark,
)
from twohot.reproduce.grid_maker import GridMaker
from twohot.reproduce.grid_notes import grid_notes
from twohot.reproduce.maker import Made, Results, register
from twohot.reproduce.probe_grid import TUNED_TEACHER, Models, ProbeGrid, titles
from twohot.reproduce.probe_run import ProbeRun
from twohot.reproduce.table import Mean, Table, mean_of

NOISE_RATES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
SEEDS = (0,)
LAST = STUDENTS[-1]
PREPARED = "centred, unit norm"
TEST = ACCURACIES["test"]


@register("model ablation")
@dataclass(frozen=True)
class ModelAblationMaker(GridMaker):
    """Other models of the same labels, beside the paper's last round and two-hot student."""

    family: str = "losses"
    noise_rates: tuple[float, ...] = NOISE_RATES
    seeds: tuple[int, ...] = SEEDS

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

    noise_rates: tuple[float, ...] = NOISE_RATES
    seeds: tuple[int, ...] = SEEDS

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
