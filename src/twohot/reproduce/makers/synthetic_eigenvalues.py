"""Eigenvalues of the averaging matrix as rounds go by (the paper's figure 2a)."""

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from twohot._types import FloatArray
from twohot.figures.theory import eigenvalue_figure
from twohot.reproduce.maker import Made, Results, RunKind, register, register_runs
from twohot.reproduce.makers.synthetic_accuracy import SEEDS
from twohot.reproduce.makers.synthetic_maker import SyntheticMaker
from twohot.reproduce.synthetic_setting import (
    MATRIX_NAMES,
    SyntheticMatrix,
    SyntheticSetting,
    known_matrix,
)
from twohot.reproduce.table import Cell, Table, mean_of

DIGITS = 8


@dataclass(frozen=True)
class EigenvalueRun:
    """The spectrum of one matrix."""

    matrix: SyntheticMatrix


@dataclass(frozen=True)
class EigenvalueResult:
    """Eigenvalues, and how far the leading ones' space is from that of the classes."""

    factors: list[float]  # modulus of λ/(x + λ), largest first: of round t, their t-th power
    eigengap: float  # λ_K - λ_{K+1} of the block model
    perturbation_norm: float  # spectral norm of what was added to the block model
    sin_angle: float  # sine of the largest angle between the K leading directions and the classes

    @property
    def bound(self) -> float:
        """What Davis and Kahan allow the sine to be, where the matrix is symmetric."""
        return 2 * self.perturbation_norm / self.eigengap


def measure_eigenvalues(run: EigenvalueRun, _paths: object = None) -> EigenvalueResult:
    """Diagonalise a matrix."""
    matrix = known_matrix(run.matrix)
    setting, entries = matrix.setting, matrix.entries
    model = setting.model()
    values, vectors = np.linalg.eig(entries)
    order = np.argsort(-np.abs(values), kind="stable")
    factors = np.abs(values / (model.ridge(setting.l2) + values))
    leading = vectors[:, order[: setting.n_classes]]
    classes = np.eye(setting.n_classes)[model.true_labels()]
    angles = scipy.linalg.subspace_angles(classes, _real_basis(leading))
    return EigenvalueResult(
        sorted(factors.round(DIGITS).tolist(), reverse=True),
        float(model.spectrum().eigengap),
        round(float(np.linalg.norm(entries - model.gram(), 2)), DIGITS),
        round(float(np.sin(angles.max())), DIGITS),
    )


def _real_basis(vectors: FloatArray) -> FloatArray:
    """Return a real basis of the space that eigenvectors span, pairs of complex ones among them."""
    parts = np.column_stack([vectors.real, vectors.imag])
    return np.asarray(np.linalg.svd(parts, full_matrices=False)[0][:, : vectors.shape[1]])


register_runs(RunKind(EigenvalueRun, EigenvalueResult, measure_eigenvalues))


@register("synthetic eigenvalues")
@dataclass(frozen=True)
class SyntheticEigenvalues(SyntheticMaker):
    """Eigenvalues by rank and round, one panel per matrix."""

    amplitude: float = 0.05
    seeds: tuple[int, ...] = SEEDS
    n_rounds: int = 7
    setting: SyntheticSetting = field(default_factory=SyntheticSetting)

    def of_kind(self, kind: str) -> list[EigenvalueRun]:
        """Return the runs on one kind of matrix."""
        seeds = self.seeds[:1] if kind == "block" else self.seeds
        return [
            EigenvalueRun(SyntheticMatrix(self.setting, kind, self.amplitude, seed))
            for seed in seeds
        ]

    def plan(self) -> list[EigenvalueRun]:
        """Return one run per matrix and draw."""
        return [run for kind in MATRIX_NAMES for run in self.of_kind(kind)]

    def draw(self, results: Results) -> Made:
        """Draw the means over draws, and list the ratio of the K-th to the next eigenvalue."""
        found = {
            name: np.array([results[run].factors for run in self.of_kind(kind) if run in results])
            for kind, name in MATRIX_NAMES.items()
        }
        found = {name: factors for name, factors in found.items() if len(factors)}
        rounds = range(1, self.n_rounds + 1)
        powers = {
            name: np.array([(factors**t).mean(axis=0) for t in rounds])
            for name, factors in found.items()
        }
        note = f"Perturbed: means over {len(self.seeds)} draws; of complex ones the modulus."
        name = "eigenspectrum"
        figure = eigenvalue_figure(powers, self.setting.n_classes)
        return Made({name: figure}, {name: self._table(found)}, (note,))

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
