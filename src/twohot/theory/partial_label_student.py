"""The partial-label student: one fit on the teacher's top labels.

Every type's target is its candidate set, weight 1/n_candidates on each of the labels the teacher
puts highest; the student is one round of label averaging from there (eq. 16, in the general form
of `outputs`).
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from twohot._checks.numbers import check_choice, check_class_count
from twohot._ties import top_shares
from twohot.theory import _checks
from twohot.theory._checks import FloatArray
from twohot.theory.class_reduction import ClassReduction
from twohot.theory.correlation_models import CorrelationModel
from twohot.theory.label_leads import LabelLeads
from twohot.theory.outputs import TypeOutputs, after_rounds

TieRule = Literal["spread", "lowest"]

# Outputs of unknown origin are tied if they differ by no more than this fraction of their range.
TIE_TOLERANCE = 1e-10


def candidate_targets(
    outputs: ArrayLike, *, n_candidates: int = 2, ties: TieRule = "spread"
) -> FloatArray:
    """Targets of the partial-label student: weight 1/n_candidates on each row's top labels.

    Parameters
    ----------
    outputs : (..., n_classes)
        The teacher's outputs, of samples or of types.
    n_candidates : int
        Size of the candidate set; the paper's student has 2.
    ties : {"spread", "lowest"}
        What to do with labels tied for the last place: share its weight among them, or take the
        lowest label as an `argsort` would.

    Examples
    --------
    >>> candidate_targets([0.6, 0.1, 0.2, 0.1]).tolist()
    [0.5, 0.0, 0.5, 0.0]
    >>> candidate_targets([0.6, 0.2, 0.0, 0.2]).tolist()
    [0.5, 0.25, 0.0, 0.25]
    >>> candidate_targets([0.6, 0.2, 0.0, 0.2], ties="lowest").tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    values = _checks.real_array(outputs, "outputs")
    if values.ndim == 0:
        raise ValueError("outputs must have one number per class in its last axis, got one number.")
    slack = TIE_TOLERANCE * np.ptp(values, axis=-1, keepdims=True)
    return ranked_targets(values, slack, n_candidates=n_candidates, ties=ties)


def ranked_targets(
    scores: FloatArray, slack: FloatArray, *, n_candidates: int, ties: TieRule
) -> FloatArray:
    """Return candidate targets by scores of which those within `slack` of each other are tied."""
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
    """Predict the partial-label student: one fit on the teacher's top labels (eq. 16).

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
    reduction = ClassReduction(model, l2=l2)
    shares = _checks.corruption_matrix(corruption, model.n_classes)
    teacher = after_rounds(reduction, shares, 1)
    targets = candidates_of_types(reduction, shares, teacher, n_candidates, ties)
    return after_rounds(reduction, shares, 1, targets)


def candidates_of_types(
    reduction: ClassReduction,
    shares: FloatArray,
    teacher: TypeOutputs,
    n_candidates: int,
    ties: TieRule,
) -> FloatArray:
    """(n_classes, n_classes, n_classes) candidate targets of every type, from the teacher's."""
    # All but the given label are ranked by what the class gained, which a small ridge makes small.
    slack = LabelLeads(reduction, shares).rank_error(1)[:, None, None]
    return ranked_targets(teacher.scores, slack, n_candidates=n_candidates, ties=ties)
