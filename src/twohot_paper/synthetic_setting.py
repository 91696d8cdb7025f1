"""The paper's synthetic experiment: four classes, two levels of correlation, symmetric noise.

Two samples have one correlation if they have the same class, and another one if they do not. The
paper perturbs every entry of this Gram matrix independently. The result is not symmetric, so it is
not the Gram matrix of any features. Therefore, the experiment is run on three matrices:

    block      the two levels of correlation, unperturbed
    repaired   perturbed, averaged with its transpose, made positive semidefinite
    raw        perturbed as by the authors

All outputs are those of the exact softmax, on training samples. A noisy sample is a sample with a
wrong label, and a clean sample has the right label.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from twohot.base import FloatArray, check_choice, top_shares
from twohot.theory import (
    CorrelationModel,
    LabelAveraging,
    SoftmaxRound,
    repair_gram,
    softmax_rounds,
)
from twohot_paper.exhibit import RunKind, register_runs
from twohot_paper.perturbed_gram import (
    asymmetric_softmax_rounds,
    independent_perturbation,
    uniform_perturbation,
)
from twohot_paper.probe_run import Spread

# Names in figures and tables.
MATRIX_NAMES = {
    "block": "Block model",
    "repaired": "Perturbed, repaired to PSD",
    "raw": "Perturbed, as the authors drew it",
}
# Names in sentences.
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
        """Return the number of samples per true class and given label, for symmetric noise.

        Wrong labels are distributed as evenly as possible among true classes, and among the wrong
        labels of each class. So the given labels are balanced too.
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
    """One matrix that takes the place of the Gram matrix."""

    setting: SyntheticSetting = SyntheticSetting()
    kind: str = "block"  # one of MATRIX_NAMES
    amplitude: float = 0.05  # largest perturbation of an entry; "block" does not use it
    seed: int = 0  # seed of the perturbation

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, tuple(MATRIX_NAMES))

    @cached_property
    def entries(self) -> FloatArray:
        """The entries of the matrix, (n_samples, n_samples)."""
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
        """The diagonalised matrix; only for kinds that are Gram matrices."""
        return LabelAveraging.from_gram(self.entries)

    def rounds(self, targets: FloatArray, n_rounds: int) -> list[SoftmaxRound]:
        """Return `n_rounds` exact rounds, of which the first is fitted to `targets`."""
        l2 = self.setting.l2
        if self.kind == "raw":
            return asymmetric_softmax_rounds(self.entries, targets, l2=l2, n_rounds=n_rounds)
        return softmax_rounds(self.averaging, targets, l2=l2, n_rounds=n_rounds)


@lru_cache(maxsize=4)
def known_matrix(matrix: SyntheticMatrix) -> SyntheticMatrix:
    """Return an equal matrix from a cache, which keeps the entries and the diagonalisation."""
    return matrix


# One run: all rounds and two-hot students at one noise rate ---------------------------------------


# Rules for the two-hot target if labels tie for the second place: take the label with the lowest
# number, take a random label, or spread the weight equally over the tied labels.
TIE_RULES = ("lowest", "random", "spread")

# Two outputs of a sample are tied if their difference is below this fraction of the range of the
# sample's outputs. Solver errors are about 1e-14. With perturbed matrices there are no ties: such
# differences are above 1e-6.
TIED = 1e-9

# Number of digits of outputs in records.
DIGITS = 6


@dataclass(frozen=True)
class SyntheticRun:
    """Settings of a run that fits all rounds and the two-hot students on one matrix."""

    matrix: SyntheticMatrix
    noise_rate: float
    n_rounds: int = 7  # the teacher and six students


@dataclass(frozen=True)
class SyntheticModel:
    """The scores of one model on the training samples."""

    accuracy: float  # fraction of samples whose true label has the largest output, without ties
    tied: float  # fraction of samples whose true label ties for the largest output
    clean_true: Spread  # output at the true label of samples whose given label is right
    clean_other: Spread  # output at the other labels of these samples
    noisy_true: Spread | None  # output at the true label of noisy samples, if there are any
    noisy_given: Spread | None  # output at the given label of noisy samples
    noisy_other: Spread | None  # output at the other labels of noisy samples
    # Root mean square distance of outputs to the means of their classes, divided by the root mean
    # square distance of these means to the mean of all.
    scatter: float


@dataclass(frozen=True)
class SyntheticResult:
    """The scores of all rounds and two-hot students of a run."""

    noise_rate: float  # fraction of the samples with a wrong label
    truth_leads: bool  # whether the true label is the most frequent one in every class
    rounds: tuple[SyntheticModel, ...]
    two_hot: dict[str, SyntheticModel]  # scores for each rule for ties
    truth_in_top_two: float  # fraction of samples with the true label in the teacher's top two
    truth_in_top_two_noisy: float | None  # the same fraction among noisy samples; None: no such one
    residual: float  # largest residual of the fits
    converged: bool  # whether all fits converged


def measure_synthetic(run: SyntheticRun, _paths: object = None) -> SyntheticResult:
    """Return the scores of the rounds and the two-hot students of a run."""
    matrix = known_matrix(run.matrix)
    setting = matrix.setting
    true, given = setting.labels(run.noise_rate)
    noisy = true != given
    fitted = matrix.rounds(np.eye(setting.n_classes)[given], run.n_rounds)
    teacher = fitted[0].outputs
    students: dict[str, SyntheticModel] = {}
    targets, solved = {}, [*fitted]
    for rule in TIE_RULES:
        targets[rule] = _candidates(teacher, rule, run.matrix.seed)
        same = next((each for each in students if np.array_equal(targets[each], targets[rule])), "")
        if not same:
            solved += matrix.rounds(targets[rule], 1)
        students[rule] = students.get(same) or summarise(solved[-1].outputs, true, given)
    found = _rank_of(teacher, true) < 2
    return SyntheticResult(
        noise_rate=float(noisy.mean()),
        truth_leads=_truth_leads(setting.counts(run.noise_rate)),
        rounds=tuple(summarise(each.outputs, true, given) for each in fitted),
        two_hot=students,
        truth_in_top_two=float(found.mean()),
        truth_in_top_two_noisy=float(found[noisy].mean()) if noisy.any() else None,
        residual=max(each.residual for each in solved),
        converged=all(each.converged for each in solved),
    )


def summarise(
    outputs: FloatArray, true: NDArray[np.intp], given: NDArray[np.intp]
) -> SyntheticModel:
    """Return the scores of a model with these outputs."""
    samples, noisy = np.arange(len(true)), true != given
    others = np.ones(outputs.shape, dtype=bool)
    others[samples, true] = others[samples, given] = False
    at_true, at_given = outputs[samples, true], outputs[samples, given]
    tied, right = _ties_and_wins(outputs, true)
    return SyntheticModel(
        accuracy=float(right.mean()),
        tied=float(tied.mean()),
        clean_true=_spread(at_true[~noisy]) or Spread(0.0, 0.0),
        clean_other=_spread(outputs[~noisy][others[~noisy]]) or Spread(0.0, 0.0),
        noisy_true=_spread(at_true[noisy]),
        noisy_given=_spread(at_given[noisy]),
        noisy_other=_spread(outputs[noisy][others[noisy]]),
        scatter=_scatter(outputs, true),
    )


def _candidates(outputs: FloatArray, rule: str, seed: int) -> FloatArray:
    """Return the two-hot targets; `rule`, one of `TIE_RULES`, decides between tied labels."""
    slack = _slack(outputs)[:, np.newaxis]
    shares = top_shares(outputs, 2, slack, lowest=rule == "lowest")
    if rule != "random":
        return shares
    # A label above the tie has weight 1/2, and tied labels have less. If a small random number is
    # added to each weight, the two largest are the label above the tie, if any, and random ones.
    jitter = np.random.default_rng(seed).uniform(0, 1e-6, size=shares.shape)
    chosen = np.argsort(shares + jitter, axis=1)[:, -2:]
    targets = np.zeros_like(shares)
    np.put_along_axis(targets, chosen, 0.5, axis=1)
    return targets


def _slack(outputs: FloatArray) -> FloatArray:
    return np.asarray(TIED * np.ptp(outputs, axis=1))


def _rank_of(outputs: FloatArray, labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return, for each row, how many labels have a larger output than the label in `labels`."""
    at_label = outputs[np.arange(len(labels)), labels] + _slack(outputs)
    return np.asarray((outputs > at_label[:, np.newaxis]).sum(axis=1))


def _ties_and_wins(
    outputs: FloatArray, true: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    samples = np.arange(len(true))
    others = outputs.copy()
    others[samples, true] = -np.inf
    margins = outputs[samples, true] - others.max(axis=1)
    slack = _slack(outputs)
    return np.abs(margins) <= slack, margins > slack


def _truth_leads(counts: NDArray[np.intp]) -> bool:
    wrong = counts - np.diag(np.diag(counts))
    return bool((np.diag(counts) > wrong.max(axis=1)).all())


def _scatter(outputs: FloatArray, true: NDArray[np.intp]) -> float:
    means = np.array([outputs[true == k].mean(axis=0) for k in np.unique(true)])
    within = np.square(outputs - means[true]).sum(axis=1).mean()
    between = np.square(means - means.mean(axis=0)).sum(axis=1).mean()
    return round(float(np.sqrt(within / between)), DIGITS)


def _spread(values: FloatArray) -> Spread | None:
    if not values.size:
        return None
    return Spread(round(float(values.mean()), DIGITS), round(float(values.std()), DIGITS))


register_runs(RunKind(SyntheticRun, SyntheticResult, measure_synthetic))
