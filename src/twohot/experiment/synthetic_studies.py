"""The paper's synthetic experiment and two of its appendices: the numbers that figures draw.

The block model's exact outputs come from the population solver, those of its perturbed Gram
matrix, repaired to a positive semidefinite one, from the dense solver. Both are shown: the paper
perturbs entries independently, and the result is not a Gram matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twohot._types import FloatArray
from twohot.noise import symmetric
from twohot.theory import (
    CorrelationModel,
    LabelAveraging,
    PairLevels,
    candidate_targets,
    population_partial_labels,
    population_rounds,
    repair_gram,
    separation_at,
    shrinkage_factors,
    softmax_error,
    softmax_rounds,
    uniform_perturbation,
)

# Number of classes, training samples, and mean correlation inside classes and inside superclasses
# of the paper's six data sets with ResNet34 features (its table of correlation statistics).
PAPER_DATA_SETS = {
    "CIFAR-100": PairLevels(100, 50_000 / 100, 0.25, 0.02),
    "Caltech-101": PairLevels(101, 6_942 / 101, 0.42, 0.03),
    "Caltech-256": PairLevels(256, 23_824 / 256, 0.35, 0.02),
    "Flowers-102": PairLevels(102, 6_149 / 102, 0.36, 0.03),
    "Food-101": PairLevels(101, 75_750 / 101, 0.17, 0.01),
    "StanfordCars": PairLevels(196, 8_144 / 196, 0.21, 0.06),
}


@dataclass(frozen=True)
class SyntheticSetting:
    """The paper's synthetic experiment; the defaults are its figures'."""

    n_classes: int = 4
    n_per_class: int = 100
    same_class: float = 0.4
    same_superclass: float = 0.1
    l2: float = 3.125e-4
    amplitude: float = 0.05  # of the perturbation of every entry of the Gram matrix
    seed: int = 0

    def model(self) -> CorrelationModel:
        """Return the unperturbed block model."""
        return CorrelationModel.case_3(
            n_classes=self.n_classes,
            same_class=self.same_class,
            same_superclass=self.same_superclass,
            n_per_class=self.n_per_class,
        )

    def perturbed(self) -> LabelAveraging:
        """Return the perturbed Gram matrix, repaired and diagonalised."""
        gram = self.model().gram()
        noise = uniform_perturbation(len(gram), amplitude=self.amplitude, seed=self.seed)
        return LabelAveraging.from_gram(repair_gram(gram + noise))

    def counts(self, noise_rate: float) -> NDArray[np.intp]:
        """Whole samples per true class and given label for symmetric noise, labels balanced.

        Wrong labels are shared out as evenly as whole numbers allow, the same way in every class.
        """
        wrong = round(noise_rate * self.n_per_class)
        share, left = divmod(wrong, self.n_classes - 1)
        row = [self.n_per_class - wrong] + [share + (k < left) for k in range(self.n_classes - 1)]
        return np.array([np.roll(row, k) for k in range(self.n_classes)])

    def labels(self, noise_rate: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the true and the given label of every sample, sorted by true class."""
        classes = np.arange(self.n_classes)
        true = np.repeat(classes, self.n_per_class)
        given = np.concatenate([np.repeat(classes, row) for row in self.counts(noise_rate)])
        return true, given


@dataclass(frozen=True, eq=False)
class EigenvalueStudy:
    """Eigenvalues of the averaging matrix of rounds 1, 2, …, largest first."""

    n_classes: int
    block: FloatArray  # (n_rounds, n_samples) unperturbed
    perturbed: FloatArray  # (n_rounds, n_samples)


@dataclass(frozen=True, eq=False)
class OutputStudy:
    """Exact outputs of all samples, round by round."""

    true_labels: NDArray[np.intp]
    given_labels: NDArray[np.intp]
    noise_rate: float
    block: FloatArray  # (n_rounds, n_samples, n_classes) unperturbed
    perturbed: FloatArray  # (n_rounds, n_samples, n_classes)


@dataclass(frozen=True, eq=False)
class AccuracyStudy:
    """Training accuracy against noise; the last row is the partial-label student's."""

    noise_rates: FloatArray  # (n_rates,)
    block: FloatArray  # (n_rounds + 1, n_rates) unperturbed, ties counted as errors
    perturbed: FloatArray  # (n_rounds + 1, n_rates)


@dataclass(frozen=True, eq=False)
class SoftmaxErrorStudy:
    """Largest difference of linear and exact outputs against samples per class."""

    n_per_class: FloatArray  # (n_sizes,)
    fixed_l2: FloatArray  # (n_rounds, n_sizes) at the paper's constant penalty
    fixed_ridge: FloatArray  # (n_rounds, n_sizes) at a penalty that falls as 1/n
    l2: float
    ridge: float


@dataclass(frozen=True, eq=False)
class SeparationStudy:
    """q/p against the penalty, for unit-norm features."""

    l2: FloatArray  # (n_penalties,)
    curves: dict[str, FloatArray]  # per data set, (n_penalties,)


def eigenvalue_study(setting: SyntheticSetting, *, n_rounds: int = 6) -> EigenvalueStudy:
    """Eigenvalues of the averaging matrix as rounds go by (the paper's figure 2a)."""
    model = setting.model()
    ridge = model.ridge(setting.l2)
    rounds = range(1, n_rounds + 1)
    block, perturbed = (
        np.array([shrinkage_factors(values, ridge=ridge, n_rounds=t) for t in rounds])
        for values in (model.spectrum().values(), setting.perturbed().eigenvalues)
    )
    return EigenvalueStudy(setting.n_classes, block, perturbed)


def output_study(
    setting: SyntheticSetting, *, noise_rate: float = 0.5, n_rounds: int = 6
) -> OutputStudy:
    """Exact outputs of every sample in every round (the paper's figures 2b and 3b)."""
    true, given = setting.labels(noise_rate)
    corruption = setting.counts(noise_rate) / setting.n_per_class
    block = population_rounds(setting.model(), corruption, l2=setting.l2, n_rounds=n_rounds)
    targets = np.eye(setting.n_classes)[given]
    perturbed = softmax_rounds(setting.perturbed(), targets, l2=setting.l2, n_rounds=n_rounds)
    return OutputStudy(
        true,
        given,
        noise_rate,
        np.array([fitted.predicted.of(true, given) for fitted in block]),
        np.array([fitted.outputs for fitted in perturbed]),
    )


def accuracy_study(
    setting: SyntheticSetting, *, noise_rates: Sequence[float], n_rounds: int = 6
) -> AccuracyStudy:
    """Training accuracy of every round and of the student against noise (figure 3a)."""
    averaging = setting.perturbed()
    block = [_block_accuracy(setting, rate, n_rounds) for rate in noise_rates]
    perturbed = [_perturbed_accuracy(setting, averaging, rate, n_rounds) for rate in noise_rates]
    return AccuracyStudy(np.array(noise_rates), np.array(block).T, np.array(perturbed).T)


def _block_accuracy(setting: SyntheticSetting, noise_rate: float, n_rounds: int) -> list[float]:
    model, corruption = setting.model(), setting.counts(noise_rate) / setting.n_per_class
    fitted = population_rounds(model, corruption, l2=setting.l2, n_rounds=n_rounds)
    student = population_partial_labels(model, corruption, l2=setting.l2)
    return [each.predicted.accuracy() for each in [*fitted, student]]


def _perturbed_accuracy(
    setting: SyntheticSetting, averaging: LabelAveraging, noise_rate: float, n_rounds: int
) -> list[float]:
    true, given = setting.labels(noise_rate)
    one_hot = np.eye(setting.n_classes)[given]
    fitted = softmax_rounds(averaging, one_hot, l2=setting.l2, n_rounds=n_rounds)
    candidates = candidate_targets(fitted[0].outputs)
    student = softmax_rounds(averaging, candidates, l2=setting.l2, n_rounds=1)
    return [float((each.outputs.argmax(axis=1) == true).mean()) for each in fitted + student]


def softmax_error_study(
    setting: SyntheticSetting,
    *,
    n_per_class: Sequence[float] = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8),
    n_rounds: int = 6,
    noise_rate: float = 0.5,
    l2: float = 1e-4,
    ridge: float = 0.5,
) -> SoftmaxErrorStudy:
    """How far the linear theory is from the exact softmax (appendix on Assumption 2.1)."""
    corruption = symmetric(setting.n_classes, noise_rate)
    fixed_l2, fixed_ridge = [], []
    for size in n_per_class:
        model = setting.model().with_class_sizes(size)
        scaled = ridge / model.ridge(1.0)
        fixed_l2.append(softmax_error(model, corruption, l2=l2, n_rounds=n_rounds))
        fixed_ridge.append(softmax_error(model, corruption, l2=scaled, n_rounds=n_rounds))
    return SoftmaxErrorStudy(
        np.array(n_per_class), np.array(fixed_l2).T, np.array(fixed_ridge).T, l2, ridge
    )


def separation_study(*, n_penalties: int = 200) -> SeparationStudy:
    """q/p against the penalty for the paper's six data sets (its appendix on choosing λ)."""
    penalties = np.logspace(-8, -2, n_penalties)
    curves = {
        name: np.array([separation_at(levels, l2=l2) for l2 in penalties])
        for name, levels in PAPER_DATA_SETS.items()
    }
    return SeparationStudy(penalties, curves)
