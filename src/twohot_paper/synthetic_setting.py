"""The paper's synthetic experiment: four classes, a Gram matrix of two levels, symmetric noise.

The paper perturbs every entry of the Gram matrix independently. The result is symmetric no more and
belongs to no features, so that the experiment is done three times:

    block      the two levels as they are
    repaired   perturbed, averaged with its transpose, cut to a positive semidefinite matrix
    raw        perturbed as the authors did it

All outputs are those of the exact softmax, on training samples.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from twohot.base import FloatArray, check_choice
from twohot.theory import (
    CorrelationModel,
    LabelAveraging,
    SoftmaxRound,
    repair_gram,
    softmax_rounds,
)
from twohot_paper.perturbed_gram import (
    asymmetric_softmax_rounds,
    independent_perturbation,
    uniform_perturbation,
)

# How figures and tables call them.
MATRIX_NAMES = {
    "block": "Block model",
    "repaired": "Perturbed, repaired to PSD",
    "raw": "Perturbed, as the authors drew it",
}
# How sentences call them.
MATRIX_WORDS = {
    "block": "the block model",
    "repaired": "the repaired matrix",
    "raw": "the raw matrix",
}


@dataclass(frozen=True)
class SyntheticSetting:
    """Classes, correlations and penalty; the defaults are those of the paper's figures."""

    n_classes: int = 4
    n_per_class: int = 100
    same_class: float = 0.4
    same_superclass: float = 0.1
    l2: float = 3.125e-4

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.n_classes * self.n_per_class

    def model(self) -> CorrelationModel:
        """Return the unperturbed block model."""
        return CorrelationModel.case_3(
            n_classes=self.n_classes,
            same_class=self.same_class,
            same_superclass=self.same_superclass,
            n_per_class=self.n_per_class,
        )

    def counts(self, noise_rate: float) -> NDArray[np.intp]:
        """Whole samples per true class and given label for symmetric noise.

        Wrong labels are shared out among classes and labels as evenly as whole numbers allow, the
        same way in every class; given labels are balanced where every class has as many.
        """
        wrong = round(noise_rate * self.n_samples)
        return np.array(
            [
                np.roll(self._row((wrong + self.n_classes - 1 - k) // self.n_classes), k)
                for k in range(self.n_classes)
            ]
        )

    def labels(self, noise_rate: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the true and the given label of every sample, sorted by true class."""
        classes = np.arange(self.n_classes)
        true = np.repeat(classes, self.n_per_class)
        given = np.concatenate([np.repeat(classes, row) for row in self.counts(noise_rate)])
        return true, given

    def _row(self, wrong: int) -> list[int]:
        others = self.n_classes - 1
        share, left = divmod(wrong, others)
        return [self.n_per_class - wrong, *(share + (k < left) for k in range(others))]


@dataclass(frozen=True)
class SyntheticMatrix:
    """One matrix in place of the Gram matrix."""

    setting: SyntheticSetting = SyntheticSetting()
    kind: str = "block"  # one of MATRIX_NAMES
    amplitude: float = 0.05  # of the perturbation of every entry; the block has none
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, tuple(MATRIX_NAMES))

    @cached_property
    def entries(self) -> FloatArray:
        """(n_samples, n_samples) the matrix."""
        gram = self.setting.model().gram()
        size, amplitude, seed = len(gram), self.amplitude, self.seed
        if self.kind == "raw":
            return gram + independent_perturbation(size, amplitude=amplitude, seed=seed)
        if self.kind == "repaired":
            noise = uniform_perturbation(size, amplitude=amplitude, seed=seed)
            return repair_gram(gram + noise)
        return gram

    @cached_property
    def averaging(self) -> LabelAveraging:
        """The matrix diagonalised, where it is a Gram matrix."""
        return LabelAveraging.from_gram(self.entries)

    def rounds(self, targets: FloatArray, n_rounds: int) -> list[SoftmaxRound]:
        """Exact rounds from some targets on."""
        l2 = self.setting.l2
        if self.kind == "raw":
            return asymmetric_softmax_rounds(self.entries, targets, l2=l2, n_rounds=n_rounds)
        return softmax_rounds(self.averaging, targets, l2=l2, n_rounds=n_rounds)


@lru_cache(maxsize=4)
def known_matrix(matrix: SyntheticMatrix) -> SyntheticMatrix:
    """Return a matrix that keeps what was computed of it for the runs that follow."""
    return matrix
