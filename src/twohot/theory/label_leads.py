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

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from twohot.theory.averaging import EIGEN_ERROR, ClassReduction, log_gap
from twohot.theory.checks import FloatArray, IntArray

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


# The sign of a lead as rounds go by: bounds over many rounds at once, and what it ends in ---------
# The lead of `label_leads` over one label, for the given label that is worst for it, is
#
#     v(t) = u f_aᵗ + Σ_i w_i (φ_iᵗ - f_aᵗ),        u = -1, 0 or 1.
#
# Divided by the power of its largest base, which changes no sign, every part stays bounded:
#
#     F(t)   = exp(-t g),                            g   = log(base / f_a)
#     M_i(t) = exp(-t a_i) (1 - exp(-t b_i)),        a_i = log(base / max(φ_i, f_a)),
#                                                    b_i = |log(φ_i / f_a)|.
#
# F falls, M_i rises and then falls. In rounds s … e, F lies between F(e) and F(s), M_i between the
# smaller of M_i(s) and M_i(e), and exp(-s a_i)(1 - exp(-e b_i)). So a few evaluations decide any
# number of rounds, and in the end the largest base decides all that are left.


@dataclass(frozen=True, eq=False)
class PowerSums:
    """Leads of one true class over the labels whose largest base is the same."""

    units: FloatArray  # (n_labels,) u
    weights: FloatArray  # (n_values, n_labels) w, its sign that of the gap
    errors: FloatArray  # (n_values, n_labels) of the weights
    own_rate: float  # g
    rates: FloatArray  # (n_values,) a
    gaps: FloatArray  # (n_values,) b
    drifts: FloatArray  # (n_values,) error per round of the log of φ, and of that of the base
    gap_drifts: FloatArray  # (n_values,) the same of the gap
    bases: FloatArray  # (n_labels,) coefficient of the largest base, zero if it may be
    settled: float  # round from which on the sign is that of `bases`

    def right(self, first: float, last: float) -> bool | None:
        """Whether all leads are positive in rounds `first` … `last`; None if that is not clear.

        False says that one of them is in no round. A single round is always clear.
        """
        single, first, last = first == last, float(first), float(last)
        low, high = self._parts(first, last)
        positive, negative = np.maximum(self.weights, 0), np.maximum(-self.weights, 0)
        own_low, own_high = np.exp(-last * self.own_rate), np.exp(-first * self.own_rate)
        ahead, behind = np.maximum(self.units, 0), np.maximum(-self.units, 0)
        least = ahead * own_low - behind * own_high + low @ positive - high @ negative
        if (least > self._error(first, last, high)).all():
            return True
        most = ahead * own_high - behind * own_low + high @ positive - low @ negative
        return False if single or (most <= 0).any() else None

    def _parts(self, first: float, last: float) -> tuple[FloatArray, FloatArray]:
        """Least and most of M in the rounds."""
        ends = [np.exp(-t * self.rates) * -np.expm1(-t * self.gaps) for t in (first, last)]
        high = np.exp(-first * self.rates) * -np.expm1(-last * self.gaps)
        return np.minimum(*ends), high

    def _error(self, first: float, last: float, high: FloatArray) -> FloatArray:
        """Bound of the error, of the weights, of the eigenvalues and of the powers."""
        fallen = np.exp(-first * self.rates)
        moved = last * (
            self.drifts * fallen + self.gap_drifts * fallen * np.exp(-first * self.gaps)
        )
        moved += POWER_ERROR * (1 + last * self.rates) * high
        own = np.exp(-first * self.own_rate) * POWER_ERROR * (1 + last * self.own_rate)
        return np.asarray(
            high @ self.errors + moved @ np.abs(self.weights) + np.abs(self.units) * own
        )

    @cached_property
    def ends_right(self) -> bool:
        """Whether all leads are positive from round `settled` on."""
        return bool((self.bases > 0).all())


def class_power_sums(leads: LabelLeads, shares: FloatArray, true_class: int) -> list[PowerSums]:
    """Return the leads of one class, a record for every largest base there is among the labels."""
    terms, ridge = leads.terms(true_class), leads.reduction.ridge
    units = _worst_units(shares[true_class], true_class)
    tops = np.where(terms.weights != 0, terms.values[:, None], 0.0).max(axis=0)
    own_parts = np.full_like(tops, leads.reduction.own_part[true_class])
    # Where f_a is the largest base and its coefficient u - Σ w is none, there is no f_a.
    left = np.abs(units - terms.weights.sum(axis=0)) > terms.errors.sum(axis=0) + POWER_ERROR
    own_parts = np.where(left | (own_parts <= tops), own_parts, 0.0)
    tops = np.maximum(tops, own_parts)
    found = []
    for own_part, top in sorted(set(zip(own_parts.tolist(), tops.tolist(), strict=True))):
        chosen = (tops == top) & (own_parts == own_part)
        chosen[true_class] = False
        if chosen.any():
            alike = replace(terms, weights=terms.weights[:, chosen], errors=terms.errors[:, chosen])
            found.append(_power_sums(alike, units[chosen], own_part, top, ridge))
    return found


def _worst_units(shares: FloatArray, true_class: int) -> FloatArray:
    """(n_classes,) u_a - u_l for the worst given label against label l, of those that occur."""
    occurs = shares > 0
    others = occurs.copy()
    others[true_class] = False
    n_others = others.sum() - others  # given labels that are neither the true one nor l
    return np.where(others, -1.0, np.where(n_others > 0, 0.0, 1.0))


def _power_sums(
    terms: LeadTerms, units: FloatArray, own_part: float, top: float, ridge: float
) -> PowerSums:
    values, weights, errors = terms.values, terms.weights, terms.errors
    units = units if own_part > 0 else np.zeros_like(units)  # nothing is kept of own labels
    own = np.full_like(values, own_part)
    larger = np.minimum(np.maximum(values, own), top)  # above it there are no weights
    at_top = np.full_like(values, top)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = ridge / (values * (ridge + values)) * terms.value_errors  # d log φ
    slopes = np.where(values > 0, slopes, 0.0)  # zero is zero
    is_top = values == top
    rates = np.minimum(log_gap(larger, at_top, ridge), STEEP)
    own_rate = float(np.minimum(log_gap(own[:1], at_top[:1], ridge), STEEP)[0])
    own_weights = units - weights.sum(axis=0)
    bases = own_weights if top == own_part else weights[is_top].sum(axis=0)
    at_base = errors.sum(axis=0) + POWER_ERROR if top == own_part else errors[is_top].sum(axis=0)
    bases = np.where(np.abs(bases) > at_base, bases, 0.0)
    coefficients = np.vstack([np.abs(weights) + errors, np.abs(own_weights)])
    fall = np.append(np.minimum(log_gap(values, at_top, ridge), STEEP), own_rate)
    return PowerSums(
        units=units,
        weights=weights * np.sign(values - own_part)[:, None],
        errors=errors,
        own_rate=own_rate,
        rates=rates,
        gaps=np.minimum(log_gap(values, own, ridge), STEEP),
        drifts=np.where(rates > 0, slopes + slopes[is_top].sum(), 0.0),
        gap_drifts=slopes,
        bases=bases,
        settled=_settled(coefficients, fall, np.abs(bases)),
    )


def _settled(coefficients: FloatArray, fall: FloatArray, bases: FloatArray) -> float:
    """Round from which on all other terms together stay below half of the largest base's."""
    share = coefficients * 2 * (len(coefficients) + 1)
    decided = bases > 0
    below = fall[:, None] > 0
    with np.errstate(divide="ignore"):
        rounds = np.log(share[:, decided] / bases[decided]) / np.where(below, fall[:, None], 1.0)
    return float(np.max(np.where(below, rounds, 0.0), initial=1.0))
