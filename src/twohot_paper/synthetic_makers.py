"""The synthetic experiment: accuracy against noise, eigenvalues, and the corruption matrices.

These are the paper's figures 3a and 2a, and its table:label_corruption_three.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from twohot.base import FloatArray
from twohot.noise import asymmetric, superclass_noise, symmetric
from twohot_paper.data_set import DataSet
from twohot_paper.exhibit import Made, Maker, Results, RunKind, register, register_runs
from twohot_paper.synthetic_figures import (
    NoiseCurves,
    accuracy_figure,
    corruption_figure,
    eigenvalue_figure,
)
from twohot_paper.synthetic_setting import (
    MATRIX_NAMES,
    TIE_RULES,
    SyntheticMatrix,
    SyntheticResult,
    SyntheticRun,
    SyntheticSetting,
    known_matrix,
)
from twohot_paper.table import Cell, Table, mean_of

SEEDS = (0, 1, 2, 3, 4)


@dataclass(frozen=True)
class MatrixMaker(Maker):
    """Base class of the makers with runs on the three Gram matrices, which need no dataset."""

    setting: SyntheticSetting = field(default_factory=SyntheticSetting)
    amplitude: float = 0.05  # largest perturbation of an entry of a matrix
    noise_rates: tuple[float, ...] = (0.5,)
    seeds: tuple[int, ...] = SEEDS  # draws of each perturbed matrix; the block matrix needs one
    n_rounds: int = 7  # round 1 is the teacher, and round 7 is the sixth student

    @abstractmethod
    def run(self, matrix: SyntheticMatrix, noise_rate: float) -> Any:
        """Return the run on one matrix at one noise rate."""

    @abstractmethod
    def draw(self, found: Mapping[str, Sequence[tuple[Any, Any]]]) -> Made:
        """Return figures and tables; `found` has finished runs and results by kind of matrix."""

    def of_kind(self, kind: str) -> list[Any]:
        """Return the runs on one kind of matrix."""
        seeds = self.seeds[:1] if kind == "block" else self.seeds
        return [
            self.run(SyntheticMatrix(self.setting, kind, self.amplitude, seed), rate)
            for seed in seeds
            for rate in self.noise_rates
        ]

    def runs(self, data: Sequence[DataSet] = ()) -> list[Any]:
        """Return all runs: on the block matrix first, then on every draw of the other matrices."""
        del data
        return [run for kind in MATRIX_NAMES for run in self.of_kind(kind)]

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the finished runs, and note how many are missing."""
        plan = self.runs(data)
        missing = sum(run not in results for run in plan)
        notes = (f"{missing} of {len(plan)} runs are missing.",) if missing else ()
        if missing == len(plan):
            return Made(notes=notes)
        pairs = {
            kind: [(run, results[run]) for run in self.of_kind(kind) if run in results]
            for kind in MATRIX_NAMES
        }
        made = self.draw({kind: found for kind, found in pairs.items() if found})
        return replace(made, notes=notes + made.notes)


@register("synthetic accuracy")
@dataclass(frozen=True)
class SyntheticAccuracy(MatrixMaker):
    """Training accuracy of every round and of the two-hot student, against the noise rate."""

    def run(self, matrix: SyntheticMatrix, noise_rate: float) -> SyntheticRun:
        """Return the run on one matrix at one noise rate; other figures use the same run."""
        return SyntheticRun(matrix, noise_rate, self.n_rounds)

    def draw(self, found: Mapping[str, Sequence[tuple[Any, Any]]]) -> Made:
        """Draw the accuracy against the noise rate, and list it for every rule for ties."""
        curves = {MATRIX_NAMES[kind]: _curves(pairs) for kind, pairs in found.items()}
        notes = (
            "A sample is right if its true label has the largest output. Ties count as errors.",
            f"Bands are ± one standard deviation over {len(self.seeds)} draws.",
        )
        table = _table(curves, self.n_rounds)
        return Made({"acc_gain": accuracy_figure(curves)}, {"acc_gain": table}, notes)


def _curves(pairs: Sequence[tuple[SyntheticRun, SyntheticResult]]) -> NoiseCurves:
    by_rate: dict[float, list[SyntheticResult]] = {}
    for run, result in sorted(pairs, key=lambda pair: pair[0].noise_rate):
        by_rate.setdefault(run.noise_rate, []).append(result)
    return NoiseCurves(
        [*by_rate],
        [
            np.array([[each.accuracy for each in result.rounds] for result in found])
            for found in by_rate.values()
        ],
        {
            rule: [np.array([each.two_hot[rule].accuracy for each in f]) for f in by_rate.values()]
            for rule in TIE_RULES
        },
    )


def _table(curves: dict[str, NoiseCurves], n_rounds: int) -> Table:
    columns = ["Gram matrix", "η", *(f"t = {t}" for t in range(1, n_rounds + 1))]
    columns += [f"two-hot, ties: {rule}" for rule in TIE_RULES]
    rows: list[tuple[Cell, ...]] = []
    for name, found in curves.items():
        for place, rate in enumerate(found.noise_rates):
            values = [*found.rounds[place].T, *(found.two_hot[rule][place] for rule in TIE_RULES)]
            rows.append((name, rate, *(mean_of(each.tolist(), factor=100) for each in values)))
    return Table("Training accuracy (%), exact softmax", tuple(columns), tuple(rows))


# Eigenvalues of the averaging matrix by round (the paper's figure 2a) -----------------------------


DIGITS = 8


@dataclass(frozen=True)
class EigenvalueRun:
    """Settings of a run that computes the eigenvalues of one matrix."""

    version: ClassVar[int] = 2  # version 2 records only eigenvalues

    matrix: SyntheticMatrix


@dataclass(frozen=True)
class EigenvalueResult:
    """The eigenvalues that a run computed."""

    # Modulus of λ/(x + λ) for each eigenvalue λ of the matrix and the ridge x, the largest first.
    # The averaging matrix of round t has the t-th powers as eigenvalues.
    factors: list[float]


def measure_eigenvalues(run: EigenvalueRun, _paths: object = None) -> EigenvalueResult:
    """Return the eigenvalues of the averaging matrix that belongs to a Gram matrix."""
    matrix = known_matrix(run.matrix)
    values = np.linalg.eigvals(matrix.entries)
    factors = np.abs(values / (matrix.setting.model().ridge(matrix.setting.l2) + values))
    return EigenvalueResult(sorted(factors.round(DIGITS).tolist(), reverse=True))


register_runs(RunKind(EigenvalueRun, EigenvalueResult, measure_eigenvalues))


@register("synthetic eigenvalues")
@dataclass(frozen=True)
class SyntheticEigenvalues(MatrixMaker):
    """Eigenvalues of the averaging matrix by rank and round, with one panel per Gram matrix."""

    def run(self, matrix: SyntheticMatrix, noise_rate: float) -> EigenvalueRun:
        """Return the run, which does not depend on the noise rate."""
        del noise_rate
        return EigenvalueRun(matrix)

    def draw(self, found: Mapping[str, Sequence[tuple[Any, Any]]]) -> Made:
        """Draw means over the draws; list the ratio of eigenvalue K to eigenvalue K + 1."""
        factors = {
            MATRIX_NAMES[kind]: np.array([result.factors for _, result in pairs])
            for kind, pairs in found.items()
        }
        powers = {
            name: np.array([(each**t).mean(axis=0) for t in range(1, self.n_rounds + 1)])
            for name, each in factors.items()
        }
        note = (
            f"Perturbed matrices: means over {len(self.seeds)} draws. "
            "If eigenvalues are complex, the modulus is shown."
        )
        name = "eigenspectrum"
        figure = eigenvalue_figure(powers, self.setting.n_classes)
        return Made({name: figure}, {name: self._table(factors)}, (note,))

    def _table(self, found: dict[str, FloatArray]) -> Table:
        last = self.setting.n_classes
        rows: list[tuple[Cell, ...]] = []
        for name, factors in found.items():
            for t in range(1, self.n_rounds + 1):
                kth, following = factors[:, last - 1] ** t, factors[:, last] ** t
                ratio = mean_of((kth / following).tolist())
                rows.append((name, t, float(kth.mean()), float(following.mean()), ratio))
        columns = ("Gram matrix", "t", f"eigenvalue {last}", f"eigenvalue {last + 1}", "ratio")
        return Table("Eigenvalues of the averaging matrix", columns, tuple(rows))


# The paper's three corruption matrices, as numbers (its table:label_corruption_three) -------------


# Off-diagonal entries of the corruption matrices; the diagonal entries are 1 - η.
DEFINITIONS = {
    "symmetric": "η / (K - 1) on every other label",
    "asymmetric": "2η / K on the label k is taken for, (k + 1) mod K; η / K on the others",
    "superclass": "η / (size - 1) on the other labels of the superclass, 0 elsewhere;"
    " a superclass of one class stays clean",
}


@register("label corruption")
@dataclass(frozen=True)
class LabelCorruption(Maker):
    """The three corruption matrices at one noise rate; they need no runs."""

    superclass: tuple[int, ...] = (0, 0, 1, 1)
    noise_rate: float = 0.4

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the matrices; list the numbers and the definitions of the matrices."""
        del results, data
        matrices = self.matrices()
        n_classes = len(self.superclass)
        rows: list[tuple[Cell, ...]] = [
            (kind, k, *(round(float(share), 6) for share in matrix[k]))
            for kind, matrix in matrices.items()
            for k in range(n_classes)
        ]
        columns = ("corruption", "true class", *(f"given {k}" for k in range(n_classes)))
        title = f"Corruption matrices of {n_classes} classes at η = {self.noise_rate:g}"
        defined = Table(
            "Off-diagonal entries of the corruption matrices (1 - η on the diagonal)",
            ("corruption", "share of true class k given another label"),
            tuple(DEFINITIONS.items()),
        )
        name = "label_corruption_three"
        return Made(
            {name: corruption_figure(matrices, self.noise_rate)},
            {name: Table(title, columns, tuple(rows)), f"{name}_definitions": defined},
            (f"Superclasses of the classes: {', '.join(map(str, self.superclass))}.",),
        )

    def matrices(self) -> dict[str, FloatArray]:
        """Return the three matrices by name."""
        n_classes = len(self.superclass)
        return {
            "symmetric": symmetric(n_classes, self.noise_rate),
            "asymmetric": asymmetric(n_classes, self.noise_rate),
            "superclass": superclass_noise(self.superclass, self.noise_rate),
        }
