"""Gain of partial-label students on the teacher's top k labels, for several k."""

from collections.abc import Sequence
from dataclasses import dataclass

from twohot.figures.noise_panels import gain_bars_figure
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exact_trainer import FAMILIES, TWO_HOT
from twohot.reproduce.grid_cells import (
    ACCURACIES,
    GAIN,
    gain,
    gain_columns,
    model_panels,
    model_table,
)
from twohot.reproduce.grid_maker import GridMaker
from twohot.reproduce.grid_notes import grid_notes
from twohot.reproduce.maker import Made, Results, register
from twohot.reproduce.probe_grid import (
    absent_note,
    among,
)
from twohot.reproduce.probe_run import ProbeRun
from twohot.reproduce.table import Mean, Table

NUMBERS = {name: student.n_candidates or 0 for name, student in FAMILIES["candidates"].items()}

# The students by number of candidates; with two, it is the paper's.
LABELS = {
    name: f"top-{k}" + " (two-hot)" * (name == TWO_HOT)
    for k, name in sorted((k, name) for name, k in {**NUMBERS, TWO_HOT: 2}.items())
}


@register("candidates")
@dataclass(frozen=True)
class CandidateMaker(GridMaker):
    """Bars of the students by their number of candidates."""

    data_sets: tuple[str, ...] = ()  # names of the paper's; all that are at hand if none is named

    @property
    def families(self) -> tuple[str, ...]:
        """Whose models are compared."""
        return ("candidates", "paper")

    def runs(self, data: Sequence[DataSet]) -> list[ProbeRun]:
        """Return the grids of both families."""
        return self.grid.runs(among(data, self.data_sets))

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the gains, and count at which noise rates each number of candidates is best."""
        wanted = among(data, self.data_sets)
        read = ACCURACIES["test"]
        panels = model_panels(self.grid, results, wanted, LABELS, gain(read))
        title = f"Gain over the teacher in points of test accuracy, {self.corruption} noise"
        table = model_table(title, self.grid, results, wanted, gain_columns(read, LABELS))
        return Made(
            figures={"gains": gain_bars_figure(panels, ylabel=GAIN)} if panels else {},
            tables={"gains": table, "best": _best(table)},
            notes=(*grid_notes(self.grid, results, wanted), *absent_note(data)),
        )


def _best(gains: Table) -> Table:
    """Return the student that gains most in every row of a table of gains."""
    rows = []
    for data_set, rate, _, _, *cells in gains.rows:  # a column of remarks may follow
        known = {
            label: cell
            for label, cell in zip(LABELS.values(), cells, strict=False)
            if isinstance(cell, Mean)
        }
        two_hot = known.get(LABELS[TWO_HOT])
        if len(known) > 1 and two_hot is not None:
            best = max(known, key=lambda label: known[label].mean)
            rows.append((data_set, rate, best, known[best].mean - two_hot.mean))
    columns = ("data set", "η", "best", "lead over two-hot, points")
    return Table("Number of candidates that gains most", columns, tuple(rows))
