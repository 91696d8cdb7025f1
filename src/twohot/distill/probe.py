"""What all probes share: the parameters, and fitting any list of rounds."""

import os
import sys
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from twohot._checks.arrays import check_soft_targets, check_start
from twohot._checks.numbers import (
    check_choice,
    check_count,
    check_penalty,
    check_positive,
    check_within,
)
from twohot._types import Matrix
from twohot.distill._inputs import (
    ClassWeight,
    check_class_names,
    check_features,
    check_labels,
    row_weights,
)
from twohot.distill.fitted import FittedProbe
from twohot.distill.rounds import Plan, run_rounds
from twohot.distill.targets import StoredTargets, one_hot
from twohot.rows.coordinates import prepare, unit_penalty
from twohot.rows.threads import count_jobs, one_blas_thread
from twohot.solve.fit import Settings

Penalty: TypeAlias = float | Sequence[float] | None
Start: TypeAlias = str | ArrayLike

LOSSES = ("ce", "gce")
STARTS = ("teacher", "zero")

# Below this power, (1 - p^q)/q is cross-entropy to the precision of float32.
LEAST_POWER = 1e-3


@dataclass(frozen=True)
class Stage:
    """What a kind of probe asks of one round, before the penalty is known."""

    loss: str
    n_candidates: int | None = None  # None: the outputs of the round before, as they are
    given_share: float = 0.0  # of the candidates' weight that goes to the given label


class Probe(FittedProbe):
    """Base of the probes: rounds of softmax regression on prepared features."""

    def __init__(
        self,
        *,
        loss: str,
        ridge: Penalty,
        l2: Penalty,
        gce_power: float,
        start: Start,
        center: bool,
        normalize: bool,
        fit_intercept: bool | str,
        class_weight: ClassWeight,
        tol: float,
        max_iter: int,
        dtype: DTypeLike | None,
        n_jobs: int | None,
        random_state: Any,
        verbose: int,
    ) -> None:
        self.loss = loss
        self.ridge = ridge
        self.l2 = l2
        self.gce_power = gce_power
        self.start = start
        self.center = center
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _stages(self, n_classes: int) -> list[Stage]:
        """Return what each round does."""

    @abstractmethod
    def _default_ridge(self) -> float:
        """Return the strength of the penalty where none is given."""

    def fit(self, X: Matrix, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the probe on given labels.

        Parameters
        ----------
        X : array, memory map, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels of any type that sorts: numbers, strings.
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows.
        """
        features = check_features(self, X, reset=True)
        classes, labels = check_labels(self, y, features.shape[0])
        # What is not a pass is too small for BLAS threads, which would only spin.
        with one_blas_thread():
            return self._fit(features, one_hot(labels, len(classes)), classes, sample_weight)

    def fit_soft(
        self,
        X: Matrix,
        targets: Matrix,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the probe on probabilities as labels.

        Parameters
        ----------
        X : array, memory map, sparse matrix or data frame of shape (n_samples, n_features)
        targets : array or CSR matrix of shape (n_samples, n_classes)
            Rows of probabilities.
        classes : array of shape (n_classes,), optional
            Names of the columns, in sorted order; by default 0, 1, …
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows.
        """
        features = check_features(self, X, reset=True)
        rows = check_soft_targets(targets, features.shape[0])
        names = check_class_names(classes, rows.shape[1])
        soft = StoredTargets("soft", rows, making_passes=0.5)
        with one_blas_thread():
            return self._fit(features, soft, names, sample_weight)

    def _fit(
        self,
        X: Matrix,
        targets: StoredTargets,
        classes: NDArray[Any],
        sample_weight: ArrayLike | None,
    ) -> Self:
        stages = self._stages(len(classes))
        kind, strengths = check_penalty(self.l2, self.ridge, self._default_ridge(), len(stages))
        settings = self._settings()
        weights = row_weights(X, targets.matrix, classes, self.class_weight, sample_weight)
        preparation, coordinates = prepare(
            X,
            center=self.center,
            normalize=self.normalize,
            weights=weights,
            intercept=self._has_intercept(auto=self.class_weight is not None),
            n_classes=len(classes),
            dtype=self._precision(X),
            n_jobs=count_jobs(self.n_jobs),
        )
        unit = unit_penalty(coordinates) if kind == "ridge" else 1.0
        plans = [
            Plan(stage.loss, strength * unit, stage.n_candidates, stage.given_share)
            for stage, strength in zip(stages, strengths, strict=True)
        ]
        if not isinstance(self.start, str):
            start = check_start(self.start, (len(classes), X.shape[1]))
            start = np.pad(start, ((0, 0), (0, coordinates.features.intercept)))
            settings = replace(settings, start=coordinates.from_features(start))
        say = self._say if self.verbose > 1 else None
        rounds = run_rounds(coordinates, targets, plans, settings, say)
        self._take_rounds(rounds, classes, preparation)
        self._comment()
        return self

    def _settings(self) -> Settings:
        check_choice("loss", self.loss, LOSSES)
        start = self.start
        return Settings(
            tol=check_positive("tol", self.tol),
            max_iter=check_count("max_iter", self.max_iter, 1),
            gce_power=check_within("gce_power", self.gce_power, LEAST_POWER, 1),
            start=check_choice("start", start, STARTS) if isinstance(start, str) else "teacher",
        )

    def _comment(self) -> None:
        """Say what the rounds came to, and warn of those that did not converge."""
        for number, entry in enumerate(self.rounds_, start=1):
            if self.verbose > 0:
                self._say(
                    f"round {number} ({entry.loss}, {entry.targets}): {entry.n_passes:g} passes, "
                    f"relative gradient {entry.gradient_norm:.1e}"
                )
            if not entry.converged:
                warnings.warn(
                    f"round {number} stopped after {entry.n_iter} steps at a relative gradient of "
                    f"{entry.gradient_norm:.1e}, above tol={self.tol:g}: raise max_iter, the "
                    "penalty or tol, or compute with dtype='float64'.",
                    ConvergenceWarning,
                    stacklevel=4,
                )

    def _say(self, line: str) -> None:
        print(f"{type(self).__name__}: {line}", file=sys.stderr)  # noqa: T201


def load(path: str | os.PathLike[str]) -> FittedProbe:
    """Return the probe that `save` wrote, whatever its kind.

    Coefficients, classes, parameters and predictions are those of the saved probe, to the last
    bit. Nothing is unpickled: a file from anyone can be loaded.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from twohot import LinearProbe, load
    >>> X, y = load_iris(return_X_y=True)
    >>> probe = LinearProbe().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     probe.save(Path(folder) / "iris.safetensors")
    ...     again = load(Path(folder) / "iris.safetensors")
    >>> bool((again.predict(X) == probe.predict(X)).all())
    True
    """
    return FittedProbe.load(path)
