"""Where the fits of the two-hot student end that start elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from twohot.reproduce.data_set import DataSet
from twohot.reproduce.maker import Made, Maker, Results, register
from twohot.reproduce.probe_grid import ProbeGrid, among, only_one_note, titles
from twohot.reproduce.starts_run import StartsRun
from twohot.reproduce.table import Table


@register("starts of the two-hot student")
@dataclass(frozen=True)
class StartsMaker(Maker):
    """One setting, five starts."""

    data_set: str = "Flowers-102"  # the first file, if there is none of it
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
                fit.start,
                fit.value,
                fit.gradient_norm,
                round(100 * fit.test_accuracy, 2),
                round(fit.largest_difference, 3),
                round(100 * fit.agreement, 1),
            )
            for run in self.runs(data)
            if run in results
            for fit in results[run].fits
        ]
        columns = (
            "start",
            "objective",
            "relative gradient",
            "test accuracy, %",
            "largest difference of a probability",
            "same predictions, %",
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
