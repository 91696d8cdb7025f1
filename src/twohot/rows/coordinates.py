"""The coordinates a fit is solved in: principal axes, or the span of the rows if they are few."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot._types import FloatArray, Matrix
from twohot.rows.preparation import FeatureSet, Preparation, fit_preparation
from twohot.rows.principal_axes import Spectrum, measure_spectrum
from twohot.rows.span import Reduction, reduce_rows


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The rows that a fit reads, their spectrum, and the way back to the features of a user."""

    features: FeatureSet  # what the passes run over
    spectrum: Spectrum  # of these rows
    n_jobs: int
    reduction: Reduction | None = None  # how these rows came from the user's, if they were few

    def to_features(self, coef: FloatArray) -> FloatArray:
        """Return coefficients on the user's features."""
        if self.reduction is not None:
            return self.reduction.to_features(coef, self.n_jobs)
        return self.spectrum.to_features(coef)

    def from_features(self, coef: FloatArray) -> FloatArray:
        """Return coefficients in these coordinates, less what no row can see."""
        if self.reduction is not None:
            return self.reduction.from_features(coef)
        return self.spectrum.from_features(coef)


def choose_coordinates(features: FeatureSet, n_jobs: int) -> Coordinates:
    """Return the coordinates for these rows: as many as there are rows, or features if fewer."""
    if features.n_samples < features.n_columns:
        reduction = reduce_rows(features)
        return Coordinates(reduction.features, reduction.spectrum, n_jobs, reduction)
    return Coordinates(features, measure_spectrum(features, n_jobs), n_jobs)


def prepare(
    X: Matrix,
    *,
    center: bool,
    normalize: bool,
    weights: FloatArray | None,
    intercept: bool,
    n_classes: int,
    dtype: np.dtype[Any],
    n_jobs: int,
) -> tuple[Preparation, Coordinates]:
    """Return how rows are prepared, and the coordinates that a fit on them is solved in."""
    preparation = fit_preparation(X, center=center, normalize=normalize, weights=weights)
    features = FeatureSet(
        X,
        preparation,
        dtype=dtype,
        weights=weights,
        intercept=intercept,
        n_classes=n_classes,
        keep_small=True,  # a fit takes many passes
    )
    return preparation, choose_coordinates(features, n_jobs)


def unit_penalty(coordinates: Coordinates) -> float:
    """Return the l2 of ridge one for these rows."""
    features = coordinates.features
    # Where all rows are zero there is nothing to scale by, and nothing to penalise.
    square = coordinates.spectrum.mean_square or 1.0
    return square / (features.n_classes * features.total_weight)
