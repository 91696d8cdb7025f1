"""Predict the outputs of every round, for training samples and for unseen samples.

In the theory, all samples of true class a with the given label b have equal outputs. These samples
are called the *type* (a, b). Let u be the target of type (a, b) and E_a the mean target of class a.
Let Ȳ⁽ᵗ⁾[a] be the mean output of class a after t rounds (see `ClassReduction`). With the ridge x
and the `own_part` δ of the model, the output of the type after t rounds is

    y⁽ᵗ⁾(a, b) = f_aᵗ (u - E_a) + Ȳ⁽ᵗ⁾[a],       f_a = δ_a / (x + δ_a).

It equals f_aᵗ u + (Fᵗ - f_aᵗ)(E - 1/K)[a] + (1 - f_aᵗ)/K, a form that is accurate at any ridge.

If round 1 is trained on given labels, u is the one-hot label e(b). For the partial-label student
(see `partial_labels`), u has the weights of the candidate labels, and t = 1.

Conventions: arrays over types have axes [true class, given label, label].
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from twohot.base import BoolArray, FloatArray, as_array, check_codes, check_within
from twohot.theory import checks
from twohot.theory.averaging import EIGEN_ERROR, ClassReduction, power_of_ratio
from twohot.theory.correlation_models import CorrelationModel, check_model
from twohot.theory.label_leads import LabelLeads, Leads


@dataclass(frozen=True, eq=False)
class TypeOutputs:
    """Outputs of all types: own[a] * rows[a, b] + shared[a], plus a constant for all labels.

    The fields represent deviations from 1/K, so late rounds have full precision. They need memory
    for about K² numbers if labels are one-hot. The K³ outputs are computed when they are used.
    """

    own: FloatArray  # (n_classes,) weight of `rows`
    shared: FloatArray  # (n_classes, n_classes) term that all samples of a true class share
    # (n_classes, n_classes, n_classes) target of each type; or, for the exact softmax, the output
    # of each type minus 1/K
    rows: FloatArray
    corruption: FloatArray  # (n_classes, n_classes) fraction of each type in its true class
    class_sizes: FloatArray  # (n_classes,) samples per true class
    leads: Callable[[], Leads]  # returns the leads of the true label (see `label_leads`)
    row_sum: float = 1.0  # sum of each entry rows[a, b]: 1 for targets, 0 for outputs minus 1/K

    @cached_property
    def scores(self) -> FloatArray:
        """Outputs (n_classes, n_classes, n_classes) plus a constant per type, to rank labels."""
        table = self.own[:, None, None] * self.rows
        table += self.shared[:, None, :]
        return np.asarray(table)

    @property
    def deviations(self) -> FloatArray:
        """Outputs minus 1/n_classes, (n_classes, n_classes, n_classes)."""
        uniform = self.row_sum * self.own / len(self.own)
        return np.asarray(self.scores - uniform[:, None, None])

    def of(self, true_labels: ArrayLike, given_labels: ArrayLike) -> FloatArray:
        """Return the outputs (n_samples, n_classes) of samples with these true and given labels."""
        true, given = as_array(true_labels), as_array(given_labels)
        for name, labels in (("true_labels", true), ("given_labels", given)):
            check_codes(name, labels, true.size, len(self.own), least=0)
        own = self.own[true, None]
        rows = own * (self.rows[true, given] - self.row_sum / len(self.own)) + self.shared[true]
        return np.asarray(rows + 1 / len(self.own))

    @property
    def outputs(self) -> FloatArray:
        """Outputs (n_classes, n_classes, n_classes); [a, b] is for true class a, given label b."""
        return np.asarray(self.deviations + 1 / len(self.own))

    @property
    def occurs(self) -> BoolArray:
        """Whether each type has at least one sample, (n_classes, n_classes)."""
        return self.corruption > 0

    def _lead(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the lead of the true label over every label, its error and its `log_scale`."""
        classes, leads = np.arange(len(self.own)), self.leads()
        beyond = self.rows[classes, :, classes][:, :, None] - self.rows
        lead = leads.own * beyond + leads.ahead
        error = leads.own_error * np.abs(beyond) + leads.error
        log_scale, means = leads.log_scale, leads.means
        if means is not None:
            is_mean = np.abs(beyond - means.rows) <= EIGEN_ERROR * len(self.own)
            lead = np.where(is_mean, means.ahead, lead)
            error = np.where(is_mean, means.error, error)
            log_scale = np.where(is_mean, means.log_scale, log_scale)
        return lead, error, log_scale

    @cached_property
    def _margins(self) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray]:
        """Return `margins`, `margin_ranks`, `right` and `wrong`."""
        lead, error, log_scale = self._lead()
        classes = np.arange(len(lead))
        right, wrong = lead > error, lead < -error
        right[classes, :, classes], wrong[classes, :, classes] = True, False
        with np.errstate(divide="ignore"):
            sizes = np.log(np.abs(lead)) + log_scale
        # Ranks have the same order as the leads, even where leads underflow.
        largest = sizes.max() if lead.any() else 0.0
        ranks = np.sign(lead) / (1 + largest - np.where(lead == 0, largest, sizes))
        values = lead * np.exp(log_scale)
        ranks[classes, :, classes] = values[classes, :, classes] = np.inf
        decided = np.asarray(right.all(axis=2)), np.asarray(wrong.any(axis=2))
        return values.min(axis=2), ranks.min(axis=2), *decided

    def margins_over_labels(self) -> FloatArray:
        """Return the output at the true label minus every other output, for types that occur."""
        lead, _, log_scale = self._lead()
        others = ~np.eye(len(lead), dtype=bool)[:, None, :] & self.occurs[:, :, None]
        return np.asarray((lead * np.exp(log_scale))[others])

    def margins(self) -> FloatArray:
        """Return the output at the true label minus the largest other output, for every type.

        If the size of a margin is below about 1e-308, the margin is returned as zero. To get the
        sign of such a margin, use `right`, `wrong` or `margin_ranks`.
        """
        return self._margins[0].copy()

    def margin_ranks(self) -> FloatArray:
        """Return numbers with the order and signs of the exact margins, even if these underflow."""
        return self._margins[1].copy()

    @property
    def right(self) -> BoolArray:
        """Whether the true label of a type has the largest output, by more than rounding error."""
        return self._margins[2].copy()

    @property
    def wrong(self) -> BoolArray:
        """Whether another label of a type has the largest output, by more than rounding error."""
        return self._margins[3].copy()

    def class_accuracy(self) -> FloatArray:
        """Return the accuracy of every class; a tie counts as wrong."""
        right = np.where(self.right, self.corruption, 0.0).sum(axis=1)
        rest = np.where(self.right, 0.0, self.corruption).sum(axis=1)
        return np.asarray(right / (right + rest))  # exactly 1 if all types are right

    def accuracy(self) -> float:
        """Return the accuracy on all training samples; a tie counts as wrong."""
        return float(np.average(self.class_accuracy(), weights=self.class_sizes))


def one_hot_types(n_classes: int) -> FloatArray:
    """Return the one-hot targets e(b) of all types (a, b), as a view of a K × K array."""
    return np.broadcast_to(np.eye(n_classes), (n_classes,) * 3)


def type_outputs(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, n_rounds: int
) -> TypeOutputs:
    """Return the outputs of round `n_rounds` for every true class and given label.

    The outputs are those of training samples, in the linear theory.

    Parameters
    ----------
    model : CorrelationModel
        Correlations, class sizes and norms of the dataset.
    corruption : (n_classes, n_classes)
        Proportion of every given label (column) in every true class (row).
    l2 : float
        Weight of the penalty in the objective: mean cross-entropy + ½ l2 ‖coef‖².
    n_rounds : int
        The round: 0 for the given labels, 1 for the teacher, 2 or more for a student, at most
        10**15. In very late rounds, outputs are uniform up to rounding, but the verdicts of `judge`
        are still exact.

    Examples
    --------
    Outputs of the teacher and of round 3 for a sample of class 0 with the given label 1:

    >>> model = CorrelationModel.case_1(n_classes=3, same_class=0.4, n_per_class=100)
    >>> corruption = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
    >>> for n_rounds in (1, 3):
    ...     predicted = type_outputs(model, corruption, l2=5e-4, n_rounds=n_rounds)
    ...     print(predicted.outputs[0, 1].round(3), round(predicted.accuracy(), 3))
    [0.254 0.659 0.087] 0.6
    [0.479 0.354 0.167] 1.0
    """
    reduction = ClassReduction(model, l2=l2)
    shares = checks.corruption_matrix(corruption, model.n_classes)
    return after_rounds(reduction, shares, checks.round_count(n_rounds))


def outputs_by_round(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, n_rounds: int
) -> list[TypeOutputs]:
    """Return the outputs of rounds 1 … `n_rounds`, with a single eigendecomposition.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=2, same_class=0.3, n_per_class=50)
    >>> rounds = outputs_by_round(model, [[0.7, 0.3], [0.3, 0.7]], l2=2e-3, n_rounds=4)
    >>> [predicted.accuracy() for predicted in rounds]
    [0.7, 0.7, 1.0, 1.0]
    """
    reduction = ClassReduction(model, l2=l2)
    shares = checks.corruption_matrix(corruption, model.n_classes)
    last = checks.round_count(n_rounds)
    return [after_rounds(reduction, shares, round_) for round_ in range(1, last + 1)]


def evolving_outputs(
    models: Sequence[CorrelationModel], corruption: ArrayLike, *, l2: float
) -> TypeOutputs:
    """Return the outputs after one round per model; round i uses the features of model i.

    This is the paper's corollary on feature learning, for any correlation: instead of the power of
    a factor, it has the product of the factors of all rounds. All models must have the same class
    sizes.

    Examples
    --------
    >>> models = [
    ...     CorrelationModel.case_1(n_classes=2, same_class=same_class, n_per_class=50)
    ...     for same_class in (0.3, 0.4, 0.5)
    ... ]
    >>> evolving_outputs(models, [[0.7, 0.3], [0.3, 0.7]], l2=2e-3).outputs[0, 1].round(3)
    array([0.54, 0.46])
    """
    checks.instance(models, Sequence, "models", "pass a list with one model per round")
    if not models:
        raise ValueError("models is empty; pass a list with one model per round.")
    for i, model in enumerate(models):
        check_model(model, f"models[{i}]")
    first = models[0]
    if any(not np.array_equal(model.class_sizes, first.class_sizes) for model in models):
        why = "because all rounds use the same samples"
        raise ValueError(f"models must have the same class_sizes, {why}.")
    shares = checks.corruption_matrix(corruption, first.n_classes)
    own: FloatArray = np.ones(first.n_classes)
    means: FloatArray = shares - 1 / first.n_classes
    largest, log_scale = 1.0, 0.0
    for model in models:  # round 1 is applied first
        reduction = ClassReduction(model, l2=l2)
        own = own * reduction.own
        means = reduction.class_means(means)
        largest *= float(reduction.values.max() / (reduction.ridge + reduction.values.max()))
        # Rescale the factors to about 1, so that the product of many rounds does not underflow.
        scale = max(float(own.max()), float(np.abs(means).max())) or 1.0
        own, means, largest = own / scale, means / scale, largest / scale
        log_scale += math.log(scale)
    # Rounds have different eigenvectors. So the error bound is a fraction of the product of the
    # largest factors, on the scale √n of the class Gram matrix.
    root = np.sqrt(first.class_sizes)
    size = np.linalg.norm(root[:, None] * shares) * largest / root + own
    error = EIGEN_ERROR * first.n_classes * len(models) * size
    shared = means - own[:, None] * (shares - 1 / first.n_classes)
    leads = Leads.of_shared(own, shared, error, log_scale=log_scale)
    types, sizes, unit = one_hot_types(first.n_classes), first.class_sizes, math.exp(log_scale)
    return TypeOutputs(unit * own, unit * shared, types, shares, sizes, lambda: leads)


def unseen_outputs(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, n_rounds: int
) -> FloatArray:
    """Return the outputs (n_classes, n_classes) of a round for an unseen sample of each class.

    An unseen sample has no given label that the model could memorise. In the setting of
    `rounds_condition`, the teacher is right on unseen samples of every class in which the true
    label is the most frequent given label. The theorems are only about training samples.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=2, same_class=0.3, n_per_class=50)
    >>> unseen_outputs(model, [[0.7, 0.3], [0.3, 0.7]], l2=2e-3, n_rounds=1).round(3).tolist()
    [[0.686, 0.314], [0.314, 0.686]]
    """
    reduction = ClassReduction(model, l2=l2)
    shares = checks.corruption_matrix(corruption, model.n_classes)
    return 1 / model.n_classes + reduction.unseen(shares - 1 / model.n_classes, n_rounds=n_rounds)


def after_rounds(
    reduction: ClassReduction, shares: FloatArray, n_rounds: int, targets: FloatArray | None = None
) -> TypeOutputs:
    """Return the outputs after `n_rounds` rounds from the given labels, or from other targets."""
    if targets is None:
        targets, means = one_hot_types(len(shares)), shares
    else:
        means = np.einsum("ab,abk->ak", shares, targets)
    shared = reduction.gained(means - 1 / len(means), n_rounds=n_rounds)
    own = power_of_ratio(reduction.own_part, ridge=reduction.ridge, n_rounds=n_rounds)
    sizes = reduction.model.class_sizes
    leads = partial(LabelLeads(reduction, means).after, n_rounds)
    return TypeOutputs(own, shared, targets, shares, sizes, leads)


# Rounds on mixed targets: ξ times the given label plus (1 - ξ) times the previous output ----------
# Round t fits ξ Y⁽⁰⁾ + (1 - ξ) Y⁽ᵗ⁻¹⁾. If one plain round multiplies the component along an
# eigenvector by f = λ/(x + λ), t rounds on mixed targets multiply it by
#
#     c_t = f (ξ + (1 - ξ) c_{t-1}),  c_0 = 1,   so   c_t = c + ((1 - ξ) f)ᵗ (1 - c),
#     c   = ξ f / (1 - (1 - ξ) f) = λ / (x/ξ + λ).
#
# * If ξ = 1, every round equals the teacher. If ξ = 0, rounds are plain rounds.
# * The outputs of round 2 are the mixture ξ Y⁽¹⁾ + (1 - ξ) Y⁽²⁾ of teacher and student.
# * After infinitely many rounds, outputs equal those of the teacher at the penalty l2/ξ.
#
# After two rounds, the difference of two outputs is linear in ξ, so the smallest margin is concave
# in ξ. The best ξ is 0, 1, or a point where two such differences are equal.


@dataclass(frozen=True)
class BestMix:
    """The weight ξ that maximises the smallest margin after two rounds; see `best_mix`."""

    mix: float  # ξ, weight of the given label
    margin: float  # smallest margin of a training sample at ξ
    margin_of_teacher: float  # smallest margin at ξ = 1
    margin_of_student: float  # smallest margin at ξ = 0

    @property
    def gain(self) -> float:
        """`margin` minus the larger one of `margin_of_teacher` and `margin_of_student`."""
        return self.margin - max(self.margin_of_teacher, self.margin_of_student)


def mixed_outputs(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, n_rounds: int, mix: float
) -> TypeOutputs:
    """Return the outputs of round `n_rounds` on mixed targets.

    A student is trained on `mix` times the given label plus 1 - `mix` times the previous output.

    Parameters
    ----------
    model, corruption, l2, n_rounds
        As for `type_outputs`.
    mix : float
        Weight of the given label in the targets of the students, from 0 to 1.

    Examples
    --------
    After very many rounds with mix=0.25, outputs equal those of the teacher at four times the
    penalty:

    >>> from twohot.theory import type_outputs
    >>> model = CorrelationModel.case_1(n_classes=3, same_class=0.4, n_per_class=100)
    >>> corruption = 0.4 * np.eye(3) + 0.2 * np.ones((3, 3))
    >>> mixed = mixed_outputs(model, corruption, l2=5e-4, n_rounds=10**6, mix=0.25)
    >>> teacher = type_outputs(model, corruption, l2=2e-3, n_rounds=1)
    >>> mixed.outputs[0, 1].round(4).tolist() == teacher.outputs[0, 1].round(4).tolist()
    True
    """
    reduction = ClassReduction(model, l2=l2)
    shares = checks.corruption_matrix(corruption, model.n_classes)
    power, weight = checks.round_count(n_rounds), check_within("mix", mix, 0, 1)
    factors = partial(_mixed_factors, ridge=reduction.ridge, n_rounds=power, mix=weight)
    own, types = factors(reduction.own_part), one_hot_types(len(shares))
    shared = reduction.filtered(factors(reduction.values) - own[:, None], shares - 1 / len(shares))
    norms = np.linalg.norm(reduction.root[:, None] * shares)
    error = EIGEN_ERROR * len(shares) * (norms / reduction.root + 1)
    leads = Leads.of_shared(own, shared, error)
    return TypeOutputs(own, shared, types, shares, model.class_sizes, lambda: leads)


def best_mix(model: CorrelationModel, corruption: ArrayLike, *, l2: float) -> BestMix:
    """Return the `mix` that maximises the smallest margin of a training sample after two rounds.

    See `mixed_outputs` for the meaning of `mix`.

    Examples
    --------
    At the small penalty, the plain student (mix=0) is best. At the large penalty, the teacher
    (mix=1) is best:

    >>> model = CorrelationModel.case_1(n_classes=3, same_class=0.4, n_per_class=[40, 100, 200])
    >>> corruption = 0.7 * np.eye(3) + 0.1 * np.ones((3, 3))
    >>> for l2 in (1e-3, 1e-1):
    ...     found = best_mix(model, corruption, l2=l2)
    ...     print(found.mix, round(found.margin, 3), round(found.gain, 3))
    0.0 0.388 0.0
    1.0 0.088 0.0
    """
    ends = [mixed_outputs(model, corruption, l2=l2, n_rounds=2, mix=mix) for mix in (1.0, 0.0)]
    teacher, student = (each.margins_over_labels() for each in ends)
    mix = top_of_lowest(student, teacher)
    at_ends = float(teacher.min()), float(student.min())
    margin = float((mix * teacher + (1 - mix) * student).min())
    return BestMix(mix, max(margin, *at_ends), *at_ends)


def top_of_lowest(at_zero: FloatArray, at_one: FloatArray) -> float:
    """Return the point between 0 and 1 where the minimum of several lines is largest.

    The algorithm starts at 0 on the lowest line. Where another line crosses below, the
    algorithm continues on that line. It stops at 1, or where the lowest line does not increase.
    """
    slopes, where = at_one - at_zero, 0.0
    lowest = np.lexsort((slopes, at_zero))[0]
    while slopes[lowest] > 0:
        flatter = np.flatnonzero(slopes < slopes[lowest])
        crossings = (at_zero[flatter] - at_zero[lowest]) / (slopes[lowest] - slopes[flatter])
        if not (crossings < 1).any():
            return 1.0
        first = np.lexsort((slopes[flatter], crossings))[0]
        lowest, where = flatter[first], max(float(crossings[first]), where)
    return where


def _mixed_factors(values: FloatArray, *, ridge: float, n_rounds: int, mix: float) -> FloatArray:
    """Return the factors c_t (defined above) for the eigenvalues `values`."""
    limit = values / (ridge / mix + values) if mix else np.zeros_like(values)
    decay = power_of_ratio(values, ridge=ridge, n_rounds=n_rounds)
    if n_rounds:
        decay = decay * np.exp(n_rounds * np.log1p(-mix)) if mix < 1 else np.zeros_like(values)
    return np.asarray(limit + decay * (1 - limit))
