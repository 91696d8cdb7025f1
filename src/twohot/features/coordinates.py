"""The coordinates a fit is solved in: principal axes, or the span of the rows if they are few."""

from dataclasses import dataclass

from twohot._types import FloatArray
from twohot.features.preparation import FeatureSet
from twohot.features.reduction import Reduction, reduce_rows
from twohot.features.spectrum import Spectrum, measure_spectrum


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
