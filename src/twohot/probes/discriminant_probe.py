"""DiscriminantProbe: linear discriminant analysis as a probe."""

from dataclasses import dataclass, field
from typing import Any, Self

from numpy.typing import ArrayLike

from twohot.base import FloatArray, Matrix, check_choice, check_count, check_within
from twohot.probes.discriminant import (
    ClassMoments,
    choose_shrinkage,
    discriminant_round,
    leave_one_out_logits,
    moments_along_axes,
)
from twohot.probes.fitted import FittedProbe, prepare_as
from twohot.probes.inputs import check_rows_to_fit, row_weights
from twohot.probes.rounds import LABELS, restore_on_failure
from twohot.rows import Rows, one_blas_thread

# Minimum shrinkage. Without shrinkage the covariance may be singular. With a smaller shrinkage, the
# leverage of a row in a small dataset may be rounded to one, which leave-one-out cannot use.
LEAST_SHRINKAGE = 1e-6


@dataclass(kw_only=True, eq=False, repr=False)
class DiscriminantProbe(FittedProbe):
    """Linear discriminant analysis with a shrunk covariance, fitted in closed form.

    Every class has its own mean, and all classes have the same covariance S, along the m leading
    principal axes of the prepared rows. S is shrunk towards its mean variance:
    (1 - shrinkage) · S + shrinkage · tr(S)/m · identity. The result is a linear probe, whose
    intercept contains the class priors.

    Before S is computed, the coordinates along each axis are multiplied by
    (variance + mean variance / 10)^(-1/4). If there are fewer than 64 axes, and the largest
    variance is at most ten times the smallest, this step is left out.

    Parameters
    ----------
    shrinkage : float or "auto"
        Weight of the mean variance in the covariance, 1e-6 to 1. "auto" tries .003, .03, .1, .3 and
        .6, and chooses the value whose leave-one-out predictions agree best with the given labels.
        With fewer than 64 axes, "auto" tries more values: 1e-6 and 1e-4 if there are at least four
        rows per axis, and 1 if the largest variance along an axis is at most ten times the
        smallest.
    n_axes : int
        Maximum number of leading principal axes.
    center, normalize, dtype, n_jobs, verbose
        As for `LinearProbe`.

    Attributes
    ----------
    shrinkage_ : float
        The shrinkage that was given or chosen.
    classes_, coef_, intercept_, rounds_, n_features_in_, n_iter_
        As for `LinearProbe`, with one round. No loss is minimised: `l2`, `value` and
        `gradient_norm` of the round are 0.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import DiscriminantProbe
    >>> X, y = load_digits(return_X_y=True)
    >>> probe = DiscriminantProbe().fit(X[:1000], y[:1000])
    >>> print(f"{probe.score(X[1000:], y[1000:]):.2f}")
    0.92
    >>> probe.shrinkage_
    0.3

    Accuracy of exact leave-one-out predictions:

    >>> logits = probe.fit_leave_one_out(X[:1000], y[:1000])
    >>> print(f"{(logits.argmax(axis=1) == y[:1000]).mean():.2f}")
    0.96
    """

    shrinkage: float | str = "auto"
    n_axes: int = 512

    # Not parameters of this probe: the priors give the intercept, and there are no iterations.
    fit_intercept: bool | str = field(init=False, default="auto")
    max_iter: int = field(init=False, default=1)

    shrinkage_: float = field(init=False)

    def fit(self, X: Matrix, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the probe on the given labels.

        Parameters
        ----------
        X, y, sample_weight
            As for `LinearProbe`.
        """
        self._fit(X, y, sample_weight)
        return self

    def fit_leave_one_out(
        self, X: Matrix, y: Any, sample_weight: ArrayLike | None = None
    ) -> FloatArray:
        """Fit the probe; return leave-one-out logits: for each row, those of a fit without the row.

        The logits are exact, but all fits use the same shrinkage, and the same preparation and
        axes, which are computed from all rows. A row is left out with its whole weight. If a row is
        the only row of its class, the class gets the mean of all other rows and the prior of half a
        row.

        Parameters
        ----------
        X, y, sample_weight
            As for `LinearProbe`.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        rows, moments = self._fit(X, y, sample_weight)
        with one_blas_thread():
            return leave_one_out_logits(rows, moments, self.shrinkage_)

    @restore_on_failure
    def _fit(self, X: Matrix, y: Any, sample_weight: ArrayLike | None) -> tuple[Rows, ClassMoments]:
        """Fit the probe; return the rows and the class moments."""
        stored, labels = check_rows_to_fit(self, X, y, sample_weight)
        n_axes, verbosity = check_count("n_axes", self.n_axes, 1), self._verbosity()
        shrinkage = None
        if isinstance(self.shrinkage, str):
            check_choice("shrinkage", self.shrinkage, ("auto",))
        else:
            shrinkage = check_within("shrinkage", self.shrinkage, LEAST_SHRINKAGE, 1)
        weights = row_weights(stored, labels.codes, labels.classes, None, sample_weight)
        with one_blas_thread():
            preparation, coordinates = prepare_as(
                self, stored, weights, labels.n_classes, auto_intercept=False
            )
            rows = coordinates.rows
            rows.attach(LABELS, labels.codes)
            moments = moments_along_axes(coordinates, n_axes)
            if shrinkage is None:
                shrinkage = choose_shrinkage(rows, moments)
            entry = discriminant_round(coordinates, moments, shrinkage, rows.n_passes)
        self._take_rounds([entry], labels.classes, preparation)
        self.shrinkage_ = shrinkage
        if verbosity > 0:
            self._say(f"shrinkage {shrinkage:g} along {len(moments.variances)} axes")
        return rows, moments

    def _notes(self) -> dict[str, Any]:
        return {"shrinkage": self.shrinkage_}

    def _take_notes(self, notes: dict[str, Any]) -> None:
        self.shrinkage_ = float(notes["shrinkage"])
