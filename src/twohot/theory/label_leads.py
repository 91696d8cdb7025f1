"""By how much a sample's true label leads each other label, in coordinates that lose no digits.

After t rounds, a sample of true class a with the target u puts a ahead of label l by

    f_aᵗ (u_a - u_l) + Σ_i w_i (φ_iᵗ - f_aᵗ),    w_i = n_a^-½ v_i[a] · v_iᵀ √n (E[:, a] - E[:, l]),

with eigenpairs λ_i, v_i of the class Gram matrix, φ_i = λ_i/(x + λ_i), f_a = δ_a/(x + δ_a) and the
mean targets E of the classes. Rounding must not pass for evidence here, nor hide any:

* Labels are subtracted first. What two labels have in common drops out before it is multiplied.
* Equal eigenvalues are taken together. Their eigenvectors are arbitrary, their projection is not.
* A weight within its own rounding error is zero. An error of 10⁻¹⁷ in a direction that fades slowly
  would otherwise outgrow every margin in a direction that fades fast.
* What is left has an error bound, which follows from those of eigenvalues and weights.

Conventions: arrays over types have axes [true class, given label, label].
"""

from dataclasses import dataclass

import numpy as np

from twohot.theory._checks import FloatArray, IntArray
from twohot.theory.class_reduction import EIGEN_ERROR, ClassReduction, power_gaps

# Eigenvalues closer than this many of their errors are taken for equal.
EQUAL_EIGENVALUES = 64
# Of a power of a ratio, per round: the ratio and the power are each good to an ulp or two.
POWER_ERROR = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Leads:
    """Lead of the true label over every label, from all but a type's own row, and its error."""

    ahead: FloatArray  # (n_classes, 1 or n_classes, n_classes)
    error: FloatArray  # what `ahead` may be off by; broadcasts with it
    own_error: FloatArray  # (n_classes,) what the weight of the own row may be off by
    means: "MeanLeads | None" = None  # for rows that are their class mean


@dataclass(frozen=True, eq=False)
class MeanLeads:
    """Leads of class means where they fade faster than own labels, f_a > φ_i.

    Samples whose row is the class mean have no f_a in their lead. Left in, it would cancel against
    the sum, and in late rounds leave nothing but its rounding.
    """

    rows: FloatArray  # (n_classes, 1, n_classes) the mean row's lead; NaN where f_a is not above
    ahead: FloatArray  # (n_classes, 1, n_classes) Σ_i w_i φ_iᵗ
    error: FloatArray  # (n_classes, 1, n_classes)


@dataclass(frozen=True, eq=False)
class LeadTerms:
    """The sum over eigenvalues for one true class; one row per distinct eigenvalue."""

    values: FloatArray  # (n_values,) λ
    value_errors: FloatArray  # (n_values,)
    weights: FloatArray  # (n_values, n_classes) w by label; zero where it may be
    errors: FloatArray  # (n_values, n_classes) of the weights that are not zero


class LabelLeads:
    """Leads of every class for the mean targets E, at any round.

    Examples
    --------
    After 16 rounds a superclass mean that is uniform up to rounding has outgrown the class means,
    and still says nothing:

    >>> from twohot.theory import CorrelationModel
    >>> model = CorrelationModel.case_3(
    ...     n_classes=2, same_class=0.5, same_superclass=0.45, n_per_class=200
    ... )
    >>> leads = LabelLeads(ClassReduction(model, l2=0.1), np.array([[0.3, 0.7], [0.7, 0.3]]))
    >>> found = leads.after(16)
    >>> bool(found.ahead[0, 0, 1] < -found.error[0, 0, 1] < 0)
    True
    """

    def __init__(self, reduction: ClassReduction, means: FloatArray) -> None:
        self.reduction = reduction
        scaled = reduction.root[:, None] * means
        self._along = reduction.vectors.T @ scaled  # (eigenvector, label)
        self._norms = np.linalg.norm(scaled, axis=0)  # (label,)
        values = reduction.values
        self._starts = _distinct(values, EQUAL_EIGENVALUES * reduction.error)
        counts = np.diff(np.append(self._starts, values.size))
        self._values = np.add.reduceat(values, self._starts) / counts
        lowest = values[self._starts]
        highest = values[self._starts + counts - 1]
        self._value_errors = reduction.error + highest - lowest
        apart = np.concatenate([[np.inf], lowest[1:] - highest[:-1], [np.inf]])
        turned = reduction.error / np.minimum(apart[:-1], apart[1:])  # angle of the eigenspace
        self._angles = np.maximum(turned, EIGEN_ERROR * values.size)

    def terms(self, true_class: int) -> LeadTerms:
        """Return eigenvalues and weights for the leads of one class."""
        reduction, a = self.reduction, true_class
        apart = self._along[:, a, None] - self._along
        products = reduction.vectors[a, :, None] / reduction.root[a] * apart
        weights = np.add.reduceat(products, self._starts, axis=0)
        sizes = (self._norms[a] + self._norms) / reduction.root[a]
        errors = self._angles[:, None] * sizes
        weights[np.abs(weights) <= errors] = 0.0
        # φ_i = f_a: a term of nothing, whatever its weight.
        weights[np.abs(self._values - reduction.own_part[a]) <= self._value_errors] = 0.0
        errors[weights == 0] = 0.0
        return LeadTerms(self._values, self._value_errors, weights, errors)

    def after(self, n_rounds: int) -> Leads:
        """Return the leads after `n_rounds` rounds."""
        own_parts, n_classes = self.reduction.own_part, len(self.reduction.own)
        ahead, error, rows, mean_ahead, mean_error = np.empty((5, n_classes, 1, n_classes))
        for a, own_part in enumerate(own_parts):
            terms = self.terms(a)
            sizes = np.abs(terms.weights)
            gaps, off = self._gaps(own_part, n_rounds)
            ahead[a, 0] = gaps @ terms.weights
            error[a, 0] = np.abs(gaps) @ terms.errors + off @ sizes
            powers, off = self._gaps(0.0, n_rounds)
            mean_ahead[a, 0] = powers @ terms.weights
            mean_error[a, 0] = powers @ terms.errors + off @ sizes
            slow = np.where(sizes > 0, terms.values[:, None], 0.0).max(axis=0) < own_part
            rows[a, 0] = np.where(slow, terms.weights.sum(axis=0), np.nan)
        own_error = POWER_ERROR * (1 + n_rounds) * self.reduction.own**n_rounds
        means = MeanLeads(rows, mean_ahead, mean_error) if n_rounds else None
        return Leads(ahead, error, own_error, means)

    def rank_error(self, n_rounds: int) -> FloatArray:
        """(n_classes,) what differences of `ClassReduction.gained` between labels may be off by."""
        found = np.empty(len(self.reduction.own))
        for a, root in enumerate(self.reduction.root):
            gaps, gap_errors = self._gaps(self.reduction.own_part[a], n_rounds)
            off = self._angles @ np.abs(gaps) + gap_errors.sum()
            found[a] = 2 * off * self._norms.max() / root
        return found

    def _gaps(self, own_part: float, n_rounds: int) -> tuple[FloatArray, FloatArray]:
        """φᵗ - f_aᵗ of every distinct eigenvalue, and its error: dφᵗ/dλ times that of λ."""
        ridge, values = self.reduction.ridge, self._values
        gaps = power_gaps(values, np.asarray(own_part), ridge=ridge, n_rounds=n_rounds)
        before = (values / (ridge + values)) ** max(n_rounds - 1, 0)
        slopes = n_rounds * before * ridge / (ridge + values) ** 2
        return gaps, slopes * self._value_errors + POWER_ERROR * (1 + n_rounds) * np.abs(gaps)


def _distinct(ascending: FloatArray, width: float) -> IntArray:
    """Return where each run of values no more than `width` apart begins."""
    return np.concatenate([[0], 1 + np.flatnonzero(np.diff(ascending) > width)])
