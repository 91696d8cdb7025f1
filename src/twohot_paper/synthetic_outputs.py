"""Figures of outputs by round, of q/p against the penalty, and of the error of the linear theory.

q/p is the separation: the factor by which the linear theory keeps class means, divided by the
factor by which it keeps single labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from twohot.noise import symmetric
from twohot.theory import (
    PairLevels,
    l2_for_separation,
    largest_separation,
    separation_at,
    softmax_error,
)
from twohot_paper.data_set import PAPER_PENALTIES, STRENGTHS, DataSet
from twohot_paper.exhibit import Made, Maker, Results, RunKind, register, register_runs
from twohot_paper.synthetic_figures import (
    LabelledOutputs,
    OutputBand,
    SeparationCurve,
    label_output_figure,
    output_plane_figure,
    separation_figure,
    softmax_error_figure,
)
from twohot_paper.synthetic_makers import MatrixMaker, SyntheticAccuracy
from twohot_paper.synthetic_setting import (
    DIGITS,
    MATRIX_NAMES,
    SyntheticMatrix,
    SyntheticResult,
    SyntheticSetting,
    known_matrix,
)
from twohot_paper.table import Cell, Table

# For each kind of sample: the names of labels, and the field with the output at this label.
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
    """Settings of a run that computes the exact outputs of every training sample."""

    matrix: SyntheticMatrix
    noise_rate: float
    n_rounds: int = 7


@dataclass(frozen=True)
class OutputResult:
    """The outputs of a run; samples are in the order of `SyntheticSetting.labels`."""

    outputs: list[list[list[float]]]  # by round, sample and label


def measure_outputs(run: OutputRun, _paths: object = None) -> OutputResult:
    """Compute the exact outputs of all rounds of a run."""
    matrix = known_matrix(run.matrix)
    _, given = matrix.setting.labels(run.noise_rate)
    fitted = matrix.rounds(np.eye(matrix.setting.n_classes)[given], run.n_rounds)
    return OutputResult([each.outputs.round(DIGITS).tolist() for each in fitted])


register_runs(RunKind(OutputRun, OutputResult, measure_outputs))


@register("synthetic output plane")
@dataclass(frozen=True)
class SyntheticOutputPlane(MatrixMaker):
    """A figure of the outputs of some rounds in a plane, with one row of panels per matrix."""

    seeds: tuple[int, ...] = (0,)
    name: str = "planes"  # file name
    rounds: tuple[int, ...] = (1,)  # the rounds that are drawn

    def run(self, matrix: SyntheticMatrix, noise_rate: float) -> OutputRun:
        """Return the run on one matrix at one noise rate."""
        return OutputRun(matrix, noise_rate, self.n_rounds)

    def draw(self, found: Mapping[str, Sequence[tuple[Any, Any]]]) -> Made:
        """Draw one panel of outputs per matrix and round."""
        labels = self.setting.labels(self.noise_rates[0])
        rows = {
            MATRIX_NAMES[kind]: LabelledOutputs(np.array(pairs[0][1].outputs), *labels)
            for kind, pairs in found.items()
        }
        notes = (
            f"{self.noise_rates[0]:.0%} of the labels are wrong; one draw of the perturbation.",
            "In the block model, samples with equal true and given labels have equal outputs.",
        )
        return Made({self.name: output_plane_figure(rows, rounds=self.rounds)}, notes=notes)


@register("synthetic label outputs")
@dataclass(frozen=True)
class SyntheticLabelOutputs(SyntheticAccuracy):
    """Outputs at the true, given and other labels, of samples with right and wrong labels.

    The runs are those of the figure of accuracies.
    """

    def draw(self, found: Mapping[str, Sequence[tuple[Any, Any]]]) -> Made:
        """Draw the mean and the standard deviation of outputs over the samples of all draws."""
        panels = {
            MATRIX_NAMES[kind]: _bands([result for _, result in pairs])
            for kind, pairs in found.items()
        }
        share = f"{self.noise_rates[0]:.0%} of the labels are wrong"
        note = f"{share}; bands are ± one standard deviation over the samples of all draws."
        name = "clean_noisy_output"
        return Made({name: label_output_figure(panels)}, {name: _table(panels)}, (note,))


def _bands(found: Sequence[SyntheticResult]) -> dict[str, dict[str, OutputBand]]:
    bands: dict[str, dict[str, OutputBand]] = {}
    for kind, labels in LABELS_OF.items():
        for label, name in labels.items():
            if getattr(found[0].rounds[0], name) is not None:
                bands.setdefault(kind, {})[label] = _pooled(found, name)
    return bands


def _pooled(found: Sequence[SyntheticResult], name: str) -> OutputBand:
    """Return mean and standard deviation over the samples of several draws of equal size."""
    spreads = [[getattr(model, name) for model in result.rounds] for result in found]
    means = np.array([[each.mean for each in row] for row in spreads])
    within = np.array([[each.std for each in row] for row in spreads])
    return OutputBand(means.mean(axis=0), np.sqrt((within**2).mean(axis=0) + means.var(axis=0)))


def _table(panels: dict[str, dict[str, dict[str, OutputBand]]]) -> Table:
    places = [(kind, label) for kind, labels in LABELS_OF.items() for label in labels]
    rows: list[tuple[Cell, ...]] = []
    for name, by_kind in panels.items():
        bands = [by_kind.get(kind, {}).get(label) for kind, label in places]
        for t in range(len(by_kind["label right"]["true label"].mean)):
            cells: list[Cell] = []
            for band in bands:
                values = (None, None) if band is None else (band.mean[t], band.spread[t])
                cells += [None if value is None else round(float(value), 4) for value in values]
            rows.append((name, t + 1, *cells))
    columns = [f"{kind}: {label}{what}" for kind, label in places for what in ("", ", std")]
    title = "Softmax output, mean and standard deviation over samples"
    return Table(title, ("Gram matrix", "t", *columns), tuple(rows))


# q/p against the penalty, for the correlations of the paper's table (its fig:lambda_pq) -----------
# The text assumes features of unit norm. Its penalties give q/p near 2 only for features with a
# squared norm of about a thousand, such as features of a ResNet. So the figure has both norms.


# The paper's six datasets with ResNet34 features (tab:cf_class_stat): number of classes, training
# samples per class, and mean correlation of rows of one class and of rows of one superclass.
PAPER_LEVELS = {
    "CIFAR-100": PairLevels(100, 50_000 / 100, 0.25, 0.02),
    "Caltech-101": PairLevels(101, 6_942 / 101, 0.42, 0.03),
    "Caltech-256": PairLevels(256, 23_824 / 256, 0.35, 0.02),
    "Flowers-102": PairLevels(102, 6_149 / 102, 0.36, 0.03),
    "Food-101": PairLevels(101, 75_750 / 101, 0.17, 0.01),
    "StanfordCars": PairLevels(196, 8_144 / 196, 0.21, 0.06),
}

COLUMNS = (
    *("dataset", "squared norm", "K", "n", "c", "d", "largest q/p", "λ for q/p = 2"),
    *("λ claimed", "q/p at claimed", "λ used", "q/p at used", "claimed / needed"),
)

TARGET = 2.0  # the q/p recommended in the text
PENALTIES = np.geomspace(1e-8, 1e-2, 121)


@dataclass(frozen=True)
class Separation:
    """q/p of one dataset for a squared norm of its features, by the formulas in the paper."""

    levels: PairLevels
    claimed: float  # penalty for q/p near 2 according to the paper's text: twice the used penalty
    used: float  # penalty in the paper's experiments

    @classmethod
    def of(cls, name: str, squared_norm: float) -> "Separation":
        """Return the record of a dataset of the paper."""
        used = PAPER_PENALTIES[name]
        levels = replace(PAPER_LEVELS[name], squared_norm=squared_norm)
        return cls(levels, used * STRENGTHS["big"], used)

    def at(self, l2: float) -> float:
        """Return q/p at a penalty."""
        return separation_at(self.levels, l2=l2)

    @property
    def needed(self) -> float:
        """The penalty at which q/p is 2."""
        return l2_for_separation(self.levels, separation=TARGET)

    def curve(self) -> SeparationCurve:
        """Return q/p against the penalty."""
        penalties = {"claimed": self.claimed, "used": self.used}
        marked = {kind: (l2, self.at(l2)) for kind, l2 in penalties.items()}
        return SeparationCurve(PENALTIES, np.array([self.at(l2) for l2 in PENALTIES]), marked)

    def row(self, name: str) -> tuple[Cell, ...]:
        """Return the row of this dataset in the table."""
        levels, claimed, used = self.levels, self.claimed, self.used
        known = (levels.squared_norm, levels.n_classes, levels.n_per_class)
        correlations = (levels.same_class, levels.same_superclass)
        needed = (largest_separation(levels), self.needed)
        at_penalties = (claimed, self.at(claimed), used, self.at(used))
        return (name, *known, *correlations, *needed, *at_penalties, claimed / self.needed)


@register("separation against penalty")
@dataclass(frozen=True)
class SeparationCurves(Maker):
    """q/p against the penalty, with marks at the paper's penalties; one panel per squared norm."""

    squared_norms: tuple[float, ...] = (1.0, 1000.0)

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw q/p against the penalty, and list q/p at the paper's penalties."""
        del results, data
        panels: dict[str, dict[str, SeparationCurve]] = {}
        rows: list[tuple[Cell, ...]] = []
        for norm in self.squared_norms:
            title = "Unit-norm features" if norm == 1 else f"Features of squared norm {norm:g}"
            of_norm = {name: Separation.of(name, norm) for name in PAPER_LEVELS}
            panels[title] = {name: each.curve() for name, each in of_norm.items()}
            rows += [each.row(name) for name, each in of_norm.items()]
        table = Table("q/p at the paper's penalties", COLUMNS, tuple(rows))
        return Made({"lambda_pq": separation_figure(panels)}, {"lambda_pq": table})


# Difference of the linear theory from the exact softmax outputs (the paper's fig:sm_error) --------
# The error depends on the ridge K²nλ. The paper keeps the penalty λ fixed as the number of samples
# n increases, so the ridge increases too. If λ decreases as 1/n, the ridge is fixed. Both cases are
# shown.


SIZES = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8)


@register("softmax error")
@dataclass(frozen=True)
class SoftmaxErrors(Maker):
    """Error of the linear theory against samples per class, at a fixed penalty or a fixed ridge."""

    n_per_class: tuple[float, ...] = SIZES
    noise_rate: float = 0.5
    l2: float = 1e-4
    ridge: float = 0.5
    n_rounds: int = 7
    setting: SyntheticSetting = field(default_factory=SyntheticSetting)

    def at_penalty(self) -> list[tuple[float, list[float]]]:
        """Return the penalty and the errors by round for each size; the penalty is fixed."""
        return [(self.l2, self._errors(size, self.l2)) for size in self.n_per_class]

    def at_ridge(self) -> list[tuple[float, list[float]]]:
        """Return the penalty and the errors by round for each size; the ridge is fixed."""
        penalties = [self.ridge / (self.setting.n_classes**2 * size) for size in self.n_per_class]
        pairs = zip(self.n_per_class, penalties, strict=True)
        return [(l2, self._errors(size, l2)) for size, l2 in pairs]

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the errors in both cases, and list them."""
        del results, data
        both = {
            f"Constant penalty, λ = {self.l2:g}": self.at_penalty(),
            f"Constant ridge, K²nλ = {self.ridge:g}": self.at_ridge(),
        }
        sizes = np.array(self.n_per_class)
        panels = {
            title: (sizes, np.array([errors for _, errors in found]).T)
            for title, found in both.items()
        }
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (f"{size:.0e}", l2, *errors)
            for found in both.values()
            for size, (l2, errors) in zip(self.n_per_class, found, strict=True)
        )
        columns = ("n", "λ", *(f"t = {t}" for t in range(1, self.n_rounds + 1)))
        table = Table("Largest difference of linear and exact outputs", columns, rows)
        return Made({"sm_error": softmax_error_figure(panels)}, {"sm_error": table})

    def _errors(self, size: float, l2: float) -> list[float]:
        model = self.setting.model().with_class_sizes(size)
        corruption = symmetric(self.setting.n_classes, self.noise_rate)
        found = softmax_error(model, corruption, l2=l2, n_rounds=self.n_rounds)
        return [float(each) for each in found]
