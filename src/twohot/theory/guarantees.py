"""Decide whether every training sample is right, from predicted outputs.

`judge` takes the outputs of any model, linear or exact, and decides for every class whether the
true label is on top for every type that occurs. A margin within its rounding error is a tie.
`theorem_4_1` needs no outputs; `rounds_until_right` covers any number of rounds.
"""

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
from twohot.theory.correlation_models import CorrelationModel
from twohot.theory.outputs import TypeOutputs, type_outputs


class Verdict(StrEnum):
    """The result for all samples of a class."""

    RIGHT = "right"
    TIE = "tie"  # the true label ties for at least one type, and never loses
    WRONG = "wrong"


@dataclass(frozen=True, eq=False)
class ClassVerdicts:
    """A verdict for every class."""

    verdicts: tuple[Verdict, ...]  # per class

    @property
    def holds(self) -> bool:
        """Whether every training sample is strictly right."""
        return all(verdict is Verdict.RIGHT for verdict in self.verdicts)


@dataclass(frozen=True, eq=False)
class Guarantee(ClassVerdicts):
    """Whether each class is right, and by how much; see `judge`."""

    margins: FloatArray  # (n_classes,) smallest margin of the true label over types that occur
    tightest_label: IntArray  # (n_classes,) given label of the samples with that margin
    weakest_class: int  # the class with the smallest margin
    accuracy: float  # share of samples that are right without a tie


def judge(predicted: TypeOutputs) -> Guarantee:
    """Return whether the true label is on top for every type that occurs, per class.

    Examples
    --------
    >>> from twohot.theory import CorrelationModel, type_outputs
    >>> model = CorrelationModel.case_1(n_classes=3, same_class=0.3, n_per_class=50)
    >>> corruption = [[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.1, 0.2, 0.7]]
    >>> guarantee = judge(type_outputs(model, corruption, l2=2e-3, n_rounds=1))
    >>> [str(verdict) for verdict in guarantee.verdicts], guarantee.weakest_class
    (['wrong', 'wrong', 'wrong'], 1)
    """
    hint = "pass the result of type_outputs or partial_label_outputs, or a round's `predicted`"
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


# The label noise that a predicted model tolerates, for any kind of corruption ---------------------


@dataclass(frozen=True, eq=False)
class NoiseTolerance:
    """Noise rates at which each class is right; NaN if there is none."""

    lowest: FloatArray  # (n_classes,) lowest rate at which the class is right, mostly 0
    highest: FloatArray  # (n_classes,) rate up to which it stays right from there

    @property
    def overall(self) -> float:
        """Largest rate up to which every class stays right; NaN if there is none."""
        together = self.highest.min() >= self.lowest.max()
        return float(self.highest.min()) if together else float("nan")

    @property
    def weakest_class(self) -> int:
        """The class that fails first as noise increases, or one that is never right."""
        return int(np.nan_to_num(self.highest, nan=-1.0).argmin())


def noise_tolerated(
    corruption_at: Callable[[float], ArrayLike],
    predict: Callable[[FloatArray], TypeOutputs],
    *,
    step: float = 0.02,
    resolution: float = 1e-9,
) -> NoiseTolerance:
    """Return the largest noise rate at which each class is right, for one kind of corruption.

    Rates 0, step, 2 step, … 1 are evaluated, then the edges of the first range of rates that work
    are bisected: the partial-label student may fail without noise and succeed with some.

    Parameters
    ----------
    corruption_at : callable
        Returns the corruption matrix at a noise rate between 0 and 1.
    predict : callable
        Returns the outputs for a corruption matrix: `type_outputs` or `partial_label_outputs` with
        the other arguments fixed, or the `predicted` of the exact `population_rounds`.
    step, resolution : float
        Spacing of the rates evaluated first; width to which the edges are bisected.

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
    checks.instance(corruption_at, Callable, "corruption_at", "pass a function of the rate")
    checks.instance(predict, Callable, "predict", "pass a function of a corruption matrix")

    @cache  # classes may evaluate the same rates
    def works(rate: float) -> tuple[bool, ...]:
        shares = checks.corruption_matrix(corruption_at(rate))
        return tuple(verdict is Verdict.RIGHT for verdict in judge(predict(shares)).verdicts)

    rates = np.append(np.arange(0, 1, check_positive("step", step)), 1.0).tolist()
    width = check_positive("resolution", resolution)

    def edge(label: int, inside: float, outside: float) -> float:
        while abs(outside - inside) > width:
            middle = (inside + outside) / 2
            if middle in {inside, outside}:  # the numbers are adjacent
                break
            inside, outside = (middle, outside) if works(middle)[label] else (inside, middle)
        return inside

    table = np.array([works(rate) for rate in rates])  # (n_rates, n_classes)
    lowest, highest = np.full((2, table.shape[1]), np.nan)
    for label in np.flatnonzero(table.any(axis=0)).tolist():
        first = int(table[:, label].argmax())  # of the first range of rates that work
        last = first + int(np.append(table[first:, label], False).argmin()) - 1
        lowest[label] = edge(label, rates[first], rates[max(first - 1, 0)])
        highest[label] = edge(label, rates[last], rates[min(last + 1, len(rates) - 1)])
    return NoiseTolerance(lowest, highest)


# Errors of predictions whose class correlations are estimated from a few rows ---------------------
# The correlations are estimated again from random halves. A half of n rows differs from all rows as
# these differ from the population, because the variance of a mean of n/2 rows, drawn from n without
# replacement, is σ²(2/n - 1/n) = σ²/n.


FEWEST_HALVED = 4  # fewest rows of a class whose halves have pairs


@dataclass(frozen=True)
class PredictionSpread:
    """The error of predictions; see `prediction_spread`."""

    output_error: float  # largest error of an output
    accuracy: float  # predicted share of training samples that are right
    lowest_accuracy: float  # share that is right for any such error
    highest_accuracy: float  # one minus the share that is wrong for any such error
    confidence: float  # probability that all of this holds


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
) -> PredictionSpread:
    """Estimate the error of `type_outputs` due to the small number of rows.

    Correlations are estimated from all rows, and again from random halves of each class. The error
    is the quantile `confidence` of the differences, one number for all classes. It concerns the
    prediction, not a trained classifier: `softmax_error` is the error of the linear theory.

    Parameters
    ----------
    features : (n_samples, n_features)
        Prepared as for training, for instance centred and of unit norm.
    true_labels : (n_samples,)
        Codes of the true classes, at least four rows of each.
    corruption, l2, n_rounds
        As for `type_outputs`.
    confidence : float
        Share of datasets for which the estimate is large enough.
    n_draws : int
        Number of halves.
    random_state : int or numpy generator, optional
        Draws the halves.

    Examples
    --------
    >>> corruption = 0.6 * np.eye(3) + 0.4 / 3 * np.ones((3, 3))
    >>> for n_per_class in (20, 500):
    ...     labels = np.repeat(np.arange(3), n_per_class)
    ...     noise = np.random.default_rng(0).normal(size=(len(labels), 40)) / 5
    ...     how = {"l2": 0.5 / (9 * n_per_class), "n_rounds": 3}
    ...     found = prediction_spread(noise + np.eye(3, 40)[labels], labels, corruption, **how)
    ...     print(n_per_class, f"±{found.output_error:.2f}")
    20 ±0.04
    500 ±0.01
    """
    rows = checks.real_array(features, "features", ndim=2)
    shares = checks.corruption_matrix(corruption)
    codes = check_codes("true_labels", as_array(true_labels), len(rows), len(shares), least=0)
    groups = [rows[codes == label] for label in range(len(shares))]
    if min(map(len, groups)) < FEWEST_HALVED:
        few = f"has a class with fewer than {FEWEST_HALVED} rows"
        advice = "each half needs pairs: drop such classes, or add rows."
        raise ArgumentError("true_labels", few, advice)
    power, level = checks.round_count(n_rounds), check_within("confidence", confidence, 0, 1)
    generator, sizes = check_generator(random_state), [len(each) for each in groups]
    predicted = type_outputs(_estimated(groups, sizes), shares, l2=l2, n_rounds=power)
    errors = []
    for _ in range(check_count("n_draws", n_draws, 1)):
        halves = [generator.permutation(each)[: len(each) // 2] for each in groups]
        half = type_outputs(_estimated(halves, sizes), shares, l2=l2, n_rounds=power)
        errors.append(_largest_difference(half, predicted))
    error = float(np.quantile(errors, level))
    weights = shares * predicted.class_sizes[:, None] / predicted.class_sizes.sum()
    margins, accuracy = predicted.margins(), predicted.accuracy()
    return PredictionSpread(
        output_error=error,
        accuracy=accuracy,
        # A margin is a difference of two outputs.
        lowest_accuracy=min(float(weights[margins > 2 * error].sum()), accuracy),
        highest_accuracy=max(float(1 - weights[margins < -2 * error].sum()), accuracy),
        confidence=level,
    )


def _estimated(groups: Sequence[FloatArray], sizes: Sequence[int]) -> CorrelationModel:
    """Return a model with class sizes `sizes` and the correlations of the rows in `groups`.

    Mean products are of pairs of different rows, so that they are unbiased. Negative eigenvalues,
    which can only be noise, are set to zero.
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
    """Return the largest difference of outputs, without the table of all outputs."""
    own = (one.own - other.own)[:, None]
    elsewhere = one.shared - other.shared - own / len(own)  # than at the given label
    return float(max(np.abs(elsewhere).max(), np.abs(elsewhere + own).max()))
