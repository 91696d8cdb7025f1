"""Predicted outputs of every round, of unseen samples and of the partial-label student.

All samples of one true class a that were given one label b are alike to the theory: a *type*.
With u the target of type (a, b), E_a the mean target of class a, and Ȳ⁽ᵗ⁾ the class means after
t rounds (see `ClassReduction`), its output after t rounds is

    y⁽ᵗ⁾(a, b) = f_aᵗ (u - E_a) + Ȳ⁽ᵗ⁾[a],       f_a = δ_a / (x + δ_a).

Given labels are u = e(b); the partial-label student has u = its candidate set and t = 1.

Conventions: arrays over types have axes [true class, given label, label].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, SupportsIndex, get_args

import numpy as np
from numpy.typing import ArrayLike

from twohot.theory import _checks
from twohot.theory._checks import BoolArray, FloatArray
from twohot.theory.averaging import ClassReduction
from twohot.theory.correlation import CorrelationModel

TieRule = Literal["spread", "lowest"]

# Two labels of a sample are tied if their outputs differ by no more than this fraction of its
# largest deviation from uniform. Exact ties come out at 1e-15 of it, the rounding of the K × K
# eigenbasis stays below 1e-12, and a real margin this small would not survive any data.
TIE_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class TypeOutputs:
    """Outputs per type: own[a] * rows[a, b] + shared[a] + 1/n_classes.

    They are kept as deviations from uniform, so that late rounds lose no digits, and in this
    factored form, so that a round of one-hot labels costs K² numbers; the table of all K³ is
    made when asked for.
    """

    own: FloatArray  # (n_classes,) weight of a type's own row
    shared: FloatArray  # (n_classes, n_classes) what all samples of a true class have in common
    rows: FloatArray | None  # (n_classes, n_classes, n_classes); None: the one-hot given labels
    corruption: FloatArray  # (n_classes, n_classes) share of each type in its true class
    class_sizes: FloatArray  # (n_classes,) samples per true class

    @cached_property
    def deviations(self) -> FloatArray:
        """(n_classes, n_classes, n_classes) outputs minus 1/n_classes."""
        n_classes = len(self.own)
        if self.rows is not None:
            return self.own[:, None, None] * self.rows + self.shared[:, None, :]
        table = np.repeat(self.shared[:, None, :], n_classes, axis=1)
        labels = np.arange(n_classes)
        table[:, labels, labels] += self.own[:, None]
        return table

    def of(self, true_labels: ArrayLike, given_labels: ArrayLike) -> FloatArray:
        """(n_samples, n_classes) outputs of samples with these true and given labels."""
        true, given = np.asarray(true_labels), np.asarray(given_labels)
        n_classes = len(self.own)
        rows = np.eye(n_classes)[given] if self.rows is None else self.rows[true, given]
        return self.own[true, None] * rows + self.shared[true] + 1 / n_classes

    @property
    def outputs(self) -> FloatArray:
        """(n_classes, n_classes, n_classes) outputs; [a, b] for true class a, given label b."""
        return self.deviations + 1 / self.deviations.shape[-1]

    @property
    def occurs(self) -> BoolArray:
        """(n_classes, n_classes) which types have samples."""
        return self.corruption > 0

    @property
    def tie_width(self) -> FloatArray:
        """(n_classes, n_classes) margins up to this size count as ties."""
        return TIE_TOLERANCE * np.abs(self.deviations).max(axis=2)

    def margins(self) -> FloatArray:
        """(n_classes, n_classes) output at the true label minus the largest other output."""
        classes = np.arange(len(self.deviations))
        at_truth = self.deviations[classes, :, classes]
        others = self.deviations.copy()
        others[classes, :, classes] = -np.inf
        return at_truth - others.max(axis=2)

    def class_accuracy(self) -> FloatArray:
        """(n_classes,) share of samples whose true label is strictly on top; ties do not count."""
        right = self.margins() > self.tie_width
        return np.where(right, self.corruption, 0.0).sum(axis=1)

    def accuracy(self) -> float:
        """Share of all training samples whose true label is strictly on top."""
        return float(np.average(self.class_accuracy(), weights=self.class_sizes))


def type_outputs(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, n_rounds: SupportsIndex
) -> TypeOutputs:
    """Outputs of round `n_rounds` on the training samples, per true class and given label.

    Parameters
    ----------
    model : CorrelationModel
        Correlations, class sizes and norms of the data set.
    corruption : (n_classes, n_classes)
        Share of each given label (column) in each true class (row).
    l2 : float
        Penalty: mean cross-entropy + ½ l2 ‖coef‖².
    n_rounds : int
        0 for the given labels, 1 for the teacher, 2 and up for the students.

    Examples
    --------
    What do the teacher and the third round say of a sample of class 0 that was labelled 1?

    >>> model = CorrelationModel.case_3(
    ...     n_classes=3, same_class=0.4, same_superclass=0.1, n_per_class=100
    ... )
    >>> corruption = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
    >>> for n_rounds in (1, 3):
    ...     predicted = type_outputs(model, corruption, l2=5e-4, n_rounds=n_rounds)
    ...     print(predicted.outputs[0, 1].round(3), round(predicted.accuracy(), 3))
    [0.253 0.659 0.088] 0.6
    [0.477 0.355 0.168] 1.0
    """
    shares = _checks.corruption_matrix(corruption, model.n_classes)
    return _after(ClassReduction(model, l2=l2), model, shares, _checks.rounds(n_rounds))


def outputs_by_round(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, n_rounds: SupportsIndex
) -> list[TypeOutputs]:
    """Outputs of rounds 1 … `n_rounds`, the class correlation diagonalised once.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=2, same_class=0.3, n_per_class=50)
    >>> rounds = outputs_by_round(model, [[0.7, 0.3], [0.3, 0.7]], l2=2e-3, n_rounds=4)
    >>> [predicted.accuracy() for predicted in rounds]
    [0.7, 0.7, 1.0, 1.0]
    """
    shares = _checks.corruption_matrix(corruption, model.n_classes)
    reduction = ClassReduction(model, l2=l2)
    last = _checks.rounds(n_rounds)
    return [_after(reduction, model, shares, round_) for round_ in range(1, last + 1)]


def evolving_outputs(
    models: Sequence[CorrelationModel], corruption: ArrayLike, *, l2: float
) -> TypeOutputs:
    """Outputs after as many rounds as there are models, round i with the features of model i.

    This is the paper's corollary on feature learning for any correlation: powers of one round
    become products over the rounds. The class sizes of all models must agree.

    Examples
    --------
    >>> models = [
    ...     CorrelationModel.case_1(n_classes=2, same_class=same_class, n_per_class=50)
    ...     for same_class in (0.3, 0.4, 0.5)
    ... ]
    >>> evolving_outputs(models, [[0.7, 0.3], [0.3, 0.7]], l2=2e-3).outputs[0, 1].round(3)
    array([0.54, 0.46])
    """
    if not models:
        raise ValueError("models must hold one model per round, got none.")
    first = models[0]
    if any(not np.array_equal(model.class_sizes, first.class_sizes) for model in models):
        raise ValueError("models must agree in class_sizes: rounds see the same samples.")
    shares = _checks.corruption_matrix(corruption, first.n_classes)
    own = np.ones(first.n_classes)
    means = shares - 1 / first.n_classes
    for model in models:  # round 1 acts first
        reduction = ClassReduction(model, l2=l2)
        own = own * reduction.own
        means = reduction.class_means(means)
    return _one_hot_outputs(first, shares, own=own, means=means)


def unseen_outputs(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, n_rounds: SupportsIndex
) -> FloatArray:
    """(n_classes, n_classes) outputs of round `n_rounds` for an unseen sample of each class.

    An unseen sample has no label to memorise: with balanced labels it is right from the teacher
    on wherever its class keeps more labels than any other label takes. What the theorems promise
    beyond that, they promise of training samples.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=2, same_class=0.3, n_per_class=50)
    >>> unseen_outputs(model, [[0.7, 0.3], [0.3, 0.7]], l2=2e-3, n_rounds=1).round(3).tolist()
    [[0.686, 0.314], [0.314, 0.686]]
    """
    shares = _checks.corruption_matrix(corruption, model.n_classes)
    last = _checks.rounds(n_rounds, least=1)
    deviations = shares - 1 / model.n_classes
    return 1 / model.n_classes + ClassReduction(model, l2=l2).unseen(deviations, n_rounds=last)


def candidate_targets(
    predicted: TypeOutputs, *, n_candidates: SupportsIndex = 2, ties: TieRule = "spread"
) -> FloatArray:
    """Targets of the partial-label student: weight 1/n_candidates on each type's top labels.

    Parameters
    ----------
    predicted : TypeOutputs
        The teacher's outputs.
    n_candidates : int
        Size of the candidate set; the paper's student has 2.
    ties : {"spread", "lowest"}
        What to do with labels tied for the last place: share its weight among them, or take the
        lowest label as an `argsort` would.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=3, same_class=0.3, n_per_class=50)
    >>> teacher = type_outputs(model, np.eye(3), l2=2e-3, n_rounds=1)
    >>> candidate_targets(teacher)[0, 0].tolist()
    [0.5, 0.25, 0.25]
    >>> candidate_targets(teacher, ties="lowest")[0, 0].tolist()
    [0.5, 0.5, 0.0]
    """
    n_classes = predicted.deviations.shape[-1]
    places = _checks.whole_number(n_candidates, "n_candidates", least=1)
    if places > n_classes:
        raise ValueError(f"n_candidates must be at most {n_classes} (classes), got {places}.")
    if ties not in get_args(TieRule):
        raise ValueError(f"ties must be one of {get_args(TieRule)}, got {ties!r}.")
    values = predicted.deviations
    last = -np.partition(-values, places - 1, axis=2)[:, :, places - 1 : places]
    width = predicted.tie_width[:, :, None]
    sure = values > last + width
    tied = np.abs(values - last) <= width
    left = places - sure.sum(axis=2, keepdims=True)
    if ties == "spread":
        chosen = tied * (left / tied.sum(axis=2, keepdims=True))
    else:
        chosen = tied & (np.cumsum(tied, axis=2) <= left)
    return (sure + chosen) / places


def partial_label_outputs(
    model: CorrelationModel,
    corruption: ArrayLike,
    *,
    l2: float,
    n_candidates: SupportsIndex = 2,
    ties: TieRule = "spread",
) -> TypeOutputs:
    """Outputs of the partial-label student: one fit on the teacher's top labels (eq. 16).

    Examples
    --------
    >>> model = CorrelationModel.case_3(
    ...     n_classes=4, same_class=0.4, same_superclass=0.1, n_per_class=100
    ... )
    >>> corruption = [[0.5, 0.3, 0.1, 0.1], [0.1, 0.5, 0.3, 0.1],
    ...               [0.1, 0.1, 0.5, 0.3], [0.3, 0.1, 0.1, 0.5]]
    >>> type_outputs(model, corruption, l2=3e-4, n_rounds=1).accuracy()
    0.5
    >>> partial_label_outputs(model, corruption, l2=3e-4).accuracy()
    1.0
    """
    teacher = type_outputs(model, corruption, l2=l2, n_rounds=1)
    targets = candidate_targets(teacher, n_candidates=n_candidates, ties=ties)
    reduction = ClassReduction(model, l2=l2)
    mean_targets = np.einsum("ab,abk->ak", teacher.corruption, targets)
    means = reduction.class_means(mean_targets - 1 / model.n_classes)
    shared = means - reduction.own[:, None] * mean_targets
    return TypeOutputs(reduction.own, shared, targets, teacher.corruption, model.class_sizes)


def _one_hot_outputs(
    model: CorrelationModel, shares: FloatArray, *, own: FloatArray, means: FloatArray
) -> TypeOutputs:
    """Return own (e(b) - E_a) + means in factored form."""
    return TypeOutputs(own, means - own[:, None] * shares, None, shares, model.class_sizes)


def _after(
    reduction: ClassReduction, model: CorrelationModel, shares: FloatArray, n_rounds: int
) -> TypeOutputs:
    means = reduction.class_means(shares - 1 / model.n_classes, n_rounds=n_rounds)
    return _one_hot_outputs(model, shares, own=reduction.own**n_rounds, means=means)
