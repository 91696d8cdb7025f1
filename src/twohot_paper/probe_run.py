"""One run of the paper's real-data experiments, and what it records.

A run fits the models of one family on one draw of noisy labels, all from the same teacher. Beside
test accuracy it records what the theorems are about: accuracy on the true labels of the training
rows, which rows a round corrects and breaks, whether the truth is among the teacher's candidates,
and the outputs themselves.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twohot.base import FloatArray, IntArray
from twohot.noise import asymmetric, corrupt_labels, superclass_noise, symmetric
from twohot_paper.data_set import DataSet

# How many of the largest outputs are looked through for the true label.
TOP = (1, 2, 3, 5, 10)

CLEAN = "none"  # the corruption of labels as they are

# Share of lost training rows above which noise is beyond recovery: most of them. A superclass of
# two among a hundred classes is lost at a rate of 0.6, and takes nothing from the others.
MOST_LOST = 0.5
ROUNDING = 1e-12  # of probabilities: 1 - 0.9 is more than 0.1

# Raised when the trainer changes what it records, so that older records are not taken for new.
RECIPE = 3


# What a run of the paper's models takes: for itself, and for each row, feature and class. Of other
# families the share of that.
RUN_SECONDS, PRODUCT_SECONDS = 10.0, 4e-8
FAMILY_SHARES = {"tuned teacher": 0.4}


@dataclass(frozen=True)
class ProbeRun:
    """What a run is known by."""

    data: str  # key of the data set
    corruption: str  # "superclass", "symmetric" or "asymmetric"; "none" at noise rate 0
    noise_rate: float
    seed: int  # of the labels that are drawn
    l2: float  # penalty, on the features as they are trained on
    family: str  # of models; see twohot_paper.exact_trainer
    prepared: bool = False  # features centred and of unit norm, instead of raw
    tol: float = 1e-3  # relative gradient at which cross-entropy fits end
    recipe: int = RECIPE


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over rows."""

    mean: float
    std: float


@dataclass(frozen=True)
class FittedModel:
    """One fitted model, judged. `before` is the model that it learnt from, if any."""

    test_accuracy: float
    train_accuracy: float  # share of the training rows predicted as their true label
    given_agreement: float  # share of the training rows predicted as their given label
    n_corrected: int  # training rows that it has right and the model before had wrong
    n_broken: int  # training rows that it has wrong and the model before had right
    truth_in_top: dict[str, float] | None  # share of noisy rows with the truth in the top k, by k
    clean_true: Spread  # output at the label of rows whose given label is true
    noisy_true: Spread | None  # output at the true label of the other rows, if there are any
    noisy_given: Spread | None  # output at their given label
    l2: float
    n_passes: float  # over the rows, for SGD epochs
    cpu_seconds: float
    gradient_norm: float | None  # relative; None where the trainer does not know
    converged: bool | None


@dataclass(frozen=True)
class ProbeResult:
    """What a run records."""

    models: dict[str, FittedModel]  # by name
    noise_rate: float  # realised


@dataclass(frozen=True, eq=False)
class NoisyLabels:
    """True and given labels of the training rows, and the true ones of the test rows."""

    true: IntArray
    given: IntArray
    test: IntArray

    @property
    def noisy(self) -> NDArray[np.bool_]:
        """Which rows have a wrong label."""
        return np.asarray(self.true != self.given)


def expected_seconds(run: ProbeRun, data: DataSet) -> float:
    """Return what a run takes on one core, roughly: on five data sets within a factor of two."""
    whole = RUN_SECONDS + PRODUCT_SECONDS * float(data.X.size) * data.n_classes
    return whole * FAMILY_SHARES.get(run.family, 1.0)


def draw_labels(data: DataSet, run: ProbeRun) -> NoisyLabels:
    """Return the labels of a run: each drawn from the row of its true class, as the paper does."""
    classes = np.arange(data.n_classes)
    drawn = corrupt_labels(
        data.labels,
        _corruption(data, run.corruption, run.noise_rate),
        random_state=run.seed,
        classes=classes,
    )
    return NoisyLabels(data.labels, drawn.given_labels.astype(np.int64), data.test_labels)


def hold_out_fifth(given: IntArray, seed: int) -> tuple[IntArray, IntArray]:
    """Return the rows to fit on, and a fifth of the rows of each given label, held out."""
    order = np.random.default_rng(seed).permutation(len(given))
    held_out = np.sort(order[np.argsort(given[order], kind="stable")][::5])
    return np.setdiff1d(np.arange(len(given)), held_out), held_out


def lost_share(data: DataSet, corruption: str, noise_rate: float) -> float:
    """Return the share of training rows of whose class the true label is not the most frequent.

    By the matrix of the noise, that is every row beyond 1 - 1/K for symmetric noise of K classes,
    and those of a superclass of s classes beyond 1 - 1/s for superclass noise. A tie is not lost.
    """
    matrix = _corruption(data, corruption, noise_rate)
    at_truth = np.diag(matrix).copy()
    np.fill_diagonal(matrix, -np.inf)
    lost = matrix.max(axis=1) > at_truth + ROUNDING
    return float(np.mean(lost[data.labels]))


def _corruption(data: DataSet, corruption: str, noise_rate: float) -> FloatArray:
    if corruption == "superclass":
        return superclass_noise(data.superclass, noise_rate)
    matrix = asymmetric if corruption == "asymmetric" else symmetric
    return matrix(data.n_classes, noise_rate)


def assess(
    labels: NoisyLabels,
    outputs: FloatArray,
    test_outputs: FloatArray,
    before: FloatArray | None,
    **cost: float | bool | None,
) -> FittedModel:
    """Return what a model is worth, from its outputs on training and test rows.

    Parameters
    ----------
    labels : NoisyLabels
    outputs, test_outputs : array of shape (n_rows, n_classes)
        Probabilities.
    before : array of shape (n_rows, n_classes), optional
        Training outputs of the model that this one learnt from.
    **cost
        The fields of `FittedModel` that the trainer knows.
    """
    right = outputs.argmax(axis=1) == labels.true
    was_right = right if before is None else before.argmax(axis=1) == labels.true
    noisy = labels.noisy
    at_true, at_given = (
        np.take_along_axis(outputs, codes[:, np.newaxis], axis=1)[:, 0]
        for codes in (labels.true, labels.given)
    )
    return FittedModel(
        test_accuracy=float((test_outputs.argmax(axis=1) == labels.test).mean()),
        train_accuracy=float(right.mean()),
        given_agreement=float((outputs.argmax(axis=1) == labels.given).mean()),
        n_corrected=int((right & ~was_right).sum()),
        n_broken=int((~right & was_right).sum()),
        truth_in_top=_truth_in_top(outputs[noisy], labels.true[noisy]) if noisy.any() else None,
        clean_true=_spread(at_true[~noisy]) or Spread(0.0, 0.0),
        noisy_true=_spread(at_true[noisy]),
        noisy_given=_spread(at_given[noisy]),
        **cost,  # type: ignore[arg-type]
    )


def _truth_in_top(outputs: FloatArray, true: IntArray) -> dict[str, float]:
    at_true = np.take_along_axis(outputs, true[:, np.newaxis], axis=1)
    n_larger = (outputs > at_true).sum(axis=1)
    return {str(k): float((n_larger < k).mean()) for k in TOP if k <= outputs.shape[1]}


def _spread(values: FloatArray) -> Spread | None:
    if not len(values):
        return None
    return Spread(float(values.mean(dtype=np.float64)), float(values.std(dtype=np.float64)))
