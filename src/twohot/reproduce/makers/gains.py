"""Gain of every student over its teacher against the noise rate, one panel per data set."""

from collections.abc import Sequence
from dataclasses import dataclass

from twohot._checks.numbers import check_choice
from twohot.figures.noise_panels import gain_bars_figure
from twohot.reproduce.data_set import DataSet
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
from twohot.reproduce.grid_maker import GridMaker
from twohot.reproduce.grid_notes import grid_notes
from twohot.reproduce.maker import Made, Results, register
from twohot.reproduce.probe_grid import absent_note


@register("gains")
@dataclass(frozen=True)
class GainMaker(GridMaker):
    """Bars of the paper's students: rounds 2 to 5, and the two-hot student."""

    accuracy: str = "test"  # on test rows; "training": on the true labels of the training rows

    def __post_init__(self) -> None:
        check_choice("accuracy", self.accuracy, tuple(ACCURACIES))

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the gains, with a table of them beside the accuracy of the teacher."""
        read = ACCURACIES[self.accuracy]
        students = model_labels((*STUDENTS, TWO_HOT))
        panels = model_panels(self.grid, results, data, students, gain(read))
        title = (
            f"Gain over the teacher in points of {self.accuracy} accuracy, {self.corruption} "
            f"noise, {self.strength} λ"
        )
        ylabel = GAIN.replace("test", self.accuracy)
        return Made(
            figures={"gains": gain_bars_figure(panels, ylabel=ylabel)} if panels else {},
            tables={
                "gains": model_table(title, self.grid, results, data, gain_columns(read, students))
            },
            notes=(*grid_notes(self.grid, results, data), *absent_note(data)),
        )
