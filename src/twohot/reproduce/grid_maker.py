"""What the makers of all figures and tables of a grid have in common: its settings and its runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from twohot.reproduce.data_set import DataSet
from twohot.reproduce.maker import Maker
from twohot.reproduce.probe_grid import NOISE_RATES, SEEDS, ProbeGrid
from twohot.reproduce.probe_run import ProbeRun


@dataclass(frozen=True)
class GridMaker(Maker):
    """Base of the makers that show one corruption at one penalty."""

    corruption: str = "superclass"
    strength: str = "base"
    noise_rates: tuple[float, ...] = NOISE_RATES
    seeds: tuple[int, ...] = SEEDS

    @property
    def families(self) -> tuple[str, ...]:
        """Whose models are compared."""
        return ("paper",)

    @property
    def grid(self) -> ProbeGrid:
        """The runs that are shown."""
        return ProbeGrid(
            self.corruption, self.strength, self.families, self.noise_rates, self.seeds
        )

    def runs(self, data: Sequence[DataSet]) -> list[ProbeRun]:
        """Return the grid."""
        return self.grid.runs(data)
