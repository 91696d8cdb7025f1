"""The coordinates a fit is solved in: principal axes, or the span of the rows if they are few."""

from dataclasses import dataclass, replace
from typing import Any

from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.preparation import Preparation
from twohot.rows.principal_axes import PrincipalAxes, measure_axes
from twohot.rows.row_span import Span, span_of
from twohot.rows.rows import Rows
from twohot.rows.stores import fit_preparation, open_rows


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The rows that a fit reads, their principal axes, and the way back to a user's features."""

    rows: Rows  # what the passes run over
    axes: PrincipalAxes  # of these rows
    span: Span | PrincipalAxes | None = None  # how these rows came from the user's, if otherwise

    @property
    def unit_penalty(self) -> float:
        """The l2 of ridge one for these rows."""
        # Where all rows are zero there is nothing to scale by, and nothing to penalise.
        square = self.axes.mean_square or 1.0
        return square / (self.rows.n_classes * self.rows.total_weight)

    def on_rows(self, coef: FloatArray) -> FloatArray:
        """Return coefficients on the features of the rows, in the precision of a pass."""
        return self.axes.to_rows(coef, self.rows.n_jobs).astype(self.rows.dtype)

    def along_axes(self, moment: FloatArray) -> FloatArray:
        """Return a moment along the axes, from one on the features of the rows."""
        return self.axes.from_rows(moment, self.rows.n_jobs)

    def to_features(self, coef: FloatArray) -> FloatArray:
        """Return coefficients on the user's features, from those along the axes."""
        if isinstance(self.span, Span):
            return self.span.to_features(coef)
        return (self.span or self.axes).to_rows(coef, self.rows.n_jobs)

    def from_features(self, coef: FloatArray) -> FloatArray:
        """Return coefficients along the axes, less what no row can see."""
        if isinstance(self.span, Span):
            return self.span.from_features(coef)
        return (self.span or self.axes).from_rows(coef, self.rows.n_jobs)

    def take(self, index: IntArray) -> "Coordinates":
        """Return some of the rows along the same axes."""
        return Coordinates(self.rows.take(index), self.axes, self.span)

    def in_memory(self, index: IntArray) -> "Coordinates":
        """Return some of the rows, prepared and in memory, along the same axes."""
        return Coordinates(self.rows.in_memory(index), self.axes, self.span)

    def in_axes(self) -> "Coordinates":
        """Return the rows in memory, along their axes: passes then change no coordinates.

        That is as much again as the rows take. It pays where many fits are made on rows that are
        not many times as many as their features: a change of coordinates costs a pass over
        2 · n_features rows.
        """
        axes = self.axes
        if axes.basis is None:
            return self
        along = axes.basis[: self.rows.n_columns, : self.rows.n_columns]
        return Coordinates(self.rows.in_axes(along), replace(axes, basis=None), axes)


def choose_coordinates(rows: Rows) -> Coordinates:
    """Return the coordinates for these rows: as many as there are rows, or features if fewer."""
    if rows.n_samples < rows.n_columns:
        span = span_of(rows)
        return Coordinates(span.rows, span.axes, span)
    return Coordinates(rows, measure_axes(rows))


def prepare(
    X: Matrix,
    *,
    center: bool,
    normalize: bool,
    weights: FloatArray | None,
    n_jobs: int,
    **options: Any,
) -> tuple[Preparation, Coordinates]:
    """Return how rows are prepared, and the coordinates that a fit on them is solved in.

    Other options are those of `Rows`.
    """
    preparation = fit_preparation(
        X, center=center, normalize=normalize, weights=weights, n_jobs=n_jobs
    )
    options["keep_small"] = True  # a fit takes many passes
    rows = open_rows(X, preparation, weights=weights, n_jobs=n_jobs, **options)
    return preparation, choose_coordinates(rows)
