"""The lead of the true label: its output minus that of another label, without cancellation.

After t rounds, the lead of a over label l, for a sample of true class a with the target u, is

    f_aᵗ (u_a - u_l) + Σ_i w_i (φ_iᵗ - f_aᵗ),    w_i = n_a^-½ v_i[a] · v_iᵀ √n (E[:, a] - E[:, l]),

with eigenpairs λ_i, v_i of the class Gram matrix, φ_i = λ_i/(x + λ_i), f_a = δ_a/(x + δ_a) and the
mean targets E of the classes. The sign of a lead must not depend on rounding:

* Labels are subtracted first, so that common terms cancel before they are multiplied.
* Equal eigenvalues are merged, because only the sum of their projections is defined.
* If a weight is smaller than its rounding error, it is set to zero. Otherwise an error of 10⁻¹⁷ in
  a direction that decays slowly would exceed every margin in a direction that decays fast.
* The remaining terms have an error bound, computed from those of eigenvalues and weights.
* Powers are computed from logarithms, relative to that of the largest base in the lead. A lead of
  10⁻¹⁰⁰⁰ underflows, but its sign is known.

All parts are divided by the power of the largest base. This changes no sign, and every part stays
bounded:

    F(t)   = (f_a / base)ᵗ         = exp(-t g),
    M_i(t) = |φ_iᵗ - f_aᵗ| / baseᵗ = exp(-t a_i) (1 - exp(-t b_i)),
    g = log(base / f_a),   a_i = log(base / max(φ_i, f_a)),   b_i = |log(φ_i / f_a)|.

F decreases; M_i increases and then decreases. In rounds s … e, F lies between F(e) and F(s). M_i is
at least min(M_i(s), M_i(e)), and at most exp(-s a_i)(1 - exp(-e b_i)). So a few evaluations decide
the sign for a range of rounds (`PowerSums`). In all later rounds, the sign is that of the term with
the largest base.

Conventions: arrays over types have axes [true class, given label, label].
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from twohot.base import FloatArray, IntArray
from twohot.theory.averaging import EIGEN_ERROR, ClassReduction, log_gap

# Eigenvalues whose difference is below this multiple of their error count as equal.
EQUAL_EIGENVALUES = 64
# Relative error of a power of a ratio, per round: one or two ulps for the ratio and for the power.
POWER_ERROR = 8 * float(np.finfo(np.float64).eps)
# Bound of the exponents: zero times an exponent must be zero, not NaN.
STEEP = 1e18


@dataclass(frozen=True, eq=False)
class Leads:
    """Leads of the true label over every label, own · (own row's lead) + ahead, with errors.

    To get leads in units of outputs, multiply all other fields by exp(log_scale). Arrays broadcast
    to the shape of types.
    """

    own: FloatArray  # (n_classes, 1, n_classes) weight of a type's own row
    ahead: FloatArray  # (n_classes, 1 or n_classes, n_classes) sum of all other terms
    error: FloatArray  # error of `ahead`
    own_error: FloatArray  # error of `own`
    log_scale: FloatArray  # (n_classes, 1, n_classes) log of the largest power in the lead
    means: "MeanLeads | None" = None  # for rows equal to their class mean

    @classmethod
    def of_shared(
        cls, own: FloatArray, shared: FloatArray, error: FloatArray, *, log_scale: float = 0.0
    ) -> Self:
        """Return the leads of outputs own[a] * row + shared[a], with one `error` per class."""
        ahead = np.diag(shared)[:, None] - shared
        scale, none = np.full((1, 1, 1), log_scale), np.zeros((1, 1, 1))
        return cls(own[:, None, None], ahead[:, None, :], error[:, None, None], none, scale)


@dataclass(frozen=True, eq=False)
class MeanLeads:
    """Leads of class means for classes in which these decay faster than own labels, f_a > φ_i.

    If the row of a sample equals the class mean, the term with f_a cancels in its lead. These
    fields omit this term, because otherwise late rounds would contain only rounding errors.
    """

    rows: FloatArray  # (n_classes, 1, n_classes) the mean row's lead; NaN if f_a ≤ φ_i
    ahead: FloatArray  # (n_classes, 1, n_classes) Σ_i w_i φ_iᵗ over exp(log_scale)
    error: FloatArray  # (n_classes, 1, n_classes)
    log_scale: FloatArray  # (n_classes, 1, n_classes)


@dataclass(frozen=True, eq=False)
class PowerRange:
    """Bounds of the powers F(t) and M_i(t) for all rounds t in a range, and error bounds."""

    own_least: float
    own_most: float
    own_error: float
    least: FloatArray  # (n_values,)
    most: FloatArray  # (n_values,)
    errors: FloatArray  # (n_values,)


@dataclass(frozen=True, eq=False)
class Powers:
    """Powers F(t) and M_i(t) of one true class, relative to the power of the largest base.

    The error of an eigenvalue changes log φ by dlog φ/dλ = x/(λ (x + λ)) per unit, times t in the
    power. An error of the base multiplies all powers equally and changes no sign. An error of
    another power relative to the base may change a sign.
    """

    signs: FloatArray  # (n_values,) of φ - f_a
    own_rate: float  # g
    rates: FloatArray  # (n_values,) a
    gaps: FloatArray  # (n_values,) b
    base_drift: float  # error per round of log(base)
    drifts: FloatArray  # (n_values,) error per round of log max(φ, f_a), relative to the base
    gap_drifts: FloatArray  # (n_values,) error per round of log φ

    def between(self, first: float, last: float) -> PowerRange:
        """Return bounds of the powers in rounds `first` … `last`, exact for a single round."""
        ends = [np.exp(-t * self.rates) * -np.expm1(-t * self.gaps) for t in (first, last)]
        fallen, own = np.exp(-first * self.rates), float(np.exp(-first * self.own_rate))
        most = fallen * -np.expm1(-last * self.gaps)
        moved = self.drifts * fallen + self.gap_drifts * fallen * np.exp(-first * self.gaps)
        own_moved = last * self.base_drift + POWER_ERROR * (1 + last * self.own_rate)
        return PowerRange(
            own_least=float(np.exp(-last * self.own_rate)),
            own_most=own,
            own_error=own * own_moved,
            least=np.minimum(*ends),
            most=most,
            errors=last * moved + POWER_ERROR * (1 + last * self.rates) * most,
        )


class LabelLeads:
    """Leads of the true label of every class for the mean targets E, at any round.

    Examples
    --------
    After 16 rounds, the superclass mean, which is uniform up to rounding, has the largest power.
    But its lead is zero up to rounding, so it does not decide the sign:

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
        self.values = np.add.reduceat(values, self._starts) / counts  # (n_values,) distinct λ
        lowest = values[self._starts]
        highest = values[self._starts + counts - 1]
        self._value_errors = reduction.error + highest - lowest
        apart = np.concatenate([[np.inf], lowest[1:] - highest[:-1], [np.inf]])
        turned = reduction.error / np.minimum(apart[:-1], apart[1:])  # angle of the eigenspace
        self._angles = np.maximum(turned, EIGEN_ERROR * values.size)

    def weights(self, true_class: int) -> tuple[FloatArray, FloatArray]:
        """Return the weights w (n_values, n_classes) of one class, and their error."""
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
        """Return the powers of every distinct eigenvalue and of f_a, relative to that of `top`."""
        ridge, values = self.reduction.ridge, self.values
        own, base = np.full_like(values, own_part), np.full_like(values, top)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = ridge / (values * (ridge + values)) * self._value_errors
        slopes = np.where(values > 0, slopes, 0.0)  # a zero is exact
        base_drift = float(slopes[values == top].sum())
        larger = np.minimum(np.maximum(values, own), top)  # weights above it are zero
        above = np.where(values > own_part, slopes, 0.0)
        own_rate = log_gap(own, base, ridge)[0] if own_part > 0 else STEEP  # a zero is exact
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
        found, means = np.zeros((2, 5, n_classes, 1, n_classes))
        for a, own_part in enumerate(self.reduction.own_part):
            weights, errors = self.weights(a)
            tops = _largest(weights, self.values)
            for top in np.unique(tops):
                alike = tops == top
                which = (weights[:, alike], errors[:, alike], n_rounds)
                found[:, a, 0, alike] = self._leads(own_part, max(top, own_part), *which)
                means[:, a, 0, alike] = self._leads(0.0, top, *which)
                means[0, a, 0, alike] = which[0].sum(axis=0) if top < own_part else np.nan
        of_means = MeanLeads(means[0], means[1], means[2], means[4]) if n_rounds else None
        return Leads(found[0], found[1], found[2], found[3], found[4], of_means)

    def rank_error(self, n_rounds: int) -> FloatArray:
        """Return the rounding error (n_classes,) of differences between labels in `gained`."""
        found, top = np.empty(len(self.reduction.own)), float(self.values.max())
        for a, root in enumerate(self.reduction.root):
            at = self.powers(self.reduction.own_part[a], top).between(n_rounds, n_rounds)
            off = 2 * (self._angles @ at.most + at.errors.sum()) * self._norms.max() / root
            found[a] = off * np.exp(self._log_scale(top, n_rounds))
        return found

    def _leads(
        self, own_part: float, top: float, weights: FloatArray, errors: FloatArray, n_rounds: int
    ) -> FloatArray:
        """Return the first five fields of `Leads`, (5, n_labels), for the largest base `top`."""
        powers = self.powers(own_part, top)
        at = powers.between(n_rounds, n_rounds)
        found = np.empty((5, weights.shape[1]))
        found[0] = at.own_most
        found[1] = (powers.signs * at.most) @ weights
        found[2] = at.most @ errors + at.errors @ np.abs(weights)
        found[3] = at.own_error
        found[4] = self._log_scale(top, n_rounds)
        return found

    def _log_scale(self, top: float, n_rounds: int) -> float:
        with np.errstate(divide="ignore"):
            rate = float(np.log1p(np.divide(self.reduction.ridge, top)))
        return -n_rounds * rate if n_rounds else 0.0


def _distinct(ascending: FloatArray, width: float) -> IntArray:
    """Return the first positions of groups of values whose neighbours differ by at most `width`."""
    return np.concatenate([[0], 1 + np.flatnonzero(np.diff(ascending) > width)])


def _largest(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return, per label, the largest eigenvalue with a nonzero weight; zero if all are zero."""
    return np.asarray(np.where(weights != 0, values[:, None], 0.0).max(axis=0))


# The sign of a lead over many rounds --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PowerSums:
    """Leads u F(t) ± Σ_i w_i M_i(t) of one class over all labels with the same largest base.

    Each lead is the smallest over the given labels that occur. The target difference u = u_a - u_l
    of a given label is -1, 0 or 1.
    """

    powers: Powers
    units: FloatArray  # (n_labels,) u
    weights: FloatArray  # (n_values, n_labels) w, its sign that of the gap
    errors: FloatArray  # (n_values, n_labels) errors of the weights
    bases: FloatArray  # (n_labels,) coefficient of the largest base, zero within rounding
    settled: float  # from this round on, leads have the sign of `bases`

    def right(self, first: float, last: float) -> bool | None:
        """Return whether all leads are positive in rounds `first` … `last`; None if undecided.

        False means that some lead is positive in none of these rounds. The result is never None for
        a single round.
        """
        found = self.powers.between(float(first), float(last))
        positive, negative = np.maximum(self.weights, 0), np.maximum(-self.weights, 0)
        ahead, behind = np.maximum(self.units, 0), np.maximum(-self.units, 0)
        least = ahead * found.own_least - behind * found.own_most
        least += found.least @ positive - found.most @ negative
        error = found.most @ self.errors + found.errors @ np.abs(self.weights)
        if (least > error + np.abs(self.units) * found.own_error).all():
            return True
        most = ahead * found.own_most - behind * found.own_least
        most += found.most @ positive - found.least @ negative
        return False if first == last or (most <= 0).any() else None

    @cached_property
    def ends_right(self) -> bool:
        """Return whether all leads are positive from round `settled` on."""
        return bool((self.bases > 0).all())


def class_power_sums(leads: LabelLeads, shares: FloatArray, true_class: int) -> list[PowerSums]:
    """Return the leads of one class, one record for each largest base among the labels."""
    weights, errors = leads.weights(true_class)
    units = _worst_units(shares[true_class], true_class)
    tops = _largest(weights, leads.values)
    own_parts = np.full_like(tops, leads.reduction.own_part[true_class])
    # If f_a is the largest base and its coefficient u - Σ w is zero, there is no term with f_a.
    left = np.abs(units - weights.sum(axis=0)) > errors.sum(axis=0) + POWER_ERROR
    own_parts = np.where(left | (own_parts <= tops), own_parts, 0.0)
    tops = np.maximum(tops, own_parts)
    found = []
    for own_part, top in sorted(set(zip(own_parts.tolist(), tops.tolist(), strict=True))):
        alike = (tops == top) & (own_parts == own_part)
        alike[true_class] = False
        if alike.any():
            powers = leads.powers(own_part, top)
            which = (weights[:, alike], errors[:, alike])
            bases, settled = _ends(powers, units[alike], *which)
            signed = which[0] * powers.signs[:, None]
            found.append(PowerSums(powers, units[alike], signed, which[1], bases, settled))
    return found


def _worst_units(shares: FloatArray, true_class: int) -> FloatArray:
    """Return the smallest u_a - u_l (n_classes,) over the given labels that occur."""
    occurs = shares > 0
    others = occurs.copy()
    others[true_class] = False
    n_others = others.sum() - others  # given labels that are neither the true one nor l
    return np.where(others, -1.0, np.where(n_others > 0, 0.0, 1.0))


def _ends(
    powers: Powers, units: FloatArray, weights: FloatArray, errors: FloatArray
) -> tuple[FloatArray, float]:
    """Return coefficients (n_labels,) of the largest base, and the round from which it dominates.

    Coefficients within rounding are zero. From that round on, the sum of all other terms is less
    than half of this term.
    """
    own_weights = units - weights.sum(axis=0)
    if powers.own_rate == 0:
        bases, off = own_weights, errors.sum(axis=0) + POWER_ERROR
    else:
        is_top = (powers.signs > 0) & (powers.rates == 0)
        bases, off = weights[is_top].sum(axis=0), errors[is_top].sum(axis=0)
    bases = np.where(np.abs(bases) > off, bases, 0.0)
    falls = powers.rates + np.where(powers.signs < 0, powers.gaps, 0.0)  # log(base / φ)
    falls = np.append(falls, powers.own_rate)[:, None]
    share = np.vstack([np.abs(weights) + errors, np.abs(own_weights)]) * 2 * (len(falls) + 1)
    decided = bases != 0
    with np.errstate(divide="ignore"):
        rounds = np.log(share[:, decided] / np.abs(bases[decided])) / np.where(falls > 0, falls, 1)
    return bases, float(np.max(np.where(falls > 0, rounds, 0.0), initial=1.0))
