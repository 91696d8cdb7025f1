"""When every training sample is right, and after how many rounds.

Two kinds of answer stand here. `judge` reads off any predicted outputs, by any model, linear or
exact, whether the true label is on top for every type that occurs: it is exact, per class, and
calls a tie a tie. The theorem's closed form answers without outputs, for balanced given labels
and equal class sizes: after t rounds all of class k is right if and only if

    C_kk - max_{k' ≠ k} C_kk'  >  1 / ((q/p)ᵗ - 1),                          (Theorem 4.1)

where class k has a wrong label at all; a class without is right from the start.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from twohot._checks.messages import ArgumentError
from twohot._checks.numbers import check_count, check_positive
from twohot.theory import _checks
from twohot.theory._checks import BoolArray, FloatArray, IntArray
from twohot.theory.correlation_models import CorrelationModel, check_model
from twohot.theory.outputs import TypeOutputs, type_outputs

# Both sides of the theorem's condition, at most about 1 where it is decided, are good to some
# 1e-15; closer than this they are equal as far as the inputs can tell.
CONDITION_TOLERANCE = 1e-12


class Verdict(StrEnum):
    """What is true of all samples of a class."""

    RIGHT = "right"
    TIE = "tie"  # the true label shares the top, for at least one type, and never loses
    WRONG = "wrong"


@dataclass(frozen=True, eq=False)
class _Verdicts:
    verdicts: tuple[Verdict, ...]  # per class

    @property
    def holds(self) -> bool:
        """Whether every training sample is strictly right."""
        return all(verdict is Verdict.RIGHT for verdict in self.verdicts)


@dataclass(frozen=True, eq=False)
class Guarantee(_Verdicts):
    """Whether each class is right, and by how much; see `judge`."""

    margins: FloatArray  # (n_classes,) smallest margin of the true label over types that occur
    tightest_label: IntArray  # (n_classes,) given label of the samples with that margin
    accuracy: float  # share of samples strictly right

    @property
    def weakest_class(self) -> int:
        """The class with the smallest margin, the first to break."""
        return int(self.margins.argmin())


def judge(predicted: TypeOutputs) -> Guarantee:
    """Judge predicted outputs: whether the true label is on top for every type that occurs.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=3, same_class=0.3, n_per_class=50)
    >>> corruption = [[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.1, 0.2, 0.7]]
    >>> guarantee = judge(type_outputs(model, corruption, l2=2e-3, n_rounds=1))
    >>> [str(verdict) for verdict in guarantee.verdicts], guarantee.weakest_class
    (['wrong', 'wrong', 'wrong'], 1)
    """
    hint = "pass what type_outputs or partial_label_outputs return, or an exact round's `predicted`"
    _checks.instance(predicted, TypeOutputs, "predicted", hint)
    margins = np.where(predicted.occurs, predicted.margins(), np.inf)
    right = (predicted.right | ~predicted.occurs).all(axis=1)
    wrong = (predicted.wrong & predicted.occurs).any(axis=1)
    return Guarantee(
        verdicts=_verdicts(right, wrong),
        margins=margins.min(axis=1),
        tightest_label=margins.argmin(axis=1),
        accuracy=predicted.accuracy(),
    )


def _verdicts(right: BoolArray | np.bool_, wrong: BoolArray | np.bool_) -> tuple[Verdict, ...]:
    chosen = np.select([right, wrong], [Verdict.RIGHT, Verdict.WRONG], Verdict.TIE)
    return tuple(Verdict(each) for each in chosen)


@dataclass(frozen=True, eq=False)
class RoundsCondition(_Verdicts):
    """Theorem 4.1 at one round; see `rounds_condition`."""

    gaps: FloatArray  # (n_classes,) C_kk - max_{k' ≠ k} C_kk'
    threshold: float  # 1/((q/p)ᵗ - 1); infinite for t = 0


def label_gaps(corruption: ArrayLike) -> FloatArray:
    """(n_classes,) share of right labels minus that of the commonest wrong one, C_kk - max C_kk'.

    Examples
    --------
    >>> label_gaps([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.0, 0.0, 1.0]]).round(3).tolist()
    [0.5, 0.1, 1.0]
    """
    shares = _checks.corruption_matrix(corruption)
    wrong = shares.copy()
    np.fill_diagonal(wrong, -np.inf)
    return np.asarray(np.diag(shares) - wrong.max(axis=1))


def rounds_condition(corruption: ArrayLike, *, separation: float, n_rounds: int) -> RoundsCondition:
    """Theorem 4.1, condition and converse: which classes are right after `n_rounds` rounds.

    It is exact in the paper's setting (equal class sizes, balanced given labels, equal
    correlations inside superclasses, labels confused inside superclasses or symmetrically).
    Elsewhere use `judge`.

    Parameters
    ----------
    corruption, n_rounds
        As for `type_outputs`.
    separation : float
        q/p, above 1; see `Shrinkage.separation`.

    Examples
    --------
    >>> corruption = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]
    >>> rounds_condition(corruption, separation=2.0, n_rounds=2).holds
    False
    >>> rounds_condition(corruption, separation=2.0, n_rounds=3).holds
    True
    """
    ratio = _separation(separation)
    shares = _checks.corruption_matrix(corruption)
    gaps = label_gaps(shares)
    power = check_count("n_rounds", n_rounds, 0)
    decay = power * np.log(ratio)
    # 1/(eᶻ - 1) without overflow. The paper's converse has z = 0, 1/0: no gap is enough.
    threshold = np.exp(-decay) / -np.expm1(-decay) if power else np.inf
    slack = gaps - threshold
    right = (slack > CONDITION_TOLERANCE) | (np.diag(shares) == 1)
    return RoundsCondition(_verdicts(right, slack < -CONDITION_TOLERANCE), gaps, float(threshold))


@dataclass(frozen=True, eq=False)
class RoundsNeeded:
    """First round at which each class is right."""

    per_class: FloatArray  # (n_classes,) whole numbers from 1 (the teacher), or infinity

    @property
    def overall(self) -> float:
        """First round at which every class is right; infinity if there is none."""
        return float(self.per_class.max())

    @property
    def slowest_class(self) -> int:
        """The class that needs most rounds."""
        return int(self.per_class.argmax())


def rounds_needed(corruption: ArrayLike, *, separation: float) -> RoundsNeeded:
    """Count the rounds until Theorem 4.1 holds, in closed form: ⌊ln(1 + 1/gap) / ln(q/p)⌋ + 1.

    Examples
    --------
    >>> corruption = [[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.4, 0.1, 0.5]]
    >>> needed = rounds_needed(corruption, separation=1.8)
    >>> needed.per_class.tolist(), needed.overall, needed.slowest_class
    ([4.0, 3.0, 5.0], 5.0, 2)
    """
    ratio = _separation(separation)
    shares = _checks.corruption_matrix(corruption)
    gaps = label_gaps(shares)
    open_gaps = np.where(gaps > CONDITION_TOLERANCE, gaps, np.nan)
    ties_at = np.log1p(1 / open_gaps) / np.log(ratio)
    # A real number of rounds at which the condition is an equality; right from the next whole
    # number on. Rounding just below a whole number must not turn a tie into a success.
    per_class = np.floor(ties_at * (1 + CONDITION_TOLERANCE)) + 1
    per_class = np.where(np.isnan(per_class), np.inf, per_class)
    return RoundsNeeded(np.where(np.diag(shares) == 1, 1.0, per_class))


def rounds_until_right(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, max_rounds: int = 50
) -> RoundsNeeded:
    """First round at which each class is right, for any model, by trying rounds in turn.

    Examples
    --------
    >>> model = CorrelationModel.from_correlation([[0.5, 0.1], [0.1, 0.3]], class_sizes=[100, 60])
    >>> rounds_until_right(model, [[0.7, 0.3], [0.3, 0.7]], l2=1e-3).per_class.tolist()
    [3.0, 4.0]
    """
    check_model(model)
    last = check_count("max_rounds", max_rounds, 1)
    per_class = np.full(model.n_classes, np.inf)
    for n_rounds in range(1, last + 1):
        verdicts = judge(type_outputs(model, corruption, l2=l2, n_rounds=n_rounds)).verdicts
        right = np.array([verdict is Verdict.RIGHT for verdict in verdicts])
        per_class[right] = np.minimum(per_class[right], n_rounds)
        if np.isfinite(per_class).all():
            break
    return RoundsNeeded(per_class)


def _separation(separation: float) -> float:
    if check_positive("separation", separation) <= 1:
        raise ArgumentError({"separation": separation}, "is not allowed", "pass a q/p above 1.")
    return separation
