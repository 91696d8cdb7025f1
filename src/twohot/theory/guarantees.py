"""Whether every training sample is right, read off predicted outputs.

`judge` looks at outputs of any model, linear or exact, and says of every class whether the true
label is on top for every type that occurs. A tie is a tie: a margin that its own rounding could
turn around decides nothing. `theorem_4_1` answers without outputs, `lasting_rounds` for any round.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from twohot.theory import _checks
from twohot.theory._checks import BoolArray, FloatArray, IntArray
from twohot.theory.outputs import TypeOutputs


class Verdict(StrEnum):
    """What is true of all samples of a class."""

    RIGHT = "right"
    TIE = "tie"  # the true label shares the top, for at least one type, and never loses
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
    weakest_class: int  # the class with the smallest margin, the first to break
    accuracy: float  # share of samples strictly right


def judge(predicted: TypeOutputs) -> Guarantee:
    """Judge predicted outputs: whether the true label is on top for every type that occurs.

    Examples
    --------
    >>> from twohot.theory import CorrelationModel, type_outputs
    >>> model = CorrelationModel.case_1(n_classes=3, same_class=0.3, n_per_class=50)
    >>> corruption = [[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.1, 0.2, 0.7]]
    >>> guarantee = judge(type_outputs(model, corruption, l2=2e-3, n_rounds=1))
    >>> [str(verdict) for verdict in guarantee.verdicts], guarantee.weakest_class
    (['wrong', 'wrong', 'wrong'], 1)
    """
    hint = "pass what type_outputs or partial_label_outputs return, or an exact round's `predicted`"
    _checks.instance(predicted, TypeOutputs, "predicted", hint)
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
    """Return a verdict per class; what is neither right nor wrong is a tie."""
    chosen = np.select([right, wrong], [Verdict.RIGHT, Verdict.WRONG], Verdict.TIE)
    return tuple(Verdict(each) for each in chosen)
