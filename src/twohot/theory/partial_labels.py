"""Predict the partial-label student, and decide when it is right: Theorem 5.1 corrected.

The labels with the largest outputs of the teacher are called the *candidates* of a sample. The
partial-label student is trained on targets with equal weights on the candidates. Let C be the
corruption: C_kk' is the proportion of samples of class k that have the given label k'. The theorem
printed in the paper states, for two candidates, that the student is right on every training sample
if C_kk > C_kk' for all k' ≠ k. In the paper's setting, this condition implies that the true label
is a candidate, but the student can still be wrong. With ỹ = argmax_{j ≠ k} C_kj and the separation
q/p, the proof of the theorem fails in four situations:

* If (q/p - 1)(C_kỹ - C_kb) > 1, the given label b is not a candidate: samples of class k with the
  given label b have the candidates {k, ỹ} and not {k, b}.
* The mean candidate targets of a superclass are usually not uniform.
* If C_kk + C_kỹ = 1, only one class is confused with k, and the labels k and ỹ tie.
* Several labels can tie for the second place. Without noise, all labels except k tie for it.

The following statements hold for any class correlation, class sizes, corruption C and number of
candidates. Let f_a = δ_a/(x + δ_a), with the ridge x and the `own_part` δ of the model. Let F be
the averaging of class means (see `ClassReduction`), and let M = (F - f)(C - 1/K). The type (a, b)
has the samples of class a with the given label b.

1. The teacher's output of type (a, b) at label l is M_al, plus f_a if l = b, plus a constant for
   all labels. The `n_candidates` labels with the largest outputs are the candidates, and u(a, b)
   are their equal weights, with sum one. The true label is a candidate if fewer than `n_candidates`
   other labels have an output that is at least as large.
2. With E'_a = Σ_b C_ab u(a, b), the student is right on every sample of class a if and only if,
   for every label l ≠ a,

       f_a min_b (u_a - u_l)(a, b)                        the sample's own candidates
       + (F - f)_aa (E'_aa - E'_al)                       the other samples of its class
       + Σ_{c ≠ a} (F - f)_ac (E'_ca - E'_cl)  >  0       the other classes,

   with the minimum over the given labels b that occur in class a. If both sides are equal, the
   labels a and l tie.

The proof is in `docs/theory.md`.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from twohot.base import BoolArray, FloatArray, IntArray, check_choice, check_class_count, top_shares
from twohot.theory import checks
from twohot.theory.averaging import ClassReduction
from twohot.theory.correlation_models import CorrelationModel
from twohot.theory.guarantees import ClassVerdicts, class_verdicts
from twohot.theory.label_leads import LabelLeads
from twohot.theory.outputs import TypeOutputs, after_rounds

TieRule = Literal["spread", "lowest"]

# In `candidate_targets`, outputs tie if they differ by at most this fraction of their range.
TIE_TOLERANCE = 1e-10


def candidate_targets(
    outputs: ArrayLike, *, n_candidates: int = 2, ties: TieRule = "spread"
) -> FloatArray:
    """Return the targets of the partial-label student: weight 1/n_candidates on the top labels.

    Parameters
    ----------
    outputs : (..., n_classes)
        The teacher's outputs, of samples or of types.
    n_candidates : int
        Number of candidates of a sample; 2 in the paper.
    ties : {"spread", "lowest"}
        Rule if several labels tie for the last places among the candidates. With "spread", the
        weight of these places is divided equally among the tied labels. With "lowest", the tied
        labels with the lowest positions become candidates.

    Examples
    --------
    >>> candidate_targets([0.6, 0.1, 0.2, 0.1]).tolist()
    [0.5, 0.0, 0.5, 0.0]
    >>> candidate_targets([0.6, 0.2, 0.0, 0.2]).tolist()
    [0.5, 0.25, 0.0, 0.25]
    >>> candidate_targets([0.6, 0.2, 0.0, 0.2], ties="lowest").tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    values = checks.real_array(outputs, "outputs")
    if values.ndim == 0:
        raise ValueError("outputs must be an array with one number per class, but is one number.")
    slack = TIE_TOLERANCE * np.ptp(values, axis=-1, keepdims=True)
    return ranked_targets(values, slack, n_candidates=n_candidates, ties=ties)


def ranked_targets(
    scores: FloatArray, slack: FloatArray, *, n_candidates: int, ties: TieRule
) -> FloatArray:
    """Return candidate targets for scores of labels; scores that differ by at most `slack` tie."""
    places = check_class_count("n_candidates", n_candidates, scores.shape[-1])
    check_choice("ties", ties, get_args(TieRule))
    return top_shares(scores, places, slack, lowest=ties == "lowest")


def partial_label_outputs(
    model: CorrelationModel,
    corruption: ArrayLike,
    *,
    l2: float,
    n_candidates: int = 2,
    ties: TieRule = "spread",
) -> TypeOutputs:
    """Return the outputs of the partial-label student in the linear theory (eq. 16).

    The parameters are those of `partial_label_condition`.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=4, same_class=0.4, n_per_class=100)
    >>> corruption = [[0.5, 0.3, 0.1, 0.1], [0.1, 0.5, 0.3, 0.1],
    ...               [0.1, 0.1, 0.5, 0.3], [0.3, 0.1, 0.1, 0.5]]
    >>> from twohot.theory import type_outputs
    >>> type_outputs(model, corruption, l2=3e-4, n_rounds=1).accuracy()
    0.5
    >>> partial_label_outputs(model, corruption, l2=3e-4).accuracy()
    1.0
    """
    reduction, shares, _, targets = _teacher_round(model, corruption, l2, n_candidates, ties)
    return after_rounds(reduction, shares, 1, targets)


def _teacher_round(
    model: CorrelationModel, corruption: ArrayLike, l2: float, n_candidates: int, ties: TieRule
) -> tuple[ClassReduction, FloatArray, TypeOutputs, FloatArray]:
    """Return the reduction, the corruption, teacher's outputs, and all candidate targets."""
    reduction = ClassReduction(model, l2=l2)
    shares = checks.corruption_matrix(corruption, model.n_classes)
    teacher = after_rounds(reduction, shares, 1)
    # At a small ridge, outputs at labels other than the given label are nearly equal. So they tie
    # only if their difference is below its rounding error.
    slack = LabelLeads(reduction, shares).rank_error(1)[:, None, None]
    targets = ranked_targets(teacher.scores, slack, n_candidates=n_candidates, ties=ties)
    return reduction, shares, teacher, targets


@dataclass(frozen=True, eq=False)
class PartialLabelCondition(ClassVerdicts):
    """The slack of the condition for every class a and label l; see `partial_label_condition`."""

    slack: FloatArray  # (n_classes, n_labels) left side of the condition; infinite at l = a
    own_candidates: FloatArray  # (n_classes, n_labels) first term: the sample's own candidates
    own_class: FloatArray  # (n_classes, n_labels) second term: the other samples of its class
    other_classes: FloatArray  # (n_classes, n_labels) third term: the other classes
    # (n_classes, n_labels) for every type: the teacher's output at the true label minus the
    # `n_candidates`-th largest other output; infinite if no sample is of the type
    truth_slack: FloatArray

    @property
    def class_slack(self) -> FloatArray:
        """(n_classes,) smallest slack of a class; all its samples are right if it is positive."""
        return np.asarray(self.slack.min(axis=1))

    @property
    def rival(self) -> IntArray:
        """(n_classes,) label with the smallest slack.

        If this slack is negative, the student predicts the label for some samples of the class.
        """
        return np.asarray(self.slack.argmin(axis=1))

    @property
    def truth_is_candidate(self) -> BoolArray:
        """(n_classes,) whether the true label is a candidate of every sample."""
        return np.asarray((self.truth_slack > 0).all(axis=1))


def partial_label_condition(
    model: CorrelationModel,
    corruption: ArrayLike,
    *,
    l2: float,
    n_candidates: int = 2,
    ties: TieRule = "spread",
) -> PartialLabelCondition:
    """Return the corrected condition of Theorem 5.1, which is necessary and sufficient.

    The *slack* of a class and a label is the left side of the condition in the module docstring.
    It is the student's output at the true label minus its output at this label, for the sample of
    the class where this difference is smallest. The slack has three terms, which explain why a
    class is right or wrong:

    * If `own_candidates` is negative, there are samples whose true label is not a candidate or
      ties for the last place. If `own_candidates` is zero, the other two terms decide.
    * If `other_classes` is negative and larger in size than the sum of the other terms, the class
      is wrong because of correlated classes.

    Parameters
    ----------
    model, corruption, l2
        As for `type_outputs`; teacher and student use the same penalty.
    n_candidates, ties
        As for `candidate_targets`.

    Examples
    --------
    The true label is a candidate of every sample, but class 1 is wrong because of correlated
    classes:

    >>> model = CorrelationModel.case_3(
    ...     n_classes=4, same_class=0.4, same_superclass=0.3, n_per_class=100
    ... )
    >>> corruption = [[0.40, 0.21, 0.20, 0.19], [0.20, 0.50, 0.16, 0.14],
    ...               [0.20, 0.14, 0.50, 0.16], [0.20, 0.15, 0.14, 0.51]]
    >>> found = partial_label_condition(model, corruption, l2=0.01)
    >>> [str(verdict) for verdict in found.verdicts], found.truth_is_candidate.all()
    (['right', 'wrong', 'wrong', 'wrong'], np.True_)
    >>> found.class_slack.round(4).tolist(), int(found.rival[1])
    ([0.1451, -0.0201, -0.0447, -0.0472], 0)
    >>> terms = (found.own_candidates, found.own_class, found.other_classes)
    >>> [round(float(term[1, 0]), 4) for term in terms]
    [0.0, 0.0728, -0.0929]
    """
    reduction, shares, teacher, targets = _teacher_round(model, corruption, l2, n_candidates, ties)
    classes = np.arange(len(shares))
    # (u_a - u_l)(a, b), for the types that occur.
    beyond = targets[classes, :, classes][:, :, None] - targets
    worst = np.where(teacher.occurs[:, :, None], beyond, np.inf).min(axis=1)
    means = np.einsum("ab,abk->ak", shares, targets)  # E'
    leads = LabelLeads(reduction, means).after(1)
    scale = np.exp(leads.log_scale[:, 0])
    own = reduction.own[:, None] * worst
    slack = own + scale * leads.ahead[:, 0]
    error = scale * (leads.own_error[:, 0] * np.abs(worst) + leads.error[:, 0])
    within = np.diag(reduction.gained(np.eye(len(shares))))  # (F - f)_aa
    class_term = within[:, None] * (np.diag(means)[:, None] - means)
    for each, at_truth in ((slack, np.inf), (error, 0.0), (own, 0.0), (class_term, 0.0)):
        np.fill_diagonal(each, at_truth)
    others = np.where(np.eye(len(shares), dtype=bool), 0.0, slack - own - class_term)
    return PartialLabelCondition(
        verdicts=class_verdicts(
            np.asarray((slack > error).all(axis=1)), np.asarray((slack < -error).any(axis=1))
        ),
        slack=slack,
        own_candidates=own,
        own_class=class_term,
        other_classes=others,
        truth_slack=_truth_slack(teacher, n_candidates),
    )


def _truth_slack(teacher: TypeOutputs, n_candidates: int) -> FloatArray:
    """Return `PartialLabelCondition.truth_slack` for the outputs of the teacher."""
    classes, scores = np.arange(len(teacher.own)), teacher.scores.copy()
    at_truth = scores[classes, :, classes]
    scores[classes, :, classes] = -np.inf
    kth = np.sort(scores, axis=2)[:, :, -n_candidates]
    return np.where(teacher.occurs, at_truth - kth, np.inf)
