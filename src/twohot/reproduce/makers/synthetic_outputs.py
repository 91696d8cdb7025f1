"""Outputs of the synthetic experiment as rounds go by (figures 2b, 3b and their full version)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from twohot.figures.output_evolution import (
    LabelledOutputs,
    OutputBand,
    label_output_figure,
    output_plane_figure,
)
from twohot.reproduce.maker import Made, Results, RunKind, register, register_runs
from twohot.reproduce.makers.synthetic_accuracy import SEEDS, SyntheticGrid
from twohot.reproduce.makers.synthetic_maker import SyntheticMaker
from twohot.reproduce.probe_run import Spread
from twohot.reproduce.synthetic_run import DIGITS, SyntheticModel, SyntheticResult, SyntheticRun
from twohot.reproduce.synthetic_setting import (
    MATRIX_NAMES,
    SyntheticMatrix,
    SyntheticSetting,
    known_matrix,
)
from twohot.reproduce.table import Cell, Table

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
