"""The sign of a lead as rounds go by: bounds over many rounds at once, and what it ends in.

The lead of `label_leads` over one label, for the given label that is worst for it, is

    v(t) = u f_aᵗ + Σ_i w_i (φ_iᵗ - f_aᵗ),        u = -1, 0 or 1.

Divided by the power of its largest base, which changes no sign, every part stays bounded:

    F(t)   = exp(-t g),                            g   = log(base / f_a)
    M_i(t) = exp(-t a_i) (1 - exp(-t b_i)),        a_i = log(base / max(φ_i, f_a)),
                                                   b_i = |log(φ_i / f_a)|.

F falls, M_i rises and then falls. In rounds s … e, F lies between F(e) and F(s), M_i between the
smaller of M_i(s) and M_i(e), and exp(-s a_i)(1 - exp(-e b_i)). So a few evaluations decide any
number of rounds, and in the end the largest base decides all that are left.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from twohot.theory._checks import FloatArray
from twohot.theory.class_reduction import log_gap
from twohot.theory.label_leads import POWER_ERROR, STEEP, LabelLeads, LeadTerms


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
