"""AveragedProbe: the average of several linear probes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from twohot.base import ArgumentError, FloatArray, Matrix, check_positive, counted
from twohot.probes.fitted import FittedProbe, probe_kinds
from twohot.probes.inputs import check_rows_to_fit
from twohot.probes.recipe import Round
from twohot.probes.rounds import LABELS, restore_on_failure
from twohot.probes.saving import decode_parameters, encode_parameters
from twohot.rows import Preparation


@dataclass(kw_only=True, eq=False, repr=False)
class AveragedProbe(FittedProbe):
    """The average of several linear probes, itself a linear probe.

    Each probe is fitted on the same rows. The logits of each probe are divided by its temperature
    and averaged, so the probabilities are a normalised geometric mean.

    Parameters
    ----------
    probes : sequence of probes
        Probes to average. They are cloned; `probes_` has the fitted ones. All must use the same
        `center`, `normalize` and `class_weight`.
    temperatures : sequence of float, optional
        Divisors of the logits of each probe; 1 by default. Robust probes have small logits and
        need a temperature below 1.
    dtype, n_jobs
        Precision and threads of predictions. Each probe is fitted with its own settings.

    Attributes
    ----------
    probes_ : tuple of probes
        The fitted probes. They are not saved, so a loaded probe lacks them.
    classes_, coef_, intercept_, rounds_, n_features_in_, n_iter_
        As for `LinearProbe`. `rounds_` has one entry: its steps and passes are sums over all
        probes, its gradient is the largest of their last rounds, and `l2` and `value` are 0.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import AveragedProbe, DiscriminantProbe, LinearProbe
    >>> X, y = load_digits(return_X_y=True)
    >>> probe = AveragedProbe(probes=(LinearProbe(ridge=4), DiscriminantProbe()))
    >>> probe = probe.fit(X[:1000], y[:1000])
    >>> print(f"{probe.score(X[1000:], y[1000:]):.2f}")
    0.92
    """

    probes: Sequence[Any] = ()
    temperatures: Sequence[float] | None = None

    # Not parameters here: each probe has its own values.
    center: bool = field(init=False, default=True)
    normalize: bool = field(init=False, default=True)
    fit_intercept: bool | str = field(init=False, default="auto")
    max_iter: int = field(init=False, default=500)
    verbose: int = field(init=False, default=0)

    probes_: tuple[FittedProbe, ...] = field(init=False)

    @restore_on_failure
    def fit(self, X: Matrix, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit each probe on the given labels, and average them.

        Parameters
        ----------
        X, y, sample_weight
            As for `LinearProbe`.
        """
        _, labels = check_rows_to_fit(self, X, y, sample_weight)
        temperatures = self._check_probes()
        fitted: list[Any] = []
        for number, probe in enumerate(self.probes):
            fitted.append(clone(probe).fit(X, labels, sample_weight))
            if not _are_equal(fitted[number].preparation_, fitted[0].preparation_):
                raise ArgumentError(
                    f"probes[{number}]",
                    "prepares rows differently from the first probe",
                    "give all probes the same center, normalize and class_weight.",
                )
        average = average_rounds([probe.rounds_ for probe in fitted], temperatures)
        self._take_rounds([average], labels.classes, fitted[0].preparation_)
        self.probes_ = tuple(fitted)
        return self

    def _check_probes(self) -> list[float]:
        """Return the temperature of each probe."""
        if not len(self.probes):
            raise ArgumentError("probes", "is empty", "pass at least one probe.")
        for number, probe in enumerate(self.probes):
            if not isinstance(probe, FittedProbe):
                given, kind = f"probes[{number}]", type(probe).__name__
                raise ArgumentError(given, f"is a {kind}", "pass LinearProbe() or similar.")
        temperatures = [1.0] * len(self.probes) if self.temperatures is None else self.temperatures
        if len(temperatures) != len(self.probes):
            n_given, n_probes = len(temperatures), counted(len(self.probes), "probe")
            problem = f"has {counted(n_given, 'value')} for {n_probes}"
            raise ArgumentError("temperatures", problem, "pass one per probe, or None.")
        return [check_positive(f"temperatures[{i}]", each) for i, each in enumerate(temperatures)]

    def _stored_parameters(self) -> dict[str, Any]:
        parameters = super()._stored_parameters()
        del parameters["probes"]  # stored in the notes: they are not numbers or text
        return parameters

    def _notes(self) -> dict[str, Any]:
        probes = [(type(probe).__name__, probe.get_params(deep=False)) for probe in self.probes]
        return {"probes": [[kind, encode_parameters(given)] for kind, given in probes]}

    def _take_notes(self, notes: dict[str, Any]) -> None:
        kinds = probe_kinds()
        self.probes = tuple(
            kinds[kind](**decode_parameters(given)) for kind, given in notes["probes"]
        )


def average_rounds(rounds: Sequence[Sequence[Round]], temperatures: Sequence[float]) -> Round:
    """Return the average of several probes, given the rounds of each, as one round."""
    last = [probe[-1] for probe in rounds]
    steps = [entry for probe in rounds for entry in probe]
    return Round(
        coef=mean_at([entry.coef for entry in last], temperatures),
        intercept=mean_at([entry.intercept for entry in last], temperatures),
        targets=LABELS,
        loss="average",
        l2=0.0,
        value=0.0,
        n_iter=sum(entry.n_iter for entry in steps),
        n_passes=sum(entry.n_passes for entry in steps),
        gradient_norm=max(entry.gradient_norm for entry in last),
        converged=all(entry.converged for entry in steps),
    )


def mean_at(arrays: list[FloatArray], temperatures: Sequence[float]) -> FloatArray:
    """Return the mean of arrays, each divided by its temperature."""
    return np.asarray(np.mean([a / t for a, t in zip(arrays, temperatures, strict=True)], axis=0))


def _are_equal(one: Preparation, other: Preparation) -> bool:
    """Return whether two preparations are identical, to the last bit."""
    if one.normalize != other.normalize or (one.mean is None) != (other.mean is None):
        return False
    return one.mean is None or other.mean is None or np.array_equal(one.mean, other.mean)
