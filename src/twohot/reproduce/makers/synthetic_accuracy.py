"""Training accuracy of the synthetic experiment against noise (the paper's figure 3a)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from twohot._types import FloatArray
from twohot.figures.noise_curves import (
    SMALL_NOISE,
    NoiseCurves,
    accuracy_figure,
    small_noise_figure,
)
from twohot.reproduce.maker import Made, Results, register
from twohot.reproduce.makers.synthetic_maker import SyntheticMaker
from twohot.reproduce.synthetic_run import TIE_RULES, SyntheticResult, SyntheticRun
from twohot.reproduce.synthetic_setting import MATRIX_NAMES, SyntheticMatrix, SyntheticSetting
from twohot.reproduce.table import Cell, Table, mean_of

# Fine where few labels are wrong: there the two-hot student ties.
NOISE_RATES = (
    *(0.0, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05),
    *(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9),
)
SEEDS = (0, 1, 2, 3, 4)


@dataclass(frozen=True)
class SyntheticGrid:
    """The runs that figures and claims about the synthetic experiment share."""

    setting: SyntheticSetting = field(default_factory=SyntheticSetting)
    amplitude: float = 0.05
    noise_rates: tuple[float, ...] = NOISE_RATES
    seeds: tuple[int, ...] = SEEDS
    n_rounds: int = 7  # the sixth student is round 7

    def runs(self) -> list[SyntheticRun]:
        """All runs: the block first, then every draw."""
        return [run for kind in MATRIX_NAMES for run in self.of_kind(kind)]

    def of_kind(self, kind: str) -> list[SyntheticRun]:
        """Return the runs on one kind of matrix; the block has one draw."""
        seeds = self.seeds[:1] if kind == "block" else self.seeds
        return [
            SyntheticRun(
                SyntheticMatrix(self.setting, kind, self.amplitude, seed), rate, self.n_rounds
            )
            for seed in seeds
            for rate in self.noise_rates
        ]


@register("synthetic accuracy")
@dataclass(frozen=True)
class SyntheticAccuracy(SyntheticMaker):
    """Every round and the two-hot student, on three matrices."""

    grid: SyntheticGrid = field(default_factory=SyntheticGrid)

    def plan(self) -> list[SyntheticRun]:
        """Return the whole grid."""
        return self.grid.runs()

    def draw(self, results: Results) -> Made:
        """Draw accuracy against noise, in full and where few labels are wrong."""
        curves = {
            name: found
            for kind, name in MATRIX_NAMES.items()
            if (found := _curves(self.grid.of_kind(kind), results)).noise_rates
        }
        figures = {"acc_gain": accuracy_figure(curves)}
        few = {name: each for name, each in curves.items() if each.noise_rates[0] <= SMALL_NOISE}
        if few:
            figures["acc_gain_ties"] = small_noise_figure(few)
        notes = (
            "A sample is right if its true label is on top alone; ties count as errors.",
            f"Bands are ± one standard deviation over {len(self.grid.seeds)} draws.",
        )
        return Made(figures, {"acc_gain": _table(curves, self.grid.n_rounds)}, notes)


def _curves(runs: Sequence[SyntheticRun], results: Results) -> NoiseCurves:
    by_rate: dict[float, list[SyntheticResult]] = {}
    for run in runs:
        if run in results:
            by_rate.setdefault(run.noise_rate, []).append(results[run])
    return NoiseCurves(
        sorted(by_rate),
        [_rounds(by_rate[rate]) for rate in sorted(by_rate)],
        {
            rule: [
                np.array([each.two_hot[rule].accuracy for each in by_rate[rate]])
                for rate in sorted(by_rate)
            ]
            for rule in TIE_RULES
        },
    )


def _rounds(found: Sequence[SyntheticResult]) -> FloatArray:
    return np.array([[each.accuracy for each in result.rounds] for result in found])


def _table(curves: dict[str, NoiseCurves], n_rounds: int) -> Table:
    columns = ["Gram matrix", "η", *(f"t = {t}" for t in range(1, n_rounds + 1))]
    columns += [f"two-hot, ties: {rule}" for rule in TIE_RULES]
    rows: list[tuple[Cell, ...]] = []
    for name, found in curves.items():
        for place, rate in enumerate(found.noise_rates):
            values = [*found.rounds[place].T, *(found.two_hot[rule][place] for rule in TIE_RULES)]
            rows.append((name, rate, *(mean_of(each.tolist(), factor=100) for each in values)))
    return Table("Training accuracy (%), exact softmax", tuple(columns), tuple(rows))
