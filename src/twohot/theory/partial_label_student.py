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
from twohot.theory.averaging import ClassReduction
from twohot.theory.correlation_models import CorrelationModel
from twohot.theory.outputs import TIE_TOLERANCE, TypeOutputs, type_outputs

TieRule = Literal["spread", "lowest"]


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
    places = check_class_count("n_candidates", n_candidates, values.shape[-1])
    check_choice("ties", ties, get_args(TieRule))
    slack = TIE_TOLERANCE * np.ptp(values, axis=-1, keepdims=True)
    return top_shares(values, places, slack, lowest=ties == "lowest")


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
    >>> type_outputs(model, corruption, l2=3e-4, n_rounds=1).accuracy()
    0.5
    >>> partial_label_outputs(model, corruption, l2=3e-4).accuracy()
    1.0
    """
    teacher = type_outputs(model, corruption, l2=l2, n_rounds=1)
    targets = candidate_targets(teacher.deviations, n_candidates=n_candidates, ties=ties)
    reduction = ClassReduction(model, l2=l2)
    mean_targets = np.einsum("ab,abk->ak", teacher.corruption, targets)
    means = reduction.class_means(mean_targets - 1 / model.n_classes)
    shared = means - reduction.own[:, None] * mean_targets
    return TypeOutputs(reduction.own, shared, targets, teacher.corruption, model.class_sizes)
