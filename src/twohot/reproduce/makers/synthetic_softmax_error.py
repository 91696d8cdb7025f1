"""How far the linear theory is from the exact softmax (the paper's fig:sm_error).

The paper keeps the penalty fixed as samples become more, so that the ridge K²nλ, which is what
decides, grows with them. A penalty that falls as 1/n keeps it; both are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from twohot._types import FloatArray
from twohot.figures.theory import softmax_error_figure
from twohot.noise import symmetric
from twohot.reproduce.maker import Made, Results, RunKind, register, register_runs
from twohot.reproduce.makers.synthetic_maker import SyntheticMaker
from twohot.reproduce.synthetic_setting import SyntheticSetting
from twohot.reproduce.table import Cell, Table
from twohot.theory import softmax_error

SIZES = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8)
SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True)
class SoftmaxErrorRun:
    """The block model with some number of samples, at one penalty."""

    setting: SyntheticSetting  # its correlations
    n_per_class: float
    l2: float
    noise_rate: float
    n_rounds: int


@dataclass(frozen=True)
class SoftmaxErrorResult:
    """Largest difference of linear and exact outputs."""

    errors: list[float]  # by round


def measure_softmax_error(run: SoftmaxErrorRun, _paths: object = None) -> SoftmaxErrorResult:
    """Solve all rounds both ways."""
    model = run.setting.model().with_class_sizes(run.n_per_class)
    corruption = symmetric(run.setting.n_classes, run.noise_rate)
    errors = softmax_error(model, corruption, l2=run.l2, n_rounds=run.n_rounds)
    return SoftmaxErrorResult([float(f"{each:.{SIGNIFICANT_DIGITS}g}") for each in errors])


register_runs(RunKind(SoftmaxErrorRun, SoftmaxErrorResult, measure_softmax_error))


@register("softmax error")
@dataclass(frozen=True)
class SoftmaxErrors(SyntheticMaker):
    """The error against samples per class, at fixed penalty and at fixed ridge."""

    n_per_class: tuple[float, ...] = SIZES
    noise_rate: float = 0.5
    l2: float = 1e-4
    ridge: float = 0.5
    n_rounds: int = 7
    setting: SyntheticSetting = field(default_factory=SyntheticSetting)

    def at_penalty(self) -> list[SoftmaxErrorRun]:
        """Return the paper's runs: one penalty."""
        return [self._run(size, self.l2) for size in self.n_per_class]

    def at_ridge(self) -> list[SoftmaxErrorRun]:
        """Return the runs whose penalty falls as 1/n."""
        n_pairs = self.setting.n_classes**2
        penalties = [float(f"{self.ridge / (n_pairs * size):.12g}") for size in self.n_per_class]
        return [self._run(*each) for each in zip(self.n_per_class, penalties, strict=True)]

    def plan(self) -> list[SoftmaxErrorRun]:
        """Return both."""
        return self.at_penalty() + self.at_ridge()

    def draw(self, results: Results) -> Made:
        """Draw both, and list the errors."""
        both = {
            f"Constant penalty, λ = {self.l2:g}": self.at_penalty(),
            f"Constant ridge, K²nλ = {self.ridge:g}": self.at_ridge(),
        }
        panels, rows = {}, []
        for title, runs in both.items():
            done = [run for run in runs if run in results]
            errors = np.array([results[run].errors for run in done])
            if done:
                panels[title] = (np.array([run.n_per_class for run in done]), errors.T)
                rows += _rows(done, errors)
        columns = ("n", "λ", *(f"t = {t}" for t in range(1, self.n_rounds + 1)))
        table = Table("Largest difference of linear and exact outputs", columns, tuple(rows))
        return Made({"sm_error": softmax_error_figure(panels)}, {"sm_error": table})

    def _run(self, size: float, l2: float) -> SoftmaxErrorRun:
        return SoftmaxErrorRun(self.setting, size, l2, self.noise_rate, self.n_rounds)


def _rows(runs: Sequence[SoftmaxErrorRun], errors: FloatArray) -> list[tuple[Cell, ...]]:
    return [
        (f"{run.n_per_class:.0e}", run.l2, *row.tolist())
        for run, row in zip(runs, errors, strict=True)
    ]
