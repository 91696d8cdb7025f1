"""q/p against the penalty, for the correlations of the paper's table (its fig:lambda_pq).

The text takes features of unit norm. The penalties it claims for q/p near 2 fit features of a
squared norm of about a thousand, as a ResNet gives them, and so both are drawn.
"""

from dataclasses import dataclass

import numpy as np

from twohot.figures.theory import SeparationCurve, separation_figure
from twohot.reproduce.data_set import PAPER_PENALTIES, STRENGTHS
from twohot.reproduce.maker import Made, Results, RunKind, register, register_runs
from twohot.reproduce.makers.synthetic_maker import SyntheticMaker
from twohot.reproduce.table import Cell, Table
from twohot.theory import PairLevels, l2_for_separation, largest_separation, separation_at

# Number of classes, training samples per class, and mean correlation inside classes and inside
# superclasses of the paper's six data sets with ResNet34 features (its tab:cf_class_stat).
PAPER_LEVELS = {
    "CIFAR-100": PairLevels(100, 50_000 / 100, 0.25, 0.02),
    "Caltech-101": PairLevels(101, 6_942 / 101, 0.42, 0.03),
    "Caltech-256": PairLevels(256, 23_824 / 256, 0.35, 0.02),
    "Flowers-102": PairLevels(102, 6_149 / 102, 0.36, 0.03),
    "Food-101": PairLevels(101, 75_750 / 101, 0.17, 0.01),
    "StanfordCars": PairLevels(196, 8_144 / 196, 0.21, 0.06),
}

COLUMNS = (
    *("data set", "squared norm", "K", "n", "c", "d", "largest q/p", "λ for q/p = 2"),
    *("λ claimed", "q/p at claimed", "λ used", "q/p at used", "claimed / needed"),
)

TARGET = 2.0  # the q/p that the text aims at
LOWEST, HIGHEST, N_PENALTIES = 1e-8, 1e-2, 121
SIGNIFICANT_DIGITS = 8


@dataclass(frozen=True)
class SeparationRun:
    """q/p of one data set at many penalties."""

    levels: PairLevels
    marked: tuple[float, ...]  # penalties of interest beside the grid


@dataclass(frozen=True)
class SeparationResult:
    """What the formulas give."""

    separation: list[float]  # on the grid of penalties
    at_marked: list[float]
    largest: float  # what no penalty reaches
    l2_for_target: float


def penalty_grid() -> list[float]:
    """Return the penalties at which q/p is computed."""
    return [float(each) for each in np.geomspace(LOWEST, HIGHEST, N_PENALTIES)]


def measure_separation(run: SeparationRun, _paths: object = None) -> SeparationResult:
    """Evaluate q/p."""
    return SeparationResult(
        [_shown(separation_at(run.levels, l2=l2)) for l2 in penalty_grid()],
        [_shown(separation_at(run.levels, l2=l2)) for l2 in run.marked],
        _shown(largest_separation(run.levels)),
        _shown(l2_for_separation(run.levels, separation=TARGET)),
    )


def _shown(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")


register_runs(RunKind(SeparationRun, SeparationResult, measure_separation))


def claimed_penalty(name: str) -> float:
    """Return the penalty that the text claims for q/p near 2: twice what it used."""
    return PAPER_PENALTIES[name] * STRENGTHS["big"]


@register("separation against penalty")
@dataclass(frozen=True)
class SeparationCurves(SyntheticMaker):
    """q/p against the penalty with the paper's penalties marked, one panel per squared norm."""

    squared_norms: tuple[float, ...] = (1.0, 1000.0)

    def run_of(self, name: str, squared_norm: float) -> SeparationRun:
        """Return the run of a data set of the paper."""
        levels = PAPER_LEVELS[name]
        of_norm = PairLevels(
            levels.n_classes,
            levels.n_per_class,
            levels.same_class,
            levels.same_superclass,
            squared_norm,
        )
        return SeparationRun(of_norm, (claimed_penalty(name), PAPER_PENALTIES[name]))

    def plan(self) -> list[SeparationRun]:
        """Return one run per data set and norm."""
        return [self.run_of(name, norm) for norm in self.squared_norms for name in PAPER_LEVELS]

    def draw(self, results: Results) -> Made:
        """Draw and list q/p."""
        panels: dict[str, dict[str, SeparationCurve]] = {}
        rows: list[tuple[Cell, ...]] = []
        for norm in self.squared_norms:
            for name in PAPER_LEVELS:
                run = self.run_of(name, norm)
                if run in results:
                    panels.setdefault(_title(norm), {})[name] = _curve(run, results[run])
                    rows.append(_row(name, run, results[run]))
        table = Table("q/p at the paper's penalties", COLUMNS, tuple(rows))
        return Made({"lambda_pq": separation_figure(panels)}, {"lambda_pq": table})


def _title(norm: float) -> str:
    return "Unit-norm features" if norm == 1 else f"Features of squared norm {norm:g}"


def _curve(run: SeparationRun, found: SeparationResult) -> SeparationCurve:
    points = list(zip(run.marked, found.at_marked, strict=True))
    marked = dict(zip(("claimed", "used"), points, strict=True))
    return SeparationCurve(np.array(penalty_grid()), np.array(found.separation), marked)


def _row(name: str, run: SeparationRun, found: SeparationResult) -> tuple[Cell, ...]:
    levels, (claimed, used) = run.levels, run.marked
    at_claimed, at_used = found.at_marked
    known = (levels.squared_norm, levels.n_classes, levels.n_per_class)
    correlations = (levels.same_class, levels.same_superclass)
    needed = (found.largest, found.l2_for_target)
    ratio = claimed / found.l2_for_target
    return (name, *known, *correlations, *needed, claimed, at_claimed, used, at_used, ratio)
