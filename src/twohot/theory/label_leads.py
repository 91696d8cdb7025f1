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
* Powers are taken relative to that of the largest base in the lead, from logarithms. A lead of
  10⁻¹⁰⁰⁰ is no number, and still has a sign.

Conventions: arrays over types have axes [true class, given label, label].
"""

from dataclasses import dataclass

import numpy as np

from twohot.theory._checks import FloatArray, IntArray
from twohot.theory.class_reduction import EIGEN_ERROR, ClassReduction, log_gap

# Eigenvalues closer than this many of their errors are taken for equal.
EQUAL_EIGENVALUES = 64
# Of a power of a ratio, per round: the ratio and the power are each good to an ulp or two.
POWER_ERROR = 8 * float(np.finfo(np.float64).eps)
# Exponents beyond this are a power of nothing; kept finite so that zero times them is zero.
STEEP = 1e18


@dataclass(frozen=True, eq=False)
class Leads:
    """Lead of the true label over every label: own · (the own row's lead) + ahead, and its error.

    All but `log_scale` are to be multiplied by exp(log_scale). Arrays broadcast to types.
    """

    own: FloatArray  # (n_classes, 1, n_classes) weight of a type's own row
    ahead: FloatArray  # (n_classes, 1 or n_classes, n_classes) from all but the own row
    error: FloatArray  # what `ahead` may be off by
    own_error: FloatArray  # what `own` may be off by
    log_scale: FloatArray  # (n_classes, 1, n_classes) of the largest power in the lead
    means: "MeanLeads | None" = None  # for rows that are their class mean


@dataclass(frozen=True, eq=False)
class MeanLeads:
    """Leads of class means where they fade faster than own labels, f_a > φ_i.

    Samples whose row is the class mean have no f_a in their lead. Left in, it would cancel against
    the sum, and in late rounds leave nothing but its rounding.
    """

    rows: FloatArray  # (n_classes, 1, n_classes) the mean row's lead; NaN where f_a is not above
    ahead: FloatArray  # (n_classes, 1, n_classes) Σ_i w_i φ_iᵗ over exp(log_scale)
    error: FloatArray  # (n_classes, 1, n_classes)
    log_scale: FloatArray  # (n_classes, 1, n_classes)


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
        n_classes = len(self.reduction.own)
        found, means = np.zeros((2, 5, n_classes, 1, n_classes))
        for a, own_part in enumerate(self.reduction.own_part):
            terms = self.terms(a)
            tops = np.where(terms.weights != 0, terms.values[:, None], 0.0).max(axis=0)
            for top in np.unique(tops):
                chosen = tops == top
                weights, errors = terms.weights[:, chosen], terms.errors[:, chosen]
                powers = self._powers(own_part, max(top, own_part), n_rounds)
                found[:, a, 0, chosen] = _lead_of(powers, weights, errors)
                powers = self._powers(0.0, top, n_rounds)
                means[:, a, 0, chosen] = _lead_of(powers, weights, errors)
                means[0, a, 0, chosen] = weights.sum(axis=0) if top < own_part else np.nan
        own, ahead, error, own_error, log_scale = found
        of_means = MeanLeads(means[0], means[1], means[2], means[4]) if n_rounds else None
        return Leads(own, ahead, error, own_error, log_scale, of_means)

    def rank_error(self, n_rounds: int) -> FloatArray:
        """(n_classes,) what differences of `ClassReduction.gained` between labels may be off by."""
        found = np.empty(len(self.reduction.own))
        for a, root in enumerate(self.reduction.root):
            powers = self._powers(self.reduction.own_part[a], self._values.max(), n_rounds)
            off = self._angles @ np.abs(powers.gaps) + powers.gap_errors.sum()
            found[a] = 2 * off * self._norms.max() / root * np.exp(powers.log_scale)
        return found

    def _powers(self, own_part: float, top: float, n_rounds: int) -> "_Powers":
        """Return φᵗ - f_aᵗ of every distinct eigenvalue and f_aᵗ, relative to the power of `top`.

        An error of the base that they are relative to changes no sign. An eigenvalue's own error
        moves its logarithm by dlog φ/dλ = x/(λ (x + λ)), times t in the power.
        """
        if n_rounds == 0:
            none = np.zeros_like(self._values)
            return _Powers(1.0, 0.0, none, none, 0.0)
        ridge, values = self.reduction.ridge, self._values
        own, base = np.full_like(values, own_part), np.full_like(values, top)
        is_top = values == top
        with np.errstate(divide="ignore", invalid="ignore"):
            drifts = ridge / (values * (ridge + values)) * self._value_errors
        drifts = n_rounds * np.where(values > 0, drifts, 0.0)  # zero is zero
        of_base = drifts[is_top].sum()
        larger = np.minimum(np.maximum(values, own), top)  # above it there are no weights
        rates = np.minimum(n_rounds * log_gap(larger, base, ridge), STEEP)
        apart = np.minimum(n_rounds * log_gap(values, own, ridge), STEEP)
        fallen = np.exp(-rates)
        gaps = fallen * -np.expm1(-apart)
        moved = fallen * np.where(is_top, 0.0, np.where(values > own, drifts, 0.0) + of_base)
        moved += fallen * np.exp(-apart) * drifts
        own_rate = min(float(n_rounds * log_gap(own[:1], base[:1], ridge)[0]), STEEP)
        own_power = float(np.exp(-own_rate)) if own_part > 0 else 0.0
        with np.errstate(divide="ignore"):
            log_scale = -n_rounds * float(np.log1p(np.divide(ridge, top)))
        return _Powers(
            own=own_power,
            own_error=own_power * (of_base + POWER_ERROR * (1 + own_rate)),
            gaps=np.sign(values - own_part) * gaps,
            gap_errors=moved + POWER_ERROR * (1 + rates) * gaps,
            log_scale=log_scale,
        )


@dataclass(frozen=True, eq=False)
class _Powers:
    """Powers for one true class, over exp(log_scale)."""

    own: float  # f_aᵗ
    own_error: float
    gaps: FloatArray  # (n_values,) φᵗ - f_aᵗ
    gap_errors: FloatArray  # (n_values,)
    log_scale: float


def _lead_of(powers: _Powers, weights: FloatArray, errors: FloatArray) -> FloatArray:
    """(5, n_labels) the first five fields of `Leads` for labels whose largest base is the same."""
    found = np.empty((5, weights.shape[1]))
    found[0] = powers.own
    found[1] = powers.gaps @ weights
    found[2] = np.abs(powers.gaps) @ errors + powers.gap_errors @ np.abs(weights)
    found[3] = powers.own_error
    found[4] = powers.log_scale
    return found


def _distinct(ascending: FloatArray, width: float) -> IntArray:
    """Return where each run of values no more than `width` apart begins."""
    return np.concatenate([[0], 1 + np.flatnonzero(np.diff(ascending) > width)])
