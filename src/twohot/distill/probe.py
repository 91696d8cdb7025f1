"""What all probes share: fitting any list of rounds, and predicting from its coefficients."""

import os
import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from twohot._types import FloatArray, Matrix, Round
from twohot._validation import (
    check_choice,
    check_count,
    check_finite,
    check_known_labels,
    check_penalty,
    check_positive,
    check_precision,
    check_soft_targets,
    check_start,
    check_within,
)
from twohot.distill._inputs import (
    ClassWeight,
    check_class_names,
    check_features,
    check_labels,
    row_weights,
)
from twohot.distill.rounds import Plan, run_rounds
from twohot.distill.saving import FittedState, read_state, write_state
from twohot.distill.targets import StoredTargets, one_hot
from twohot.features.coordinates import choose_coordinates
from twohot.features.passes import count_jobs, map_blocks, one_blas_thread
from twohot.features.preparation import FeatureSet, Preparation, fit_preparation
from twohot.solve.fit import Settings
from twohot.solve.terms import softmax

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


class Probe(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the probes: rounds of softmax regression on prepared features."""

    classes_: NDArray[Any]
    coef_: FloatArray
    intercept_: FloatArray
    rounds_: list[Round]
    preparation_: Preparation
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_iter_: int

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

    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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
        self.preparation_ = fit_preparation(
            X, center=self.center, normalize=self.normalize, weights=weights
        )
        features = FeatureSet(
            X,
            self.preparation_,
            dtype=self._precision(X),
            weights=weights,
            intercept=self._has_intercept(),
            n_classes=len(classes),
        )
        coordinates = choose_coordinates(features, count_jobs(self.n_jobs))
        # Where all rows are zero there is nothing to scale by, and nothing to penalise.
        unit = (coordinates.spectrum.mean_square or 1.0) / (len(classes) * features.total_weight)
        plans = [
            Plan(stage.loss, strength * (unit if kind == "ridge" else 1.0), stage.n_candidates)
            for stage, strength in zip(stages, strengths, strict=True)
        ]
        if not isinstance(self.start, str):
            start = check_start(self.start, (len(classes), features.n_columns))
            start = np.pad(start, ((0, 0), (0, features.intercept)))
            settings = replace(settings, start=coordinates.from_features(start))
        say = self._say if self.verbose > 1 else None
        self._take_rounds(run_rounds(coordinates, targets, plans, settings, say), classes)
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

    def _has_intercept(self) -> bool:
        if isinstance(self.fit_intercept, bool | np.bool_):
            return bool(self.fit_intercept)
        check_choice("fit_intercept", self.fit_intercept, ("auto",))
        return self.class_weight is not None

    def _take_rounds(self, rounds: list[Round], classes: NDArray[Any]) -> None:
        """Set the fitted attributes that follow from the rounds."""
        self.rounds_ = rounds
        self.classes_ = classes
        self.coef_ = rounds[-1].coef
        self.intercept_ = rounds[-1].intercept
        self.n_iter_ = sum(entry.n_iter for entry in rounds)

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

    def _precision(self, X: Matrix) -> np.dtype[Any]:
        if self.dtype is not None:
            return check_precision(self.dtype)
        return np.dtype(np.float64 if X.dtype == np.float64 else np.float32)

    def _say(self, line: str) -> None:
        print(f"{type(self).__name__}: {line}", file=sys.stderr)  # noqa: T201

    def decision_function(self, X: Matrix) -> FloatArray:
        """Return logits (n_samples, n_classes); for two classes their difference (n_samples,)."""
        logits = self._map_logits(X, self._last(), np.copy)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return probabilities (n_samples, n_classes), columns in the order of `classes_`."""
        return self._map_logits(X, self._last(), _outputs)

    def staged_predict_proba(self, X: Matrix) -> Iterator[FloatArray]:
        """Yield the probabilities of every round: the teacher's first."""
        self._last()
        for entry in self.rounds_:
            yield self._map_logits(X, entry, _outputs)

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Return the most likely class of each row."""
        best = self._map_logits(X, self._last(), lambda logits: logits.argmax(axis=1))
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def score(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of `predict` on labels that the probe knows."""
        predicted = self.predict(X)
        labels = np.asarray(y)
        check_known_labels(labels, self.classes_)
        return float(accuracy_score(labels, predicted, sample_weight=sample_weight))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted probe to a file, which `twohot.load` reads; nothing is pickled."""
        check_is_fitted(self)
        state = FittedState(
            estimator=type(self).__name__,
            parameters=self.get_params(deep=False),
            classes=self.classes_,
            preparation=self.preparation_,
            rounds=self.rounds_,
            n_features_in=self.n_features_in_,
            feature_names_in=np.asarray(getattr(self, "feature_names_in_", [])).tolist(),
        )
        write_state(path, state)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the fitted probe of this kind that `save` wrote."""
        state = read_state(path)
        known = {kind.__name__: kind for kind in (cls, *cls.__subclasses__())}
        if state.estimator not in known:
            raise ValueError(
                f"{path} holds a {state.estimator!r} and not a {cls.__name__}: read it with "
                "twohot.load, which knows every kind, or upgrade twohot if it does not."
            )
        try:
            probe: Self = known[state.estimator](**state.parameters)
        except TypeError as error:
            raise ValueError(
                f"{path} says it holds a probe, with parameters that this version of twohot does "
                f"not know ({error}): upgrade twohot to read it."
            ) from error
        probe.preparation_ = state.preparation
        probe.n_features_in_ = state.n_features_in
        if state.feature_names_in:
            probe.feature_names_in_ = np.array(state.feature_names_in, dtype=object)
        probe._take_rounds(state.rounds, state.classes)
        return probe

    def _last(self) -> Round:
        check_is_fitted(self)
        return self.rounds_[-1]

    def _map_logits(
        self, X: Matrix, entry: Round, function: Callable[[FloatArray], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return a function of each block's logits, for all rows of X."""
        rows = check_features(self, X, reset=False)
        features = FeatureSet(
            rows,
            self.preparation_,
            dtype=self._precision(rows),
            n_classes=len(self.classes_),
        )
        coef = entry.coef.astype(features.dtype)
        intercept = entry.intercept.astype(features.dtype)

        def terms_of(block: int) -> tuple[NDArray[Any]]:
            chosen = features.rows(block)
            check_finite("X", rows[chosen], chosen.start)
            return (function(features.block(block).project(coef) + intercept),)

        blocks = map_blocks(terms_of, features.n_blocks, count_jobs(self.n_jobs))
        return np.concatenate([terms[0] for terms in blocks])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _outputs(logits: FloatArray) -> FloatArray:
    return softmax(logits)[0]
