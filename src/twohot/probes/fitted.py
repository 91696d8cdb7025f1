"""Base class of all probes: shared parameters, predictions and their score."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score

from twohot.base import (
    FloatArray,
    Matrix,
    check_all_labelled,
    check_choice,
    check_count,
    check_finite,
    check_flag,
    code_labels,
    counted,
)
from twohot.probes.inputs import check_features, check_same_rows, choose_precision
from twohot.probes.recipe import Round
from twohot.probes.saving import SavedProbe
from twohot.rows import (
    Block,
    Coordinates,
    Preparation,
    count_threads,
    example_row,
    map_rows,
    prepare,
)
from twohot.solve import softmax


def predicted_rows(
    block: Block,
    preparation: Preparation,
    coef: FloatArray,
    intercept: FloatArray,
    function: Callable[[FloatArray], NDArray[Any]],
) -> NDArray[Any]:
    """Prepare the stored rows of a block, and return `function(logits)`. A kernel."""
    check_finite("X", block.x, block.first)
    prepared = preparation.apply(block.x, np.empty(block.x.shape, coef.dtype))
    return function(prepared @ coef.T + intercept)


def outputs(logits: FloatArray) -> FloatArray:
    """Return the class probabilities for logits (rows, K)."""
    return softmax(logits)[0]


def most_likely(logits: FloatArray, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the most likely class of each row of logits (rows, K)."""
    return np.asarray(classes[logits.argmax(axis=1)])


@dataclass(kw_only=True, eq=False, repr=False)
class FittedProbe(ClassifierMixin, SavedProbe):  # type: ignore[misc]
    """Base of all estimators: the shared parameters, and predictions from the last round."""

    center: bool = True
    normalize: bool | str = True
    fit_intercept: bool | str = "auto"
    max_iter: int = 500
    dtype: DTypeLike | None = None
    n_jobs: int | None = None
    verbose: int = 0

    def _say(self, line: str) -> None:
        print(f"{type(self).__name__}: {line}", file=sys.stderr)  # noqa: T201

    def _verbosity(self) -> int:
        """Return the verbosity: 0 (or False) is silent, 1 (or True) brief, 2 detailed."""
        if isinstance(self.verbose, bool | np.bool_):
            return int(self.verbose)
        return check_count("verbose", self.verbose, 0)

    def _warn_of_early_ends(self, advice: str, stacklevel: int) -> None:
        for number, entry in enumerate(self.rounds_, start=1):
            if not entry.converged:
                warnings.warn(
                    f"round {number} did not converge (after {counted(entry.n_iter, 'step')}, the "
                    f"relative gradient is {entry.gradient_norm:.1e}, more than tol): {advice}",
                    ConvergenceWarning,
                    stacklevel=stacklevel,
                )

    def decision_function(self, X: Matrix) -> FloatArray:
        """Return logits (n_samples, n_classes).

        For two classes, return the second logit minus the first, (n_samples,).
        """
        logits = self._map_logits(X, self._last(), np.asarray)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return probabilities (n_samples, n_classes), columns in the order of `classes_`."""
        return self._map_logits(X, self._last(), outputs)

    def predict_log_proba(self, X: Matrix) -> FloatArray:
        """Return log-probabilities, finite even if the probability underflows to zero."""
        return self._map_logits(X, self._last(), partial(log_softmax, axis=1))

    def staged_predict_proba(self, X: Matrix) -> Iterator[FloatArray]:
        """Yield the probabilities of every round, the teacher's first."""
        last = self._last()
        for entry in (*self.rounds_[:-1], last):
            yield self._map_logits(X, entry, outputs)

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Return the most likely class of each row."""
        last = self._last()  # raise if the probe is not fitted
        return self._map_logits(X, last, partial(most_likely, classes=self.classes_))

    def score(self, X: Matrix, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy of `predict`.

        A row whose label is not in `classes_` counts as wrong. This happens in cross-validation, if
        all rows of a rare class are in one fold. If no label is in `classes_`, an error is raised.
        """
        check_same_rows(X, y=y, sample_weight=sample_weight)
        predicted = code_labels(np.asarray(self.predict(X))).among(self.classes_)
        labels = code_labels(y)
        check_all_labelled(labels)
        unknown = labels.unknown_to(self.classes_)
        if len(unknown) < labels.present().n_classes:
            labels = labels.without(unknown)
        advice = "pass labels that are in classes_, or fit the probe again with the labels of y."
        given = labels.among(self.classes_, advice=advice)
        return float(accuracy_score(given.codes, predicted.codes, sample_weight=sample_weight))

    def _map_logits(
        self, X: Matrix, entry: Round, function: Callable[[FloatArray], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return `function(logits)` for all rows of X, block by block; for a Dask X, lazily."""
        example = example_row(X)
        stored = check_features(self, X if example is None else example, reset=False)
        dtype = choose_precision(self.dtype, stored)
        coef, intercept = entry.coef.astype(dtype), entry.intercept.astype(dtype)
        made: NDArray[Any] = map_rows(
            stored if example is None else X,
            predicted_rows,
            *(self.preparation_, coef, intercept, function),
            like=function(np.empty((0, len(coef)), dtype)),
            n_classes=len(self.classes_),
            n_jobs=count_threads(self.n_jobs),
        )
        return made

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "rounds_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def prepare_as(
    probe: FittedProbe,
    X: Matrix,
    weights: FloatArray | None,
    n_classes: int,
    *,
    auto_intercept: bool,
    normalize: bool | None = None,
    exact_axes: bool = True,
) -> tuple[Preparation, Coordinates]:
    """Return the preparation of rows and the coordinates for the fits of a probe.

    `auto_intercept` is the meaning of `fit_intercept="auto"`. If `normalize` is given, it replaces
    the probe's parameter. Pass `exact_axes=False` if the axes only speed up the fit.
    """
    intercept = probe.fit_intercept
    if not isinstance(intercept, bool | np.bool_):
        check_choice("fit_intercept", intercept, ("auto",))
        intercept = auto_intercept
    return prepare(
        X,
        center=check_flag("center", probe.center),
        normalize=check_flag("normalize", probe.normalize) if normalize is None else normalize,
        weights=weights,
        intercept=bool(intercept),
        n_classes=n_classes,
        dtype=choose_precision(probe.dtype, X),
        n_jobs=count_threads(probe.n_jobs),
        exact_axes=exact_axes,
    )


def load(path: str | os.PathLike[str]) -> FittedProbe:
    """Return the probe that `save` wrote, of any kind.

    Coefficients, classes, parameters and predictions are exactly equal to those of the saved probe.
    Nothing is unpickled, so that you can load files from untrusted sources.

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
