"""Correlations of the true classes, from those of classes whose labels are partly wrong.

Rows that were given label b are of true class a with a share P[a, b] (columns sum to one). Where
the label of a row depends on its class alone, the mean correlation of the rows of two labels mixes
those of the classes,

    measured = Pᵀ W P,        W = P⁻ᵀ measured P⁻¹,

so that noise makes classes look alike that are not. With P = U diag(σ) Vᵀ, an error ε of what was
measured grows to ε / σ² along an axis; along axes where σ is small, no more noise is taken out
than a bound on σ allows, and the classes are then less alike than they still look.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twohot._types import FloatArray, IntArray
from twohot.forecast.noise_estimate import NoiseEstimate

# Bound on σ. Errors may grow a hundredfold: mean correlations of 50 rows or more a class are good
# to a few thousandths, so more would leave nothing of the differences between classes.
LEAST_SINGULAR_VALUE = 0.1

# A row is more like itself than like any other of its class.
LARGEST_CORRELATION = 0.999


@dataclass(frozen=True, eq=False)
class CorrelationEstimate:
    """Mean correlation of every two classes, as the labels have it and as the classes have it."""

    measured: NDArray[np.float64]  # (n_classes, n_classes), by given label
    estimated: NDArray[np.float64]  # (n_classes, n_classes), by true class
    singular_values: NDArray[np.float64]  # (n_classes,), σ of the shares of the true classes
    n_capped: int  # classes that came out more alike than rows can be
    superclass: IntArray  # (n_classes,)

    @property
    def n_limited(self) -> int:
        """Axes, of as many as there are classes, along which some noise had to be left in."""
        return int(np.count_nonzero(self.singular_values < LEAST_SINGULAR_VALUE))

    @property
    def same_class(self) -> float:
        """Mean over the classes of the correlation inside."""
        return float(np.diag(self.estimated).mean())

    @property
    def same_superclass(self) -> float:
        """Mean over pairs of classes of one superclass; NaN if there is none."""
        same = self.superclass[:, np.newaxis] == self.superclass
        return _mean(self.estimated[same & ~np.eye(len(same), dtype=bool)])

    @property
    def elsewhere(self) -> float:
        """Mean over pairs of classes of two superclasses; NaN if there is none."""
        return _mean(self.estimated[self.superclass[:, np.newaxis] != self.superclass])

    @property
    def other_class(self) -> float:
        """Mean over all pairs of two classes."""
        return _mean(self.estimated[~np.eye(len(self.estimated), dtype=bool)])


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if values.size else float("nan")


def unmix(
    measured: NDArray[np.float64], noise: NoiseEstimate, superclass: IntArray
) -> CorrelationEstimate:
    """Return the correlations of the true classes, as far as the noise can be taken out.

    Examples
    --------
    >>> corruption = np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> noise = NoiseEstimate(corruption, np.array([50.0, 50.0]), given=True)
    >>> measured = corruption.T @ [[0.5, -0.5], [-0.5, 0.5]] @ corruption
    >>> measured.round(2).tolist()
    [[0.08, -0.08], [-0.08, 0.08]]
    >>> unmix(measured, noise, np.array([0, 0])).estimated.round(2).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    filled = measured.copy()
    same = np.diag(measured)
    # A class of one row has no pair: what the others have on average says the least about it.
    np.fill_diagonal(filled, np.where(np.isnan(same), np.nanmean(same), same))
    left, singular_values, right = np.linalg.svd(noise.posterior)
    inverse = (right.T / np.maximum(singular_values, LEAST_SINGULAR_VALUE)) @ left.T
    estimated, n_capped = feasible(inverse.T @ filled @ inverse)
    return CorrelationEstimate(filled, estimated, singular_values, n_capped, superclass)


def feasible(correlation: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return the correlations made such as rows of unit norm can have, and how many were not.

    Errors of estimation leave small negative eigenvalues, which are cut off, and classes that
    correlate more than rows of unit norm can, which are scaled down and counted.
    """
    values, vectors = np.linalg.eigh((correlation + correlation.T) / 2)
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    same = np.diag(positive)
    scale = np.sqrt(LARGEST_CORRELATION / np.maximum(same, LARGEST_CORRELATION))
    possible = scale[:, np.newaxis] * positive * scale
    return possible, int(np.count_nonzero(same > LARGEST_CORRELATION))
