"""Compute leads of the true label, and decide their signs for many rounds at once.

The *lead* of the true label a over a label l is the output at a minus the output at l. After t
rounds, the lead for a sample with the target u is

    f_aᵗ (u_a - u_l) + Σ_i w_i (φ_iᵗ - f_aᵗ),    w_i = n_a^-½ v_i[a] · v_iᵀ √n (E[:, a] - E[:, l]),

with the eigenvalues λ_i and eigenvectors v_i of the class Gram matrix, φ_i = λ_i/(x + λ_i),
f_a = δ_a/(x + δ_a) and the mean targets E of the classes. The w_i are called *weights*. The
*bases* are the numbers that are raised to the power t: f_a, and the φ_i with a nonzero weight. The
sign of a lead must not depend on rounding:

* Targets of two labels are subtracted first, so common terms cancel before they are multiplied.
* Equal eigenvalues are merged, because only the sum of their weights is defined.
* A weight below its rounding error is set to zero. Otherwise, in late rounds, a weight of 10⁻¹⁷
  with a large base would outweigh the true terms with smaller bases.
* All other terms have an error bound, computed from the errors of eigenvalues and weights.
* Powers are computed from logarithms, relative to the power of the largest base. A lead of 10⁻¹⁰⁰⁰
  underflows, but its sign is known.

All terms are divided by the power of the largest base. This changes no sign, and every term stays
bounded:

    F(t)   = (f_a / base)ᵗ         = exp(-t g),
    M_i(t) = |φ_iᵗ - f_aᵗ| / baseᵗ = exp(-t a_i) (1 - exp(-t b_i)),
    g = log(base / f_a),   a_i = log(base / max(φ_i, f_a)),   b_i = |log(φ_i / f_a)|.

As t grows, F decreases, and M_i first increases and then decreases. In rounds s … e, F lies between
F(e) and F(s). M_i is at least min(M_i(s), M_i(e)), and at most exp(-s a_i)(1 - exp(-e b_i)). So a
few evaluations decide the sign for a range of rounds (`PowerSums`). In very late rounds, the sign
of a lead is the sign of the term with the largest base.

Conventions: arrays over types have axes [true class, given label, label].
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from twohot.base import FloatArray
from twohot.theory.averaging import EIGEN_ERROR, ClassReduction, log_gap

# Eigenvalues whose difference is below this multiple of their error count as equal.
EQUAL_EIGENVALUES = 64
# Bound on the relative rounding error of a power of a ratio, per round.
POWER_ERROR = 8 * float(np.finfo(np.float64).eps)
# Exponents are limited to this number, because zero times an infinite exponent would be NaN.
STEEP = 1e18


@dataclass(frozen=True, eq=False)
class Leads:
    """Leads of the true label over every label: own * (u_a - u_l) + ahead, with their errors.

    To get leads and errors in units of outputs, multiply them by exp(log_scale). Arrays broadcast
    to the shape (n_classes, n_classes, n_classes).
    """

    own: FloatArray  # (n_classes, 1, n_classes) F, the weight of a sample's target
    ahead: FloatArray  # (n_classes, 1 or n_classes, n_classes) sum of all other terms
    error: FloatArray  # error of `ahead`
    own_error: FloatArray  # error of `own`
    log_scale: FloatArray  # (n_classes, 1, n_classes) log of the power of the largest base
    means: "MeanLeads | None" = None  # leads of samples whose target equals their class mean

    @classmethod
    def of_shared(
        cls, own: FloatArray, shared: FloatArray, error: FloatArray, *, log_scale: float = 0.0
    ) -> Self:
        """Return the leads for outputs own[a] * target + shared[a].

        `error` has one number per class or one per type.
        """
        ahead = np.diag(shared)[:, None] - shared
        scale, none = np.full((1, 1, 1), log_scale), np.zeros((1, 1, 1))
        errors = error.reshape(len(own), -1, 1)
        return cls(own[:, None, None], ahead[:, None, :], errors, none, scale)


@dataclass(frozen=True, eq=False)
class MeanLeads:
    """Leads of samples whose target equals their class mean, in classes with all φ_i < f_a.

    In such a lead, the terms with f_a cancel. These terms are left out, because in late rounds
    their rounding error would be larger than the lead.
    """

    rows: FloatArray  # (n_classes, 1, n_classes) u_a - u_l of the class mean; NaN if a φ_i ≥ f_a
    ahead: FloatArray  # (n_classes, 1, n_classes) Σ_i w_i φ_iᵗ, divided by exp(log_scale)
    error: FloatArray  # (n_classes, 1, n_classes) error of `ahead`
    log_scale: FloatArray  # (n_classes, 1, n_classes) log of the power of the largest base


@dataclass(frozen=True, eq=False)
class PowerRange:
    """Bounds of F(t) and M_i(t) for all rounds t in a range, and their rounding errors."""

    own_least: float  # lower bound of F
    own_most: float  # upper bound of F
    own_error: float
    least: FloatArray  # (n_values,) lower bounds of M_i
    most: FloatArray  # (n_values,) upper bounds of M_i
    errors: FloatArray  # (n_values,)


@dataclass(frozen=True, eq=False)
class Powers:
    """The functions F(t) and M_i(t) of one true class (see the module docstring).

    The error of an eigenvalue, times dlog φ/dλ = x/(λ (x + λ)), is the error of log φ. In a power
    φᵗ, this error is multiplied by t. An error of the largest base multiplies all terms equally and
    changes no sign. An error of another base relative to the largest base can change a sign.
    """

    signs: FloatArray  # (n_values,) signs of φ - f_a
    own_rate: float  # g
    rates: FloatArray  # (n_values,) a
    gaps: FloatArray  # (n_values,) b
    base_drift: float  # error of log(base), per round
    drifts: FloatArray  # (n_values,) error of log max(φ, f_a) relative to log(base), per round
    gap_drifts: FloatArray  # (n_values,) error of log φ, per round

    def between(self, first: float, last: float) -> PowerRange:
        """Return bounds for the rounds `first` … `last`; for one round, both bounds are equal."""
        ends = [np.exp(-t * self.rates) * -np.expm1(-t * self.gaps) for t in (first, last)]
        decay, own_most = np.exp(-first * self.rates), float(np.exp(-first * self.own_rate))
        most = decay * -np.expm1(-last * self.gaps)
        drifts = self.drifts * decay + self.gap_drifts * decay * np.exp(-first * self.gaps)
        own_drift = last * self.base_drift + POWER_ERROR * (1 + last * self.own_rate)
        return PowerRange(
            own_least=float(np.exp(-last * self.own_rate)),
            own_most=own_most,
            own_error=own_most * own_drift,
            least=np.minimum(*ends),
            most=most,
            errors=last * drifts + POWER_ERROR * (1 + last * self.rates) * most,
        )


class LabelLeads:
    """Leads of the true labels after any round, for the mean targets E of the classes.

    Examples
    --------
    After 16 rounds, the term of the superclass mean has the largest power. But the superclass mean
    is uniform up to rounding, so the weight of this term is set to zero. The sign is decided by the
    other terms:

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
        new = np.diff(values, prepend=-np.inf) > EQUAL_EIGENVALUES * reduction.error
        self._starts = np.flatnonzero(new)  # first position in each set of equal values
        counts = np.diff(np.append(self._starts, values.size))
        self.values = np.add.reduceat(values, self._starts) / counts  # (n_values,) distinct λ
        lowest = values[self._starts]
        highest = values[self._starts + counts - 1]
        self._value_errors = reduction.error + highest - lowest
        apart = np.concatenate([[np.inf], lowest[1:] - highest[:-1], [np.inf]])
        angles = reduction.error / np.minimum(apart[:-1], apart[1:])  # errors of eigenspaces
        self._angles = np.maximum(angles, EIGEN_ERROR * values.size)

    def weights(self, true_class: int) -> tuple[FloatArray, FloatArray]:
        """Return the weights w (n_values, n_labels) of one true class, and their errors."""
        reduction, a = self.reduction, true_class
        apart = self._along[:, a, None] - self._along
        products = reduction.vectors[a, :, None] / reduction.root[a] * apart
        weights = np.add.reduceat(products, self._starts, axis=0)
        sizes = (self._norms[a] + self._norms) / reduction.root[a]
        errors = self._angles[:, None] * sizes
        weights[np.abs(weights) <= errors] = 0.0
        # If φ_i = f_a, the term is zero for any weight.
        weights[np.abs(self.values - reduction.own_part[a]) <= self._value_errors] = 0.0
        errors[weights == 0] = 0.0
        return weights, errors

    def powers(self, own_part: float, top: float) -> Powers:
        """Return F(t) and M_i(t) for δ_a = `own_part`, if `top` is the eigenvalue of the base."""
        ridge, values = self.reduction.ridge, self.values
        own, base = np.full_like(values, own_part), np.full_like(values, top)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = ridge / (values * (ridge + values)) * self._value_errors
        slopes = np.where(values > 0, slopes, 0.0)  # a zero eigenvalue has no error
        base_drift = float(slopes[values == top].sum())
        larger = np.minimum(np.maximum(values, own), top)  # larger values have weight zero
        above = np.where(values > own_part, slopes, 0.0)
        own_rate = log_gap(own, base, ridge)[0] if own_part > 0 else STEEP  # f_a = 0
        return Powers(
            signs=np.sign(values - own_part),
            own_rate=float(own_rate),
            rates=np.minimum(log_gap(larger, base, ridge), STEEP),
            gaps=np.minimum(log_gap(values, own, ridge), STEEP),
            base_drift=base_drift,
            drifts=np.where(values == top, 0.0, above + base_drift),
            gap_drifts=slopes,
        )

    def after(self, n_rounds: int) -> Leads:
        """Return the leads after `n_rounds` rounds."""
        n_classes = len(self.reduction.own)
        leads, means = np.zeros((2, 5, n_classes, 1, n_classes))
        for a, own_part in enumerate(self.reduction.own_part):
            weights, errors = self.weights(a)
            tops = _largest(weights, self.values)
            for top in np.unique(tops):
                alike = tops == top
                which = (weights[:, alike], errors[:, alike], n_rounds)
                leads[:, a, 0, alike] = self._leads(own_part, max(top, own_part), *which)
                means[:, a, 0, alike] = self._leads(0.0, top, *which)
                means[0, a, 0, alike] = which[0].sum(axis=0) if top < own_part else np.nan
        of_means = MeanLeads(means[0], means[1], means[2], means[4]) if n_rounds else None
        return Leads(leads[0], leads[1], leads[2], leads[3], leads[4], of_means)

    def rank_error(self, n_rounds: int) -> FloatArray:
        """Return per class the error of a difference of labels in `ClassReduction.gained`."""
        errors, top = np.empty(len(self.reduction.own)), float(self.values.max())
        for a, root in enumerate(self.reduction.root):
            at = self.powers(self.reduction.own_part[a], top).between(n_rounds, n_rounds)
            error = 2 * (self._angles @ at.most + at.errors.sum()) * self._norms.max() / root
            errors[a] = error * np.exp(self._log_scale(top, n_rounds))
        return errors

    def _leads(
        self, own_part: float, top: float, weights: FloatArray, errors: FloatArray, n_rounds: int
    ) -> FloatArray:
        """Return the first five fields of `Leads`, (5, n_labels), for the largest base `top`."""
        powers = self.powers(own_part, top)
        at = powers.between(n_rounds, n_rounds)
        fields = np.empty((5, weights.shape[1]))
        fields[0] = at.own_most
        fields[1] = (powers.signs * at.most) @ weights
        fields[2] = at.most @ errors + at.errors @ np.abs(weights)
        fields[3] = at.own_error
        fields[4] = self._log_scale(top, n_rounds)
        return fields

    def _log_scale(self, top: float, n_rounds: int) -> float:
        with np.errstate(divide="ignore"):
            rate = float(np.log1p(np.divide(self.reduction.ridge, top)))
        return -n_rounds * rate if n_rounds else 0.0


def _largest(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return for every label the largest eigenvalue with a nonzero weight, or zero."""
    return np.asarray(np.where(weights != 0, values[:, None], 0.0).max(axis=0))


# The sign of a lead in a range of rounds ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PowerSums:
    """Leads u F(t) + Σ_i ± w_i M_i(t) of one class over a set of labels with the same largest base.

    The sign of a term is that of φ_i - f_a. For every label, the lead is the smallest one of all
    samples of the class. Given labels are one-hot, so u = u_a - u_l is -1, 0 or 1.
    """

    powers: Powers
    units: FloatArray  # (n_labels,) u
    weights: FloatArray  # (n_values, n_labels) w, multiplied by the sign of φ - f_a
    errors: FloatArray  # (n_values, n_labels) errors of the weights
    bases: FloatArray  # (n_labels,) coefficient of the largest base; zero if below its error
    settled: float  # round from which leads have the sign of `bases`

    def right(self, first: float, last: float) -> bool | None:
        """Return whether all leads are positive in rounds `first` … `last`; None if undecided.

        False means that some lead is positive in none of these rounds. If the range is a single
        round, the result is never None.
        """
        at = self.powers.between(float(first), float(last))
        positive, negative = np.maximum(self.weights, 0), np.maximum(-self.weights, 0)
        ahead, behind = np.maximum(self.units, 0), np.maximum(-self.units, 0)
        least = ahead * at.own_least - behind * at.own_most
        least += at.least @ positive - at.most @ negative
        error = at.most @ self.errors + at.errors @ np.abs(self.weights)
        if (least > error + np.abs(self.units) * at.own_error).all():
            return True
        most = ahead * at.own_most - behind * at.own_least
        most += at.most @ positive - at.least @ negative
        return False if first == last or (most <= 0).any() else None


def class_power_sums(leads: LabelLeads, shares: FloatArray, true_class: int) -> list[PowerSums]:
    """Return the leads of one class: a record for each set of labels with the same largest base."""
    weights, errors = leads.weights(true_class)
    units = _worst_units(shares[true_class], true_class)
    tops = _largest(weights, leads.values)
    own_parts = np.full_like(tops, leads.reduction.own_part[true_class])
    # If the coefficient u - Σ w of f_a is zero, f_a is not a base.
    occurs = np.abs(units - weights.sum(axis=0)) > errors.sum(axis=0) + POWER_ERROR
    own_parts = np.where(occurs | (own_parts <= tops), own_parts, 0.0)
    tops = np.maximum(tops, own_parts)
    sums = []
    for own_part, top in sorted(set(zip(own_parts.tolist(), tops.tolist(), strict=True))):
        alike = (tops == top) & (own_parts == own_part)
        alike[true_class] = False
        if alike.any():
            powers = leads.powers(own_part, top)
            which = (weights[:, alike], errors[:, alike])
            bases, settled = _ends(powers, units[alike], *which)
            signed = which[0] * powers.signs[:, None]
            sums.append(PowerSums(powers, units[alike], signed, which[1], bases, settled))
    return sums


def _worst_units(shares: FloatArray, true_class: int) -> FloatArray:
    """Return for every label l the smallest u_a - u_l of the given labels that occur."""
    wrong = shares > 0
    wrong[true_class] = False
    n_others = wrong.sum() - wrong  # number of wrong given labels other than l
    return np.where(wrong, -1.0, np.where(n_others > 0, 0.0, 1.0))


def _ends(
    powers: Powers, units: FloatArray, weights: FloatArray, errors: FloatArray
) -> tuple[FloatArray, float]:
    """Return coefficients (n_labels,) of the largest base, and the round from which it dominates.

    A coefficient below its rounding error is set to zero. From the returned round on, the sum of
    all other terms is at most half of the term with the largest base.
    """
    own_weights = units - weights.sum(axis=0)
    if powers.own_rate == 0:
        bases, off = own_weights, errors.sum(axis=0) + POWER_ERROR
    else:
        is_top = (powers.signs > 0) & (powers.rates == 0)
        bases, off = weights[is_top].sum(axis=0), errors[is_top].sum(axis=0)
    bases = np.where(np.abs(bases) > off, bases, 0.0)
    decay = powers.rates + np.where(powers.signs < 0, powers.gaps, 0.0)  # log(base / φ)
    decay = np.append(decay, powers.own_rate)[:, None]
    sizes = np.vstack([np.abs(weights) + errors, np.abs(own_weights)]) * 2 * (len(decay) + 1)
    decided = bases != 0
    with np.errstate(divide="ignore"):
        rounds = np.log(sizes[:, decided] / np.abs(bases[decided])) / np.where(decay > 0, decay, 1)
    return bases, float(np.max(np.where(decay > 0, rounds, 0.0), initial=1.0))
