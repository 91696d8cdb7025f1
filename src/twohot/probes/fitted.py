"""Base class of fitted probes: predict, score, save and load."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from twohot.base import (
    FloatArray,
    Matrix,
    check_all_labelled,
    check_choice,
    check_count,
    check_finite,
    check_flag,
    check_precision,
    code_labels,
    counted,
    notebook_table,
)
from twohot.probes.inputs import check_features, check_same_rows, choose_precision
from twohot.probes.recipe import Round
from twohot.probes.saving import (
    FittedState,
    file_named_in_errors,
    read_state,
    write_onnx,
    write_state,
)
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

# The list of rounds, printed as a table ----------------------------------------------------------

HEADINGS = ("round", "targets", "loss", "l2", "steps", "passes", "relative gradient", "converged")


class RoundsTable(list[Round]):
    """List of `Round` records, the teacher's first, that prints as a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twohot import PartialLabelProbe
    >>> X, y = load_iris(return_X_y=True)
    >>> PartialLabelProbe().fit(X, y).rounds_
    round     targets  loss      l2  steps  passes  relative gradient  converged
        1      labels    ce  0.0222  ...                                     yes
        2  candidates   gce  0.0222  ...                                     yes
    """

    def cells(self) -> list[list[str]]:
        """Return one line of text cells per round, under `HEADINGS`."""
        return [
            [
                *(str(number), entry.targets, entry.loss, f"{entry.l2:.3g}", str(entry.n_iter)),
                *(f"{entry.n_passes:g}", f"{entry.gradient_norm:.1e}"),
                "yes" if entry.converged else "no",
            ]
            for number, entry in enumerate(self, start=1)
        ]

    def __repr__(self) -> str:
        columns = zip(HEADINGS, *self.cells(), strict=True)
        aligned = ([cell.rjust(max(map(len, column))) for cell in column] for column in columns)
        return "\n".join(map("  ".join, zip(*aligned, strict=True)))

    def _repr_html_(self) -> str:
        return notebook_table(f"{len(self)} rounds", HEADINGS, self.cells())


# Predictions for a block of rows ------------------------------------------------------------------


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
class FittedProbe(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: the shared parameters, the rounds, and predictions from them."""

    center: bool = True
    normalize: bool | str = True
    fit_intercept: bool | str = "auto"
    max_iter: int = 500
    dtype: DTypeLike | None = None
    n_jobs: int | None = None
    verbose: int = 0

    classes_: NDArray[Any] = field(init=False)
    coef_: FloatArray = field(init=False)
    intercept_: FloatArray = field(init=False)
    rounds_: list[Round] = field(init=False)
    preparation_: Preparation = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: NDArray[Any] = field(init=False)
    n_iter_: int = field(init=False)
    # Origin of the features, as JSON of `twohot.extract.FeatureOrigin`. Set it before `save`.
    feature_origin_: dict[str, str] = field(init=False)

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
                    f"round {number} stopped after {counted(entry.n_iter, 'step')} at a relative "
                    f"gradient of {entry.gradient_norm:.1e}, too early: {advice}",
                    ConvergenceWarning,
                    stacklevel=stacklevel,
                )

    def _take_rounds(
        self, rounds: list[Round], classes: NDArray[Any], preparation: Preparation
    ) -> None:
        """Set the fitted attributes."""
        self.preparation_ = preparation
        self.rounds_ = RoundsTable(rounds)
        self.classes_ = classes
        self.coef_ = rounds[-1].coef
        self.intercept_ = rounds[-1].intercept
        self.n_iter_ = sum(entry.n_iter for entry in rounds)
        self.feature_origin_ = {}

    def decision_function(self, X: Matrix) -> FloatArray:
        """Return logits (n_samples, n_classes); for two classes their difference (n_samples,)."""
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

        Rows of classes that the probe was not trained on count as wrong: in cross-validation, all
        rows of a rare class may be in one fold. If the probe knows no label in `y`, an error is
        raised.
        """
        check_same_rows(X, y=y, sample_weight=sample_weight)
        predicted = code_labels(np.asarray(self.predict(X))).among(self.classes_)
        labels = code_labels(y)
        check_all_labelled(labels)
        unknown = labels.unknown_to(self.classes_)
        if len(unknown) < labels.present().n_classes:
            labels = labels.without(unknown)
        advice = "score rows of these (see classes_), or fit again with these labels."
        given = labels.among(self.classes_, advice=advice)
        return float(accuracy_score(given.codes, predicted.codes, sample_weight=sample_weight))

    def _last(self) -> Round:
        """Return the last round with the current `coef_` and `intercept_`, which users may set."""
        check_is_fitted(self)
        return replace(self.rounds_[-1], coef=self.coef_, intercept=self.intercept_)

    def _map_logits(
        self, X: Matrix, entry: Round, function: Callable[[FloatArray], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return `function(logits)` for all rows of X, computed by blocks; lazy for a Dask X."""
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted probe to a file without pickles; `twohot.load` reads it."""
        check_is_fitted(self)
        state = FittedState(
            estimator=type(self).__name__,
            parameters=self.get_params(deep=False),
            classes=self.classes_,
            preparation=self.preparation_,
            rounds=[*self.rounds_[:-1], self._last()],
            n_features_in=self.n_features_in_,
            feature_names_in=np.asarray(getattr(self, "feature_names_in_", [])).tolist(),
            notes=self._notes(),
            feature_origin=self.feature_origin_,
        )
        write_state(path, state)

    def to_onnx(self, path: str | os.PathLike[str], dtype: str = "float32") -> None:
        """Write the fitted probe as an ONNX file, including the preparation of rows.

        Its input is `X` of the given precision, float32 or float64. Its outputs are `label` and
        `probabilities`, with columns in the order of `classes_`. Needs the extra `onnx`. (`coef_`
        alone is not enough: it applies to prepared rows, centred and of unit norm.)
        """
        last = self._last()  # raise if the probe is not fitted
        write_onnx(path, self.preparation_, last, self.classes_, dtype)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the fitted probe of this class that `save` wrote."""
        state = read_state(path)
        known = probe_kinds(cls)
        if state.estimator not in known:
            raise ValueError(
                f"{path} holds a {state.estimator!r} and not a {cls.__name__}: read it with "
                "twohot.load, which reads every kind, or upgrade twohot if that fails."
            )
        with file_named_in_errors(path):
            probe: Self = known[state.estimator](**state.parameters)
            probe._take_notes(state.notes)
            if probe.dtype is not None:
                check_precision(probe.dtype)
            count_threads(probe.n_jobs)
        probe.n_features_in_ = state.n_features_in
        if state.feature_names_in:
            probe.feature_names_in_ = np.array(state.feature_names_in, dtype=object)
        probe._take_rounds(state.rounds, state.classes, state.preparation)
        probe.feature_origin_ = state.feature_origin
        return probe

    def _notes(self) -> dict[str, Any]:
        """Return the additional state of a subclass as JSON, for `save`."""
        return {}

    def _take_notes(self, notes: dict[str, Any]) -> None:
        """Restore the state that `_notes` returned."""


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

    `auto_intercept` is the value of `fit_intercept="auto"`. `normalize` replaces the probe's
    parameter, if given. Pass `exact_axes=False` if the axes only speed up the fit.
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


def probe_kinds(base: type[Any] = FittedProbe) -> dict[str, type[Any]]:
    """Return a class and all its subclasses, by name."""
    kinds = {base.__name__: base}
    for child in base.__subclasses__():
        kinds |= probe_kinds(child)
    return kinds


def load(path: str | os.PathLike[str]) -> FittedProbe:
    """Return the probe that `save` wrote, of any kind.

    Coefficients, classes, parameters and predictions equal those of the saved probe to the last
    bit. Nothing is unpickled, so that files from untrusted sources can be loaded.

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
