"""Decide from predicted outputs whether every training sample is predicted correctly.

The *margin* of a sample is the output at its true label minus the largest other output. A class is
*right* if all its samples have a positive margin. If the smallest margin is zero within its
rounding error, the class is *tied*. If the smallest margin is negative, the class is *wrong*.
`judge` returns the verdict for outputs of the linear theory or of the exact softmax. The module
`theorem_4_1` computes the verdict without outputs, for any number of rounds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from twohot.base import (
    ArgumentError,
    BoolArray,
    FloatArray,
    IntArray,
    RandomState,
    as_array,
    check_codes,
    check_count,
    check_generator,
    check_positive,
    check_within,
)
from twohot.theory import checks
from twohot.theory.averaging import ClassReduction, power_of_ratio
from twohot.theory.correlation_models import CorrelationModel, check_model
from twohot.theory.outputs import TypeOutputs, after_rounds, type_outputs


class Verdict(StrEnum):
    """Whether all samples of a class are predicted correctly."""

    RIGHT = "right"
    TIE = "tie"  # no margin is negative, but the smallest one is zero
    WRONG = "wrong"


@dataclass(frozen=True, eq=False)
class ClassVerdicts:
    """A verdict for every class."""

    verdicts: tuple[Verdict, ...]  # one per class

    @property
    def holds(self) -> bool:
        """Whether every training sample is predicted correctly, without ties."""
        return all(verdict is Verdict.RIGHT for verdict in self.verdicts)


@dataclass(frozen=True, eq=False)
class Guarantee(ClassVerdicts):
    """The verdict and the smallest margin of every class; see `judge`."""

    margins: FloatArray  # (n_classes,) smallest margin of the samples of a class
    tightest_label: IntArray  # (n_classes,) given label of the samples with the smallest margin
    weakest_class: int  # class with the smallest margin
    accuracy: float  # accuracy on the training samples; a tie counts as wrong


def judge(predicted: TypeOutputs) -> Guarantee:
    """Return for every class whether all its samples are right, and their smallest margin.

    Examples
    --------
    >>> from twohot.theory import CorrelationModel, type_outputs
    >>> model = CorrelationModel.case_1(n_classes=3, same_class=0.3, n_per_class=50)
    >>> corruption = [[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.1, 0.2, 0.7]]
    >>> guarantee = judge(type_outputs(model, corruption, l2=2e-3, n_rounds=1))
    >>> [str(verdict) for verdict in guarantee.verdicts], guarantee.weakest_class
    (['wrong', 'wrong', 'wrong'], 1)
    """
    hint = "pass the result of type_outputs, or the `predicted` of a PopulationRound"
    checks.instance(predicted, TypeOutputs, "predicted", hint)
    margins, ranks = (
        np.where(predicted.occurs, each, np.inf)
        for each in (predicted.margins(), predicted.margin_ranks())
    )
    right = np.asarray((predicted.right | ~predicted.occurs).all(axis=1))
    wrong = np.asarray((predicted.wrong & predicted.occurs).any(axis=1))
    return Guarantee(
        verdicts=class_verdicts(right, wrong),
        margins=margins.min(axis=1),
        tightest_label=ranks.argmin(axis=1),
        weakest_class=int(ranks.min(axis=1).argmin()),
        accuracy=predicted.accuracy(),
    )


def class_verdicts(right: BoolArray, wrong: BoolArray) -> tuple[Verdict, ...]:
    """Return a verdict per class; a class that is neither right nor wrong is a tie."""
    chosen = np.select([right, wrong], [Verdict.RIGHT, Verdict.WRONG], Verdict.TIE)
    return tuple(Verdict(each) for each in chosen)


# The noise rates at which every class is right, for any kind of corruption ------------------------


@dataclass(frozen=True, eq=False)
class NoiseTolerance:
    """The range of noise rates at which each class is right; NaN if a class is never right."""

    lowest: FloatArray  # (n_classes,) lowest noise rate at which the class is right, usually 0
    highest: FloatArray  # (n_classes,) highest noise rate of the range that starts at `lowest`

    @property
    def overall(self) -> float:
        """Highest noise rate that lies in the ranges of all classes; NaN if there is none."""
        together = self.highest.min() >= self.lowest.max()
        return float(self.highest.min()) if together else float("nan")

    @property
    def weakest_class(self) -> int:
        """The class with the smallest `highest`; a class that is never right comes first."""
        return int(np.nan_to_num(self.highest, nan=-1.0).argmin())


def noise_tolerated(
    corruption_at: Callable[[float], ArrayLike],
    predict: Callable[[FloatArray], TypeOutputs],
    *,
    step: float = 0.02,
    resolution: float = 1e-9,
) -> NoiseTolerance:
    """Return the range of noise rates at which each class is right, for one kind of noise.

    The function evaluates the rates 0, `step`, 2 `step`, … 1. Bisection then finds, for each class,
    the ends of the first range of rates at which the class is right. This range can start above 0,
    because the partial-label student can be wrong without noise and right with some noise.

    Parameters
    ----------
    corruption_at : callable
        Function that returns the corruption matrix at a noise rate from 0 to 1.
    predict : callable
        Function that returns the outputs for a corruption matrix: `type_outputs` or
        `partial_label_outputs` with the other arguments fixed, or a function that returns the field
        `predicted` of a round of `population_rounds`.
    step : float
        Distance between the rates that are evaluated before the bisection.
    resolution : float
        The bisection stops if its interval of rates is at most this wide.

    Examples
    --------
    >>> from functools import partial
    >>> from twohot.noise import symmetric
    >>> from twohot.theory import CorrelationModel, type_outputs
    >>> model = CorrelationModel.case_1(n_classes=4, same_class=0.4, n_per_class=100)
    >>> third_round = partial(type_outputs, model, l2=3.125e-4, n_rounds=3)
    >>> round(noise_tolerated(partial(symmetric, 4), third_round).overall, 4)
    0.5982
    """
    hints = "pass a function of a noise rate", "pass a function of a corruption matrix"
    checks.instance(corruption_at, Callable, "corruption_at", hints[0])
    checks.instance(predict, Callable, "predict", hints[1])

    @cache  # the bisections of several classes can need the same rate
    def right(rate: float) -> list[bool]:
        verdicts = judge(predict(checks.corruption_matrix(corruption_at(rate)))).verdicts
        return [verdict is Verdict.RIGHT for verdict in verdicts]

    rates = np.append(np.arange(0, 1, check_positive("step", step)), 1.0).tolist()
    width = check_positive("resolution", resolution)

    def edge(label: int, inside: float, outside: float) -> float:
        while abs(outside - inside) > width:
            middle = (inside + outside) / 2
            if middle in {inside, outside}:  # adjacent floating-point numbers
                break
            inside, outside = (middle, outside) if right(middle)[label] else (inside, middle)
        return inside

    table = np.array([right(rate) for rate in rates])  # (n_rates, n_classes)
    lowest, highest = np.full((2, table.shape[1]), np.nan)
    for label in np.flatnonzero(table.any(axis=0)).tolist():
        first = int(table[:, label].argmax())  # first range of rates at which the class is right
        last = first + int(np.append(table[first:, label], False).argmin()) - 1
        lowest[label] = edge(label, rates[first], rates[max(first - 1, 0)])
        highest[label] = edge(label, rates[last], rates[min(last + 1, len(rates) - 1)])
    return NoiseTolerance(lowest, highest)


# Errors of predictions whose class correlations are estimated from a few rows ---------------------
# `prediction_bound` needs a few numbers and returns a proven but wide bound. `prediction_spread`
# needs the rows and returns an estimate.
#
# The estimate compares predictions from half of the n rows of a class with the prediction from all
# rows. Let σ² be the variance of a row. The mean of n/2 rows, drawn without replacement, varies
# around the mean of all rows with the variance σ²(2/n - 1/n) = σ²/n. The mean of all rows varies
# around the mean of the population with the same variance.
#
# The bound. Let the rows of class a be independent and Gaussian with mean μ_a and covariance Σ_a,
# where ‖Σ_a‖ ≤ τ and tr Σ_a = δ_a. The theory needs W_ab = μ_a · μ_b. The estimate Ŵ of W has the
# mean products of pairs of different rows. Let D = diag(√n) and let [μ] have the columns μ_a. All
# outputs depend on B = D W D + diag(δ), and
#
#     B̂ - B = H + Hᵀ + Q,   H = D [μ]ᵀ G,   Q = Gᵀ G - diag(δ),   column a of G ~ N(0, Σ_a).
#
# Each of the following three bounds fails with probability at most α/3, so all three hold with
# probability at least 1 - α. The first follows from theorems of Davidson, Szarek and Anderson, the
# second from Laurent and Massart on a net of directions, the third from Laurent and Massart in
# every class:
#
#     ‖H‖ ≤ √(τ ‖D W D‖) (2 √K + √(2 ln(3/α))),
#     ‖Q‖ ≤ 4 √(τ δ_max L) + 4 τ L,            L = K ln 9 + ln(6/α),
#     |δ̂_a - δ_a| ≤ 2 √(τ δ_a M) + 2 τ M,      M = ln(6 K/α) / (n_a - 1).
#
# ‖D W D‖ ≤ ‖D Ŵ D‖ + β for β = 2‖H‖ + ‖Q‖, which gives β from known quantities. With
# f(z) = z/(x + z), f(B̂) - f(B) = x (x + B̂)⁻¹ (B̂ - B) (x + B)⁻¹ and f ≤ m = f(λ_max(B̂) + β), so
#
#     ‖f(B̂)ᵗ - f(B)ᵗ‖ ≤ t mᵗ⁻¹ x β / ((x + λ_min(B̂)) (x + max(λ_min(B̂) - β, 0))).


# On the unit sphere in K dimensions, a net of width 1/4 has at most 9ᴷ points. A quadratic form on
# the sphere is at most twice its largest value on the net.
NET_SIZE, NET_FACTOR = 9, 2
FEWEST_HALVED = 4  # minimum number of rows of a class; half of them are at least two rows


@dataclass(frozen=True, eq=False)
class PredictionBound:
    """The error of predicted outputs; see `prediction_bound` and `prediction_spread`."""

    outputs: FloatArray  # (n_classes,) largest error of any output of the samples of a class
    gram_error: float  # β, the spectral norm of the error of `CorrelationModel.class_gram`
    accuracy: float  # predicted accuracy on the training samples
    lowest_accuracy: float  # smallest possible accuracy if outputs have errors up to `outputs`
    highest_accuracy: float  # largest possible accuracy if outputs have errors up to `outputs`
    confidence: float  # the argument `confidence`


def prediction_bound(
    model: CorrelationModel,
    corruption: ArrayLike,
    *,
    l2: float,
    n_rounds: int,
    within_norm: float,
    confidence: float = 0.95,
) -> PredictionBound:
    """Bound the error of `type_outputs` that is caused by estimated correlations.

    The error is the difference between two predictions: with the estimated correlations, and with
    the exact correlations of the population. The bound is proven for independent Gaussian rows in
    every class. It includes neither the error of the linear theory (see `softmax_error`) nor errors
    in the true classes.

    Parameters
    ----------
    model : CorrelationModel
        Model estimated from rows of known true classes. Its correlations are mean inner products of
        pairs of different rows, its norms are mean squared norms, and its class sizes are the
        numbers of rows.
    corruption, l2, n_rounds
        As for `type_outputs`.
    within_norm : float
        The largest eigenvalue of all covariance matrices of the features inside a class.
    confidence : float
        Probability that the bound holds; a number above 0 and below 1.

    See Also
    --------
    prediction_spread : An estimate from the rows; it is usually many times smaller than the bound.

    Examples
    --------
    With 50 rows of each class, and with 500:

    >>> corruption = 0.6 * np.eye(4) + 0.1 * np.ones((4, 4))
    >>> for n_per_class in (50, 500):
    ...     model = CorrelationModel.case_3(
    ...         n_classes=4, same_class=0.5, same_superclass=0.1, n_per_class=n_per_class
    ...     )
    ...     bound = prediction_bound(
    ...         model, corruption, l2=0.5 / (16 * n_per_class), n_rounds=3, within_norm=0.005
    ...     )
    ...     print(n_per_class, f"±{bound.outputs.max():.3f}", bound.lowest_accuracy)
    50 ±0.035 1.0
    500 ±0.005 1.0
    """
    check_model(model)
    shares = checks.corruption_matrix(corruption, model.n_classes)
    power = checks.round_count(n_rounds)
    level = _confidence(confidence)
    norm = checks.scale_number("within_norm", within_norm)
    if model.class_sizes.min() < 2:
        advice = "leave out such classes, because a correlation inside a class needs two rows."
        raise ArgumentError("model", "has a class with fewer than 2 rows", advice)
    reduction = ClassReduction(model, l2=l2)
    gram_error = _gram_error(model, norm, 1 - level)
    of_means = _power_error(reduction, gram_error, power) * np.linalg.norm(
        reduction.root[:, None] * (shares - 1 / len(shares)), axis=0
    ).max(initial=0.0)
    of_own = _own_error(model, reduction, norm, 1 - level, power)
    # Both terms of an output are averages of labels, so an error is at most 1.
    outputs = np.minimum(of_own + of_means / reduction.root, 1.0)
    return _bound(after_rounds(reduction, shares, power), outputs, gram_error, level)


def prediction_spread(
    features: ArrayLike,
    true_labels: ArrayLike,
    corruption: ArrayLike,
    *,
    l2: float,
    n_rounds: int,
    confidence: float = 0.95,
    n_draws: int = 100,
    random_state: RandomState = 0,
) -> PredictionBound:
    """Estimate the error of `type_outputs` that is caused by estimating correlations from rows.

    Outputs are predicted with the correlations of all rows, and with the correlations of a random
    half of the rows of every class. The estimate is the quantile `confidence` of the largest
    differences of `n_draws` such halves; it is one number for all classes. As in
    `prediction_bound`, the error is that of predicted outputs, not the test error of a classifier.

    Parameters
    ----------
    features : (n_samples, n_features)
        Features, prepared as for training: for example centred, and scaled to unit norm.
    true_labels : (n_samples,)
        True classes as integers from 0; every class needs at least four rows.
    corruption, l2, n_rounds
        As for `type_outputs`.
    confidence : float
        Approximate proportion of datasets in which the true error is at most the estimate; a number
        above 0 and below 1.
    n_draws : int
        Number of random halves.
    random_state : int or numpy generator, optional
        Seed or generator of the random halves.

    Examples
    --------
    With 20 rows of each class, and with 500:

    >>> corruption = 0.6 * np.eye(3) + 0.4 / 3 * np.ones((3, 3))
    >>> for n_per_class in (20, 500):
    ...     labels = np.repeat(np.arange(3), n_per_class)
    ...     noise = np.random.default_rng(0).normal(size=(len(labels), 40)) / 5
    ...     how = {"l2": 0.5 / (9 * n_per_class), "n_rounds": 3}
    ...     found = prediction_spread(noise + np.eye(3, 40)[labels], labels, corruption, **how)
    ...     print(n_per_class, f"±{found.outputs.max():.2f}")
    20 ±0.04
    500 ±0.01
    """
    rows = checks.real_array(features, "features", ndim=2)
    shares = checks.corruption_matrix(corruption)
    codes = check_codes("true_labels", as_array(true_labels), len(rows), len(shares), least=0)
    groups = [rows[codes == label] for label in range(len(shares))]
    if min(map(len, groups)) < FEWEST_HALVED:
        few = f"has a class with fewer than {FEWEST_HALVED} rows"
        advice = "leave out such classes or add rows, because half of a class must have two rows."
        raise ArgumentError("true_labels", few, advice)
    power, level = checks.round_count(n_rounds), _confidence(confidence)
    generator, sizes = check_generator(random_state), [len(each) for each in groups]
    whole = _estimated(groups, sizes)
    predicted = type_outputs(whole, shares, l2=l2, n_rounds=power)
    errors = np.empty((check_count("n_draws", n_draws, 1), 2))  # outputs, Gram matrix
    for error in errors:
        halves = [generator.permutation(each)[: len(each) // 2] for each in groups]
        half = _estimated(halves, sizes)
        other = type_outputs(half, shares, l2=l2, n_rounds=power)
        error[0] = _largest_difference(other, predicted)
        error[1] = np.linalg.norm(half.class_gram() - whole.class_gram(), 2)
    outputs, gram_error = np.quantile(errors, level, axis=0)
    return _bound(predicted, np.full(len(sizes), outputs), float(gram_error), level)


def _estimated(groups: Sequence[FloatArray], sizes: Sequence[int]) -> CorrelationModel:
    """Return a model with the class sizes `sizes` and the correlations of the rows in `groups`.

    Correlations are mean products of pairs of different rows, so they are unbiased. Then negative
    eigenvalues of the estimated matrix are set to zero.
    """
    counts = np.array([len(each) for each in groups])
    means = np.array([each.mean(axis=0) for each in groups])
    norms = np.array([np.einsum("ij,ij->", each, each) / len(each) for each in groups])
    correlation = means @ means.T
    pairs = (counts * np.diag(correlation) - norms) / (counts - 1)
    np.fill_diagonal(correlation, pairs)
    root = np.sqrt(sizes)
    values, vectors = np.linalg.eigh(root[:, None] * correlation * root)
    scaled = vectors / root[:, None]
    kept = (scaled * np.maximum(values, 0.0)) @ scaled.T
    return CorrelationModel.from_correlation(
        kept, class_sizes=sizes, squared_norms=np.diag(kept) + norms - pairs
    )


def _largest_difference(one: TypeOutputs, other: TypeOutputs) -> float:
    """Return the largest difference between two predictions, without computing all K³ outputs."""
    own = (one.own - other.own)[:, None]
    elsewhere = one.shared - other.shared - own / len(own)  # at labels other than the given one
    return float(max(np.abs(elsewhere).max(), np.abs(elsewhere + own).max()))


def _confidence(confidence: float) -> float:
    if 0 < check_within("confidence", confidence, 0, 1) < 1:
        return float(confidence)
    advice = "pass a probability above 0 and below 1."
    raise ArgumentError({"confidence": confidence}, "is not allowed", advice)


def _bound(
    predicted: TypeOutputs, outputs: FloatArray, gram_error: float, level: float
) -> PredictionBound:
    """Return the bound, with the accuracies that are possible for errors up to `outputs`."""
    weights = predicted.corruption * predicted.class_sizes[:, None] / predicted.class_sizes.sum()
    margins, error = predicted.margins(), 2 * outputs[:, None]  # two outputs per margin
    accuracy = predicted.accuracy()
    return PredictionBound(
        outputs=outputs,
        gram_error=gram_error,
        accuracy=accuracy,
        lowest_accuracy=min(float(weights[margins > error].sum()), accuracy),
        highest_accuracy=max(float(1 - weights[margins < -error].sum()), accuracy),
        confidence=level,
    )


def _gram_error(model: CorrelationModel, norm: float, risk: float) -> float:
    """Return β, for which u = √(‖D Ŵ D‖ + β) solves u² - κ u - (‖D Ŵ D‖ + ‖Q‖) = 0.

    The variable `slope` is κ, with 2 ‖H‖ = κ u.
    """
    n_classes, root = model.n_classes, np.sqrt(model.class_sizes)
    scaled = root[:, None] * model.correlation * root
    estimated = max(float(np.linalg.eigvalsh(scaled)[-1]), 0.0)
    directions = n_classes * math.log(NET_SIZE) + math.log(6 / risk)
    own = float(model.own_part.max())
    quadratic = 2 * NET_FACTOR * (math.sqrt(norm * own * directions) + norm * directions)
    slope = 2 * math.sqrt(norm) * (2 * math.sqrt(n_classes) + math.sqrt(2 * math.log(3 / risk)))
    largest = (slope + math.sqrt(slope**2 + 4 * (estimated + quadratic))) / 2
    return float(largest**2 - estimated)


def _power_error(reduction: ClassReduction, gram_error: float, n_rounds: int) -> float:
    """Return the bound on ‖f(B̂)ᵗ - f(B)ᵗ‖, at most 1."""
    ridge, least = reduction.ridge, float(reduction.values.min())
    below = (ridge + least) * (ridge + max(least - gram_error, 0.0))
    largest = np.asarray(reduction.values.max() + gram_error)
    kept = float(power_of_ratio(largest, ridge=ridge, n_rounds=max(n_rounds - 1, 0)))
    return min(n_rounds * kept * ridge * gram_error / below, 1.0)


def _own_error(
    model: CorrelationModel, reduction: ClassReduction, norm: float, risk: float, n_rounds: int
) -> FloatArray:
    """Return a bound on |f(δ̂)ᵗ - f(δ)ᵗ| per class, from the ends of the interval around δ̂."""
    own = model.own_part
    spread = norm * math.log(6 * model.n_classes / risk) / (model.class_sizes - 1)
    off = 2 * np.sqrt(own * spread) + 2 * spread
    ends = [np.maximum(own - off, 0.0), own, own + off]
    low, here, high = (
        power_of_ratio(end, ridge=reduction.ridge, n_rounds=n_rounds) for end in ends
    )
    return np.asarray(np.maximum(here - low, high - here))
