"""Outputs of the synthetic experiment as rounds go by (figures 2b, 3b and their full version)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from twohot.base import FloatArray
from twohot.noise import symmetric
from twohot.theory import (
    PairLevels,
    l2_for_separation,
    largest_separation,
    separation_at,
    softmax_error,
)
from twohot_paper.data_set import PAPER_PENALTIES, STRENGTHS
from twohot_paper.maker import Made, Results, RunKind, register, register_runs
from twohot_paper.probe_run import Spread
from twohot_paper.synthetic_figures import (
    LabelledOutputs,
    OutputBand,
    label_output_figure,
    output_plane_figure,
)
from twohot_paper.synthetic_makers import SEEDS, SyntheticGrid, SyntheticMaker
from twohot_paper.synthetic_run import DIGITS, SyntheticModel, SyntheticResult, SyntheticRun
from twohot_paper.synthetic_setting import (
    MATRIX_NAMES,
    SyntheticMatrix,
    SyntheticSetting,
    known_matrix,
)
from twohot_paper.table import Cell, Table
from twohot_paper.theory_figures import SeparationCurve, separation_figure, softmax_error_figure

# What is looked at, by kind of sample: the name of the label, and the field that has its output.
LABELS_OF = {
    "label right": {"true label": "clean_true", "other labels": "clean_other"},
    "label wrong": {
        "true label": "noisy_true",
        "given label": "noisy_given",
        "other labels": "noisy_other",
    },
}


@dataclass(frozen=True)
class OutputRun:
    """Exact outputs of every sample."""

    matrix: SyntheticMatrix
    noise_rate: float
    n_rounds: int = 7


@dataclass(frozen=True)
class OutputResult:
    """Outputs by round, sample and label; samples are in the order of `SyntheticSetting.labels`."""

    outputs: list[list[list[float]]]


def measure_outputs(run: OutputRun, _paths: object = None) -> OutputResult:
    """Solve all rounds of a run."""
    matrix = known_matrix(run.matrix)
    _, given = matrix.setting.labels(run.noise_rate)
    fitted = matrix.rounds(np.eye(matrix.setting.n_classes)[given], run.n_rounds)
    return OutputResult([each.outputs.round(DIGITS).tolist() for each in fitted])


register_runs(RunKind(OutputRun, OutputResult, measure_outputs))


@register("synthetic output plane")
@dataclass(frozen=True)
class SyntheticOutputPlane(SyntheticMaker):
    """Outputs in the plane, for some rounds, one row of panels per matrix."""

    name: str  # of the file
    rounds: tuple[int, ...]
    noise_rate: float = 0.5
    amplitude: float = 0.05
    seed: int = 0
    n_rounds: int = 7
    setting: SyntheticSetting = field(default_factory=SyntheticSetting)

    def plan(self) -> list[OutputRun]:
        """Return one run per matrix."""
        return [self._run(kind) for kind in MATRIX_NAMES]

    def draw(self, results: Results) -> Made:
        """Draw the rounds."""
        true, given = self.setting.labels(self.noise_rate)
        rows = {
            name: LabelledOutputs(np.array(results[self._run(kind)].outputs), true, given)
            for kind, name in MATRIX_NAMES.items()
            if self._run(kind) in results
        }
        notes = (
            f"{self.noise_rate:.0%} of the labels are wrong; one draw of the perturbation.",
            "In the block model all samples of one class and given label are alike.",
        )
        return Made({self.name: output_plane_figure(rows, rounds=self.rounds)}, notes=notes)

    def _run(self, kind: str) -> OutputRun:
        matrix = SyntheticMatrix(self.setting, kind, self.amplitude, self.seed)
        return OutputRun(matrix, self.noise_rate, self.n_rounds)


@register("synthetic label outputs")
@dataclass(frozen=True)
class SyntheticLabelOutputs(SyntheticMaker):
    """Outputs at the true, given and other labels, of samples with right and wrong labels."""

    noise_rate: float = 0.5
    amplitude: float = 0.05
    seeds: tuple[int, ...] = SEEDS
    n_rounds: int = 7
    setting: SyntheticSetting = field(default_factory=SyntheticSetting)

    @property
    def grid(self) -> SyntheticGrid:
        """The runs, which are among those of the figure of accuracies."""
        return SyntheticGrid(
            self.setting, self.amplitude, (self.noise_rate,), self.seeds, self.n_rounds
        )

    def plan(self) -> list[SyntheticRun]:
        """Return the runs at the noise rate."""
        return self.grid.runs()

    def draw(self, results: Results) -> Made:
        """Draw mean and standard deviation over samples of all draws."""
        panels = {}
        for kind, name in MATRIX_NAMES.items():
            found = [results[run] for run in self.grid.of_kind(kind) if run in results]
            if found:
                panels[name] = _bands(found)
        share = f"{self.noise_rate:.0%} of the labels are wrong"
        note = f"{share}; bands are ± one standard deviation over the samples of all draws."
        name = "clean_noisy_output"
        return Made({name: label_output_figure(panels)}, {name: _table(panels)}, (note,))


def _bands(found: Sequence[SyntheticResult]) -> dict[str, dict[str, OutputBand]]:
    bands: dict[str, dict[str, OutputBand]] = {}
    for kind, labels in LABELS_OF.items():
        for label, name in labels.items():
            if getattr(found[0].rounds[0], name) is not None:
                bands.setdefault(kind, {})[label] = _pooled(found, _reader(name))
    return bands


def _reader(name: str) -> Callable[[SyntheticModel], Spread]:
    def read(model: SyntheticModel) -> Spread:
        spread: Spread = getattr(model, name)
        return spread

    return read


def _pooled(
    found: Sequence[SyntheticResult], read: Callable[[SyntheticModel], Spread]
) -> OutputBand:
    """Mean and deviation over the samples of several draws, all of the same number of samples."""
    spreads = [[read(model) for model in result.rounds] for result in found]
    means = np.array([[each.mean for each in row] for row in spreads])
    within = np.array([[each.std for each in row] for row in spreads])
    return OutputBand(means.mean(axis=0), np.sqrt((within**2).mean(axis=0) + means.var(axis=0)))


def _table(panels: dict[str, dict[str, dict[str, OutputBand]]]) -> Table:
    columns = [f"{kind}: {label}" for kind, labels in LABELS_OF.items() for label in labels]
    rows: list[tuple[Cell, ...]] = []
    for name, by_kind in panels.items():
        bands = [
            by_kind.get(kind, {}).get(at) for kind, labels in LABELS_OF.items() for at in labels
        ]
        for place in range(len(by_kind["label right"]["true label"].mean)):
            cells: list[Cell] = []
            for band in bands:
                values = (None, None) if band is None else (band.mean[place], band.spread[place])
                cells += [None if value is None else round(float(value), 4) for value in values]
            rows.append((name, place + 1, *cells))
    spread_columns = [part for name in columns for part in (name, f"{name}, std")]
    title = "Softmax output, mean and standard deviation over samples"
    return Table(title, ("Gram matrix", "t", *spread_columns), tuple(rows))


# q/p against the penalty, for the correlations of the paper's table (its fig:lambda_pq) -----------
# The text takes features of unit norm. The penalties it claims for q/p near 2 fit features of a
# squared norm of about a thousand, as a ResNet gives them, and so both are drawn.


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


# How far the linear theory is from the exact softmax (the paper's fig:sm_error) -------------------
# The paper keeps the penalty fixed as samples become more, so that the ridge K²nλ, which is what
# decides, grows with them. A penalty that falls as 1/n keeps it; both are shown.


SIZES = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8)
ERROR_DIGITS = 6


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
    return SoftmaxErrorResult([float(f"{each:.{ERROR_DIGITS}g}") for each in errors])


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
