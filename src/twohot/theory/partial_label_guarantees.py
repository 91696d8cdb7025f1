"""When the partial-label student is right: Theorem 5.1 as printed, and the exact test.

The theorem promises every training sample right wherever C_kk > C_kk' for all k' ≠ k. That is
enough for the teacher's top two to contain the truth, and not enough for the student. With
ỹ = argmax_{j ≠ k} C_kj it fails when

* the given label b drops out of the top two, (q/p - 1)(C_kỹ - C_kb) > 1, so that samples given b
  have the candidates {k, ỹ} and not {k, b};
* the candidates of a superclass do not average to uniform, which they almost never do;
* C_kk + C_kỹ = 1: with a single confusable class, k and ỹ tie;
* two labels tie for the second place, as all do when there is no noise.

The exact test forms every type's actual candidate set, fits once, and looks at the margins.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from twohot._checks.classes import ROW_SUM_TOLERANCE
from twohot.theory import _checks
from twohot.theory._checks import BoolArray
from twohot.theory.correlation_models import CorrelationModel
from twohot.theory.guarantees import Guarantee, Verdict, judge
from twohot.theory.lemma_4_1 import Shrinkage
from twohot.theory.outputs import TypeOutputs
from twohot.theory.partial_label_student import TieRule, partial_label_outputs
from twohot.theory.theorem_4_1 import label_gaps


@dataclass(frozen=True, eq=False)
class PartialLabelGuarantee:
    """Theorem 5.1 three ways, per class."""

    exact: Guarantee  # from the student's outputs: the answer
    printed: BoolArray  # (n_classes,) the printed condition C_kk > C_kk', not sufficient
    truth_in_candidates: BoolArray  # (n_classes,) truth a full candidate of every type

    @property
    def holds(self) -> bool:
        """Whether every training sample is strictly right."""
        return self.exact.holds

    @property
    def broken_promises(self) -> list[int]:
        """Classes that satisfy the printed condition and yet are not strictly right."""
        right = np.array([verdict is Verdict.RIGHT for verdict in self.exact.verdicts])
        return [int(k) for k in np.flatnonzero(self.printed & ~right)]


def partial_label_guarantee(
    model: CorrelationModel,
    corruption: ArrayLike,
    *,
    l2: float,
    n_candidates: int = 2,
    ties: TieRule = "spread",
) -> PartialLabelGuarantee:
    """Test exactly whether the partial-label student gets every training sample right.

    Parameters
    ----------
    model, corruption, l2
        As for `type_outputs`; teacher and student have the same penalty.
    n_candidates, ties
        As for `candidate_targets`.

    Examples
    --------
    The printed condition holds for every class, and only class 0 is right:

    >>> model = CorrelationModel.case_3(
    ...     n_classes=4, same_class=0.4, same_superclass=0.3, n_per_class=100
    ... )
    >>> corruption = [[0.40, 0.21, 0.20, 0.19], [0.20, 0.50, 0.16, 0.14],
    ...               [0.20, 0.14, 0.50, 0.16], [0.20, 0.15, 0.14, 0.51]]
    >>> guarantee = partial_label_guarantee(model, corruption, l2=0.01)
    >>> bool(guarantee.printed.all()), [str(verdict) for verdict in guarantee.exact.verdicts]
    (True, ['right', 'wrong', 'wrong', 'wrong'])
    """
    student = partial_label_outputs(model, corruption, l2=l2, n_candidates=n_candidates, ties=ties)
    return PartialLabelGuarantee(
        exact=judge(student),
        printed=printed_condition(corruption),
        truth_in_candidates=_truth_contained(student),
    )


def printed_condition(corruption: ArrayLike) -> BoolArray:
    """(n_classes,) the condition Theorem 5.1 prints, C_kk > C_kk' for all k' ≠ k.

    Every round needs it, and the paper claims that it is enough for the partial-label student.
    It is not.

    Examples
    --------
    >>> printed_condition([[0.6, 0.4], [0.5, 0.5]]).tolist()
    [True, False]
    """
    return label_gaps(corruption) > 0


def sufficient_condition(
    corruption: ArrayLike, *, superclass: ArrayLike, kept: Shrinkage
) -> BoolArray:
    """(n_classes,) a condition under which the student is right, in the paper's setting.

    For classes of equal size, labels balanced and confused inside superclasses: one wrong label ỹ
    of the class commoner than the others, and C_kk above it; (q/p - 1)(C_kỹ - min C_kb) < 1 over
    labels b that occur, so that every given label stays a candidate; and
    (q - p)(1 - C_kk - C_kỹ) > r_s - q, so that no superclass mean can outweigh the class mean.
    Sufficient, not necessary.

    Examples
    --------
    >>> from twohot.theory import shrinkage
    >>> kept = shrinkage(superclass=[0, 0, 0, 0], same_class=0.5, same_superclass=0.01,
    ...                  n_per_class=100, l2=3e-4)
    >>> corruption = [[0.5, 0.25, 0.15, 0.1], [0.1, 0.5, 0.25, 0.15],
    ...               [0.15, 0.1, 0.5, 0.25], [0.25, 0.15, 0.1, 0.5]]
    >>> sufficient_condition(corruption, superclass=[0, 0, 0, 0], kept=kept).tolist()
    [True, True, True, True]
    """
    shares = _checks.corruption_matrix(corruption)
    groups = _checks.superclass_map(superclass, len(shares))
    across = shares[groups[:, None] != groups[None, :]].sum()
    if across > 0 or np.abs(shares.sum(axis=0) - 1).max() > ROW_SUM_TOLERANCE:
        raise ValueError(
            "corruption must keep labels inside superclasses and balanced (columns sum to 1) for"
            " this condition; use partial_label_guarantee, which is exact for any."
        )
    right = np.diag(shares)
    wrong = shares - np.diag(right)
    second, commonest = np.sort(wrong, axis=1)[:, -2:].T
    rarest = np.where(wrong > 0, wrong, np.inf).min(axis=1)
    stays_candidate = (kept.separation - 1) * (commonest - rarest) < 1
    superclass_pull = kept.superclass_mean[groups] - kept.class_mean
    class_pull = (kept.class_mean - kept.own) * (1 - right - commonest)
    unique = commonest > second
    enough = (right > commonest) & unique & stays_candidate & (class_pull > superclass_pull)
    return np.asarray(enough)


def _truth_contained(student: TypeOutputs) -> BoolArray:
    """Whether the truth has the full weight of a candidate in every type that occurs."""
    classes = np.arange(len(student.rows))
    full = student.rows[classes, :, classes] == student.rows.max(axis=2)
    return np.asarray((full | ~student.occurs).all(axis=1))
