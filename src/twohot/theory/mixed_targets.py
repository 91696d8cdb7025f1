"""Rounds on mixed targets: a share ξ of the given label, and 1 - ξ of the round before.

Round t fits ξ Y⁽⁰⁾ + (1 - ξ) Y⁽ᵗ⁻¹⁾. If one round keeps f = λ/(x + λ) of a direction, t rounds keep

    c_t = f (ξ + (1 - ξ) c_{t-1}),  c_0 = 1,   so   c_t = c + ((1 - ξ) f)ᵗ (1 - c),
    c   = ξ f / (1 - (1 - ξ) f) = λ / (x/ξ + λ).

* ξ = 1 is the teacher in every round, ξ = 0 plain rounds.
* Two rounds are the mixture ξ Y⁽¹⁾ + (1 - ξ) Y⁽²⁾ of the outputs of teacher and student.
* Infinitely many rounds are the teacher at the penalty l2/ξ, and nothing else.

A margin of two rounds is linear in ξ, so the smallest of several is concave in it: the best ξ is 0,
1, or where two samples have the same margin.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from twohot._checks.numbers import check_within
from twohot.theory import _checks
from twohot.theory._checks import FloatArray
from twohot.theory.averaging import power_of_ratio
from twohot.theory.class_reduction import EIGEN_ERROR, ClassReduction
from twohot.theory.correlation_models import CorrelationModel
from twohot.theory.label_leads import Leads
from twohot.theory.outputs import TypeOutputs, one_hot_types


@dataclass(frozen=True)
class BestMix:
    """The ξ of two rounds that leaves the largest smallest margin; see `best_mix`."""

    mix: float  # share of the given label, ξ
    margin: float  # smallest margin of a training sample at ξ
    margin_of_teacher: float  # at ξ = 1
    margin_of_student: float  # at ξ = 0

    @property
    def gain(self) -> float:
        """By how much the margin is above that of the better of teacher and student."""
        return self.margin - max(self.margin_of_teacher, self.margin_of_student)


def mixed_outputs(
    model: CorrelationModel, corruption: ArrayLike, *, l2: float, n_rounds: int, mix: float
) -> TypeOutputs:
    """Predict round `n_rounds` of rounds on mixed targets.

    Parameters
    ----------
    model, corruption, l2, n_rounds
        As for `type_outputs`.
    mix : float
        Share ξ of the given label in the targets of the students, from 0 to 1.

    Examples
    --------
    Very many rounds at ξ = 0.25 are the teacher at four times the penalty:

    >>> from twohot.theory import type_outputs
    >>> model = CorrelationModel.case_1(n_classes=3, same_class=0.4, n_per_class=100)
    >>> corruption = 0.4 * np.eye(3) + 0.2 * np.ones((3, 3))
    >>> mixed = mixed_outputs(model, corruption, l2=5e-4, n_rounds=10**6, mix=0.25)
    >>> teacher = type_outputs(model, corruption, l2=2e-3, n_rounds=1)
    >>> mixed.outputs[0, 1].round(4).tolist() == teacher.outputs[0, 1].round(4).tolist()
    True
    """
    reduction = ClassReduction(model, l2=l2)
    shares = _checks.corruption_matrix(corruption, model.n_classes)
    power, share = _checks.round_count(n_rounds), check_within("mix", mix, 0, 1)
    keep = partial(_kept, ridge=reduction.ridge, n_rounds=power, mix=share)
    own, types = keep(reduction.own_part), one_hot_types(len(shares))
    shared = reduction.filtered(keep(reduction.values) - own[:, None], shares - 1 / len(shares))
    norms = np.linalg.norm(reduction.root[:, None] * shares)
    error = EIGEN_ERROR * len(shares) * (norms / reduction.root + 1)
    ahead = np.diag(shared)[:, None] - shared
    leads = Leads(
        own=own[:, None, None],
        ahead=ahead[:, None, :],
        error=error[:, None, None],
        own_error=np.zeros((1, 1, 1)),
        log_scale=np.zeros((1, 1, 1)),
    )
    return TypeOutputs(own, shared, types, shares, model.class_sizes, lambda: leads)


def best_mix(model: CorrelationModel, corruption: ArrayLike, *, l2: float) -> BestMix:
    """Return the ξ of two rounds at which the smallest margin of a training sample is largest.

    Examples
    --------
    A small penalty leaves noise for the student to average, a large one does not:

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
    # Largest s with ξ teacher + (1 - ξ) student ≥ s for all samples and labels.
    above = np.column_stack([student - teacher, np.ones_like(student)])
    found = linprog([0.0, -1.0], A_ub=above, b_ub=student, bounds=[(0, 1), (None, None)])
    mix = float(found.x[0])
    at_ends = float(teacher.min()), float(student.min())
    margin = float((mix * teacher + (1 - mix) * student).min())
    return BestMix(mix, max(margin, *at_ends), *at_ends)


def _kept(values: FloatArray, *, ridge: float, n_rounds: int, mix: float) -> FloatArray:
    """Return c_t of directions with these eigenvalues."""
    last = values / (ridge / mix + values) if mix else np.zeros_like(values)
    faded = power_of_ratio(values, ridge=ridge, n_rounds=n_rounds)
    if n_rounds:
        faded = faded * np.exp(n_rounds * np.log1p(-mix)) if mix < 1 else np.zeros_like(values)
    return np.asarray(last + faded * (1 - last))
