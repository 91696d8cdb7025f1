"""How far each class goes along a direction: Newton's method on K lengths.

As a function of the lengths t, and less a constant, the objective is

    loss(t) + fixed · t + ½ Σ_k bend_k t_k²,

the mean loss at the logits, what is linear in the coefficients, and the penalty.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from twohot._types import FloatArray
from twohot.rows.rows import Terms

MOST_LOOKS = 6  # at the objective along a direction; mostly one is enough
MOST_SHORTER = 25  # looks until any length leads down; 0.4²⁵ of a step is nothing
GOOD_SLOPE = 0.2  # share of the slopes that may be left
SHORTER = 0.4  # factor of a step that leads up


@dataclass(frozen=True, eq=False)
class Line:
    """The objective along a direction."""

    # Mean loss at some lengths, its slopes (K,), at order 2 its curvature (K, K), and that of each
    # class by itself (K,).
    terms: Callable[[FloatArray, int], Terms]
    slope: FloatArray  # (K,), of the objective at no length
    bend: FloatArray  # (K,), of the penalty
    reach: FloatArray  # (K,), the largest length of each class
    rounding: float  # of values, relative
    least_bend: float  # least curvature, relative to that of each class by itself


def search_lengths(line: Line) -> FloatArray:
    """Return the length of each class; zeros if none leads down."""
    lengths = np.zeros_like(line.slope)
    terms = line.terms(lengths, 2)
    fixed = line.slope - terms[1]
    value, slope, good = float(terms[0]), line.slope, GOOD_SLOPE * np.linalg.norm(line.slope)
    move, share = _newton(line, slope, terms), 1.0
    for look in range(MOST_SHORTER):
        if look >= MOST_LOOKS and lengths.any():
            break
        there = np.clip(lengths + share * move, -line.reach, line.reach)
        loss, loss_slope = line.terms(there, 1)
        value_there = float(loss) + float(there @ (fixed + 0.5 * line.bend * there))
        if not value_there <= value + line.rounding * abs(value):
            share *= SHORTER
            continue
        lengths, value, slope = there, value_there, loss_slope + fixed + line.bend * there
        if np.linalg.norm(slope) <= good:
            break
        move, share = _newton(line, slope, line.terms(lengths, 2)), 1.0
    return lengths


def _newton(line: Line, slope: FloatArray, terms: Terms) -> FloatArray:
    """Return how the lengths are to change: down, also where the objective bends down."""
    curvature, by_itself = terms[2] + np.diag(line.bend), terms[3] + line.bend
    unit = 1 / np.sqrt(np.maximum(by_itself, np.finfo(np.float64).tiny))
    bends, axes = sl.eigh(curvature * unit * unit[:, np.newaxis])
    bends = np.maximum(np.abs(bends), line.least_bend)
    return np.asarray(-unit * (axes @ (axes.T @ (unit * slope) / bends)))
